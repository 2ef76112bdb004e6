//! The drive as a state machine.
//!
//! *Contract.* `submit` takes a request or says the queue is full; `next_event` returns the time of
//! the next event; `advance(to, …)` executes all events up to and including `to`, in order, and
//! appends the completions. Time never runs back. The results do not depend on how often, or how
//! far, a drive is advanced.

use crate::nand::{Flash, Observer};
use crate::ssd::stall::Snapshot;
use assay_spec::{Bytes, Completion, Nanos, Request};

/// The answer of a drive to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accept {
    /// A completion will follow.
    Accepted,
    /// The queue is full.
    QueueFull,
}

/// A drive, or anything that behaves as one: arrays and hosts stack by the same interface.
pub trait Drive: Counters + Inspect + PowerCut + Prefetch {
    /// Returns the addressable size.
    fn capacity(&self) -> Bytes;
    /// Hands `request` to the drive at `now`, which is not before the time reached so far.
    fn submit(&mut self, now: Nanos, request: Request) -> Accept;
    /// Returns the time of the next event, if one is pending; it need not be a completion.
    fn next_event(&self) -> Option<Nanos>;
    /// Executes all events up to `to`, and appends the completions in order of time.
    fn advance(&mut self, to: Nanos, completions: &mut Vec<Completion>);
    /// Executes events until a request has ended, or up to `until`; returns the time reached. If no
    /// event is pending and `until` is [`Nanos::NEVER`], time stands still.
    fn run(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        let before = completions.len();
        let mut now = Nanos::ZERO;
        while completions.len() == before {
            let next = self.next_event().filter(|at| *at <= until);
            if next.is_none() && until == Nanos::NEVER {
                break;
            }
            now = next.unwrap_or(until);
            self.advance(now, completions);
            if next.is_none() {
                break;
            }
        }
        now
    }
}

/// What a drive counts.
pub trait Counters {
    /// Returns the drive's own counters since the last call of `mark`: (name, value).
    fn counters(&self) -> Vec<(String, f64)>;
    /// Resets the counters, at the start of a measured phase.
    fn mark(&mut self);
    /// Makes flash drives time what requests wait for, from now on, and count it.
    fn time_waits(&mut self) {}
}

/// Looks inside a drive.
pub trait Inspect {
    /// Returns the state at `now` of each flash drive in it, or `None` for one that has failed. The
    /// drive has been advanced to `now`.
    fn snapshots(&self, _now: Nanos) -> Vec<Option<Snapshot>> {
        Vec::new()
    }
    /// Reports the drive's work to `observer`, if the drive can. Called before the first request.
    ///
    /// # Panics
    ///
    /// If a flash drive has had a request before.
    fn observe(&mut self, _observer: Box<dyn Observer>) {}
    /// Panics unless every invariant of the drive holds. It may be slow.
    fn check(&self) {}
}

/// Power cuts, which only flash drives model.
pub trait PowerCut {
    /// Cuts the power of a flash drive at `now`, to which it has been advanced. Returns when the
    /// drive stops: at `now`, or when a buffer protected from power cuts is in the cells. The
    /// firmware begins no more commands. Arrays and disks do not model this: they return `now`.
    fn lose_power(&mut self, now: Nanos) -> Nanos {
        now
    }
    /// Makes a flash drive, built unfilled and not used yet, take over the flash that another drive
    /// has left. Returns `false` if its kind cannot. Takes no time but that of flash operations.
    fn recover(&mut self, _flash: &Flash) -> bool {
        false
    }
}

/// Hints of requests to come, for drives whose tables are larger than the processor's cache.
pub trait Prefetch {
    /// Says that a request at `offset` comes soon, so that the drive can fetch its table entry into
    /// the processor's cache. Changes no result.
    fn prefetch_hint(&mut self, _offset: Bytes) {}
}

impl<D: Drive + ?Sized> Drive for Box<D> {
    fn capacity(&self) -> Bytes {
        (**self).capacity()
    }
    fn submit(&mut self, now: Nanos, request: Request) -> Accept {
        (**self).submit(now, request)
    }
    fn next_event(&self) -> Option<Nanos> {
        (**self).next_event()
    }
    fn advance(&mut self, to: Nanos, completions: &mut Vec<Completion>) {
        (**self).advance(to, completions);
    }
    fn run(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        (**self).run(until, completions)
    }
}

impl<D: Drive + ?Sized> Counters for Box<D> {
    fn counters(&self) -> Vec<(String, f64)> {
        (**self).counters()
    }
    fn time_waits(&mut self) {
        (**self).time_waits();
    }
    fn mark(&mut self) {
        (**self).mark();
    }
}

impl<D: Drive + ?Sized> Inspect for Box<D> {
    fn snapshots(&self, now: Nanos) -> Vec<Option<Snapshot>> {
        (**self).snapshots(now)
    }
    fn observe(&mut self, observer: Box<dyn Observer>) {
        (**self).observe(observer);
    }
    fn check(&self) {
        (**self).check();
    }
}

impl<D: Drive + ?Sized> PowerCut for Box<D> {
    fn lose_power(&mut self, now: Nanos) -> Nanos {
        (**self).lose_power(now)
    }
    fn recover(&mut self, flash: &Flash) -> bool {
        (**self).recover(flash)
    }
}

impl<D: Drive + ?Sized> Prefetch for Box<D> {
    fn prefetch_hint(&mut self, offset: Bytes) {
        (**self).prefetch_hint(offset);
    }
}
