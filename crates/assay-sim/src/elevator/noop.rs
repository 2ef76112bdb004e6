//! Noop: first come, first served, with merging.
//!
//! After `noop-iosched` of Linux 2.6. It keeps no sorted list: the block layer's hash finds the
//! waiting request that a new one continues; one that it precedes is found only if that was the
//! last to arrive or grow.

use super::interface::{Elevator, Next, Waiting};
use assay_spec::Nanos;

/// The elevator that does not reorder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noop;

impl Elevator for Noop {
    fn added(&mut self, _now: Nanos, _queue: &[Waiting], _index: usize) {}

    fn next(&mut self, _now: Nanos, queue: &[Waiting]) -> Next {
        if queue.is_empty() { Next::Idle } else { Next::Request(0) }
    }

    fn completed(&mut self, _now: Nanos, _queue: &[Waiting], _ended: &Waiting) {}

    fn sorts(&self) -> bool {
        false
    }
}
