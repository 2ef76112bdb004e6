//! The completions to come of a drive that knows beforehand when a request ends.

use assay_spec::{Completion, Nanos};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The completions to come, in the order of their times. Those of one time have the order of
/// submission.
#[derive(Default)]
pub(crate) struct Completions {
    /// (time, number of the request, tag).
    heap: BinaryHeap<Reverse<(Nanos, u64, u32)>>,
    /// The number of requests so far.
    submitted: u64,
}

impl Completions {
    /// Counts a submitted request and returns its number, the order of submission.
    pub(crate) fn number(&mut self) -> u64 {
        self.submitted += 1;
        self.submitted
    }

    /// Adds the completion of request `number` with `tag`.
    pub(crate) fn push(&mut self, at: Nanos, number: u64, tag: u32) {
        self.heap.push(Reverse((at, number, tag)));
    }

    /// Returns the time of the next completion.
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// Moves the completions that are due by `to` to `completions`.
    pub(crate) fn hand_over(&mut self, to: Nanos, completions: &mut Vec<Completion>) {
        while self.next().is_some_and(|at| at <= to) {
            let due = self.heap.pop();
            completions.extend(due.map(|Reverse((at, _, tag))| Completion { tag, at, error: 0 }));
        }
    }

    /// Returns the number of completions to come.
    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }
}
