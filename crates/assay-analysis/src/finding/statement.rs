//! A finding, and the phrases that findings are made of.

use crate::load::Run;
use crate::metric;
use crate::stats::Estimate;
use assay_spec::record::CellRecord;
use assay_spec::units::three_digits;
use serde::Serialize;

/// A fact that the run shows.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The identifier, stable within a run, e.g. `ranking/general/rnd-rd`.
    pub id: String,
    /// The finding in a sentence.
    pub statement: String,
    /// The cells and numbers behind it.
    pub evidence: Vec<String>,
    /// The rule that made it a finding.
    pub threshold: String,
    /// The number of requests behind it.
    pub samples: u64,
    /// The confidence of the statement, if it has one.
    pub confidence: Option<f64>,
    /// The command that reproduces it.
    pub reproduce: String,
}

/// The beginning of the ids of findings about what is wrong with a cell.
pub(crate) const DOUBTS: &str = "sound/";

pub(crate) fn requests(cells: &[&CellRecord]) -> u64 {
    cells.iter().map(|c| metric::histogram(c, None).count()).sum()
}

pub(crate) fn command(run: &Run) -> String {
    run.again()
}

pub(super) fn bandwidth_line(cell: &CellRecord) -> String {
    let e = metric::estimate(cell, "bandwidth").map(|e| crate::text::number::rate(&e));
    format!("{}: {}", cell.id, e.unwrap_or_else(|e| e.to_string()))
}

pub(super) fn separate(a: &Estimate, b: &Estimate) -> bool {
    match (a.interval, b.interval) {
        (Some(a), Some(b)) => a.1 < b.0 || b.1 < a.0,
        _ => false,
    }
}

pub(super) fn with_interval(ratio: &Estimate) -> String {
    match ratio.interval {
        Some((low, high)) => {
            format!("95 % interval {} to {}", three_digits(low), three_digits(high))
        }
        None => ratio.basis.to_string(),
    }
}

/// Returns the summary of the workload with a capital letter: `Random read, 4KiB, 32 jobs`.
pub(super) fn short(cell: &CellRecord) -> String {
    let summary = if cell.summary.is_empty() { &cell.workload } else { &cell.summary };
    let mut letters = summary.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}", letters.as_str())
}
