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
    let rate = |counter: &str, unit: f64| Some(per_second(cell, counter)? / unit);
    RATES.map(|(heading, counter, unit)| (heading, rate(counter, unit))).to_vec()
}

/// Returns a counter of a cell for each second of the measured phase.
fn per_second(cell: &CellRecord, counter: &str) -> Option<f64> {
    let value = |name: &str| metric::estimate(cell, name).ok().map(|e: Estimate| e.value);
    let seconds = value("elapsed").map(|ns| ns / 1e9).filter(|seconds| *seconds > 0.0);
    Some(value(counter)? / seconds?)
}

/// What a program waits for, and the counter of its seconds.
const WAITS: [(&str, &str); 3] = [
    ("flushes", "drive_flush_busy_s"),
    ("reads", "drive_read_busy_s"),
    ("writes", "drive_write_busy_s"),
];

/// The least share of the time that is told beside the largest.
const TOLD: f64 = 0.2;

/// Returns what a program spends its time with, the largest share of the measured phase first:
/// requests of the drives, computing, or waits of its own while the drives are idle. The processor
/// may also have computed while a drive was busy, so its share is the largest that is possible.
/// Returns nothing for a cell without such counters.
pub(crate) fn limits(cell: &CellRecord) -> Vec<(&'static str, f64)> {
    let waits = WAITS.map(|(name, counter)| per_second(cell, counter).map(|share| (name, share)));
    let waits: Option<Vec<(&str, f64)>> = waits.into_iter().collect();
    let Some(mut shares) = waits else { return Vec::new() };
    let idle = (1.0 - shares.iter().map(|(_, share)| share).sum::<f64>()).max(0.0);
    let computing = per_second(cell, "processor_busy_s").unwrap_or(0.0).min(idle);
    shares.extend([("processor", computing), ("own waits", idle - computing)]);
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}

/// Returns the largest of the [`limits`] in words, with the next if that is not small:
/// `flushes 71 %, reads 22 %`.
pub(crate) fn bound_by(cell: &CellRecord) -> Option<String> {
    let limits = limits(cell);
    let told = limits.iter().enumerate().filter(|(i, (_, share))| *i == 0 || *share >= TOLD);
    let told: Vec<String> =
        told.take(2).map(|(_, (name, share))| format!("{name} {:.0} %", 100.0 * share)).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::sample;
    use assay_spec::Nanos;

    /// Returns what a program is bound by that ran for 10 s while its machine was busy so long.
    fn bound(busy: &[(&str, f64)]) -> Option<String> {
        let mut cell = sample::cell(&[&[]]);
        cell.repeats[0].elapsed = Nanos::from_secs(10);
        cell.repeats[0].device =
            busy.iter().map(|(name, seconds)| ((*name).to_owned(), *seconds)).collect();
        bound_by(&cell)
    }

    #[test]
    fn a_program_is_bound_by_what_takes_most_of_its_time() {
        let drives = |flush, read, write| {
            let seconds = [flush, read, write];
            WAITS.iter().zip(seconds).map(|((_, name), s)| (*name, s)).collect::<Vec<_>>()
        };
        assert_eq!(bound(&[]), None);
        assert_eq!(bound(&drives(7.0, 1.0, 1.5)).as_deref(), Some("flushes 70 %"));
        assert_eq!(bound(&drives(3.0, 6.0, 0.5)).as_deref(), Some("reads 60 %, flushes 30 %"));
        let mut with_processor = drives(1.0, 0.0, 2.0);
        assert_eq!(bound(&with_processor).as_deref(), Some("own waits 70 %, writes 20 %"));
        with_processor.push(("processor_busy_s", 6.5));
        assert_eq!(bound(&with_processor).as_deref(), Some("processor 65 %, writes 20 %"));
    }
}
