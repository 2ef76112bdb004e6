//! Records what is measured: latency histograms, series over time, and the per-request log.

pub mod drive_series;
pub mod log;
pub mod sample;
pub mod series;

mod first;

use assay_spec::record::{FirstRecord, OpRecord, SeriesRecord};
use assay_spec::{Bytes, Histogram, Nanos, Op};
use first::First;
use log::LogWriter;
use sample::Sample;
use series::Series;

/// A recorder of the requests of a measured phase.
pub struct Recorder {
    ops: [OpStat; Op::ALL.len()],
    series: Series,
    first: First,
    log: Option<LogWriter>,
}

/// The counts of one kind of request.
#[derive(Default)]
struct OpStat {
    bytes: u64,
    errors: u64,
    latency: Histogram,
    /// The longest latency of requests that were in flight when the phase ended.
    late: Nanos,
}

impl Recorder {
    /// Creates a recorder that also writes `log`, if there is one.
    pub fn new(log: Option<LogWriter>) -> Recorder {
        Recorder { ops: Default::default(), series: Series::new(), first: First::default(), log }
    }

    /// Returns the recorder, which now keeps the latencies of the first `count` requests one by
    /// one.
    #[must_use]
    pub fn keeping(self, count: u32) -> Recorder {
        Recorder { first: First::new(count), ..self }
    }

    /// Records a request: the `number`-th that was submitted, from 0.
    #[inline]
    pub fn record(&mut self, number: u64, sample: Sample) {
        let op = &mut self.ops[sample.op as usize];
        let latency = sample.complete - sample.submit;
        if sample.error == 0 {
            op.bytes += sample.length.0;
            op.latency.record(latency);
            self.series.record(sample.complete, sample.length, latency);
            self.first.record(number, sample.op, latency);
        } else {
            op.errors += 1;
        }
        if let Some(log) = &mut self.log {
            log.push(sample);
        }
    }

    /// Records a request that was in flight when the phase ended. It is not counted, but its
    /// latency is reported if no counted request took longer.
    pub fn record_late(&mut self, sample: Sample) {
        let op = &mut self.ops[sample.op as usize];
        op.late = op.late.max(sample.complete - sample.submit);
    }

    /// Returns `true` if the log has failed. [`Recorder::finish`] then returns the error.
    #[inline]
    pub fn is_broken(&self) -> bool {
        self.log.as_ref().is_some_and(LogWriter::is_broken)
    }

    /// Ends the log and returns everything else that was recorded.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn finish(self) -> crate::Result<Recorded> {
        if let Some(log) = self.log {
            log.finish()?;
        }
        let record = |(op, stat): (Op, OpStat)| {
            let any = stat.latency.count() + stat.errors > 0;
            any.then(|| OpRecord {
                op,
                requests: stat.latency.count(),
                bytes: Bytes(stat.bytes),
                errors: stat.errors,
                late: Some(stat.late).filter(|late| stat.latency.max().is_some_and(|m| *late > m)),
                latency: stat.latency,
            })
        };
        let ops = Op::ALL.into_iter().zip(self.ops).filter_map(record).collect();
        Ok(Recorded {
            ops,
            seconds: self.series.coarse(),
            fine: self.series.into_record(),
            first: self.first.into_record(),
        })
    }
}

/// The results of a measured phase.
#[derive(Debug)]
pub struct Recorded {
    /// The results of each kind of request that occurred.
    pub ops: Vec<OpRecord>,
    /// The series with intervals of a second, or longer ones in a very long phase.
    pub seconds: SeriesRecord,
    /// The series with intervals of a tenth of a second, or longer ones in a very long phase.
    pub fine: SeriesRecord,
    /// The first requests one by one, if they are kept.
    pub first: Option<FirstRecord>,
}
