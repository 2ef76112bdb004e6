//! The completions to come, in the order of their times.

use assay_spec::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The completions to come. Those of one time have the order of submission.
#[derive(Default)]
pub(super) struct Completions {
    /// (time, order of submission, tag).
    heap: BinaryHeap<Reverse<(Nanos, u64, u32)>>,
}

impl Completions {
    /// Adds the completion of command `number` with `tag`.
    pub(super) fn push(&mut self, at: Nanos, number: u64, tag: u32) {
        self.heap.push(Reverse((at, number, tag)));
    }

    /// Returns the time of the next completion.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// Removes and returns the next completion if it is not after `to`: time and tag.
    pub(super) fn pop(&mut self, to: Nanos) -> Option<(Nanos, u32)> {
        self.next().filter(|at| *at <= to)?;
        self.heap.pop().map(|Reverse((at, _, tag))| (at, tag))
    }

    /// Returns the number of completions to come.
    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }
}
