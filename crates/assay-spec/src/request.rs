//! Requests and completions, which pass between a workload and its target.

use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Op {
    /// Reads data from the drive.
    Read = 0,
    /// Writes data to the drive.
    Write = 1,
    /// Tells the drive that the data of the range is no longer needed.
    Trim = 2,
    /// Makes everything that was acknowledged before survive a power cut.
    Flush = 3,
}

impl Op {
    /// Every operation, in the order of the numbers in the log.
    pub const ALL: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

    /// Returns the lower-case name that specs, logs and tables use.
    pub const fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "flush",
        }
    }
}

/// An I/O request. The submitter chooses the tag, which comes back with the completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The tag that identifies the request among those in flight.
    pub tag: u32,
    /// The operation.
    pub op: Op,
    /// The first byte.
    pub offset: Bytes,
    /// The number of bytes.
    pub length: Bytes,
    /// Whether a write completes only when its data survives a power cut (force unit access).
    pub fua: bool,
}

impl Request {
    /// Returns the first byte after the request.
    pub fn end(&self) -> Bytes {
        self.offset + self.length
    }
}

/// The completion of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The tag of the request.
    pub tag: u32,
    /// The time of the completion.
    pub at: Nanos,
    /// 0, or the positive errno of the error.
    pub error: i32,
}
