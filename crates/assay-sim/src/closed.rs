//! A fast closed loop: `depth` slots, each of which issues its next request the moment its last one
//! ends. The next request is known in advance, so that the drive gets a prefetch hint for it.

use crate::drive::{Accept, Drive};
use assay_spec::{Completion, Nanos, Request};

/// A closed loop with its slots.
pub struct Closed {
    /// By slot: when its last request was issued.
    issued: Vec<Nanos>,
    /// The slots without a request in flight.
    free: Vec<u32>,
    now: Nanos,
}

impl Closed {
    /// Creates a loop of `depth` slots, all free, at time zero.
    pub fn new(depth: usize) -> Closed {
        Closed {
            issued: vec![Nanos::ZERO; depth],
            free: (0..depth as u32).rev().collect(),
            now: Nanos::ZERO,
        }
    }

    /// Returns the time of the last completion.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Issues requests `request(0)`, `request(1)`…, until `count` have ended; calls `done` with the
    /// latency of each. Requests still in flight end in the next run.
    pub fn run(
        &mut self,
        drive: &mut dyn Drive,
        count: u64,
        mut request: impl FnMut(u64) -> Request,
        mut done: impl FnMut(Nanos),
    ) {
        let mut next = request(0);
        let mut completions: Vec<Completion> = Vec::with_capacity(self.issued.len());
        let (mut index, mut ended) = (0_u64, 0);
        loop {
            while let Some(slot) = self.free.pop() {
                index += 1;
                let issued = Request { tag: slot, ..next };
                next = request(index);
                drive.prefetch_hint(next.offset);
                self.issued[slot as usize] = self.now;
                let accepted = drive.submit(self.now, issued);
                assert_eq!(accepted, Accept::Accepted, "the drive takes fewer than `depth`");
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
