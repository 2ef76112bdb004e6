//! Comparison: each target against a reference target, workload by workload, as effect sizes.
//!
//! Ratios above 1 mean that the target has more of it than the reference: more bandwidth is better,
//! more latency is worse.

use crate::load::Run;
use crate::metric;
use crate::stats::ratio::{Mean, of as ratio};
use crate::stats::{Basis, Estimate, shift};
use assay_spec::record::CellRecord;

/// All targets of a run against one of them.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Comparison {
    /// The reference target.
    pub reference: String,
    /// One row for each workload and other target.
    pub rows: Vec<Row>,
    /// What could not be compared, and why.
    pub notes: Vec<String>,
}

/// One target against the reference under one workload.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Row {
    /// Experiment.
    pub experiment: String,
    /// Workload.
    pub workload: String,
    /// The target compared.
    pub target: String,
    /// Bandwidth of the target over that of the reference.
    pub bandwidth: Estimate,
    /// Median latency over the reference's.
    pub p50: Estimate,
    /// 99th percentile over the reference's.
    pub p99: Estimate,
    /// Distance of the latency distributions; `superiority` is the probability that a request of
    /// the target is faster than one of the reference.
    pub shift: Option<shift::Shift>,
}

/// Compares every target with `reference`.
pub fn table(run: &Run, reference: &str) -> Comparison {
    let mut c = Comparison { reference: reference.to_owned(), rows: Vec::new(), notes: Vec::new() };
    for (experiment, workload) in run.workloads() {
        let Some(base) = run.cell(Some(experiment), workload, reference) else {
            c.notes.push(format!("{workload}: `{reference}` has no cell"));
            continue;
        };
        for cell in run.cells_of(experiment, workload).filter(|cell| cell.target != reference) {
            match cells(cell, base) {
                Ok(row) => c.rows.push(row),
                Err(e) => c.notes.push(format!("{workload}, {}: {e}", cell.target)),
            }
        }
    }
    c
}

/// Compares two cells.
///
/// # Errors
/// If one of them was not measured.
pub fn cells(cell: &CellRecord, base: &CellRecord) -> Result<Row, metric::MetricError> {
    let (a, b) = (metric::histogram(cell, None), metric::histogram(base, None));
    Ok(Row {
        experiment: cell.experiment.clone(),
        workload: cell.workload.clone(),
        target: cell.target.clone(),
        bandwidth: ratio_of(cell, base, "bandwidth")?,
        p50: ratio_of(cell, base, "p50")?,
        p99: ratio_of(cell, base, "p99")?,
        shift: shift::between(&a, &b),
    })
}

/// One metric of `cell` over the same of `base`, with its interval.
///
/// # Errors
/// If one of them was not measured.
pub fn ratio_of(
    cell: &CellRecord,
    base: &CellRecord,
    name: &str,
) -> Result<Estimate, metric::MetricError> {
    let (a, b) = (metric::estimate(cell, name)?, metric::estimate(base, name)?);
    let ordered = |e: &Estimate| matches!(e.basis, Basis::OrderStatistics(_));
    if let (true, Some(x), Some(y)) = (ordered(&a) || ordered(&b), a.interval, b.interval) {
        // Quantile intervals have no standard error: the worst corners bound the ratio instead.
        if x.0 > 0.0 && y.0 > 0.0 {
            let basis = if ordered(&a) { a.basis } else { b.basis };
            let interval = Some((x.0 / y.1, x.1 / y.0));
            return Ok(Estimate { value: a.value / b.value, interval, basis });
        }
    }
    Ok(ratio(&Mean::of_estimate(&a), &Mean::of_estimate(&b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::sample;

    #[test]
    fn one_target_twice_as_slow() {
        let fast = sample::cell(&[&[100, 102, 104], &[101, 103, 105]]);
        let mut slow = sample::cell(&[&[200, 204, 208], &[202, 206, 210]]);
        slow.target = "slow".into();
        let run = sample::run(vec![fast, slow]);
        let c = table(&run, "t");
        assert_eq!(c.rows.len(), 1);
        let row = &c.rows[0];
        assert!((row.p50.value - 2.0).abs() < 0.01, "{:?}", row.p50);
        assert_eq!(row.bandwidth.value, 1.0);
        assert_eq!(row.shift.unwrap().superiority, 0.0);
        assert_eq!(table(&run, "nobody").notes.len(), 1);
    }
}
