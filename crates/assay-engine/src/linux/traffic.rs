//! Counts and logs the requests to the drives of a guest.

use crate::error::Result;
use crate::measure::log::LogWriter;
use crate::measure::sample::Sample;
use assay_linux::disks::Traced;
use assay_spec::{Nanos, Op};

/// The kinds of work that the drives can be busy with, in the order in which one hides the next: a
/// program waits for a flush or a read, while writes go on behind it.
const BUSY_WITH: [&str; 3] = ["flush", "read", "write"];

/// The requests that the drives got while they were watched, by kind; `time` is in ns.
pub(super) struct DriveTraffic {
    /// The times in which a request of the first kind of [`BUSY_WITH`] was in flight, of the first
    /// two, of all.
    busy: [Spans; BUSY_WITH.len()],
    count: [u64; Op::ALL.len()],
    bytes: [u64; Op::ALL.len()],
    time: [u64; Op::ALL.len()],
    log: Option<LogWriter>,
}

impl DriveTraffic {
    /// Creates counts of zero, which also write `log`, if there is one.
    pub(super) fn new(log: Option<LogWriter>) -> DriveTraffic {
        let zero = [0; Op::ALL.len()];
        let busy = Default::default();
        DriveTraffic { busy, count: zero, bytes: zero, time: zero, log }
    }

    /// Counts and logs a request.
    pub(super) fn take(&mut self, traced: &Traced) {
        let op = traced.op as usize;
        self.count[op] += 1;
        self.bytes[op] += traced.length.0;
        self.time[op] += (traced.complete - traced.submit).0;
        let kind = match traced.op {
            Op::Flush => 0,
            Op::Read => 1,
            Op::Write | Op::Trim => 2,
        };
        for spans in &mut self.busy[kind..] {
            spans.add(traced.submit, traced.complete);
        }
        if let Some(log) = &mut self.log {
            let Traced { disk, op, offset, length, submit, complete, error } = *traced;
            let job = disk as u32;
            log.push(Sample { submit, complete, offset, length, op, job, error });
        }
    }

    /// Ends the log; returns counts, bytes and mean times in ns: (name, value).
    pub(super) fn finish(self) -> Result<Vec<(String, f64)>> {
        if let Some(log) = self.log {
            log.finish()?;
        }
        let mut told = Vec::new();
        let names = ["drive_reads", "drive_writes", "drive_trims", "drive_flushes"];
        for (op, name) in Op::ALL.into_iter().zip(names) {
            let count = self.count[op as usize];
            told.push((name.to_owned(), count as f64));
            if matches!(op, Op::Read | Op::Write) {
                let name = op.name();
                told.push((format!("drive_{name}_bytes"), self.bytes[op as usize] as f64));
                if count > 0 {
                    let mean = self.time[op as usize] as f64 / count as f64;
                    told.push((format!("drive_{name}_time"), mean));
                }
            }
        }
        let (reads, writes) = (Op::Read as usize, Op::Write as usize);
        let count = self.count[reads] + self.count[writes];
        if count > 0 {
            let time = self.time[reads] + self.time[writes];
            told.push(("drive_time".to_owned(), time as f64 / count as f64));
        }
        let mut hidden = Nanos::ZERO;
        for (spans, kind) in self.busy.into_iter().zip(BUSY_WITH) {
            let busy = spans.length();
            told.push((format!("drive_{kind}_busy_s"), busy.saturating_sub(hidden).as_secs_f64()));
            hidden = busy;
        }
        Ok(told)
    }
}

/// A set of points in time: the union of spans that are added in the order of their ends.
#[derive(Debug, Default)]
struct Spans {
    /// Spans apart from each other, in order.
    apart: Vec<(Nanos, Nanos)>,
    /// The length of earlier ones.
    before: Nanos,
    /// The end of the last of these.
    counted: Nanos,
}

impl Spans {
    /// The most spans that are kept apart.
    const KEPT: usize = 1 << 16;

    fn add(&mut self, start: Nanos, mut end: Nanos) {
        // What is only a sum is not counted again.
        let mut start = start.max(self.counted);
        while let Some(last) = self.apart.pop_if(|last| last.1 >= start) {
            start = start.min(last.0);
            end = end.max(last.1);
        }
        self.apart.push((start, end));
        if self.apart.len() > Spans::KEPT {
            let old = self.apart.drain(..Spans::KEPT / 2);
            let old: Vec<(Nanos, Nanos)> = old.collect();
            self.counted = old.last().map_or(self.counted, |last| last.1);
            self.before += length(old.into_iter());
        }
    }

    fn length(&self) -> Nanos {
        self.before + length(self.apart.iter().copied())
    }
}

/// Returns the sum of the lengths of spans.
fn length(spans: impl Iterator<Item = (Nanos, Nanos)>) -> Nanos {
    Nanos(spans.map(|(start, end)| (end - start).0).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::Bytes;

    fn busy_with(requests: &[(Op, u64, u64)]) -> Vec<f64> {
        let mut traffic = DriveTraffic::new(None);
        for (op, submit, complete) in requests {
            let (submit, complete) = (Nanos::from_secs(*submit), Nanos::from_secs(*complete));
            let (offset, length) = (Bytes::ZERO, Bytes::ZERO);
            let op = *op;
            traffic.take(&Traced { disk: 0, op, offset, length, submit, complete, error: 0 });
        }
        let told = traffic.finish().unwrap();
        let busy = told.into_iter().filter(|(name, _)| name.ends_with("_busy_s"));
        busy.map(|(_, seconds)| seconds).collect()
    }

    #[test]
    fn a_second_counts_once_and_for_what_a_program_waits_for() {
        use Op::{Flush, Read, Write};
        assert_eq!(busy_with(&[]), [0.0, 0.0, 0.0]);
        assert_eq!(busy_with(&[(Write, 1, 2), (Write, 5, 6), (Write, 0, 8)]), [0.0, 0.0, 8.0]);
        let requests = [(Write, 0, 4), (Read, 3, 6), (Flush, 5, 7), (Write, 9, 10)];
        assert_eq!(busy_with(&requests), [2.0, 2.0, 4.0]);
    }

    #[test]
    fn old_spans_are_only_a_sum() {
        let count = 2 * Spans::KEPT as u64;
        let requests: Vec<_> = (0..count).map(|i| (Op::Read, 2 * i, 2 * i + 1)).collect();
        assert_eq!(busy_with(&requests)[1], count as f64);
    }
}
