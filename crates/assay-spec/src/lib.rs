//! WHAT: the words and declarations that everything else is built from.
//!
//! Units, requests, seeds, the layout of the latency histogram, declarations of devices and
//! experiments, the schema of the run directory, and the diagnostics of wrong declarations. Nothing
//! here accesses a file, a clock or a device: text comes in, values and diagnostics go out.

#![forbid(unsafe_code)]

pub mod array;
pub mod calibration;
pub mod catalog;
pub mod claims;
pub mod date;
pub mod decode;
pub mod device;
pub mod diagnostic;
pub mod disksim;
pub mod experiment;
pub mod from_claim;
pub mod histogram;
pub mod linux;
pub mod name;
pub mod prices;
pub mod record;
pub mod request;
pub mod seed;
pub mod steady;
pub mod trace;
pub mod units;

pub use diagnostic::{Diagnostic, Kind};
pub use histogram::Histogram;
pub use request::{Completion, Op, Request};
pub use units::{Bytes, Nanos, Rate};
