//! What a trace is made of: an event of a request on its way through the block layer.

use assay_spec::Op;
use assay_spec::trace::Device;

/// What happened. The numbers are the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Action {
    /// A number that is not known here.
    Unknown = 0,
    /// Something was queued.
    Queue = 1,
    /// It was merged behind a request.
    BackMerge = 2,
    /// It was merged before a request.
    FrontMerge = 3,
    /// It got a request.
    GetRequest = 4,
    /// It waits for a request.
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
    /// What was queued was cut.
    Split = 13,
    /// It was copied to lower memory.
    Bounce = 14,
    /// It came from another device.
    Remap = 15,
    /// A request was aborted.
    Abort = 16,
    /// A word of the driver.
    DriverData = 17,
    /// A word of the tracer: a process, the time of day, a message.
    Notify = 18,
}

impl Action {
    /// All, at the place of their number.
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

    /// The letters of blkparse, and a name.
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

    /// Whether it is a step of a request.
    pub const fn is_of_request(self) -> bool {
        matches!(
            self,
            Action::Queue | Action::Insert | Action::Issue | Action::Complete | Action::Requeue
        )
    }
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Data, or a flush.
    Data(Op),
    /// A command that goes to the drive as it is.
    Command,
    /// No request.
    Nothing,
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, on the trace's own clock, in ns.
    pub time: u64,
    /// First block.
    pub sector: u64,
    /// How many bytes.
    pub bytes: u32,
    /// Of which device.
    pub device: Device,
    /// Its number among those of its processor; 0 if it has none.
    pub sequence: u32,
    /// On which processor.
    pub cpu: u32,
    /// By which process.
    pub process: u32,
    /// 0 or errno.
    pub error: i32,
    /// What.
    pub action: Action,
    /// About what.
    pub of: Of,
}

/// The greatest time of an event, in nanoseconds: request logs hold signed 64-bit numbers.
pub const TIME_MAX: u64 = i64::MAX as u64;

/// No drive has blocks from here on: half of what 63 bits can number the bytes of.
pub const SECTORS_MAX: u64 = 1 << 53;
