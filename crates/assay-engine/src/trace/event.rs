//! The event of a block trace: a step of a request on its way through the block layer.

use assay_spec::Op;
use assay_spec::trace::Device;

/// The kind of an event. The numbers are the kernel's (`enum blktrace_act`), except for `Notify`,
/// which is a category there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Action {
    /// An action with an unknown number.
    Unknown = 0,
    /// A bio was queued.
    Queue = 1,
    /// A bio was merged behind a request.
    BackMerge = 2,
    /// A bio was merged before a request.
    FrontMerge = 3,
    /// A request structure was allocated for a bio.
    GetRequest = 4,
    /// A bio waits for a free request structure.
    Sleep = 5,
    /// A request came back from the driver.
    Requeue = 6,
    /// A request was sent to the driver.
    Issue = 7,
    /// A request ended.
    Complete = 8,
    /// The queue was plugged.
    Plug = 9,
    /// The queue was unplugged.
    Unplug = 10,
    /// The queue was unplugged by its timer.
    TimerUnplug = 11,
    /// A request was put into the elevator.
    Insert = 12,
    /// A bio was split.
    Split = 13,
    /// A bio was copied to lower memory.
    Bounce = 14,
    /// A bio came from another device, such as a partition.
    Remap = 15,
    /// A request was aborted.
    Abort = 16,
    /// A note of the driver.
    DriverData = 17,
    /// A note of the tracer: a process, the time of day, a message.
    Notify = 18,
}

impl Action {
    /// All actions, each at the index of its number.
    pub const ALL: [Action; 19] = [
        Action::Unknown,
        Action::Queue,
        Action::BackMerge,
        Action::FrontMerge,
        Action::GetRequest,
        Action::Sleep,
        Action::Requeue,
        Action::Issue,
        Action::Complete,
        Action::Plug,
        Action::Unplug,
        Action::TimerUnplug,
        Action::Insert,
        Action::Split,
        Action::Bounce,
        Action::Remap,
        Action::Abort,
        Action::DriverData,
        Action::Notify,
    ];

    /// Returns the letters of blkparse, and a name.
    pub const fn names(self) -> (&'static str, &'static str) {
        match self {
            Action::Unknown => ("?", "unknown"),
            Action::Queue => ("Q", "queued"),
            Action::BackMerge => ("M", "merged behind"),
            Action::FrontMerge => ("F", "merged before"),
            Action::GetRequest => ("G", "got a request"),
            Action::Sleep => ("S", "waits for a request"),
            Action::Requeue => ("R", "requeued"),
            Action::Issue => ("D", "dispatched"),
            Action::Complete => ("C", "completed"),
            Action::Plug => ("P", "plugged"),
            Action::Unplug => ("U", "unplugged"),
            Action::TimerUnplug => ("UT", "unplugged by timer"),
            Action::Insert => ("I", "inserted"),
            Action::Split => ("X", "split"),
            Action::Bounce => ("B", "bounced"),
            Action::Remap => ("A", "remapped"),
            Action::Abort => ("BA", "aborted"),
            Action::DriverData => ("DD", "data of the driver"),
            Action::Notify => ("m", "message"),
        }
    }

    /// Returns `true` if it is a step of a request that `pair.rs` uses.
    pub const fn is_of_request(self) -> bool {
        matches!(
            self,
            Action::Queue | Action::Insert | Action::Issue | Action::Complete | Action::Requeue
        )
    }
}

/// The subject of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A read, write, trim or flush.
    Data(Op),
    /// A passthrough command, which the kernel sends to the drive as it is.
    Command,
    /// No request.
    Nothing,
}

/// An event of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The time on the trace's own clock, in ns.
    pub time: u64,
    /// The first block, in units of 512 bytes.
    pub sector: u64,
    /// The length in bytes.
    pub bytes: u32,
    /// The device.
    pub device: Device,
    /// The number among the events of its processor; 0 if it has none.
    pub sequence: u32,
    /// The processor on which it happened.
    pub cpu: u32,
    /// The id of the process that caused it.
    pub process: u32,
    /// The `errno` of a completion, or 0.
    pub error: i32,
    /// The kind of event.
    pub action: Action,
    /// The subject.
    pub of: Of,
}

/// The greatest time of an event, in nanoseconds: request logs hold signed 64-bit numbers.
pub const TIME_MAX: u64 = i64::MAX as u64;

/// The number from which on no drive has blocks: 2^62 bytes, so that the ends of requests, too, fit
/// into 63 bits.
pub const SECTORS_MAX: u64 = 1 << 53;
