//! The requests in flight.

use crate::lpn::Lpn;
use assay_spec::{Bytes, Completion, Nanos, Op, Request};
use std::ops::{Index, IndexMut, Range};

/// The `errno` of a write to a drive that is worn out.
pub(super) const EROFS: i32 = 30;
/// The `errno` of a read of a page with an uncorrectable error.
pub(super) const EIO: i32 = 5;

/// A request in flight.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    pub(super) request: Request,
    /// The logical pages that the request touches.
    pub(super) pages: Range<Lpn>,
    /// For a write: the next page to fetch from the host.
    pub(super) next: Lpn,
    /// The number of pages that are not done from the host's point of view.
    pub(super) left: u32,
    /// Whether the request covers whole pages only.
    pub(super) whole: bool,
    /// Whether the request reads a page with an uncorrectable error.
    pub(super) is_lost: bool,
}

/// The requests in flight by number, and the answers. A number is reused when its request has been
/// answered.
pub(super) struct Requests {
    /// The most requests in flight.
    queue_depth: usize,
    slots: Vec<InFlight>,
    free: Vec<u32>,
    /// The answers that the host has not fetched.
    completions: Vec<Completion>,
}

impl Requests {
    /// Creates a table without requests, for at most `queue_depth` in flight.
    pub(super) fn new(queue_depth: usize) -> Requests {
        Requests { queue_depth, slots: Vec::new(), free: Vec::new(), completions: Vec::new() }
    }

    /// Adds `request`, which touches `pages`, and returns its number.
    #[inline]
    pub(super) fn add(&mut self, request: Request, pages: Range<Lpn>, whole: bool) -> u32 {
        let number = match self.free.pop() {
            Some(number) => number,
            None => self.add_slot(),
        };
        // Field by field and not as a whole: see `Pool::put`.
        let flight = &mut self.slots[number as usize];
        flight.request.tag = request.tag;
        flight.request.op = request.op;
        flight.request.offset = request.offset;
        flight.request.length = request.length;
        flight.request.fua = request.fua;
        flight.next = pages.start;
        flight.left = pages.end - pages.start;
        (flight.pages.start, flight.pages.end) = (pages.start, pages.end);
        flight.whole = whole;
        flight.is_lost = false;
        number
    }

    /// Adds a slot and returns its number.
    #[cold]
    fn add_slot(&mut self) -> u32 {
        let request =
            Request { tag: 0, op: Op::Read, offset: Bytes::ZERO, length: Bytes::ZERO, fua: false };
        let (pages, next) = (Lpn(0)..Lpn(0), Lpn(0));
        self.slots.push(InFlight { request, pages, next, left: 0, whole: true, is_lost: false });
        self.slots.len() as u32 - 1
    }

    /// Removes request `number`, which is answered at `at`, with an `errno` or 0.
    #[inline]
    pub(super) fn end(&mut self, number: u32, at: Nanos, error: i32) {
        self.free.push(number);
        let tag = self.slots[number as usize].request.tag;
        self.completions.push(Completion { tag, at, error });
    }

    /// Returns the time of the first answer that the host has not fetched.
    pub(super) fn first_completion(&self) -> Option<Nanos> {
        self.completions.first().map(|completion| completion.at)
    }

    /// Moves the answers to the host. Swaps the vectors if it can, because a copy with wider loads
    /// of freshly written data stalls until the store buffer has drained.
    #[inline]
    pub(super) fn hand_over(&mut self, completions: &mut Vec<Completion>) {
        if completions.is_empty() {
            std::mem::swap(completions, &mut self.completions);
        } else {
            completions.append(&mut self.completions);
        }
    }

    /// Returns `true` if no request is in flight.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.slots.len() == self.free.len()
    }

    /// Returns `true` if no further request fits.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.slots.len() - self.free.len() >= self.queue_depth
    }

    /// Returns `true` if there has never been a request.
    pub(super) fn is_unused(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns `true` if request `number` is an `op`.
    #[inline]
    pub(super) fn is(&self, number: u32, op: Op) -> bool {
        self[number].request.op == op
    }
}

impl Index<u32> for Requests {
    type Output = InFlight;

    #[inline]
    fn index(&self, number: u32) -> &InFlight {
        &self.slots[number as usize]
    }
}

impl IndexMut<u32> for Requests {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut InFlight {
        &mut self.slots[number as usize]
    }
}
