//! Counts and logs the requests to the drives of a guest.

use crate::error::Result;
use crate::measure::log::LogWriter;
use crate::measure::sample::Sample;
use assay_linux::disks::Traced;
use assay_spec::Op;

/// The requests that the drives got while they were watched, by kind; `time` is in ns.
pub(super) struct DriveTraffic {
    count: [u64; Op::ALL.len()],
    bytes: [u64; Op::ALL.len()],
    time: [u64; Op::ALL.len()],
    log: Option<LogWriter>,
}

impl DriveTraffic {
    /// Creates counts of zero, which also write `log`, if there is one.
    pub(super) fn new(log: Option<LogWriter>) -> DriveTraffic {
        let zero = [0; Op::ALL.len()];
        DriveTraffic { count: zero, bytes: zero, time: zero, log }
    }

    /// Counts and logs a request.
    pub(super) fn take(&mut self, traced: &Traced) {
        let op = traced.op as usize;
        self.count[op] += 1;
        self.bytes[op] += traced.length.0;
        self.time[op] += (traced.complete - traced.submit).0;
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
        Ok(told)
    }
}
