//! A closed loop in the fewest steps: `depth` slots, each of which issues its next request the
//! moment its last one ends. The requests to come are known, so the drive is told of them early and
//! fetches its tables.

use crate::drive::{Accept, Drive};
use assay_spec::{Completion, Nanos, Request};

/// So many requests ahead, the drive fetches their map entries; half as many ahead, what those
/// point to.
const AHEAD: usize = 32;

/// The slots.
pub struct Closed {
    /// When each slot's request was issued.
    issued: Vec<Nanos>,
    free: Vec<u32>,
    now: Nanos,
}

impl Closed {
    /// `depth` slots, all free at time zero.
    pub fn new(depth: usize) -> Closed {
        Closed {
            issued: vec![Nanos::ZERO; depth],
            free: (0..depth as u32).rev().collect(),
            now: Nanos::ZERO,
        }
    }

    /// The time of the last end.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Issues requests 0, 1, 2… as `request` makes them, until `count` have ended; `done` gets the
    /// latency of each. What is in flight then ends in the next run.
    pub fn run(
        &mut self,
        drive: &mut dyn Drive,
        count: u64,
        mut request: impl FnMut(u64) -> Request,
        mut done: impl FnMut(Nanos),
    ) {
        let mut ring: [Request; AHEAD] = std::array::from_fn(|i| request(i as u64));
        let mut completions: Vec<Completion> = Vec::with_capacity(self.issued.len());
        let (mut index, mut ended) = (0_u64, 0);
        loop {
            while let Some(slot) = self.free.pop() {
                let place = index as usize % AHEAD;
                let next = Request { tag: slot, ..ring[place] };
                ring[place] = request(index + AHEAD as u64);
                drive.expect(&ring[place], &ring[(place + AHEAD / 2) % AHEAD]);
                self.issued[slot as usize] = self.now;
                let accepted = drive.submit(self.now, next);
                assert_eq!(accepted, Accept::Accepted, "the drive takes fewer than `depth`");
                index += 1;
            }
            self.now = drive.run(Nanos::NEVER, &mut completions);
            for completion in completions.drain(..) {
                done(completion.at - self.issued[completion.tag as usize]);
                self.free.push(completion.tag);
                ended += 1;
            }
            if ended >= count {
                return;
            }
        }
    }
}
