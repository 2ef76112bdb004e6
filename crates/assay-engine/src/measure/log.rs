//! The per-request log: Parquet, streamed by a thread of its own in bounded memory.
//!
//! The measuring thread fills chunks and hands them over; the writer encodes a chunk as a row group
//! and gives it back to be filled again. With every chunk out, the measuring thread waits rather
//! than lose a row: back-pressure shows as a pause in the log, never as a gap. Rows are in order of
//! completion. Columns: `docs/run-directory.md`. The file appears under its name only when it is
//! whole.

use super::Sample;
use crate::error::{Error, Result};
use crate::run::publish;
use assay_spec::{Bytes, Nanos, Op};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{Int32Type, Int64Type};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Rows of a chunk, and so of a row group.
const CHUNK_ROWS: usize = 1 << 17;
/// Chunks there are: one being filled, the others on their way.
const CHUNKS: usize = 3;

const SCHEMA: &str = "message request {
    required int64 submit_ns;
    required int64 complete_ns;
    required int64 offset;
    required int32 length;
    required int32 op;
    required int32 job;
    required int32 error;
}";

type Chunk = Vec<Sample>;

/// Writes a log beside the measurement.
pub struct LogWriter {
    chunk: Chunk,
    full: SyncSender<Chunk>,
    empty: Receiver<Chunk>,
    writer: JoinHandle<parquet::errors::Result<File>>,
    partial: PathBuf,
    path: PathBuf,
}

impl LogWriter {
    /// Begins a log that will appear at `path`.
    pub fn create(path: &Path) -> Result<LogWriter> {
        let partial = path.with_extension("parquet.partial");
        let file = File::create(&partial).map_err(|e| failed(&partial).caused_by(e))?;
        let (full, to_write) = sync_channel::<Chunk>(CHUNKS);
        let (give_back, empty) = sync_channel::<Chunk>(CHUNKS);
        for _ in 1..CHUNKS {
            give_back.send(Vec::with_capacity(CHUNK_ROWS)).expect("the receiver is here");
        }
        let writer = std::thread::Builder::new().name("log".into()).spawn(move || {
            let mut encoder = Encoder::new(file)?;
            for mut chunk in to_write {
                encoder.write(&chunk)?;
                chunk.clear();
                // The measuring side may be gone already; then nobody needs the chunk.
                let _ = give_back.send(chunk);
            }
            encoder.close()
        });
        let writer = writer.map_err(|e| failed(&partial).caused_by(e))?;
        let chunk = Vec::with_capacity(CHUNK_ROWS);
        Ok(LogWriter { chunk, full, empty, writer, partial, path: path.to_owned() })
    }

    /// Adds a row.
    #[inline]
    pub fn push(&mut self, sample: Sample) {
        self.chunk.push(sample);
        if self.chunk.len() == CHUNK_ROWS {
            self.hand_over();
        }
    }

    #[cold]
    fn hand_over(&mut self) {
        // If the writer has failed, rows go nowhere and `finish` tells why.
        let next = self.empty.recv().unwrap_or_default();
        let chunk = std::mem::replace(&mut self.chunk, next);
        let _ = self.full.send(chunk);
    }

    /// Writes what is left and gives the file its name.
    pub fn finish(mut self) -> Result<()> {
        if !self.chunk.is_empty() {
            let _ = self.full.send(std::mem::take(&mut self.chunk));
        }
        drop(self.full);
        let written = self.writer.join().expect("the log writer does not panic");
        let file =
            written.map_err(|e| failed(&self.partial).caused_by(std::io::Error::other(e)))?;
        publish(&file, &self.partial, &self.path).map_err(|e| failed(&self.path).caused_by(e))
    }
}

fn failed(path: &Path) -> Error {
    Error::environment(
        "log-not-written",
        format!("the request log {} cannot be written", path.display()),
        "free space or choose another place with `--out DIR`; `log = false` goes without a log",
    )
}

/// Encodes chunks as row groups.
struct Encoder {
    file: SerializedFileWriter<File>,
    wide: Vec<i64>,
    narrow: Vec<i32>,
}

