//! Block traces: converts the events of Linux's block layer, as blktrace records them, to requests.
//!
//! `inputs.rs` opens inputs, `source.rs` reads them, `blktrace.rs` and `blkparse.rs` decode
//! events, `window.rs` sorts them, `pair.rs` makes requests of them, and `follow.rs` goes with a
//! trace from one to the next. Memory grows only with the number of requests in flight, not with
//! the length of the trace.

mod blkparse;
mod blktrace;
mod event;
mod follow;
mod import;
mod inputs;
mod open;
mod pair;
mod source;
#[cfg(test)]
mod tests;
mod window;

pub use follow::follow;
pub use import::{Import, import};
pub use inputs::open;
pub use source::Input;
