//! How much a study's ledger depends on each value of its drives, cards and machine that no source
//! gives.
//!
//!     cargo run --release -p assay --example sensitivity -- sigmetrics09 > docs/sensitivity.md
//!
//! Every number that is derived or assumed is made a fifth smaller and a fifth larger; where that
//! cannot be, half and twice as large. A word is exchanged for each other one. The cells that the
//! ledgers name are run again with it. Printed is which verdicts change and which published numbers
//! move. `--sourced` varies what sources give, too, `--assumed` what is assumed, `--words` only
//! words; `--part NAME` takes one drive, card or `host`; `--scale F` runs the experiments that have
//! a scale in this one, and `--without NAME` leaves one out that cannot be run in it; with
//! `--repeats N` below three no verdict is decided; `--threads N`.

mod measure;
mod table;
mod vary;

use assay_spec::catalog::STUDIES;
use assay_spec::device::{Fact, Origin};
use measure::{Baseline, Result};
use std::io::Write;
use table::{Effect, Row};
use vary::{Changed, Way};

/// A number, or a cell's mean, has moved if it is this far from where it was.
pub const MOVED: f64 = 0.02;

/// What the command line asks for.
pub struct Options {
    study: String,
    parts: Vec<String>,
    sourced: bool,
    assumed: bool,
    words: bool,
    repeats: Option<u32>,
    scale: Option<String>,
    without: Vec<String>,
    threads: usize,
}

fn options() -> Result<Options> {
    let mut found = Options {
        study: String::new(),
        parts: Vec::new(),
        sourced: false,
        assumed: false,
        words: false,
        repeats: None,
        scale: None,
        without: Vec::new(),
        threads: 0,
    };
    found.threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} wants a value"));
        match word.as_str() {
            "--sourced" => found.sourced = true,
            "--assumed" => found.assumed = true,
            "--words" => found.words = true,
            "--repeats" => {
                found.repeats = Some(value()?.parse().map_err(|_| "not a number")?);
            }
            "--scale" => found.scale = Some(value()?),
            "--without" => found.without.push(value()?),
            "--part" => found.parts.push(value()?),
            "--threads" => found.threads = value()?.parse().map_err(|_| "not a number")?,
            name if found.study.is_empty() && !name.starts_with('-') => found.study = word,
            other => return Err(format!("what is `{other}`?")),
        }
    }
    Ok(found)
}

fn main() -> std::process::ExitCode {
    // Guests have the program that booted them do their job.
    if assay_engine::guest::is_here() {
        assay_engine::guest::main();
        return std::process::ExitCode::SUCCESS;
    }
    match run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let options = options()?;
    let names: Vec<&str> = STUDIES.iter().map(|s| s.name).collect();
    let found = STUDIES.iter().find(|s| s.name == options.study);
    let study = found.ok_or_else(|| format!("one of the studies: {}", names.join(", ")))?;
    eprintln!("{}: as it is", study.name);
    let base = Baseline::measure(study, &options)?;
    let (mut lone, mut idle) = ([Vec::new(), Vec::new()], Vec::new());
    let words: Vec<String> = std::env::args().skip(1).collect();
    let scale = options.scale.as_deref();
    out(&table::head(study.name, &words.join(" "), scale, &base.verdicts))?;
    for part in base.parts() {
        if !options.parts.is_empty() && !options.parts.contains(&part.name) {
            continue;
        }
        let wanted = |fact: &Fact| match fact.origin {
            Origin::Source(_) => options.sourced,
            Origin::Derived(_) => !options.assumed,
            Origin::Assumed(_) => true,
        };
        let values = part.values.iter().filter(|(_, fact)| wanted(fact));
        let values = values.filter(|(_, fact)| !options.words || !fact.words.is_empty());
        let rows: Vec<Row> =
            values.map(|(text, fact)| row(&base, &part.name, text, fact)).collect();
        out(&table::part(&part, &rows))?;
        let named = |r: &Row| format!("`{}` of `{}`", r.fact.path, part.name);
        for row in &rows {
            if let Some(number) = table::only_one(row) {
                let kind = usize::from(!matches!(row.fact.origin, Origin::Assumed(_)));
                lone[kind].push(format!("{}: {number}", named(row)));
            }
        }
        idle.extend(rows.iter().filter(|r| table::nothing(r)).map(named));
    }
    out(&table::foot(&lone, &idle))
}

fn out(text: &str) -> Result<()> {
    writeln!(std::io::stdout(), "{text}").map_err(|e| e.to_string())
}

/// What becomes of the study with other values in place of `fact`, which stands in `text`.
fn row(base: &Baseline, part: &str, text: &str, fact: &Fact) -> Row {
    let effect = |changed: &Changed| {
        eprintln!("{part} {}: {}", fact.path, changed.value);
        match base.varied(text.trim_end(), changed.text.trim_end(), MOVED) {
            Ok(variant) => Ok(Effect::of(changed.value.clone(), &base.verdicts, &variant)),
            Err(e) => Err(Effect::None(format!("{} cannot be: {e}", changed.value))),
        }
    };
    let nearest = |way| {
        let mut found = Effect::None("there is no such value".to_owned());
        for changed in vary::candidates(text, fact, way) {
            match effect(&changed) {
                Ok(effect) => return effect,
                Err(why) => found = why,
            }
        }
        found
    };
    let effects = match fact.words.is_empty() {
        true => vec![nearest(Way::Down), nearest(Way::Up)],
        false => {
            let others = vary::other_words(text, fact);
            others.map(|changed| effect(&changed).unwrap_or_else(|why| why)).collect()
        }
    };
    Row { fact: fact.clone(), effects }
}