impl Encoder {
    fn new(file: File) -> parquet::errors::Result<Encoder> {
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let mut properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_dictionary_enabled(true);
        // Times grow by little: deltas. Offsets are multiples of a block: split by byte, the zero
        // bytes vanish and no dictionary of a million places is built.
        for (column, encoding) in [
            ("submit_ns", Encoding::DELTA_BINARY_PACKED),
            ("complete_ns", Encoding::DELTA_BINARY_PACKED),
            ("offset", Encoding::BYTE_STREAM_SPLIT),
        ] {
            properties = properties
                .set_column_dictionary_enabled(ColumnPath::from(column), false)
                .set_column_encoding(ColumnPath::from(column), encoding);
        }
        let file = SerializedFileWriter::new(file, schema, Arc::new(properties.build()))?;
        Ok(Encoder { file, wide: Vec::new(), narrow: Vec::new() })
    }

    fn write(&mut self, chunk: &[Sample]) -> parquet::errors::Result<()> {
        let mut group = self.file.next_row_group()?;
        for get in
            [(|s: &Sample| s.submit.0) as fn(&Sample) -> u64, |s| s.complete.0, |s| s.offset.0]
        {
            self.wide.clear();
            self.wide.extend(chunk.iter().map(|s| get(s) as i64));
            wide_column(&mut group, &self.wide)?;
        }
        for get in [
            (|s: &Sample| s.length.0 as i32) as fn(&Sample) -> i32,
            |s| s.op as i32,
            |s| s.job as i32,
            |s| s.error,
        ] {
            self.narrow.clear();
            self.narrow.extend(chunk.iter().map(get));
            narrow_column(&mut group, &self.narrow)?;
        }
        group.close()?;
        Ok(())
    }

    fn close(self) -> parquet::errors::Result<File> {
        self.file.into_inner()
    }
}

fn wide_column(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[i64],
) -> parquet::errors::Result<()> {
    let mut column = group.next_column()?.expect("the schema has the column");
    column.typed::<Int64Type>().write_batch(values, None, None)?;
    column.close()
}

fn narrow_column(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[i32],
) -> parquet::errors::Result<()> {
    let mut column = group.next_column()?.expect("the schema has the column");
    column.typed::<Int32Type>().write_batch(values, None, None)?;
    column.close()
}

/// Reads a log back, for tests and tools; memory is that of the rows.
pub fn read(path: &Path) -> Result<Vec<Sample>> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    let broken = |e: parquet::errors::ParquetError| {
        Error::environment("log-unreadable", format!("{}: {e}", path.display()), "run it again")
    };
    let file = File::open(path).map_err(|e| failed(path).caused_by(e))?;
    let reader = SerializedFileReader::new(file).map_err(broken)?;
    let sample = |row: parquet::errors::Result<parquet::record::Row>| {
        let row = row?;
        Ok(Sample {
            submit: Nanos(row.get_long(0)? as u64),
            complete: Nanos(row.get_long(1)? as u64),
            offset: Bytes(row.get_long(2)? as u64),
            length: Bytes(row.get_int(3)? as u64),
            op: Op::ALL[(row.get_int(4)? as usize).min(3)],
            job: row.get_int(5)? as u32,
            error: row.get_int(6)?,
        })
    };
    let rows = reader.get_row_iter(None).map_err(broken)?;
    rows.map(sample).collect::<parquet::errors::Result<Vec<Sample>>>().map_err(broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_in_bounded_size() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("log.parquet");
        let mut log = LogWriter::create(&path).expect("created");
        let sample = |i: u64| Sample {
            submit: Nanos(i * 60),
            complete: Nanos(i * 60 + assay_spec::seed::mix(i) % 500),
            offset: Bytes(assay_spec::seed::mix(i) % 262_144 * 4096),
            length: Bytes(4096),
            op: if i.is_multiple_of(3) { Op::Write } else { Op::Read },
            job: (i % 32) as u32,
            error: 0,
        };
        let rows = CHUNK_ROWS as u64 * 2 + 17;
        (0..rows).for_each(|i| log.push(sample(i)));
        assert!(!path.exists(), "a log appears when it is whole");
        log.finish().expect("written");
        let read = read(&path).expect("read");
        assert_eq!(read.len() as u64, rows);
        assert!(read.iter().enumerate().all(|(i, s)| *s == sample(i as u64)));
        let size = path.metadata().expect("there").len();
        assert!(size <= rows * 16, "{} bytes a row", size as f64 / rows as f64);
    }
}
