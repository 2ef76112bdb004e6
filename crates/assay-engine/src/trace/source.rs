//! Reads the events of inputs of traces in batches.

use super::event::Event;
use super::{blkparse, blktrace};
use crate::error::{Error, Result};
use crate::stop;
use std::io::{ErrorKind, Read};

/// The number of bytes that are read at a time: more than the longest record.
const PIECE: usize = 1 << 20;
/// The number of events that are decoded at a time.
const BATCH: usize = 4096;
/// The length of the beginning of a text in which its first event must be, in bytes.
const HEADING: usize = 64 << 10;

/// A named source of bytes.
pub struct Input {
    name: String,
    reader: Box<dyn Read>,
    /// The bytes that were read; those in `from..to` are not decoded yet.
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    /// The number of bytes before the buffer.
    before: u64,
}

impl Input {
    /// Creates an input that reads from `reader`.
    pub fn new(name: &str, reader: Box<dyn Read>) -> Input {
        let buffer = vec![0; 2 * PIECE];
        Input { name: name.to_owned(), reader, buffer, from: 0, to: 0, before: 0 }
    }

    /// Creates an input that consists of `bytes`.
    pub fn of_bytes(name: &str, bytes: Vec<u8>) -> Input {
        let (name, to) = (name.to_owned(), bytes.len());
        Input { name, reader: Box::new(std::io::empty()), buffer: bytes, from: 0, to, before: 0 }
    }

    /// Returns its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the bytes that are not decoded yet.
    fn data(&self) -> &[u8] {
        &self.buffer[self.from..self.to]
    }

    /// Returns the offset of the data from the start of the input, in bytes.
    fn position(&self) -> u64 {
        self.before + self.from as u64
    }

    /// Reads more data. Returns `false` at the end.
    fn fill(&mut self) -> Result<bool> {
        if self.from > PIECE {
            self.buffer.copy_within(self.from..self.to, 0);
            self.before += self.from as u64;
            (self.from, self.to) = (0, self.to - self.from);
        }
        loop {
            match self.reader.read(&mut self.buffer[self.to..]) {
                Ok(count) => {
                    self.to += count;
                    return Ok(count > 0);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) if stop::is_interrupted() => return Err(stop::interrupted()),
                Err(e) => return Err(unreadable(&self.name, e)),
            }
        }
    }
}

/// The format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Records of blktrace.
    Records(blktrace::ByteOrder),
    /// Text of blkparse.
    Text,
}

/// The events of an input.
pub struct EventStream {
    input: Input,
    format: Format,
    /// The decoded events; those from `at` on have not been taken.
    batch: Vec<Event>,
    at: usize,
    /// The number of decoded lines.
    lines: u64,
    /// The number of lines that are no events.
    others: u64,
    /// The number of events that ftrace lost after those of the batch.
    lost: u64,
    has_ended: bool,
    cut: Option<Cut>,
}

/// The part of a record at the end of an input that is cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The name of the input.
    pub name: String,
    /// The offset of the record in the input, in bytes.
    pub at: u64,
    /// The number of its bytes that are there.
    pub bytes: u64,
}

impl EventStream {
    /// Reads the beginning of an input and recognises its format.
    ///
    /// # Errors
    /// If it is empty or has none of the formats.
    pub fn open(mut input: Input) -> Result<EventStream> {
        while input.data().len() < HEADING && input.fill()? {}
        // Some editors begin a text with a byte order mark.
        if input.data().starts_with("\u{feff}".as_bytes()) {
            input.from += "\u{feff}".len();
        }
        if is_of_fio(input.data()) {
            return Err(Error::usage(
                "trace-unknown",
                format!(
                    "{} is a log of fio: its lines are time, value, direction, size",
                    input.name
                ),
                "trace the device while fio runs, with `blktrace -d DEVICE -o - > FILE`: fio's log \
                 does not say which requests the device got",
            ));
        }
        let format = sniff(input.data()).ok_or_else(|| match input.data().is_empty() {
            true => Error::usage(
                "trace-empty",
                format!("{} is empty", input.name),
                "leave the file out: blktrace writes empty files for processors without events",
            ),
            false => Error::usage(
                "trace-unknown",
                format!(
                    "{} is neither a trace of blktrace nor text of blkparse: no record begins at \
                     byte 0, and none of its first lines is an event",
                    input.name
                ),
                "give text with lines such as `8,0 1 17 0.012678481 8826 D R 1370616 + 8 [git]`",
            ),
        })?;
        let batch = Vec::with_capacity(BATCH);
        let (at, lines, others, lost, has_ended, cut) = (0, 0, 0, 0, false, None);
        Ok(EventStream { input, format, batch, at, lines, others, lost, has_ended, cut })
    }

    /// Returns the name of the input.
    pub fn name(&self) -> &str {
        &self.input.name
    }

    /// Returns the format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the number of bytes decoded so far.
    pub fn bytes(&self) -> u64 {
        self.input.position()
    }

    /// Returns the number of lines so far that are no events.
    pub fn others(&self) -> u64 {
        self.others
    }

    /// Returns the record that the end of the input cuts off, if there is one.
    pub fn cut(&self) -> Option<&Cut> {
        self.cut.as_ref()
    }

