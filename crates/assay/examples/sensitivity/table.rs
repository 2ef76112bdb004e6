//! What changed, in words and as tables.

use crate::MOVED;
use crate::measure::{Part, Variant};
use assay_analysis::ledger::{ClaimVerdict, LedgerVerdicts, ValueVerdict};
use assay_spec::device::{Fact, Origin};
use std::collections::BTreeSet;

/// What one changed value does.
pub enum Effect {
    /// It was not varied: why.
    None(String),
    /// It was.
    Some {
        /// The value it was given.
        value: String,
        /// Claims whose verdict is another, with the new one.
        verdicts: Vec<String>,
        /// Published numbers that moved, and by how much of themselves, the largest first.
        numbers: Vec<(String, f64)>,
        /// Cells whose mean moved, and all.
        cells: (usize, usize),
    },
}

/// A value of a drive, a card or the machine.
pub struct Row {
    /// With its place and its origin.
    pub fact: Fact,
    /// A smaller and a larger one in its place, or each other word.
    pub effects: Vec<Effect>,
}

fn rows(all: &[LedgerVerdicts]) -> impl Iterator<Item = &ClaimVerdict> {
    all.iter().flat_map(|l| &l.rows)
}

/// The numbers of a claim that are published, at hand or not.
fn numbers(all: &[LedgerVerdicts]) -> impl Iterator<Item = (String, &ValueVerdict)> {
    let of = |c: &ClaimVerdict| format!("{} ", c.id);
    let each = rows(all).flat_map(move |c| c.values.iter().map(move |v| (of(c) + &v.label, v)));
    each.filter(|(_, v)| v.reproduced.is_some())
}

impl Effect {
    /// What differs between the ledgers.
    pub fn of(value: String, before: &[LedgerVerdicts], after: &Variant) -> Effect {
        let pairs = rows(before).zip(rows(&after.verdicts)).filter(|(a, b)| a.verdict != b.verdict);
        let verdicts = pairs.map(|(_, b)| format!("{} {}", b.id, b.verdict.name())).collect();
        let change = |(name, a): (String, &ValueVerdict)| {
            let (_, b) = numbers(&after.verdicts).find(|(n, _)| *n == name)?;
            let by = b.reproduced? / a.reproduced? - 1.0;
            (by.abs() > MOVED).then_some((name, by))
        };
        let mut moved: Vec<(String, f64)> = numbers(before).filter_map(change).collect();
        moved.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        Effect::Some { value, verdicts, numbers: moved, cells: after.cells }
    }

    fn words(&self) -> String {
        let Effect::Some { value, verdicts, numbers, cells } = self else {
            let Effect::None(why) = self else { return String::new() };
            return why.clone();
        };
        let percent = |by: f64| match by * 100.0 {
            p if !p.is_finite() => "from nothing".to_owned(),
            p => format!("{p:+.0} %").replace('-', "−"),
        };
        let first: Vec<String> =
            numbers.iter().take(3).map(|(n, by)| format!("{n} {}", percent(*by))).collect();
        let mut said = vec![format!("{value}:")];
        if !verdicts.is_empty() {
            said.push(format!("**{}**;", verdicts.join(", ")));
        }
        match numbers.len() {
            0 => said.push("no number;".into()),
            1 => said.push(format!("1 number ({});", first[0])),
            n => said.push(format!("{n} numbers ({});", first.join(", "))),
        }
        said.push(format!("{} of {} cells", cells.0, cells.1));
        said.join(" ")
    }
}

/// The number that is the only one to move, whichever way the value goes; none if several do, or a
/// claim without that number changes.
pub fn only_one(row: &Row) -> Option<String> {
    let mut all = BTreeSet::new();
    for effect in &row.effects {
        if let Effect::Some { numbers, .. } = effect {
            all.extend(numbers.iter().map(|(name, _)| name.clone()));
        }
    }
    (all.len() == 1).then(|| all.into_iter().next()).flatten()
}

