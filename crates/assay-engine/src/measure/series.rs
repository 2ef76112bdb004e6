//! Counts the completions of a measured phase over time, in intervals of 0.1 s and of 1 s.

use crate::error::{Error, Result};
use assay_fs::{Directory, Draft, Replace};
use assay_spec::record::SeriesRecord;
use assay_spec::{Bytes, Nanos};
use parquet::data_type::Int64Type;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::ffi::OsStr;
use std::fs::File;
use std::sync::Arc;

/// The length of an interval of the fine series, unless it would have too many of them.
pub const FINE: Nanos = Nanos::from_millis(100);
/// The number of intervals that become one, in the coarse series or when there are too many.
pub(super) const COARSE: usize = 10;
/// The most intervals of a fine series: 29 hours of them. A longer phase has longer intervals.
const LONGEST: usize = 1 << 20;

/// The completions of a phase, counted by interval.
#[derive(Debug, Default)]
pub struct Series {
    fine: SeriesRecord,
    /// The end of the last interval; completions come nearly in order, so most fall into it.
    end: Nanos,
}

impl Series {
    /// Creates an empty series.
    pub fn new() -> Series {
        Series { fine: SeriesRecord { interval: FINE, ..Default::default() }, end: Nanos::ZERO }
    }

    /// Counts a completion at `at`, a time since the start of the phase.
    #[inline]
    pub fn record(&mut self, at: Nanos, length: Bytes, latency: Nanos) {
        while at >= self.end {
            self.lengthen();
        }
        let interval = self.fine.interval;
        let last = self.fine.requests.len() - 1;
        let index = if at >= self.end - interval { last } else { (at.0 / interval.0) as usize };
        self.fine.requests[index] += 1;
        self.fine.bytes[index] += length.0;
        self.fine.latency_sum_ns[index] += latency.0;
        let max = &mut self.fine.latency_max_ns[index];
        *max = latency.0.max(*max);
    }

    /// Adds an interval. If there are too many, first merges every ten of them into one.
    fn lengthen(&mut self) {
        if self.fine.requests.len() >= LONGEST {
            self.fine = merged(&self.fine);
        }
        for column in [
            &mut self.fine.requests,
            &mut self.fine.bytes,
            &mut self.fine.latency_sum_ns,
            &mut self.fine.latency_max_ns,
        ] {
            column.push(0);
        }
        let elements = self.fine.requests.len() as u64;
        self.end = Nanos(self.fine.interval.0.saturating_mul(elements));
    }

    /// Returns the series in intervals of a second, or as it is if its intervals are longer than
    /// [`FINE`].
    pub fn coarse(&self) -> SeriesRecord {
        if self.fine.interval > FINE { self.fine.clone() } else { merged(&self.fine) }
    }

    /// Returns the fine series.
    pub fn into_record(self) -> SeriesRecord {
        self.fine
    }
}

/// Returns the series with every [`COARSE`] intervals merged into one.
fn merged(series: &SeriesRecord) -> SeriesRecord {
    let sum = |v: &[u64]| v.chunks(COARSE).map(|c| c.iter().sum()).collect::<Vec<u64>>();
    let max = |c: &[u64]| c.iter().copied().max().unwrap_or(0);
    SeriesRecord {
        interval: series.interval * COARSE as u64,
        requests: sum(&series.requests),
        bytes: sum(&series.bytes),
        latency_sum_ns: sum(&series.latency_sum_ns),
        latency_max_ns: series.latency_max_ns.chunks(COARSE).map(max).collect(),
    }
}

/// Writes a series as Parquet to `name` in `directory`; the file appears when it is complete.
pub fn write_series(directory: &Directory, name: &str, series: &SeriesRecord) -> Result<()> {
    let starts = (0..series.requests.len() as u64).map(|i| i * series.interval.0).collect();
    let columns = [
        ("start_ns", starts),
        ("requests", series.requests.clone()),
        ("bytes", series.bytes.clone()),
        ("latency_sum_ns", series.latency_sum_ns.clone()),
        ("latency_max_ns", series.latency_max_ns.clone()),
    ];
    write_columns(directory, name, &columns)
}

/// Writes columns of equal length as Parquet; the file appears when it is complete.
pub(super) fn write_columns(
    directory: &Directory,
    name: &str,
    columns: &[(&str, Vec<u64>)],
) -> Result<()> {
    let failed = |e: std::io::Error| {
        Error::environment(
            "series-not-written",
            format!("the series {} cannot be written", directory.named(name).display()),
            "free space or choose another place with `--out DIR`",
        )
        .caused_by(e)
    };
    let (draft, file) = Draft::begin(directory, OsStr::new(name)).map_err(failed)?;
    let write = || -> parquet::errors::Result<File> {
        let fields = columns.iter().map(|(name, _)| format!("required int64 {name};"));
        let schema = format!("message interval {{ {} }}", fields.collect::<String>());
        let schema = Arc::new(parse_message_type(&schema)?);
        let mut writer = SerializedFileWriter::new(file, schema, Arc::default())?;
        let mut group = writer.next_row_group()?;
        for (_, values) in columns {
            let values: Vec<i64> = values.iter().map(|v| *v as i64).collect();
            let mut column = group.next_column()?.expect("the schema has the column");
            column.typed::<Int64Type>().write_batch(&values, None, None)?;
            column.close()?;
        }
        group.close()?;
        writer.into_inner()
    };
    let file = write().map_err(|e| failed(std::io::Error::other(e)))?;
    draft.publish(&file, Replace::Nothing).map(drop).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_fall_into_their_interval_even_out_of_order() {
        let mut s = Series::new();
        for at in [0, 99_999_999, 100_000_000, 1_250_000_000, 50] {
            s.record(Nanos(at), Bytes(10), Nanos(at / 2));
        }
        let coarse = s.coarse();
        let fine = s.into_record();
        assert_eq!(fine.requests[..2], [3, 1]);
        assert_eq!(fine.requests.len(), 13);
        assert_eq!(coarse.requests, [4, 1]);
        assert_eq!(coarse.bytes, [40, 10]);
        assert_eq!(coarse.latency_max_ns, [50_000_000, 625_000_000]);
    }
}
