//! What the documents show can be written: their examples are accepted as they stand there.

use assay_spec::decode::Source;
use assay_spec::experiment::Experiment;
use assay_spec::prices::PriceList;
use assay_spec::{Bytes, Nanos, array};

const SPEC: &str = include_str!("../../../docs/spec.md");
const PRICES: &str = include_str!("../../../docs/prices.md");

/// The fenced examples of a page in this language.
fn fenced(page: &'static str, language: &str) -> Vec<&'static str> {
    let begin = format!("\n```{language}\n");
    let rest = page.split(begin.as_str()).skip(1);
    rest.map(|rest| rest.split("\n```").next().expect("split gives one")).collect()
}

/// The examples of a page that are set off by four blanks.
fn indented(page: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for line in page.lines() {
        match line.strip_prefix("    ") {
            Some(code) => *all.last_mut().expect("never empty") += &format!("{code}\n"),
            None if line.is_empty() => *all.last_mut().expect("never empty") += "\n",
            None => all.push(String::new()),
        }
    }
    all.retain(|text| !text.trim().is_empty());
    all
}

#[test]
fn price_lists() {
    let lists = indented(PRICES);
    assert_eq!(lists.len(), 1, "{lists:?}");
    for text in &lists {
        let list = PriceList::parse(Source { file: "docs/prices.md", text });
        let list = list.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(list.prices[0].endurance, Some(Bytes(1_000_000_000_000_000)));
    }
}

#[test]
fn pieces_of_experiments() {
    const HEAD: &str = "format = 1\nname = \"x\"\nquestion = \"?\"\ntargets = []\n";
    const WORKLOAD: &str = "[[workload]]\npattern = \"random\"\nmeasure = { time = \"1s\" }\n";
    const STREAM: &str = "name = \"x\"\nread_share = 1.0\nsize = \"4KiB\"\n";
    let pieces = fenced(SPEC, "toml");
    assert_eq!(pieces.len(), 4);
    let (mut experiments, mut values) = (0, 0);
    for piece in pieces {
        let text = match piece {
            p if p.starts_with("[factors]") => format!("{HEAD}{p}\n{WORKLOAD}{STREAM}"),
            p if p.contains("command = ") => format!("{HEAD}[[workload]]\n{p}"),
            p if p.starts_with("name = ") => format!("{HEAD}{WORKLOAD}{p}\n"),
            p => {
                // Values of a device file, each with its origin.
                toml::from_str::<toml::Table>(p).unwrap_or_else(|e| panic!("{p}: {e}"));
                values += 1;
                continue;
            }
        };
        let found = Experiment::parse(Source { file: "docs/spec.md", text: &text });
        assert!(!found.unwrap_or_else(|e| panic!("{e}")).workloads.is_empty());
        experiments += 1;
    }
    assert_eq!((experiments, values), (3, 1));
}

#[test]
fn arrays() {
    let texts = fenced(SPEC, "text");
    assert_eq!(texts.len(), 1);
    for line in texts[0].lines() {
        array::parse(line).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// What the table of units says of a kind of quantity: how it is written, and its units.
fn row(kind: &str) -> (Vec<String>, Vec<String>) {
    let begin = format!("\n| {kind} | ");
    let row = SPEC.split(begin.as_str()).nth(1).and_then(|rest| rest.lines().next());
    let row = row.unwrap_or_else(|| panic!("the table has a row of {kind}"));
    let (written, notes) = row.split_once(" | ").expect("a row has columns");
    let written = written.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    let notes = notes.split("; whole").next().and_then(|n| n.split("; below").next());
    let notes = notes.unwrap_or_default().replace("(powers of 1024)", "").replace("or", ",");
    let notes = notes.split("(powers").next().unwrap_or_default().to_owned();
    let units = notes.split([',', ';']).map(|w| w.trim().to_owned()).filter(|w| !w.is_empty());
    (written, units.collect())
}

#[test]
fn units() {
    let (written, units) = row("size");
    assert_eq!(units.len(), 11, "{units:?}");
    for text in written.into_iter().chain(units.iter().map(|unit| format!("2{unit}"))) {
        text.parse::<Bytes>().unwrap_or_else(|e| panic!("{text}: {e:?}"));
    }
    let (written, units) = row("time");
    assert_eq!(units.len(), 7, "{units:?}");
    for text in written.into_iter().chain(units.iter().map(|unit| format!("2{unit}"))) {
        text.parse::<Nanos>().unwrap_or_else(|e| panic!("{text}: {e:?}"));
    }
}
