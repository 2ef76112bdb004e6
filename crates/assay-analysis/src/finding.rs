//! Findings: what the measurements alone say, each with evidence, threshold and the command that
//! reproduces it.
//!
//! A difference is stated only if the 95 % intervals of the two sides do not overlap, which is
//! stricter than a test at 5 %. The questions of a study have rules of their own (`studies.rs`).
//! Findings do not judge published claims: the ledger does that.

pub(crate) mod factors;
mod programs;
mod ranking;
mod scaling;
pub(crate) mod statement;

pub(crate) use factors::FACTORS;
pub(crate) use scaling::{SCALING, of_others};
pub(crate) use statement::DOUBTS;
pub use statement::Finding;

use crate::compare::ratio_of;
use crate::load::Run;
use crate::metric;
use crate::soundness;
use crate::studies;
use assay_spec::record::CellRecord;
use assay_spec::units::{human_time, three_digits};
use statement::{bandwidth_line, command, requests, separate, with_interval};

/// Returns everything the run shows, in the order of its workloads and then its targets.
pub fn findings(whole: &Run) -> Vec<Finding> {
    let mut all = factors::findings(whole);
    // A single cell of a factorial says little: such cells are analysed together.
    let run = &*crate::factors::without(whole);
    for (experiment, workload) in run.workloads() {
        all.extend(ranking::ranking(run, experiment, workload));
        all.extend(programs::bounds(run, experiment, workload));
    }
    all.extend(scaling::all(run));
    for target in asked(run) {
        all.extend(studies::all().iter().flat_map(|study| study.answers(run, target)));
    }
    for target in run.targets() {
        all.extend(contrasts(run, target));
        all.extend(variability(run, target));
    }
    all.extend(doubts(whole, run));
    all
}

/// Returns what is wrong with the cells: reasons not to trust their numbers.
fn doubts(whole: &Run, run: &Run) -> Vec<Finding> {
    let samples = |id: &str| {
        let cells: Vec<&CellRecord> = run.cells.iter().filter(|c| c.id == id).collect();
        requests(&cells)
    };
    let one = |v: soundness::Doubt| Finding {
        id: format!("{DOUBTS}{}/{}", v.check, v.cell),
        statement: format!("{}: {}", v.cell, v.statement),
        samples: samples(&v.cell),
        evidence: v.evidence.into_iter().chain([format!("hint: {}", v.hint)]).collect(),
        threshold: v.threshold,
        confidence: None,
        reproduce: command(run),
    };
    let single = |v: &soundness::Doubt| run.cells.iter().any(|c| c.id == v.cell);
    let (single, together) = soundness::doubts(whole).into_iter().partition(single);
    let single: Vec<soundness::Doubt> = single;
    single.into_iter().map(one).chain(factors::doubts(whole, together)).collect()
}

/// Returns the targets that have a cell or were to have one, each once.
fn asked(run: &Run) -> Vec<&str> {
    let mut all = run.targets();
    for target in &run.record.targets {
        if !all.contains(&target.name.as_str()) {
            all.push(&target.name);
        }
    }
    all
}

/// Returns the kind of stream that a summary describes: (random, writes, size).
fn kind(cell: &CellRecord) -> Option<(bool, bool, &str)> {
    let mut parts = cell.summary.split(',').map(str::trim);
    let first = parts.next()?;
    let random = match first.split_whitespace().next()? {
        "random" => true,
        "sequential" => false,
        _ => return None,
    };
    let writes = match first.split_whitespace().nth(1)? {
        "read" | "reads" => false,
        "write" | "writes" => true,
        _ => return None,
    };
    Some((random, writes, parts.next().unwrap_or("")))
}

/// Compares sequential with random streams, and reads with writes, on one target and otherwise
/// alike.
fn contrasts(run: &Run, target: &str) -> Vec<Finding> {
    let of_target = || run.cells.iter().filter(|c| c.target == target);
    let mut all = Vec::new();
    for a in of_target() {
        for b in of_target().filter(|b| b.experiment == a.experiment) {
            let (Some(x), Some(y)) = (kind(a), kind(b)) else { continue };
            // Streams of the same size are compared. If the run has no sequential stream of the
            // same size, the sizes differ and the sentence names both.
            let alike = of_target().filter_map(kind).any(|k| k == (false, y.1, y.2));
            if (x.0, y.0) == (false, true) && x.1 == y.1 && (x.2 == y.2 || !alike) {
                all.extend(contrast(run, "pattern", a, b));
            }
            if (x.1, y.1) == (false, true) && x.0 == y.0 && x.2 == y.2 {
                all.extend(contrast(run, "direction", a, b));
            }
        }
    }
    all
}

/// The smallest ratio of two bandwidths that is worth a sentence.
const CONTRAST: f64 = 1.25;

fn contrast(run: &Run, id: &str, fast: &CellRecord, slow: &CellRecord) -> Option<Finding> {
    let (a, b) = (metric::estimate(fast, "bandwidth"), metric::estimate(slow, "bandwidth"));
    let (a, b) = (a.ok()?, b.ok()?);
    let ratio = ratio_of(fast, slow, "bandwidth").ok()?;
    if ratio.value < CONTRAST || !separate(&a, &b) {
        return None;
    }
    let lower = |c: &CellRecord| c.summary.clone();
    Some(Finding {
        id: format!("{id}/{}/{}@{}", fast.experiment, slow.workload, slow.target),
        statement: format!(
            "{}: {} gives {} times less bandwidth than {} ({})",
            slow.target,
            lower(slow),
            three_digits(ratio.value),
            lower(fast),
            with_interval(&ratio)
        ),
        evidence: vec![bandwidth_line(fast), bandwidth_line(slow)],
        threshold: format!("ratio of at least {CONTRAST}, 95 % intervals do not overlap"),
        samples: requests(&[fast, slow]),
        confidence: Some(0.95),
        reproduce: command(run),
    })
}

/// The smallest p99.9 / p50 that is worth a sentence.
const TAIL: f64 = 10.0;

fn variability(run: &Run, target: &str) -> Vec<Finding> {
    let cells = run.cells.iter().filter(|c| c.target == target);
    cells.filter_map(|cell| tail(run, cell)).collect()
}

fn tail(run: &Run, cell: &CellRecord) -> Option<Finding> {
    let middle = metric::estimate(cell, "p50").ok()?;
    let far = metric::estimate(cell, "p99.9").ok()?;
    let ratio = far.value / middle.value;
    // Without an interval the percentile is one of the few largest values and gives no finding.
    let (low, _) = far.interval?;
    if ratio < TAIL || low < TAIL * middle.value {
        return None;
    }
    Some(Finding {
        id: format!("tail/{}", cell.id),
        statement: format!(
            "{}, {}: one request in 1000 takes {} times the median or longer ({} against {})",
            cell.target,
            cell.summary,
            three_digits(ratio),
            human_time(far.value),
            human_time(middle.value)
        ),
        evidence: vec![
            format!("{} p50: {}", cell.id, crate::text::number::time(&middle)),
            format!("{} p99.9: {}", cell.id, crate::text::number::time(&far)),
        ],
        threshold: format!("lower end of p99.9 at least {TAIL} times p50"),
        samples: requests(&[cell]),
        confidence: Some(0.95),
        reproduce: command(run),
    })
}
