//! The per-request log: Parquet, streamed by a thread of its own in bounded memory.
//!
//! The measuring thread fills chunks and hands them over. The writer encodes a chunk as a row group
//! and gives it back to be filled again. If all chunks are with the writer, the measuring thread
//! waits for one: a slow disk makes a pause in the log, but no row is lost. Rows are in order of
//! completion. `docs/run-directory.md` describes the columns. The file appears under its name only
//! when it is complete.

mod decoded;
mod pages;
mod read;
mod row;
mod thrift;
mod values;

pub use read::{Log, read};
pub use row::{Columns, Row};

use super::sample::Sample;
use crate::error::{Error, Result};
use crate::guest::memory::touch_stack;
use assay_fs::{Directory, Draft, Replace};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use row::Room;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// The number of rows of a chunk, and so of a row group.
const CHUNK_ROWS: usize = 1 << 17;
/// The number of chunks: one is being filled, the others are full or being written.
const CHUNKS: usize = 3;

/// A log that a thread writes while requests are measured.
pub struct LogWriter<R = Sample> {
    /// The chunk that is being filled.
    chunk: Vec<R>,
    /// The channel for full chunks to the writer.
    full: SyncSender<Vec<R>>,
    /// The channel for written chunks from the writer.
    empty: Receiver<Vec<R>>,
    writer: JoinHandle<parquet::errors::Result<File>>,
    draft: Draft,
    path: PathBuf,
    is_broken: bool,
}

impl<R: Row> LogWriter<R> {
    /// Begins a log that will appear as `name` in `directory`.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn create(directory: &Directory, name: &str) -> Result<LogWriter<R>> {
        let path = directory.named(name);
        if directory.has(name) {
            // The log would not replace it at the end, after hours of measuring.
            let taken = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
            return Err(failed(&path).caused_by(taken));
        }
        let begun = Draft::begin(directory, OsStr::new(name));
        let (draft, file) = begun.map_err(|e| failed(&path).caused_by(e))?;
        let place = directory.try_clone().map_err(|e| failed(&path).caused_by(e))?;
        let (full, to_write) = sync_channel::<Vec<R>>(CHUNKS);
        let (give_back, empty) = sync_channel::<Vec<R>>(CHUNKS);
        for _ in 1..CHUNKS {
            give_back.send(Vec::with_capacity(CHUNK_ROWS)).expect("the receiver is here");
        }
        let writer = std::thread::Builder::new().name("log".into()).spawn(move || {
            touch_stack();
            let mut encoder = Encoder::new(file, R::SCHEMA)?;
            for mut chunk in to_write {
                place.check()?;
                encoder.write(&chunk)?;
                chunk.clear();
                // The measuring side may be gone already; then nobody needs the chunk.
                let _ = give_back.send(chunk);
            }
            encoder.close()
        });
        let writer = writer.map_err(|e| failed(&path).caused_by(e))?;
        let chunk = Vec::with_capacity(CHUNK_ROWS);
        Ok(LogWriter { chunk, full, empty, writer, draft, path, is_broken: false })
    }

    /// Adds a row.
    #[inline]
    pub fn push(&mut self, row: R) {
        self.chunk.push(row);
        if self.chunk.len() == CHUNK_ROWS {
            self.hand_over();
        }
    }

    /// Hands the full chunk to the writer, and takes an empty one. Waits for one if there is none.
    #[cold]
    fn hand_over(&mut self) {
        // If the writer has failed, rows are lost, and `finish` returns the error.
        let next = self.empty.recv().unwrap_or_default();
        let chunk = std::mem::replace(&mut self.chunk, next);
        self.is_broken |= self.full.send(chunk).is_err();
    }

    /// Returns `true` if the writer has failed, so that rows are lost: the disk is full, or the
    /// directory is gone.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Writes the rows that are left and gives the file its name.
    ///
    /// # Errors
    /// If the log could not be written, or its name is taken by now.
    pub fn finish(mut self) -> Result<()> {
        if !self.chunk.is_empty() {
            let _ = self.full.send(std::mem::take(&mut self.chunk));
        }
        drop(self.full);
        let written = self.writer.join().expect("the log writer does not panic");
        let file = written.map_err(|e| failed(&self.path).caused_by(std::io::Error::other(e)))?;
        let published = self.draft.publish(&file, Replace::Nothing);
        published.map(drop).map_err(|e| failed(&self.path).caused_by(e))
    }
}

