//! The interface of elevators, and searches that several of them make.

use assay_spec::{Bytes, Nanos, Op};

/// A way to order requests.
pub(crate) trait Elevator {
    /// Called when `queue[index]` has been added. Not called for a request merged into another.
    fn added(&mut self, now: Nanos, queue: &[Waiting], index: usize);
    /// Chooses what goes next. The caller dispatches a request that it returns.
    fn next(&mut self, now: Nanos, queue: &[Waiting]) -> Next;
    /// Called when request `ended` has ended; those in `queue` still wait.
    fn completed(&mut self, now: Nanos, queue: &[Waiting], ended: &Waiting);
    /// Returns `true` if it keeps requests sorted, and so finds every neighbour to merge with.
    fn sorts(&self) -> bool {
        true
    }
    /// Returns `true` if two adjacent requests of one direction may become one.
    fn may_merge(&self, _one: &Waiting, _other: &Waiting) -> bool {
        true
    }
}

/// The decision of an elevator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The request at this index of the queue goes.
    Request(usize),
    /// No request goes before this time, unless one arrives or ends.
    WaitUntil(Nanos),
    /// No request goes until one arrives or ends.
    Idle,
}

/// A waiting request, with those merged into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// Read or write.
    pub(crate) op: Op,
    /// The first byte.
    pub(crate) offset: Bytes,
    /// The first byte after it.
    pub(crate) end: Bytes,
    /// Whether it is a write that must survive a power cut once it has ended. It is not merged.
    pub(crate) fua: bool,
    /// The process that submitted it.
    pub(crate) process: u32,
    /// When the elevator got it, or the first of those merged into it.
    pub(crate) arrived: Nanos,
    /// The ends of the chain of the submitters' tags, in [`Queue`]'s links.
    pub(super) first: u32,
    pub(super) last: u32,
}

impl Waiting {
    /// Returns `true` if the kernel treats it as synchronous: if its process waits for it.
    pub(crate) fn is_sync(&self) -> bool {
        self.op == Op::Read
    }

    /// Returns the bytes that it covers.
    pub(crate) fn length(&self) -> Bytes {
        self.end - self.offset
    }
}

/// Returns the nearest to `head` of the requests that `is_candidate` admits: ahead of it, or up to
/// `back_max` behind it, where distance counts twice; else the one with the lowest offset, where
/// the next sweep begins.
pub(super) fn nearest(
    queue: &[Waiting],
    head: Bytes,
    back_max: Bytes,
    is_candidate: impl Fn(&Waiting) -> bool,
) -> Option<usize> {
    let cost = |w: &Waiting| {
        if w.offset >= head {
            (0, w.offset.0 - head.0)
        } else if w.offset + back_max >= head {
            (0, 2 * (head.0 - w.offset.0))
        } else {
            (1, w.offset.0)
        }
    };
    let candidates = queue.iter().enumerate().filter(|(_, w)| is_candidate(w));
    // On a tie the request ahead wins.
    candidates.min_by_key(|(_, w)| (cost(w), w.offset < head)).map(|(index, _)| index)
}

/// Returns the request that waits longest of those that `is_candidate` admits.
pub(super) fn oldest(queue: &[Waiting], is_candidate: impl Fn(&Waiting) -> bool) -> Option<usize> {
    let candidates = queue.iter().enumerate().filter(|(_, w)| is_candidate(w));
    candidates.min_by_key(|(index, w)| (w.arrived, *index)).map(|(index, _)| index)
}
