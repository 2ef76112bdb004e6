//! Fragmentation: streams before and after scattered writes, and after what might cure it.

use super::ask::{Answer, Ask, no, yes};
use super::rule::{Change, largest, that_are, told, unclear};
use assay_spec::units::three_digits;

const STREAMS: [(&str, &str); 4] = [
    ("seq-rd", "sequential reads"),
    ("rnd-rd", "random reads"),
    ("seq-wr", "sequential writes"),
    ("rnd-wr", "random writes"),
];

const CURES: [(&str, &str); 3] = [
    ("idle", "an hour of rest"),
    ("mixed", "a mix of reads and writes"),
    ("cure", "filling the drive and rewriting the range"),
];

pub(super) fn fragmentation(ask: &mut Ask<'_>) -> Result<Answer, String> {
    let mut all = Vec::new();
    for (stream, words) in STREAMS {
        let before = ask.cell("fragmentation", &format!("before-{stream}"))?;
        let after = ask.cell("fragmentation", &format!("after-striker-{stream}"))?;
        all.push(ask.compare_named((words, "before"), (after, None), (before, None))?);
    }
    let slower = that_are(&all, Change::Slower);
    if slower.is_empty() {
        unclear(&all)?;
        let most = largest(&all.iter().collect::<Vec<_>>()).map(|n| n.told());
        return no(format!("after scattered writes at most {}", most.unwrap_or_default()));
    }
    let cure = match slower.iter().any(|n| n.what == "sequential writes") {
        true => cures(ask)?,
        // The cures are measured with sequential writes only.
        false => "sequential writes are not slower, so no cure of the fragmentation is \
                  determined"
            .into(),
    };
    yes(format!("after scattered writes {}; {cure}", told(&slower)))
}

/// Returns in words which cures bring sequential writes back to their latency before.
fn cures(ask: &mut Ask<'_>) -> Result<String, String> {
    let before = ask.cell("fragmentation", "before-seq-wr")?;
    let mut said = Vec::new();
    for (cure, words) in CURES {
        let name = format!("after-{cure}-seq-wr");
        let cell = match ask.cell("fragmentation", &name) {
            Ok(cell) => cell,
            Err(why) => {
                said.push(format!("{words}: not determined ({why})"));
                continue;
            }
        };
        let named = ask.compare_named((words, "before"), (cell, None), (before, None))?;
        let does = match named.by.change {
            Change::Slower => "does not cure it",
            Change::Unclear => "may not cure it",
            Change::Alike | Change::Faster => "cures it",
        };
        said.push(format!(
            "{words} {does} ({} times the latency before)",
            three_digits(named.by.ratio.value)
        ));
    }
    Ok(said.join(", "))
}
