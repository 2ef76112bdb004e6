//! Reads logs back, column by column. This takes the memory of the rows, and a file may have no
//! more rows than its length allows.

use super::decoded::{Decoded, in_words};
use super::pages::{self, Pages};
use super::values::{Number, values};
use crate::available::available_memory;
use crate::error::{Error, Result};
use crate::read::{self, Unread};
use assay_spec::trace::TraceRow;
use assay_spec::{Bytes, Nanos, Op};
use parquet::basic::Type;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::SchemaDescriptor;
use std::fs::File;
use std::path::Path;

/// Columns that every log has.
const REQUIRED: [&str; 7] = ["submit_ns", "complete_ns", "offset", "length", "op", "job", "error"];
/// Columns that the log of a trace has in addition.
const OPTIONAL: [&str; 3] = ["queue_ns", "insert_ns", "dispatch_ns"];

/// The number of rows that a file may have beyond [`ROWS_PER_BYTE`]. A byte can encode any number
/// of equal values, but a row group has a header.
const ROWS_FREE: u64 = 1 << 20;
/// The number of rows that a file may have for each of its bytes. The most regular requests take
/// 1/38 of a byte each.
const ROWS_PER_BYTE: u64 = 64;
/// The memory of a row in bytes: of itself, and of its columns while they are decoded.
const ROW: u64 = size_of::<TraceRow>() as u64 + 10 * 8;

/// A request log.
#[derive(Debug)]
pub struct Log {
    /// Its requests, in the order in which they ended.
    pub rows: Vec<TraceRow>,
    /// Whether it has the times when requests were queued and dispatched: then it is a trace of a
    /// single device.
    pub is_trace: bool,
}

/// Reads the log of a run or of a trace.
///
/// # Errors
/// If it cannot be read or is not a log.
pub fn read(path: &Path) -> Result<Log> {
    let unreadable = |e: Unread| {
        let text = format!("{} cannot be read", path.display());
        let hint = e.hint("check that the file exists, and its permissions");
        Error::environment("log-unreadable", text, hint).caused_by(e.error)
    };
    let file = read::file(path).map_err(unreadable)?;
    let twin = file.try_clone().map_err(|e| unreadable(e.into()))?;
    let length = file.metadata().map_or(0, |found| found.len());
    columns(file, &twin, length).map_err(|what| {
        Error::usage(
            "log-unreadable",
            format!("{} is not a request log: {what}", path.display()),
            "name a log in `log/` of a run directory; read a block trace with `assay trace import`",
        )
    })
}

/// Reads the log in a file of `length` bytes, if it claims no more than such a file can hold.
/// `twin` is another descriptor of the file.
fn columns(file: File, twin: &File, length: u64) -> Decoded<Log> {
    pages::footer(&file, length)?;
    let reader = SerializedFileReader::new(file).map_err(in_words)?;
    let groups = reader.metadata().row_groups().iter();
    let rows = groups.map(|group| u64::try_from(group.num_rows()).unwrap_or(u64::MAX));
    let claimed = rows.fold(0, u64::saturating_add);
    if claimed > ROWS_FREE.saturating_add(length.saturating_mul(ROWS_PER_BYTE)) {
        return Err(format!("it claims {claimed} requests, more than a file of its length holds"));
    }
    if claimed > ROWS_FREE && claimed.saturating_mul(ROW) > available_memory().0 / 2 {
        return Err(format!("it claims {claimed} requests, for which there is too little memory"));
    }
    let schema = reader.metadata().file_metadata().schema_descr();
    let needed = REQUIRED.map(|name| place(schema, name).ok_or(format!("it has no column {name}")));
    let mut required = [0; REQUIRED.len()];
    for (place, needed) in required.iter_mut().zip(needed) {
        *place = needed?;
    }
    let optional = OPTIONAL.map(|name| place(schema, name));
    let used: Vec<usize> = required.into_iter().chain(optional.into_iter().flatten()).collect();
    let mut pages = Pages::of(twin, length, claimed, used.len() as u64);
    let mut rows = Vec::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(in_words)?;
        pages.check(group.metadata(), &used)?;
        self::rows(group.as_ref(), required, optional, &mut rows)?;
    }
    Ok(Log { rows, is_trace: optional.iter().all(Option::is_some) })
}

