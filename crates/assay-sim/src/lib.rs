//! A DRIVE: a pure function of (device spec, seed, requests).
//!
//! A drive uses no clock, thread, file or environment; the caller says what time it is, in integer
//! nanoseconds. Inside a drive, each resource (array, bus, link, firmware, arm) does one thing at a
//! time and has one pending event; a choice that later events influence, such as which plane gets a
//! bus, is made when its time comes. Work that a drive does by itself (write-back, collection) goes
//! on as time passes, not only when the drive is called.

#![forbid(unsafe_code)]

pub mod array;
pub mod drive;
pub mod elevator;
pub mod host;
pub mod timeline;

mod build;
mod closed;
mod completions;
mod events;
mod ftl;
mod hdd;
mod initial_state;
mod lpn;
mod memory;
mod nand;
mod ssd;
mod volume;
mod waits;
mod work;

pub use array::{Array, ArraySetup, MemberDrive, MemberSetup};
pub use build::{build, can_be_steady};
pub use closed::Closed;
pub use drive::{Accept, Counters, Drive, Inspect, PowerCut, Prefetch};
pub use ftl::history::RandomWrites;
pub use host::Host;
pub use initial_state::InitialState;
pub use memory::memory;
pub use nand::Step;
pub use nand::{
    BlockFound, Cause, Checker, Flash, FlashCommand, Found, Observed, Observer, Operation,
    OutOfBand, Record,
};
pub use ssd::{Snapshot, Stall};
pub use work::{Activity, Work};
