//! Detects sequential writes.

use crate::ftl::NONE;
use crate::lpn::Lpn;

/// A detector of sequential writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct SequenceDetector {
    /// The sequential writes in a row that make a stream anywhere; none do if 0.
    after: u32,
    /// The sequential writes in a row so far.
    in_a_row: u32,
    /// The page behind the last write.
    last_end: Lpn,
}

impl SequenceDetector {
    /// Creates a detector of `after` sequential writes in a row.
    pub(super) fn new(after: u32) -> SequenceDetector {
        SequenceDetector { after, in_a_row: 0, last_end: Lpn(NONE) }
    }

    /// Notes a write of `page`; returns `true` if enough writes in a row were sequential.
    pub(super) fn note(&mut self, page: Lpn) -> bool {
        self.in_a_row = if page == self.last_end { self.in_a_row + 1 } else { 0 };
        self.last_end = page + 1;
        self.after > 0 && self.in_a_row >= self.after
    }

    /// Forgets the last write: the next one is not sequential.
    pub(super) fn forget_last(&mut self) {
        self.last_end = Lpn(NONE);
    }
}
