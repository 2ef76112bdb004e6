//! Decodes records of blktrace (`struct blk_io_trace` of `blktrace_api.h`): 48 bytes, in the byte
//! order of the machine that traced, and the bytes that follow.
//!
//! ```text
//!  0 u32 magic and version   4 u32 sequence   8 u64 time, ns   16 u64 sector   24 u32 bytes
//! 28 u32 action, categories 32 u32 process   36 u32 device     40 u32 cpu      44 u16 error
//! 46 u16 bytes that follow
//! ```

use super::event::{Action, Event, Of, SECTORS_MAX, TIME_MAX};
use assay_spec::Op;
use assay_spec::trace::Device;

/// The length of a record in bytes, without the bytes that follow.
pub const RECORD: usize = 48;

const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;

/// The bits of categories, from `blktrace_api.h`.
mod category {
    pub const WRITE: u32 = 1 << 1;
    pub const READ: u32 = 1;
    pub const FLUSH: u32 = 1 << 2;
    pub const COMMAND: u32 = 1 << 9;
    pub const NOTIFY: u32 = 1 << 10;
    pub const DISCARD: u32 = 1 << 13;
}

/// The bit of an action which says that the number of a control group follows the record.
const CGROUP: u32 = 1 << 8;

/// The byte order of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// The lowest byte comes first.
    Little,
    /// The highest byte comes first.
    Big,
}

impl ByteOrder {
    /// Returns its name in `trace.json`.
    pub fn name(self) -> &'static str {
        match self {
            ByteOrder::Little => "little",
            ByteOrder::Big => "big",
        }
    }
}

/// Returns the byte order if `data` begins with a record, of any version.
pub fn sniff(data: &[u8]) -> Option<ByteOrder> {
    let first: [u8; 4] = data.get(..4)?.try_into().ok()?;
    let is_magic = |word: u32| word & !0xff == MAGIC;
    match (is_magic(u32::from_le_bytes(first)), is_magic(u32::from_be_bytes(first))) {
        (true, _) => Some(ByteOrder::Little),
        (_, true) => Some(ByteOrder::Big),
        _ => None,
    }
}

/// The reason why decoding stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordStop {
    /// The data has no more complete record.
    Short,
    /// There are as many events as wanted.
    Full,
    /// A line of ftrace says that it lost this number of events here.
    Lost(u64),
    /// The next bytes are no record, for this reason.
    Broken(String),
}

/// Decodes records into `events`, up to `room` of them. Returns the number of bytes that they took,
/// and the reason why it stopped.
pub fn decode(
    data: &[u8],
    order: ByteOrder,
    events: &mut Vec<Event>,
    room: usize,
) -> (usize, RecordStop) {
    match order {
        ByteOrder::Little => records::<false>(data, events, room),
        ByteOrder::Big => records::<true>(data, events, room),
    }
}

fn records<const BIG: bool>(
    data: &[u8],
    events: &mut Vec<Event>,
    room: usize,
) -> (usize, RecordStop) {
    let mut at = 0;
    while events.len() < room {
        let Some(record) = data.get(at..).and_then(<[u8]>::first_chunk::<RECORD>) else {
            let stop = lost(data, &mut at).map_or(RecordStop::Short, RecordStop::Lost);
            return (at, stop);
        };
        let magic = word::<BIG>(record, 0);
        if magic != MAGIC | VERSION {
            return match lost(data, &mut at) {
                Some(count) => (at, RecordStop::Lost(count)),
                None => (at, RecordStop::Broken(no_record(magic))),
            };
        }
        let length = RECORD + usize::from(half::<BIG>(record, 46));
        if data.len() - at < length {
            return (at, RecordStop::Short);
        }
        let event = event::<BIG>(record);
        if event.time > TIME_MAX {
            let text =
                format!("the time of a record, {} ns, is larger than in any trace", event.time);
            return (at, RecordStop::Broken(text));
        }
        if event.sector >= SECTORS_MAX && event.bytes > 0 && matches!(event.of, Of::Data(_)) {
            let text = format!("block {} lies beyond every drive", event.sector);
            return (at, RecordStop::Broken(text));
        }
        events.push(event);
        at += length;
    }
    (at, RecordStop::Full)
}

#[inline]
fn event<const BIG: bool>(record: &[u8; RECORD]) -> Event {
    let (action, device) = (word::<BIG>(record, 28), word::<BIG>(record, 36));
    let (categories, bytes) = (action >> 16, word::<BIG>(record, 24));
    let number = (action & 0xffff & !CGROUP) as usize;
    let action = match categories & category::NOTIFY {
        0 if number < Action::Notify as usize => Action::ALL[number],
        0 => Action::Unknown,
        _ => Action::Notify,
    };
    Event {
        time: long::<BIG>(record, 8),
        sector: long::<BIG>(record, 16),
        bytes,
        device: Device { major: device >> 20, minor: device & 0xf_ffff },
        sequence: word::<BIG>(record, 4),
        cpu: word::<BIG>(record, 40),
        process: word::<BIG>(record, 32),
        // The field contains the kernel's negative errno, truncated to 16 bits.
        error: i32::from(half::<BIG>(record, 44) as i16).abs(),
        action,
        of: of(categories, bytes),
    }
}

/// Returns the subject of an event with these categories and this length.
#[inline]
fn of(categories: u32, bytes: u32) -> Of {
    let is = |bit| categories & bit != 0;
    if is(category::COMMAND) {
        Of::Command
    } else if is(category::DISCARD) {
        Of::Data(Op::Trim)
    } else if bytes == 0 && is(category::FLUSH) {
        Of::Data(Op::Flush)
    } else if is(category::WRITE) {
        Of::Data(Op::Write)
    } else if is(category::READ) {
        Of::Data(Op::Read)
    } else {
        Of::Nothing
    }
}

/// Reads a line such as `CPU:1 [LOST 4579 EVENTS]`, which ftrace writes between records, at `at`.
/// Moves `at` behind it, and returns the number of lost events.
fn lost(data: &[u8], at: &mut usize) -> Option<u64> {
    let data = data.get(*at..)?;
    let line = data.split(|c| *c == b'\n').next().filter(|line| line.len() < data.len().min(64))?;
    let line = std::str::from_utf8(line).ok()?.strip_prefix("CPU:")?;
    let (cpu, rest) = line.split_once(" [LOST ")?;
    let count = rest.strip_suffix(" EVENTS]")?;
    let count = cpu.parse::<u32>().ok().and_then(|_| count.parse().ok())?;
    *at += "CPU:".len() + line.len() + "\n".len();
    Some(count)
}

fn no_record(magic: u32) -> String {
    if magic & !0xff == MAGIC {
        return format!(
            "a record has version {}, but assay reads only version {VERSION}",
            magic & 0xff
        );
    }
    format!(
        "no record begins here: its first four bytes are {magic:#010x} instead of {:#010x}",
        MAGIC | VERSION
    )
}

#[inline]
fn long<const BIG: bool>(record: &[u8; RECORD], at: usize) -> u64 {
    let bytes = record[at..at + 8].try_into().expect("eight bytes");
    if BIG { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
}

#[inline]
fn word<const BIG: bool>(record: &[u8; RECORD], at: usize) -> u32 {
    let bytes = record[at..at + 4].try_into().expect("four bytes");
    if BIG { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}

#[inline]
fn half<const BIG: bool>(record: &[u8; RECORD], at: usize) -> u16 {
    let bytes = record[at..at + 2].try_into().expect("two bytes");
    if BIG { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
}
