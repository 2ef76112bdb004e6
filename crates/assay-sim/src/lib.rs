//! A DRIVE: a pure function of (device spec, seed, requests).
//!
//! No clock, thread, file or environment; time is what the caller says it is, in integer
//! nanoseconds. Inside a drive, planes, channels, link and arm are *time-lines*: each knows when it
//! is free, and an operation starts at the latest of its arrival and the time-lines it needs. Work
//! that a drive does by itself (write-back, destaging) is put on the time-lines when it becomes due
//! and is worked off as time passes, not only when the drive is asked.

#![forbid(unsafe_code)]

pub mod drive;
pub mod host;

mod closed;
mod ftl;
mod hdd;
mod nand;
mod ssd;
mod timeline;
mod winner;

pub use closed::Closed;
pub use drive::{Accept, Drive, Queued, build};
pub use host::Host;
pub use nand::{Cause, Observer, Operation, Step};
