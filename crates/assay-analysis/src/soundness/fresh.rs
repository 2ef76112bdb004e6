//! The drive was not preconditioned: a fresh drive has free blocks to write to and nothing to
//! collect, and answers reads of unwritten pages without access to its flash.
//!
//! For a modelled drive the experiment declares the state in which it starts. For other drives the
//! series shows it: a rate that is much higher at the start than later was measured in two states.

use super::case::{Case, Fault, late};
use crate::stats::median;
use assay_spec::Op;
use assay_spec::experiment::{Amount, FileWork, StartState, Step, StreamSpec, WorkloadSpec};
use assay_spec::units::three_digits;

/// The smallest ratio of the rate in the first tenth to that in the second half.
const FASTER: f64 = 1.5;
/// The smallest number of seconds that is checked: fewer have no first tenth to compare.
const SECONDS: usize = 10;

const HINT: &str = "write the whole range before measuring: `start = \"filled\"` (the default) or \
     `\"steady\"` for a model, `[[workload.precondition]]` or `[workload.settle]` with a \
     steady-state rule for any drive";

pub(super) fn check(case: &Case<'_>) -> Option<Fault> {
    by_declaration(case).or_else(|| by_series(case))
}

fn by_declaration(case: &Case<'_>) -> Option<Fault> {
    let workload = case.workload?;
    let is_fresh = workload.phases.start == StartState::Fresh && case.is_modelled_flash();
    // What a file system reads, it has written before.
    let writes_records =
        |work: &FileWork| matches!(work, FileWork::Records(r) if r.operation.writes());
    let is_harmless = workload.files.as_ref().is_some_and(|work| !writes_records(work));
    if !is_fresh || is_harmless || is_prepared(case, workload) {
        return None;
    }
    let what = match case.writes() {
        true => "writes find free blocks everywhere",
        false => "reads of pages that were never written do not touch the flash",
    };
    Some(Fault {
        statement: format!("the drive was fresh: {what}, which is so only once in its life"),
        evidence: vec![
            format!("{}: `start = \"fresh\"`", case.cell.id),
            "nothing is written before it is measured".into(),
        ],
        threshold: "a modelled flash drive starts fresh and nothing fills it".into(),
        hint: HINT,
    })
}

/// Returns `true` if something fills the drive, or settles the workload on it, before the measured
/// phase.
fn is_prepared(case: &Case<'_>, workload: &WorkloadSpec) -> bool {
    let phases = &workload.phases;
    let writes = |step: &Step| step.stream().is_some_and(StreamSpec::writes);
    let settled = match phases.settle {
        Some(Amount::Steady(_)) => case.writes(),
        Some(Amount::Bytes(b)) => case.writes() && case.target.is_some_and(|t| b >= t.capacity),
        _ => false,
    };
    settled || phases.precondition.iter().any(writes)
}

fn by_series(case: &Case<'_>) -> Option<Fault> {
    // What a page cache takes at the start says nothing about the state of the drive.
    let has_files = case.workload.is_some_and(|w| w.files.is_some());
    let only_writes = case.cell.repeats.iter().flat_map(|r| &r.ops).all(|o| o.op != Op::Read);
    let series = case.rates();
    if has_files
        || !only_writes
        || series.len() < SECONDS
        || super::steady::trend(&series).is_some()
        || super::throttled::explains(case)
    {
        return None;
    }
    let begin = &series[..series.len() / 10];
    let begin = begin.iter().sum::<f64>() / begin.len() as f64;
    let end = median(late(&series))?;
    if end <= 0.0 || begin < FASTER * end {
        return None;
    }
    Some(Fault {
        statement: format!(
            "at first, writes are {} times as fast as later: the drive was not preconditioned, or \
             its cache takes the first writes",
            three_digits(begin / end)
        ),
        evidence: vec![
            format!("{}: {} IOPS in the first tenth", case.cell.id, three_digits(begin)),
            format!("{} IOPS in the second half (median)", three_digits(end)),
        ],
        threshold: format!("first tenth at least {FASTER} times the median of the second half"),
        hint: HINT,
    })
}
