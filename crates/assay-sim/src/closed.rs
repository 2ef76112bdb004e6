//! The fast path: a closed loop over a drive that knows a request's end when it gets it.
//!
//! Each of `depth` slots issues its next request the moment its last one ends, as a measuring loop
//! does through `submit` and `advance`. The requests to come are known, so the drive is told of
//! them early and fetches its tables.

use crate::drive::Queued;
use crate::winner::WinnerTree;
use assay_spec::{Nanos, Request};

/// So many requests ahead, the drive fetches their map entries; half as many ahead, what those
/// point to.
const AHEAD: usize = 32;

/// Slots and when each is free.
pub struct Closed {
    slots: WinnerTree,
}

impl Closed {
    /// `depth` slots, all free at time zero.
    pub fn new(depth: usize) -> Closed {
        let mut slots = WinnerTree::new(depth);
        (0..depth).for_each(|slot| slots.set(slot, 0));
        Closed { slots }
    }

    /// Issues requests 0 to `count` as `request` makes them; `done` gets each one's latency.
    pub fn run(
        &mut self,
        drive: &mut Queued,
        count: u64,
        mut request: impl FnMut(u64) -> Request,
        mut done: impl FnMut(Nanos),
    ) {
        let mut ring: [Request; AHEAD] = std::array::from_fn(|i| request(i as u64));
        for i in 0..count {
            let index = i as usize % AHEAD;
            let next = ring[index];
            ring[index] = request(i + AHEAD as u64);
            drive.expect(&ring[index], &ring[(index + AHEAD / 2) % AHEAD]);
            let (slot, free) = self.slots.winner();
            let end = drive.serve(Nanos(free), &next);
            self.slots.set(slot, end.0);
            done(end - Nanos(free));
        }
    }
}