/// Whether nothing at all changed, whichever way the value went.
pub fn nothing(row: &Row) -> bool {
    let still = |effect: &Effect| match effect {
        Effect::None(_) => true,
        Effect::Some { verdicts, numbers, cells, .. } => {
            verdicts.is_empty() && numbers.is_empty() && cells.0 == 0
        }
    };
    let varied = row.effects.iter().any(|effect| matches!(effect, Effect::Some { .. }));
    varied && row.effects.iter().all(still)
}

/// The beginning of the page.
pub fn head(
    study: &str,
    command: &str,
    scale: Option<&str>,
    verdicts: &[LedgerVerdicts],
) -> String {
    let summaries: Vec<String> =
        verdicts.iter().map(|l| format!("{}: {}", l.study, l.summary())).collect();
    format!(
        "# How much the ledger of {study} depends on each value of its drives, cards and machine\n\
         \n\
         Made by\n\n    cargo run --release -p assay --example sensitivity -- {command}\n\n\
         Every number that no source gives (with `--assumed`, that is assumed; with `--sourced`, \
         every one) is made a fifth smaller and a fifth larger; where such a part cannot be, half \
         and twice as large. A word is exchanged for each other one. The cells that the claims \
         name are run again with it. A number or a cell's mean latency has moved if it is more \
         than {} % from where it was; the three that moved most are named. In bold: verdicts \
         that are other than those of the parts as they are. With all as they are, {}:\n\n{}\n",
        100.0 * MOVED,
        scale.map_or("each experiment in its own scale".to_owned(), |s| format!("in scale {s}")),
        summaries.join("\n\n")
    )
}

/// A drive, a card or the machine.
pub fn part(part: &Part, rows: &[Row]) -> String {
    let mut out = format!("## `{}`\n\n", part.name);
    let varied = |path: &str| rows.iter().any(|r| r.fact.path == path);
    let mut sources: Vec<(&str, Vec<String>)> = Vec::new();
    for fact in part.values.iter().map(|(_, fact)| fact).filter(|f| !varied(&f.path)) {
        let Origin::Source(text) = &fact.origin else { continue };
        let said = format!("`{}` {}", fact.path, fact.value);
        match sources.iter_mut().find(|(name, _)| name == text) {
            Some((_, all)) => all.push(said),
            None => sources.push((text, vec![said])),
        }
    }
    if !sources.is_empty() {
        out += "Sourced:\n\n";
    }
    for (source, values) in sources {
        out += &format!("- {source}: {}\n", values.join(", "));
    }
    out += "\n| value | origin | smaller, or other words | larger |\n|---|---|---|---|\n";
    for row in rows {
        let origin = match &row.fact.origin {
            Origin::Source(text) => format!("sourced: {text}"),
            Origin::Derived(how) => format!("derived: {how}"),
            Origin::Assumed(why) => format!("assumed: {why}"),
        };
        let value = if row.fact.value.starts_with('[') { "a table" } else { &row.fact.value };
        let words: Vec<String> = row.effects.iter().map(Effect::words).collect();
        let [first, second] = match row.fact.words.is_empty() {
            true => [words[0].clone(), words[1].clone()],
            false => [words.join("; "), String::new()],
        };
        let cells = [format!("`{}` = {value}", row.fact.path), origin, first, second];
        let cells = cells.map(|c| c.replace('|', "\\|").replace('\n', " "));
        out += &format!("| {} |\n", cells.join(" | "));
    }
    out
}

/// The end of the page. `lone` are values that move one number only: assumed ones, and others.
pub fn foot([assumed, others]: &[Vec<String>; 2], idle: &[String]) -> String {
    let list = |title: &str, all: &[String]| {
        let lines: String = all.iter().map(|l| format!("- {l}\n")).collect();
        let lines = if all.is_empty() { "None.\n" } else { &lines };
        format!("## {title}\n\n{lines}")
    };
    let one = list("Assumed values that move one published number only", assumed);
    let follow = list("Values that follow from others and move one published number only", others);
    let none = list("Values that nothing depends on within these bounds", idle);
    format!("{one}\n{follow}\n{}", none.trim_end())
}
