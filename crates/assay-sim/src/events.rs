//! What happens next inside a drive: one pending event for each resource.
//!
//! A resource (an array, a bus, the firmware) does one thing at a time, so the next event of the
//! whole drive is the smallest of a fixed set of times, and a tree of them serves as event queue
//! without allocation. Events at the same time happen in the order of their slots.

use crate::winner::{OUT, WinnerTree};
use assay_spec::Nanos;

/// The pending events, and the time now.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    tree: WinnerTree,
    now: Nanos,
}

impl Events {
    /// `slots` resources, all idle.
    pub(crate) fn new(slots: usize) -> Events {
        Events { tree: WinnerTree::new(slots), now: Nanos::ZERO }
    }

    #[inline]
    pub(crate) fn now(&self) -> Nanos {
        self.now
    }

    /// Time passes to `to`; nothing is pending before.
    #[inline]
    pub(crate) fn pass(&mut self, to: Nanos) {
        debug_assert!(to >= self.now, "time runs back: {to} after {}", self.now);
        debug_assert!(self.next().is_none_or(|at| at >= to), "an event is passed over");
        self.now = to;
    }

    /// The resource of `slot` will be done after `duration`.
    #[inline]
    pub(crate) fn after(&mut self, slot: usize, duration: Nanos) -> Nanos {
        let at = self.now + duration;
        self.tree.set(slot, at.0);
        at
    }

    /// The resource of `slot` has nothing to do.
    #[inline]
    pub(crate) fn cancel(&mut self, slot: usize) {
        self.tree.set(slot, OUT);
    }

    /// When the next event happens, if any is pending.
    #[inline]
    pub(crate) fn next(&self) -> Option<Nanos> {
        let (_, at) = self.tree.winner();
        (at != OUT).then_some(Nanos(at))
    }

    /// Lets the next event happen if it is not after `until`: time passes to it. Its slot stays
    /// pending until it is set again or cancelled.
    #[inline]
    pub(crate) fn pop(&mut self, until: Nanos) -> Option<usize> {
        let (slot, at) = self.tree.winner();
        if at == OUT || at > until.0 {
            return None;
        }
        self.now = Nanos(at);
        Some(slot)
    }
}
