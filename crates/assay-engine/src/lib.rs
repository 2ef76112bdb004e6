//! Runs experiments: generates requests, sends them to a target, and records their latencies.

mod aligned;
pub mod available;
mod budget;
mod cell;
pub mod clock;
pub mod error;
mod files;
pub mod generate;
pub mod guest;
pub mod linux;
pub mod load_loop;
pub mod machine;
pub mod measure;
pub mod plan;
pub mod read;
pub mod run;
pub mod safety;
pub mod stop;
pub mod target;
pub mod timeline;
pub mod trace;

pub use error::{Error, ErrorKind, Result};
