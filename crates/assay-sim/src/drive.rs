//! The drive as a state machine, and the queue in front of a media model.
//!
//! *Contract.* `submit` takes a request or says the queue is full; `next_event` is the time of the
//! next thing that will happen; `advance(to, …)` lets everything up to and including `to` happen,
//! in order, and appends the completions. Time never runs back.

use crate::hdd::Hdd;
use crate::nand::Observer;
use crate::ssd;
use assay_spec::device::{DeviceKind, DeviceSpec};
use assay_spec::{Bytes, Completion, Nanos, Request};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a drive says to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accept {
    /// A completion will follow.
    Accepted,
    /// The queue is full.
    QueueFull,
}

/// A drive, or anything that behaves as one: arrays and elevators stack by the same interface.
pub trait Drive {
    /// Addressable size.
    fn capacity(&self) -> Bytes;
    /// Hands a request over at `now`.
    fn submit(&mut self, now: Nanos, request: Request) -> Accept;
    /// Time of the next completion, if any.
    fn next_event(&self) -> Option<Nanos>;
    /// Everything up to `to` happens; completions are appended in order of time.
    fn advance(&mut self, to: Nanos, completions: &mut Vec<Completion>);
    /// Numbers the drive tells of itself since the last call of `mark`; (name, value).
    fn counters(&self) -> Vec<(String, f64)>;
    /// Starts counting afresh, at the start of a measured phase.
    fn mark(&mut self);
}

/// A media model: knows a request's end when it gets it.
pub(crate) trait Media {
    /// Serves `request`, which reaches the controller at `at`; returns when the host has its
    /// answer.
    fn serve(&mut self, at: Nanos, request: &Request) -> Nanos;
    /// Both will come: of `later` the map entry is fetched, of `sooner` what that points to.
    fn expect(&mut self, _later: &Request, _sooner: &Request) {}
    /// Tells every flash operation from now on to `observer`.
    fn observe(&mut self, _observer: Box<dyn Observer>) {}
    /// Panics unless every invariant holds; slow.
    fn check(&self) {}
    /// See [`Drive::counters`].
    fn counters(&self) -> Vec<(String, f64)>;
    /// See [`Drive::mark`].
    fn mark(&mut self);
}

/// A media model behind a bounded queue of requests in flight.
pub struct Queued {
    media: Box<dyn Media + Send>,
    capacity: Bytes,
    queue_depth: usize,
    /// (time, order of submission, tag): equal times complete in the order they were submitted.
    pending: BinaryHeap<Reverse<(Nanos, u64, u32)>>,
    submitted: u64,
    clock: Nanos,
}

/// Builds the drive of `spec`, written once from start to end if `filled`.
pub fn build(spec: &DeviceSpec, filled: bool) -> Queued {
    let media: Box<dyn Media + Send> = match &spec.kind {
        DeviceKind::Ssd(ssd) => ssd::build(ssd, spec.link, spec.capacity, filled),
        DeviceKind::Hdd(hdd) => Box::new(Hdd::new(hdd, spec.link)),
    };
    Queued {
        media,
        capacity: spec.capacity,
        queue_depth: spec.link.queue_depth as usize,
        pending: BinaryHeap::new(),
        submitted: 0,
        clock: Nanos::ZERO,
    }
}

impl Queued {
    /// Serves `request` at once and returns its end, past the queue: for a caller that keeps its
    /// own. What is in the queue is not overtaken: it was served when it was submitted.
    pub fn serve(&mut self, now: Nanos, request: &Request) -> Nanos {
        debug_assert!(request.end() <= self.capacity, "request beyond the end of the drive");
        assert!(now >= self.clock, "time runs back: {now} after {}", self.clock);
        self.clock = now;
        self.media.serve(now, request)
    }

    /// Both requests will come: of `later` the map entry is fetched into the processor's cache, of
    /// `sooner`, whose entry is there by now, what that points to. Changes no result.
    #[inline]
    pub fn expect(&mut self, later: &Request, sooner: &Request) {
        self.media.expect(later, sooner);
    }

    /// Tells every flash operation from now on to `observer`.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.media.observe(observer);
    }

    /// Panics unless every invariant of the drive holds. Walks everything.
    pub fn check(&self) {
        self.media.check();
    }
}

impl Drive for Queued {
    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Accept {
        assert!(now >= self.clock, "time runs back: {now} after {}", self.clock);
        assert!(request.end() <= self.capacity, "request beyond the end of the drive");
        if self.pending.len() >= self.queue_depth {
            return Accept::QueueFull;
        }
        self.clock = now;
        let done = self.media.serve(now, &request);
        assert!(done >= now, "a request ends before it begins");
        self.pending.push(Reverse((done, self.submitted, request.tag)));
        self.submitted += 1;
        Accept::Accepted
    }

    fn next_event(&self) -> Option<Nanos> {
        self.pending.peek().map(|Reverse((at, ..))| *at)
    }

    fn advance(&mut self, to: Nanos, completions: &mut Vec<Completion>) {
        assert!(to >= self.clock, "time runs back: {to} after {}", self.clock);
        while let Some(Reverse((at, _, tag))) = self.pending.peek().copied() {
            if at > to {
                break;
            }
            self.pending.pop();
            completions.push(Completion { tag, at, error: 0 });
        }
        self.clock = to;
    }

    fn counters(&self) -> Vec<(String, f64)> {
        self.media.counters()
    }

    fn mark(&mut self) {
        self.media.mark();
    }
}
