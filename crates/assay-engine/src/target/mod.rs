//! Targets: whatever answers requests.
//!
//! *Contract.* A target owns its clock. `submit` queues a request and may hold it back until the
//! next `poll`, so that a batch goes out at once; `poll` sends what is queued, waits until at least
//! one request has completed or the clock has reached `until`, and appends the completions in the
//! order of their times. A tag is in flight at most once. Latencies are `completion.at` minus the
//! clock at the submission: a target never measures itself.

use assay_spec::{Bytes, Completion, Nanos, Request};

pub mod block;
pub mod null;
pub mod sim;
pub mod uring;

/// What a target says to a submitted request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submit {
    /// It is on its way; a completion with the same tag will follow.
    Accepted,
    /// No room: poll first, then submit again.
    Full,
}

/// Whatever answers requests, with its clock.
pub trait Target {
    /// Addressable size.
    fn capacity(&self) -> Bytes;

    /// Requests must start and end on multiples of this.
    fn granularity(&self) -> Bytes;

    /// The time now, in nanoseconds since an origin of the target's own.
    fn now(&mut self) -> Nanos;

    /// From now on each process has so many tags in a row. Only a host model asks who is who.
    fn set_processes(&mut self, _tags_per_process: u32) {}

    /// What begins at `offset` will be asked for soon. Only a model has a use for that.
    fn expect(&mut self, _offset: Bytes) {}

    /// Queues `request`.
    fn submit(&mut self, now: Nanos, request: Request) -> Submit;

    /// Sends what is queued and waits for a completion, or until `until`.
    ///
    /// Returns the time after the wait. With nothing in flight it sleeps until `until`;
    /// `Nanos::NEVER` with nothing in flight is a bug of the caller.
    fn poll(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos;
}
