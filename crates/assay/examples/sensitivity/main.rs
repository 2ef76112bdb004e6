//! How much a study's ledger depends on each value of its drives that no source gives.
//!
//!     cargo run --release -p assay --example sensitivity -- sigmetrics09 > docs/sensitivity.md
//!
//! Every number of a bundled drive that is derived or assumed is made a fifth smaller and a fifth
//! larger; where that cannot be, half and twice as large. The cells that the ledgers name are run
//! again on that drive. Printed is which verdicts change and which published numbers move.
//! `--sourced` varies what sources give, too, `--assumed` only what is assumed; `--drive NAME`
//! takes one drive; `--scale F` runs the experiments that have a scale in this one, and `--without
//! NAME` leaves one out that cannot be run in it; `--threads N`.

mod measure;
mod table;
mod vary;

use assay_spec::catalog::STUDIES;
use assay_spec::device::{Fact, Origin};
use measure::{Baseline, Drive, Result};
use std::io::Write;
use table::{Effect, Row};
use vary::Way;

/// A number, or a cell's mean, has moved if it is this far from where it was.
pub const MOVED: f64 = 0.02;

struct Options {
    study: String,
    drives: Vec<String>,
    sourced: bool,
    assumed: bool,
    scale: Option<String>,
    without: Vec<String>,
    threads: usize,
}

fn options() -> Result<Options> {
    let mut found = Options {
        study: String::new(),
        drives: Vec::new(),
        sourced: false,
        assumed: false,
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
            "--scale" => found.scale = Some(value()?),
            "--without" => found.without.push(value()?),
            "--drive" => found.drives.push(value()?),
            "--threads" => found.threads = value()?.parse().map_err(|_| "not a number")?,
            name if found.study.is_empty() && !name.starts_with('-') => found.study = word,
            other => return Err(format!("what is `{other}`?")),
        }
    }
    Ok(found)
}

fn main() -> std::process::ExitCode {
    // Guests have the program that booted them do their job.
    if std::env::args().skip(1).take(2).eq(["linux", "init"]) {
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
    let base =
        Baseline::measure(study, options.scale.as_deref(), &options.without, options.threads)?;
    let (mut lone, mut idle) = ([Vec::new(), Vec::new()], Vec::new());
    let words: Vec<String> = std::env::args().skip(1).collect();
    out(&table::head(study.name, &words.join(" "), &base.verdicts))?;
    for drive in base.drives() {
        if !options.drives.is_empty() && !options.drives.contains(&drive.spec.name) {
            continue;
        }
        let rows: Vec<Row> = drive
            .spec
            .facts
            .iter()
            .filter(|f| match f.origin {
                Origin::Source(_) => options.sourced,
                Origin::Derived(_) => !options.assumed,
                Origin::Assumed(_) => true,
            })
            .map(|f| row(&base, &drive, f))
            .collect();
        out(&table::drive(&drive.spec, &rows))?;
        let named = |r: &Row| format!("`{}` of `{}`", r.path, drive.spec.name);
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

fn row(base: &Baseline, drive: &Drive, fact: &Fact) -> Row {
    let effect = |way| {
        if !vary::is_numeric(fact) {
            return Effect::None("a word, not varied".into());
        }
        let mut why = "there is no such value".to_owned();
        for changed in vary::candidates(&drive.text, fact, way) {
            eprintln!("{} {}: {}", drive.spec.name, fact.path, changed.value);
            match base.varied(drive.text.trim_end(), changed.text.trim_end(), MOVED) {
                Ok(variant) => return Effect::of(changed.value, &base.verdicts, &variant),
                Err(e) => why = format!("{} cannot be: {e}", changed.value),
            }
        }
        Effect::None(why)
    };
    Row { path: fact.path.clone(), fact: fact.clone(), ways: [effect(Way::Down), effect(Way::Up)] }
}
