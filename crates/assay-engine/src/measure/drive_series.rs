//! Records the state of modelled flash drives over a measured phase, in intervals of 0.1 s: free
//! blocks, and how long requests waited for each cause.

use super::series::{COARSE, FINE, write_columns};
use crate::error::Result;
use assay_fs::Directory;
use assay_sim::{Snapshot, Stall};
use assay_spec::Nanos;

/// The most rows: seven hours of intervals of one drive. A longer phase has longer intervals.
const MOST: usize = 1 << 18;

/// The state of a drive in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DriveSeriesRow {
    /// The start of the interval, since the start of the phase.
    start: Nanos,
    /// The number of the drive among the flash drives of the target, from 1.
    drive: usize,
    /// The free blocks at the end of the interval.
    free_blocks: u64,
    /// By cause: the time that requests waited in the interval.
    stalled: [Nanos; Stall::COUNT],
}

/// The states of all drives, interval by interval.
#[derive(Debug)]
pub struct DriveSeries {
    /// The start of the phase on the target's clock.
    origin: Nanos,
    /// The start and the end of the current interval, on the target's clock.
    start: Nanos,
    end: Nanos,
    /// The length of an interval.
    interval: Nanos,
    /// By drive and cause: the time that the drive's counter had reached when the current interval
    /// began.
    told: Vec<[Nanos; Stall::COUNT]>,
    rows: Vec<DriveSeriesRow>,
}

impl DriveSeries {
    /// Begins a series at `now`, for this number of drives, whose counters have just been reset.
    /// Returns `None` if there are no drives.
    pub fn begin(now: Nanos, drives: usize) -> Option<DriveSeries> {
        (drives > 0).then(|| DriveSeries {
            origin: now,
            start: now,
            end: now + FINE,
            interval: FINE,
            told: vec![Default::default(); drives],
            rows: Vec::new(),
        })
    }

    /// Returns the end of the current interval, when the next snapshots are due.
    pub fn end(&self) -> Nanos {
        self.end
    }

    /// Ends the current interval with the present states of the drives, and begins the next one.
    pub fn take(&mut self, snapshots: &[Option<Snapshot>]) {
        for (index, snapshot) in snapshots.iter().enumerate() {
            let Some(Snapshot { free_blocks, stalled }) = *snapshot else { continue };
            let before = &mut self.told[index];
            let waited = std::array::from_fn(|cause| {
                // The counters of a spare that takes a member's place begin at zero. A counter may
                // also go back a bit: a wait can turn out shorter than it was counted before.
                let waited = stalled[cause].saturating_sub(before[cause]);
                before[cause] = stalled[cause];
                waited
            });
            let start = self.start - self.origin;
            self.rows.push(DriveSeriesRow {
                start,
                drive: index + 1,
                free_blocks,
                stalled: waited,
            });
        }
        if self.rows.len() >= MOST {
            self.merge();
        }
        self.start = self.end;
        // The first interval after a merge is shorter, so that all others begin at multiples of
        // their length.
        let whole = (self.end - self.origin).0 / self.interval.0;
        self.end = self.origin + Nanos((whole + 1) * self.interval.0);
    }

    /// Merges every ten intervals of a drive into one, and makes those that follow as long.
    fn merge(&mut self) {
        self.interval = self.interval * COARSE as u64;
        let mut merged: Vec<DriveSeriesRow> = Vec::new();
        for row in &self.rows {
            let start = Nanos(row.start.0 / self.interval.0 * self.interval.0);
            let mut last = merged.iter_mut().rev().take(self.told.len());
            match last.find(|m| m.drive == row.drive && m.start == start) {
                Some(whole) => {
                    whole.free_blocks = row.free_blocks;
                    for (sum, part) in whole.stalled.iter_mut().zip(row.stalled) {
                        *sum += part;
                    }
                }
                None => merged.push(DriveSeriesRow { start, ..*row }),
            }
        }
        self.rows = merged;
    }

    /// Returns `true` if time has passed in the current interval.
    pub fn is_begun(&self, now: Nanos) -> bool {
        now > self.start
    }

    /// Writes the rows as Parquet; the file appears when it is complete.
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
    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Returns the sums of the rows, by the names of the counters.
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
        let row = |r: &DriveSeriesRow| {
            (r.start.0, r.drive, r.free_blocks, r.stalled[Stall::Link as usize].0)
        };
        let rows: Vec<_> = series.rows.iter().map(row).collect();
        let f = FINE.0;
        assert_eq!(rows, [(0, 1, 9, 100), (0, 2, 5, 30), (f, 2, 4, 0), (2 * f, 2, 4, 15)]);
    }

    #[test]
    fn a_long_phase_has_longer_intervals_and_loses_no_wait() {
        let mut series = DriveSeries::begin(Nanos(7), 2).expect("two drives");
        let steps = MOST as u64;
        let mut taken = 0;
        while taken < steps {
            taken += 1;
            series.take(&[told(taken, 3 * taken), told(1, taken)]);
            assert!(series.rows.len() <= MOST, "{taken}");
            assert_eq!((series.end - series.origin).0 % series.interval.0, 0, "{taken}");
        }
        assert_eq!(series.interval, FINE * 100);
        let waits: u64 = series.rows.iter().map(|r| r.stalled[Stall::Link as usize].0).sum();
        assert_eq!(waits, 4 * steps);
        let of_first: Vec<_> = series.rows.iter().filter(|r| r.drive == 1).collect();
        assert!(of_first.windows(2).all(|w| w[0].start < w[1].start), "each interval once");
        assert_eq!(of_first.last().expect("rows").free_blocks, steps);
    }
}