/// Returns the index of the column with this name.
fn place(schema: &SchemaDescriptor, name: &str) -> Option<usize> {
    let flat = |c: &parquet::schema::types::ColumnDescPtr| {
        c.name() == name && c.max_rep_level() == 0 && c.max_def_level() <= 1
    };
    schema.columns().iter().position(flat)
}

/// Reads the rows of a row group into `rows`, from the columns at these indices.
fn rows(
    group: &dyn RowGroupReader,
    required: [usize; REQUIRED.len()],
    optional: [Option<usize>; OPTIONAL.len()],
    rows: &mut Vec<TraceRow>,
) -> Decoded<()> {
    let count = usize::try_from(group.metadata().num_rows()).map_err(|e| e.to_string())?;
    let wide = |place| wide(group, place, count);
    let narrow = |place| narrow(group, place, count);
    let [submit, complete, offset, length, op, job, error] = required;
    let (submit, complete, offset) = (wide(submit)?, wide(complete)?, wide(offset)?);
    let (length, op) = (narrow(length)?, narrow(op)?);
    let (job, error) = (narrow(job)?, narrow(error)?);
    let mut times = Vec::new();
    for place in optional {
        times.push(place.map(wide).transpose()?);
    }
    rows.reserve(count);
    for i in 0..count {
        let missing = || "a column has a null value where none is allowed".to_owned();
        let positive = |value: Option<i64>| {
            let value = value.ok_or_else(missing)?;
            u64::try_from(value)
                .map_err(|_| format!("{value} is neither a valid time nor a valid offset"))
        };
        let time = |column: &Option<Vec<Option<i64>>>| match column.as_ref().and_then(|c| c[i]) {
            Some(value) => positive(Some(value)).map(Nanos),
            None => Ok(Nanos::NEVER),
        };
        let op = op[i].ok_or_else(missing)?;
        let known = usize::try_from(op).ok().and_then(|op| Op::ALL.get(op));
        let row = TraceRow {
            submit: Nanos(positive(submit[i])?),
            complete: Nanos(positive(complete[i])?),
            queue: time(&times[0])?,
            insert: time(&times[1])?,
            dispatch: time(&times[2])?,
            offset: Bytes(positive(offset[i])?),
            length: Bytes(u64::from(length[i].ok_or_else(missing)? as u32)),
            op: *known.ok_or_else(|| format!("{op} is not a kind of request"))?,
            job: job[i].ok_or_else(missing)? as u32,
            error: error[i].ok_or_else(missing)?,
        };
        if row.complete < row.submit {
            return Err(format!("request {} ends before it begins", rows.len() + 1));
        }
        rows.push(row);
    }
    Ok(())
}

fn wide(group: &dyn RowGroupReader, place: usize, count: usize) -> Decoded<Vec<Option<i64>>> {
    numbers(group, place, count, Type::INT64, "a column does not have values of 64 bits")
}

fn narrow(group: &dyn RowGroupReader, place: usize, count: usize) -> Decoded<Vec<Option<i32>>> {
    numbers(group, place, count, Type::INT32, "a column does not have values of 32 bits")
}

fn numbers<T: Number>(
    group: &dyn RowGroupReader,
    place: usize,
    count: usize,
    kind: Type,
    otherwise: &str,
) -> Decoded<Vec<Option<T>>> {
    let column = group.metadata().column(place);
    if column.column_type() != kind {
        return Err(otherwise.to_owned());
    }
    let has_nulls = column.column_descr().max_def_level() > 0;
    values(group.get_column_page_reader(place).map_err(in_words)?, count, has_nulls)
}
