//! A modelled drive as a target: its clock is virtual and jumps from event to event.

use super::{Submit, Target};
use assay_sim::{Accept, Drive};
use assay_spec::{Bytes, Completion, Nanos, Request};

/// A modelled drive in virtual time.
pub struct SimTarget<D> {
    drive: D,
    now: Nanos,
}

impl<D: Drive> SimTarget<D> {
    /// Puts `drive` at time zero.
    pub fn new(drive: D) -> Self {
        SimTarget { drive, now: Nanos::ZERO }
    }

    /// The drive, for its counters.
    pub fn drive(&mut self) -> &mut D {
        &mut self.drive
    }
}

impl<D: Drive> Target for SimTarget<D> {
    fn capacity(&self) -> Bytes {
        self.drive.capacity()
    }

    fn granularity(&self) -> Bytes {
        Bytes(512)
    }

    fn now(&mut self) -> Nanos {
        self.now
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Submit {
        match self.drive.submit(now, request) {
            Accept::Accepted => Submit::Accepted,
            Accept::QueueFull => Submit::Full,
        }
    }

    fn poll(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        let before = completions.len();
        // An event may be internal (a dispatch): go on until a request has ended.
        while completions.len() == before {
            let next = self.drive.next_event().filter(|at| *at <= until);
            self.now = next.unwrap_or(until).max(self.now);
            assert!(self.now < Nanos::NEVER, "waiting for ever with nothing in flight");
            self.drive.advance(self.now, completions);
            if next.is_none() {
                break;
            }
        }
        self.now
    }
}
