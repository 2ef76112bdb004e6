//! What modelled flash drives tell of themselves over a measured phase: free blocks, and how long
//! requests waited for what, in tenths of a second.

use super::series::{FINE, write_columns};
use crate::error::Result;
use assay_fs::Directory;
use assay_sim::{Snapshot, Stall};
use assay_spec::Nanos;

/// A drive in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    start: Nanos,
    /// Its place among the flash drives of the target, from 1.
    drive: usize,
    free_blocks: u64,
    stalled: [Nanos; Stall::COUNT],
}

/// Rows of the drives, interval by interval.
#[derive(Debug)]
pub struct DriveSeries {
    origin: Nanos,
    /// Where the current interval begins and ends, on the target's clock.
    start: Nanos,
    end: Nanos,
    /// What each drive had told by then.
    told: Vec<[Nanos; Stall::COUNT]>,
    rows: Vec<Row>,
}

impl DriveSeries {
    /// From `now` on, of drives that have just been marked; `None` if there are none.
    pub fn begin(now: Nanos, drives: usize) -> Option<DriveSeries> {
        (drives > 0).then(|| DriveSeries {
            origin: now,
            start: now,
            end: now + FINE,
            told: vec![Default::default(); drives],
            rows: Vec::new(),
        })
    }

    /// When the drives are to be asked next.
    pub fn end(&self) -> Nanos {
        self.end
    }

    /// The interval is over, or the phase is: what each drive tells now.
    pub fn take(&mut self, snapshots: &[Option<Snapshot>]) {
        for (index, snapshot) in snapshots.iter().enumerate() {
            let Some(Snapshot { free_blocks, stalled }) = *snapshot else { continue };
            let before = &mut self.told[index];
            let waited = std::array::from_fn(|cause| {
                // A spare that takes a member's place begins with nothing, and a wait of which
                // nobody knew that it would be so short may have told too much.
                let waited = stalled[cause].saturating_sub(before[cause]);
                before[cause] = stalled[cause];
                waited
            });
            let start = self.start - self.origin;
            self.rows.push(Row { start, drive: index + 1, free_blocks, stalled: waited });
        }
        self.start = self.end;
        self.end += FINE;
    }

    /// Whether time has passed since the last interval.
    pub fn is_begun(&self, now: Nanos) -> bool {
        now > self.start
    }

    /// Writes the rows as Parquet; the file appears when it is whole.
    pub fn write(&self, directory: &Directory, name: &str) -> Result<()> {
        let names = Stall::ALL.map(|(_, word)| format!("stall_{word}_ns"));
        let mut columns: Vec<(&str, Vec<u64>)> = vec![
            ("start_ns", self.rows.iter().map(|row| row.start.0).collect()),
            ("drive", self.rows.iter().map(|row| row.drive as u64).collect()),
            ("free_blocks", self.rows.iter().map(|row| row.free_blocks).collect()),
        ];
        for (cause, name) in names.iter().enumerate() {
            columns.push((name, self.rows.iter().map(|row| row.stalled[cause].0).collect()));
        }
        write_columns(directory, name, &columns)
    }
}

#[cfg(test)]
impl DriveSeries {
    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// What the rows add up to, by the names of the counters.
    pub(crate) fn totals(&self) -> impl Iterator<Item = (String, u64)> {
        Stall::ALL.iter().map(|(cause, word)| {
            let sum = self.rows.iter().map(|row| row.stalled[*cause as usize].0).sum();
            (format!("stall_{word}_ns"), sum)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(free_blocks: u64, link: u64) -> Option<Snapshot> {
        let mut snapshot = Snapshot { free_blocks, ..Default::default() };
        snapshot.stalled[Stall::Link as usize] = Nanos(link);
        Some(snapshot)
    }

    #[test]
    fn each_interval_has_what_was_waited_in_it() {
        assert!(DriveSeries::begin(Nanos(7), 0).is_none(), "no flash, no rows");
        let mut series = DriveSeries::begin(Nanos(7), 2).expect("two drives");
        assert_eq!(series.end(), Nanos(7) + FINE);
        series.take(&[told(9, 100), told(5, 30)]);
        assert!(!series.is_begun(Nanos(7) + FINE) && series.is_begun(Nanos(8) + FINE));
        // The first drive has failed; a spare took the place of the second.
        series.take(&[None, told(4, 10)]);
        series.take(&[None, told(4, 25)]);
        let row = |r: &Row| (r.start.0, r.drive, r.free_blocks, r.stalled[Stall::Link as usize].0);
        let rows: Vec<_> = series.rows.iter().map(row).collect();
        let f = FINE.0;
        assert_eq!(rows, [(0, 1, 9, 100), (0, 2, 5, 30), (f, 2, 4, 0), (2 * f, 2, 4, 15)]);
    }
}
