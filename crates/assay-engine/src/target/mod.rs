//! Targets: real and modelled devices that answer requests.
//!
//! *Contract.* A target owns its clock. `submit` queues a request and may hold it back until the
//! next `poll`, so that a batch is sent at once. `poll` sends what is queued, waits until at least
//! one request has completed or the clock has reached `until`, and appends the completions in the
//! order of their times. A tag is in flight at most once. The caller computes latencies as
//! `completion.at` minus the time of the submission: a target never measures itself.

use assay_spec::{Bytes, Completion, Nanos, Request};

pub mod block;
pub mod null;
pub mod sim;
pub mod uring;

/// A target's answer to a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submit {
    /// The request is queued; a completion with the same tag will follow.
    Accepted,
    /// The queue is full: the caller must poll before it submits again.
    Full,
}

/// A device that answers requests, with its clock.
pub trait Target: ModelHints {
    /// Returns the addressable size.
    fn capacity(&self) -> Bytes;

    /// Returns the unit of requests: they start and end on multiples of it.
    fn granularity(&self) -> Bytes;

    /// Returns the time, in nanoseconds since an origin of the target's own.
    fn now(&mut self) -> Nanos;

    /// Queues `request` at the time `now`.
    fn submit(&mut self, now: Nanos, request: Request) -> Submit;

    /// Sends what is queued and waits for a completion, or until `until`.
    ///
    /// Returns the time after the wait. With nothing in flight it sleeps until `until`;
    /// `Nanos::NEVER` with nothing in flight is a bug of the caller.
    fn poll(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos;
}

/// What only models want to know of the load.
pub trait ModelHints {
    /// Says that from now on each process owns this many consecutive tags, by which a model of a
    /// host tells processes apart.
    fn set_processes(&mut self, _tags_per_process: u32) {}

    /// Says that a request at `offset` comes soon. The model prefetches what the request needs.
    fn expect(&mut self, _offset: Bytes) {}
}