/// Returns the error for a log that cannot be written.
fn failed(path: &Path) -> Error {
    Error::environment(
        "log-not-written",
        format!("the request log {} cannot be written", path.display()),
        "free space, choose another place with `--out DIR`, or switch the log off with `log = \
         false`",
    )
}

/// Encodes chunks as row groups.
struct Encoder {
    file: SerializedFileWriter<File>,
    room: Room,
}

impl Encoder {
    fn new(file: File, schema: &str) -> parquet::errors::Result<Encoder> {
        let schema = Arc::new(parse_message_type(schema)?);
        let mut properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_dictionary_enabled(true);
        // Times grow by little, so they are stored as differences. Offsets are multiples of a
        // block, so their zero bytes vanish if split by byte; a dictionary would have a million.
        for (column, encoding) in [
            ("submit_ns", Encoding::DELTA_BINARY_PACKED),
            ("complete_ns", Encoding::DELTA_BINARY_PACKED),
            ("queue_ns", Encoding::DELTA_BINARY_PACKED),
            ("insert_ns", Encoding::DELTA_BINARY_PACKED),
            ("dispatch_ns", Encoding::DELTA_BINARY_PACKED),
            ("offset", Encoding::BYTE_STREAM_SPLIT),
        ] {
            properties = properties
                .set_column_dictionary_enabled(ColumnPath::from(column), false)
                .set_column_encoding(ColumnPath::from(column), encoding);
        }
        let file = SerializedFileWriter::new(file, schema, Arc::new(properties.build()))?;
        Ok(Encoder { file, room: Room::default() })
    }

    fn write<R: Row>(&mut self, chunk: &[R]) -> parquet::errors::Result<()> {
        let mut columns = Columns::of(self.file.next_row_group()?, &mut self.room);
        R::encode(chunk, &mut columns)?;
        columns.close()
    }

    fn close(self) -> parquet::errors::Result<File> {
        self.file.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::trace::TraceRow;
    use assay_spec::{Bytes, Nanos, Op};

    /// Converts a sample to the row as which it is read back.
    fn plain(s: &Sample) -> TraceRow {
        let Sample { submit, complete, offset, length, op, job, error } = *s;
        let (queue, insert, dispatch) = (Nanos::NEVER, Nanos::NEVER, Nanos::NEVER);
        TraceRow { submit, complete, queue, insert, dispatch, offset, length, op, job, error }
    }

    fn create<R: Row>(directory: &tempfile::TempDir, name: &str) -> LogWriter<R> {
        let directory = Directory::open(directory.path()).expect("there");
        LogWriter::create(&directory, name).expect("created")
    }

    #[test]
    fn what_is_written_is_read_back_in_bounded_size() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("log.parquet");
        let mut log = create(&directory, "log.parquet");
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
        assert!(!read.is_trace);
        assert_eq!(read.rows.len() as u64, rows);
        assert!(read.rows.iter().enumerate().all(|(i, r)| *r == plain(&sample(i as u64))));
        let size = path.metadata().expect("there").len();
        assert!(size <= rows * 16, "{} bytes a row", size as f64 / rows as f64);
    }
    #[test]
    fn times_that_are_not_known_come_back_so() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("trace.parquet");
        let mut log = create(&directory, "trace.parquet");
        let maybe = |i: u64, of: u64| if i.is_multiple_of(of) { Nanos::NEVER } else { Nanos(i) };
        let row = |i: u64| TraceRow {
            submit: Nanos(i),
            complete: Nanos(i + 5),
            queue: maybe(i, 2),
            insert: maybe(i, 3),
            dispatch: maybe(i, 1),
            offset: Bytes(i << 33),
            length: Bytes(u64::from(u32::MAX) - i),
            op: Op::ALL[i as usize % 4],
            job: u32::MAX - i as u32,
            error: i as i32,
        };
        (0..100).for_each(|i| log.push(row(i)));
        log.finish().expect("written");
        let read = read(&path).expect("read");
        assert!(read.is_trace);
        assert!(read.rows.iter().enumerate().all(|(i, r)| *r == row(i as u64)));
        let text = std::fs::read(&path).expect("read");
        for cut in [0, 3, 8, text.len() / 2, text.len() - 1] {
            std::fs::write(&path, &text[..cut]).expect("written");
            assert_eq!(super::read(&path).expect_err("cut").id, "log-unreadable");
        }
    }
}
