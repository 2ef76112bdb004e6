//! Requests and completions: what passes between a workload and whatever answers it.

use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Op {
    /// Data from the drive.
    Read = 0,
    /// Data to the drive.
    Write = 1,
    /// The range holds nothing of worth any more.
    Trim = 2,
    /// Everything acknowledged before shall survive a power cut.
    Flush = 3,
}

impl Op {
    /// All operations, in the order of their numbers in the log.
    pub const ALL: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

    /// The lower-case name used in specs, logs and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "flush",
        }
    }
}

/// One I/O. The tag is the submitter's: it comes back with the completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Identifies the request among those in flight.
    pub tag: u32,
    /// What is asked.
    pub op: Op,
    /// First byte.
    pub offset: Bytes,
    /// How many bytes.
    pub length: Bytes,
    /// Of a write: it is answered when what it brings survives a power cut (force unit access).
    pub fua: bool,
}

impl Request {
    /// First byte after the request.
    pub fn end(&self) -> Bytes {
        self.offset + self.length
    }
}

/// The end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The tag of the request.
    pub tag: u32,
    /// When it ended.
    pub at: Nanos,
    /// 0, or the positive errno of what went wrong.
    pub error: i32,
}
