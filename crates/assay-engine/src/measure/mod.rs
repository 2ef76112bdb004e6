//! Measuring: histogram, series, and the per-request log.

pub mod drive_series;
pub mod log;
pub mod series;

mod first;

use assay_spec::record::{FirstRecord, OpRecord, SeriesRecord};
use assay_spec::{Bytes, Histogram, Nanos, Op};
use first::First;
use log::LogWriter;
use series::Series;

/// One finished request as it is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Submission, or the intended arrival in an open loop, from the start of the measured phase.
    pub submit: Nanos,
    /// Completion, likewise.
    pub complete: Nanos,
    /// First byte.
    pub offset: Bytes,
    /// How many bytes.
    pub length: Bytes,
    /// Which way.
    pub op: Op,
    /// Which job; 0 in an open loop, which is one process of arrivals.
    pub job: u32,
    /// 0 or errno.
    pub error: i32,
}

/// Records the requests of a measured phase.
pub struct Recorder {
    ops: [OpStat; Op::ALL.len()],
    series: Series,
    first: First,
    log: Option<LogWriter>,
}

#[derive(Default)]
struct OpStat {
    bytes: u64,
    errors: u64,
    latency: Histogram,
    /// The longest that one took which was in flight at the end.
    late: Nanos,
}

impl Recorder {
    /// A recorder, with a log if one is given.
    pub fn new(log: Option<LogWriter>) -> Recorder {
        Recorder { ops: Default::default(), series: Series::new(), first: First::default(), log }
    }

    /// The same, and it keeps the latencies of the first `count` requests one by one.
    #[must_use]
    pub fn keeping(self, count: u32) -> Recorder {
        Recorder { first: First::new(count), ..self }
    }

    /// Takes one request, the `number`-th that was submitted, from 0.
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

    /// Takes a request that was in flight when the phase was over: it is not counted, but what it
    /// took is the longest latency if no other took longer.
    pub fn record_late(&mut self, sample: Sample) {
        let op = &mut self.ops[sample.op as usize];
        op.late = op.late.max(sample.complete - sample.submit);
    }

    /// Whether the log has failed: [`Recorder::finish`] says why.
    #[inline]
    pub fn is_broken(&self) -> bool {
        self.log.as_ref().is_some_and(LogWriter::is_broken)
    }

    /// Everything recorded: by kind of request, over time at 1 s, and the fine series.
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

/// What a measured phase gave.
#[derive(Debug)]
pub struct Recorded {
    /// By kind of request.
    pub ops: Vec<OpRecord>,
    /// Second by second.
    pub seconds: SeriesRecord,
    /// Tenth by tenth of a second.
    pub fine: SeriesRecord,
    /// The first requests one by one, if they were to be kept.
    pub first: Option<FirstRecord>,
}
