//! The null target: it answers all requests at once, so that a run measures the tool itself.

use super::{ModelHints, Submit, Target};
use crate::clock::Clock;
use assay_spec::{Bytes, Completion, Nanos, Request};

/// A target that completes every request at the next poll.
#[derive(Debug)]
pub struct NullTarget {
    clock: Clock,
    capacity: Bytes,
    /// The tags in flight.
    pending: Vec<u32>,
}

impl NullTarget {
    /// Creates a null target that claims to have this capacity.
    pub fn new(capacity: Bytes) -> Self {
        NullTarget { clock: Clock::start(), capacity, pending: Vec::new() }
    }
}

impl Target for NullTarget {
    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn granularity(&self) -> Bytes {
        Bytes(512)
    }

    fn now(&mut self) -> Nanos {
        self.clock.now()
    }

    fn submit(&mut self, _now: Nanos, request: Request) -> Submit {
        self.pending.push(request.tag);
        Submit::Accepted
    }

    fn poll(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        let mut at = self.clock.now();
        while self.pending.is_empty() && at < until {
            std::thread::sleep(std::time::Duration::from_nanos((until - at).0));
            at = self.clock.now();
        }
        completions.extend(self.pending.drain(..).map(|tag| Completion { tag, at, error: 0 }));
        at
    }
}

impl ModelHints for NullTarget {}