    /// Returns the event that [`next`](Self::next) will return.
    #[inline]
    pub fn peek(&self) -> Option<&Event> {
        self.batch.get(self.at)
    }

    /// Takes the next decoded event, or returns `None` if [`refill`](Self::refill) must come first.
    #[inline]
    pub fn next(&mut self) -> Option<Event> {
        let event = self.batch.get(self.at).copied();
        self.at += usize::from(event.is_some());
        event
    }

    /// Returns the number of events that were lost after the last one, and resets it.
    pub fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    /// Decodes more events. Returns `false` at the end.
    ///
    /// # Errors
    /// If the input cannot be read, or the next bytes are no event.
    pub fn refill(&mut self) -> Result<bool> {
        self.at = 0;
        self.batch.clear();
        while !self.has_ended {
            let goes_on = match self.format {
                Format::Records(order) => self.records(order)?,
                Format::Text => self.lines()?,
            };
            if !self.batch.is_empty() || self.lost > 0 {
                return Ok(true);
            }
            if !goes_on && !self.input.fill()? {
                self.end()?;
            }
        }
        Ok(!self.batch.is_empty())
    }

    /// Decodes the records in the buffer. Returns `false` if more data is needed.
    fn records(&mut self, order: blktrace::ByteOrder) -> Result<bool> {
        let (used, stop) = blktrace::decode(self.input.data(), order, &mut self.batch, BATCH);
        self.input.from += used;
        match stop {
            blktrace::RecordStop::Short => return Ok(false),
            blktrace::RecordStop::Full => {}
            blktrace::RecordStop::Lost(count) => self.lost = count.max(1),
            blktrace::RecordStop::Broken(what) => {
                let place = format!("byte {}", self.input.position());
                return Err(self.malformed(&place, &what));
            }
        }
        Ok(true)
    }

    /// Decodes the lines in the buffer. Returns `false` if more data is needed.
    fn lines(&mut self) -> Result<bool> {
        let (done, stop) = blkparse::decode(self.input.data(), false, &mut self.batch, BATCH);
        self.count(done);
        match stop {
            blkparse::TextStop::Short => Ok(false),
            blkparse::TextStop::Full => Ok(true),
            blkparse::TextStop::Broken(column, what) => {
                let place = format!("line {}, column {column}", self.lines + 1);
                Err(self.malformed(&place, &what))
            }
        }
    }

    /// Counts lines as decoded, and moves behind them.
    fn count(&mut self, done: blkparse::Progress) {
        self.input.from += done.bytes;
        self.lines += done.lines;
        self.others += done.others;
    }

    /// Handles the end of the input: decodes a last line without a line feed, and notes the record
    /// that is cut off.
    fn end(&mut self) -> Result<()> {
        self.has_ended = true;
        if self.format == Format::Text {
            let (done, _) = blkparse::decode(self.input.data(), true, &mut self.batch, BATCH);
            self.count(done);
        }
        let (at, bytes) = (self.input.position(), self.input.data().len() as u64);
        if bytes > 0 {
            self.cut = Some(Cut { name: self.input.name.clone(), at, bytes });
        }
        Ok(())
    }

    fn malformed(&self, place: &str, what: &str) -> Error {
        let hint = match self.format {
            Format::Records(_) => {
                "check that the file was copied completely and as binary: records follow each \
                 other without a gap"
            }
            Format::Text => "write the text with blkparse's default format, without `-f`",
        };
        Error::usage("trace-malformed", format!("{}: {place}: {what}", self.input.name), hint)
    }
}

/// Returns `true` if the data begins like a log of fio (`--write_lat_log` etc.): `1, 234, 0, 4096,
/// 0`.
fn is_of_fio(data: &[u8]) -> bool {
    let mut lines = data.split(|c| *c == b'\n').map(<[u8]>::trim_ascii);
    let line = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let is_number = |word: &[u8]| {
        let word = word.trim_ascii();
        let digits = word.strip_prefix(b"0x").unwrap_or(word);
        !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit)
    };
    let words: Vec<&[u8]> = line.splitn(9, |c| *c == b',').collect();
    (4..9).contains(&words.len()) && words.iter().all(|word| is_number(word))
}

/// Returns the format of a trace that begins with `data`, if it is one.
fn sniff(data: &[u8]) -> Option<Format> {
    // ftrace may have lost events before the first one, and says so in a line.
    let first = data.split(|c| *c == b'\n').next().unwrap_or_default();
    let behind = if first.starts_with(b"CPU:") { data.get(first.len() + 1..) } else { None };
    let records = behind.and_then(blktrace::sniff).or_else(|| blktrace::sniff(data));
    if let Some(order) = records {
        return Some(Format::Records(order));
    }
    let is_event = |line: &[u8]| {
        let line = line.trim_ascii_start();
        let digits = line.iter().take_while(|c| c.is_ascii_digit()).count();
        digits > 0 && line.get(digits) == Some(&b',')
    };
    let heading = &data[..data.len().min(HEADING)];
    heading.split(|c| *c == b'\n').any(is_event).then_some(Format::Text)
}

/// The hint for a file that cannot be read.
pub(super) const WAY: &str = "check that the file exists, and its permissions";

pub(super) fn unreadable(name: &str, e: std::io::Error) -> Error {
    Error::environment("trace-unreadable", format!("{name} cannot be read"), WAY).caused_by(e)
}
