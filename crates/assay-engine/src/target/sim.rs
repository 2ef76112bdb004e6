//! A modelled drive as a target: its clock is virtual and jumps from event to event.

use super::{Submit, Target};
use assay_sim::{Accept, Drive, Host};
use assay_spec::{Bytes, Completion, Nanos, Request};

/// A modelled drive behind its host, in virtual time.
pub struct SimTarget<D> {
    drive: Host<D>,
    now: Nanos,
}

impl<D: Drive> SimTarget<D> {
    /// Puts `drive` at time zero.
    pub fn new(drive: Host<D>) -> Self {
        SimTarget { drive, now: Nanos::ZERO }
    }

    /// The drive, for its counters.
    pub fn drive(&mut self) -> &mut Host<D> {
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

    fn set_processes(&mut self, tags_per_process: u32) {
        self.drive.set_processes(tags_per_process);
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Submit {
        match self.drive.submit(now, request) {
            Accept::Accepted => Submit::Accepted,
            Accept::QueueFull => Submit::Full,
        }
    }

    fn poll(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        let before = completions.len();
        let reached = self.drive.run(until, completions);
        let goes_on = completions.len() > before || until < Nanos::NEVER;
        assert!(goes_on, "waiting for ever with nothing in flight");
        self.now = self.now.max(reached);
        self.now
    }
}
