//! Workloads that are programs: the numbers that they printed, and what their drives did meanwhile.
//!
//! assay sees no requests of a program, so such a cell has no bandwidth and no latency of its own.

use crate::metric;
use assay_spec::record::{CellRecord, ProgramMetric};

/// A number of a program's drives that tables show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DriveColumn {
    /// The heading.
    pub heading: &'static str,
    counter: &'static str,
    per: Per,
    unit: u32,
}

/// What a counter is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Per {
    Second,
    Transaction,
    Nothing,
}

const fn column(heading: &'static str, counter: &'static str, per: Per, unit: u32) -> DriveColumn {
    DriveColumn { heading, counter, per, unit }
}

const A_SECOND: [DriveColumn; 4] = [
    column("reads/s", "drive_reads", Per::Second, 1),
    column("writes/s", "drive_writes", Per::Second, 1),
    column("flushes/s", "drive_flushes", Per::Second, 1),
    column("write MB/s", "drive_write_bytes", Per::Second, 1_000_000),
];

const A_TRANSACTION: [DriveColumn; 4] = [
    column("reads/txn", "drive_reads", Per::Transaction, 1),
    column("writes/txn", "drive_writes", Per::Transaction, 1),
    column("flushes/txn", "drive_flushes", Per::Transaction, 1),
    column("write kB/txn", "drive_write_bytes", Per::Transaction, 1000),
];

const AMPLIFICATION: DriveColumn = column("wa", "wa", Per::Nothing, 1);

impl DriveColumn {
    /// Returns the number of a cell, or `None` if the cell does not have it.
    pub(crate) fn value(&self, cell: &CellRecord) -> Option<f64> {
        let number = match self.per {
            Per::Second => per_second(cell, self.counter)?,
            Per::Transaction => counted(cell, self.counter)? / counted(cell, TRANSACTIONS)?,
            Per::Nothing => counted(cell, self.counter)?,
        };
        Some(number / f64::from(self.unit))
    }
}

/// Returns the numbers of the drives that the table of a workload shows: for each transaction if
/// the experiment counts them, or else for each second; and the write amplification of flash
/// drives.
pub(crate) fn drive_columns(cells: &[&CellRecord]) -> Vec<DriveColumn> {
    let any = |counter: &str| cells.iter().any(|cell| counted(cell, counter).is_some());
    let requests = if any(TRANSACTIONS) { A_TRANSACTION } else { A_SECOND };
    requests.into_iter().chain(any("wa").then_some(AMPLIFICATION)).collect()
}

/// The counter of a program's transactions.
const TRANSACTIONS: &str = "program_transactions";

/// Returns a metric of a cell.
fn counted(cell: &CellRecord, name: &str) -> Option<f64> {
    metric::estimate(cell, name).ok().map(|estimate| estimate.value)
}

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

/// Returns the bytes a second that a program's drives got to write, or `None` if it was not
/// measured.
pub(crate) fn written_a_second(cell: &CellRecord) -> Option<f64> {
    is_of_program(cell).then(|| per_second(cell, "drive_write_bytes")).flatten()
}

/// Returns a counter of a cell for each second of the measured phase.
fn per_second(cell: &CellRecord, counter: &str) -> Option<f64> {
    let seconds = counted(cell, "elapsed").map(|ns| ns / 1e9).filter(|seconds| *seconds > 0.0);
    Some(counted(cell, counter)? / seconds?)
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

    /// The columns are for each second, or for each transaction if these are counted. Some targets
    /// have a write amplification.
    #[test]
    fn the_work_of_the_drives_is_told_by_second_or_by_transaction() {
        let counters = |counted: &[(&str, f64)]| {
            let mut cell = sample::cell(&[&[]]);
            cell.repeats[0].elapsed = Nanos::from_secs(10);
            cell.repeats[0].device =
                counted.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
            cell
        };
        let shown = |cell: &CellRecord, columns: &[DriveColumn]| -> Vec<(&str, Option<f64>)> {
            columns.iter().map(|column| (column.heading, column.value(cell))).collect()
        };
        let drive = [("drive_reads", 20.0), ("drive_write_bytes", 6e6)];
        let disk = counters(&drive);
        let values = shown(&disk, &drive_columns(&[&disk]));
        assert_eq!((values[0], values[3]), (("reads/s", Some(2.0)), ("write MB/s", Some(0.6))));
        assert_eq!((values[1], values.len()), (("writes/s", None), 4));
        let flash =
            counters(&[&drive[..], &[("program_transactions", 40.0), ("wa", 2.5)]].concat());
        let values = shown(&flash, &drive_columns(&[&disk, &flash]));
        assert_eq!(values[0], ("reads/txn", Some(0.5)));
        assert_eq!(values[3], ("write kB/txn", Some(150.0)));
        assert_eq!(values[4], ("wa", Some(2.5)));
        assert_eq!(shown(&disk, &drive_columns(&[&disk, &flash]))[4], ("wa", None));
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
