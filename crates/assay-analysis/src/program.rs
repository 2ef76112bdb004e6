//! Workloads that are programs: the numbers that they printed, and what their drives did meanwhile.
//!
//! assay sees no requests of a program, so such a cell has no bandwidth and no latency of its own.

use crate::metric;
use crate::stats::Estimate;
use assay_spec::record::{CellRecord, ProgramMetric};

/// The rates of a workload's drives: heading, counter, and the unit that a column has.
const RATES: [(&str, &str, f64); 4] = [
    ("reads/s", "drive_reads", 1.0),
    ("writes/s", "drive_writes", 1.0),
    ("flushes/s", "drive_flushes", 1.0),
    ("write MB/s", "drive_write_bytes", 1e6),
];

/// Returns `true` if a cell was measured and its workload is a program.
pub fn is_of_program(cell: &CellRecord) -> bool {
    !metrics(cell).is_empty()
}

/// Returns what a program printed, and the time that it ran, with the values of the first repeat.
/// Cells are compared by the first of these numbers.
pub fn metrics(cell: &CellRecord) -> &[ProgramMetric] {
    cell.repeats.first().map_or(&[], |repeat| &repeat.program)
}

/// Returns a metric's name with its unit: `tps (1/s)`.
pub(crate) fn heading(metric: &ProgramMetric) -> String {
    match metric.unit.as_str() {
        "" => metric.name.clone(),
        unit => format!("{} ({unit})", metric.name),
    }
}

/// Returns the rates of a cell's drives over the measured phase: (heading, value).
pub(crate) fn drive_rates(cell: &CellRecord) -> Vec<(&'static str, Option<f64>)> {
    let value = |name: &str| metric::estimate(cell, name).ok().map(|e: Estimate| e.value);
    let seconds = value("elapsed").map(|ns| ns / 1e9).filter(|seconds| *seconds > 0.0);
    let rate = |counter: &str, unit: f64| Some(value(counter)? / seconds? / unit);
    RATES.map(|(heading, counter, unit)| (heading, rate(counter, unit))).to_vec()
}
