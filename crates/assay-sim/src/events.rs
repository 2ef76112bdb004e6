//! What happens next inside a drive: one pending event for each resource.
//!
//! A resource (an array, a bus, the firmware) does one thing at a time, so the next event of the
//! whole drive is the smallest of a fixed set of times, and a tree of them serves as event queue
//! without allocation. Events at the same time happen in the order of their slots.

use crate::winner::WinnerTree;
use assay_spec::Nanos;

/// The slots below this change with every request; they are kept beside the tree and compared one
/// by one.
const BESIDE: usize = 3;
/// The time of what is not pending.
const NEVER: u64 = u64::MAX;

/// The pending events, and the time now.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    beside: [u64; BESIDE],
    tree: WinnerTree,
    now: Nanos,
}

impl Events {
    /// `slots` resources, all idle.
    pub(crate) fn new(slots: usize) -> Events {
        let tree = WinnerTree::new(slots.saturating_sub(BESIDE));
        Events { beside: [NEVER; BESIDE], tree, now: Nanos::ZERO }
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
        self.set(slot, Some(at));
        at
    }

    /// The resource of `slot` has nothing to do.
    #[inline]
    pub(crate) fn cancel(&mut self, slot: usize) {
        self.set(slot, None);
    }

    #[inline]
    fn set(&mut self, slot: usize, at: Option<Nanos>) {
        let at = at.map(|at| at.0);
        match self.beside.get_mut(slot) {
            Some(time) => *time = at.unwrap_or(NEVER),
            None => self.tree.set(slot - BESIDE, at),
        }
    }

    /// The slot that is next, and when; `NEVER` if none is pending.
    #[inline]
    fn winner(&self) -> (usize, u64) {
        let tree = self.tree.winner();
        let mut best = tree.map_or((BESIDE, NEVER), |(slot, at)| (slot + BESIDE, at));
        for slot in (0..BESIDE).rev() {
            if self.beside[slot] <= best.1 {
                best = (slot, self.beside[slot]);
            }
        }
        best
    }

    /// When the next event happens, if any is pending.
    #[inline]
    pub(crate) fn next(&self) -> Option<Nanos> {
        let (_, at) = self.winner();
        (at != NEVER).then_some(Nanos(at))
    }

    /// Lets the next event happen if it is not after `until`: time passes to it. Its slot stays
    /// pending until it is set again or cancelled.
    #[inline]
    pub(crate) fn pop(&mut self, until: Nanos) -> Option<usize> {
        let (slot, at) = self.winner();
        if at == NEVER || at > until.0 {
            return None;
        }
        self.now = Nanos(at);
        Some(slot)
    }
}
