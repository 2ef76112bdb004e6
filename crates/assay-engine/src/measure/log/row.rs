//! Rows of logs, and their conversion to columns.

use crate::measure::sample::Sample;
use assay_spec::Nanos;
use assay_spec::trace::TraceRow;
use parquet::data_type::{Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::writer::SerializedRowGroupWriter;
use std::fs::File;

/// A row of a log.
pub trait Row: Copy + Send + 'static {
    /// The schema of its columns.
    const SCHEMA: &'static str;

    /// Writes the columns of `rows`, in the order of the schema.
    ///
    /// # Errors
    /// If they cannot be written.
    fn encode(rows: &[Self], columns: &mut Columns<'_>) -> Result<()>;
}

/// Buffers for columns, reused for every row group.
#[derive(Default)]
pub struct Room {
    wide: Vec<i64>,
    narrow: Vec<i32>,
    levels: Vec<i16>,
}

/// The columns of a row group, written one after the other.
pub struct Columns<'a> {
    group: SerializedRowGroupWriter<'a, File>,
    room: &'a mut Room,
}

impl<'a> Columns<'a> {
    /// Begins the columns of a row group.
    pub fn of(group: SerializedRowGroupWriter<'a, File>, room: &'a mut Room) -> Columns<'a> {
        Columns { group, room }
    }

    /// Writes a column of 64-bit numbers.
    fn wide<R>(&mut self, rows: &[R], get: impl Fn(&R) -> u64) -> Result<()> {
        self.room.wide.clear();
        self.room.wide.extend(rows.iter().map(|row| get(row) as i64));
        let mut column = self.group.next_column()?.expect("the schema has the column");
        column.typed::<Int64Type>().write_batch(&self.room.wide, None, None)?;
        column.close()
    }

    /// Writes a column of times. Unknown ones, [`Nanos::NEVER`], are null.
    fn time<R>(&mut self, rows: &[R], get: impl Fn(&R) -> Nanos) -> Result<()> {
        let Room { wide, levels, .. } = &mut *self.room;
        levels.clear();
        levels.extend(rows.iter().map(|row| i16::from(get(row) != Nanos::NEVER)));
        wide.clear();
        let known = rows.iter().map(get).filter(|time| *time != Nanos::NEVER);
        wide.extend(known.map(|time| time.0 as i64));
        let mut column = self.group.next_column()?.expect("the schema has the column");
        column.typed::<Int64Type>().write_batch(wide, Some(levels), None)?;
        column.close()
    }

    /// Writes a column of 32-bit numbers.
    fn narrow<R>(&mut self, rows: &[R], get: impl Fn(&R) -> i32) -> Result<()> {
        self.room.narrow.clear();
        self.room.narrow.extend(rows.iter().map(get));
        let mut column = self.group.next_column()?.expect("the schema has the column");
        column.typed::<Int32Type>().write_batch(&self.room.narrow, None, None)?;
        column.close()
    }

    /// Ends the row group.
    pub fn close(self) -> Result<()> {
        self.group.close().map(drop)
    }
}

impl Row for Sample {
    const SCHEMA: &'static str = "message request {
        required int64 submit_ns;
        required int64 complete_ns;
        required int64 offset;
        required int32 length;
        required int32 op;
        required int32 job;
        required int32 error;
    }";

    fn encode(rows: &[Sample], columns: &mut Columns<'_>) -> Result<()> {
        columns.wide(rows, |s| s.submit.0)?;
        columns.wide(rows, |s| s.complete.0)?;
        columns.wide(rows, |s| s.offset.0)?;
        columns.narrow(rows, |s| s.length.0 as i32)?;
        columns.narrow(rows, |s| s.op as i32)?;
        columns.narrow(rows, |s| s.job as i32)?;
        columns.narrow(rows, |s| s.error)
    }
}

impl Row for TraceRow {
    // A discard in a trace may be longer than 31 bits can express.
    const SCHEMA: &'static str = "message request {
        required int64 submit_ns;
        required int64 complete_ns;
        required int64 offset;
        required int32 length (INTEGER(32,false));
        required int32 op;
        required int32 job;
        required int32 error;
        optional int64 queue_ns;
        optional int64 insert_ns;
        optional int64 dispatch_ns;
    }";

    fn encode(rows: &[TraceRow], columns: &mut Columns<'_>) -> Result<()> {
        columns.wide(rows, |r| r.submit.0)?;
        columns.wide(rows, |r| r.complete.0)?;
        columns.wide(rows, |r| r.offset.0)?;
        columns.narrow(rows, |r| r.length.0 as u32 as i32)?;
        columns.narrow(rows, |r| r.op as i32)?;
        columns.narrow(rows, |r| r.job as i32)?;
        columns.narrow(rows, |r| r.error)?;
        columns.time(rows, |r| r.queue)?;
        columns.time(rows, |r| r.insert)?;
        columns.time(rows, |r| r.dispatch)
    }
}
