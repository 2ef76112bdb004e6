//! The record of trimmed pages. After a power cut, old copies of trimmed pages are still on the
//! flash; they must not come back once a flush has been answered.
//!
//! The record has one bit for each logical page. It lies in logical pages beyond those of the host
//! and the map, so it is placed, collected and counted like any other page. The record pages that
//! have changed are written with a flush, or when many trims wait. A recovery scan takes a page as
//! trimmed if the newest record says so and is newer than the page. So the record is written when
//! nothing else is on its way to the cells. Until it is there, trimmed pages stay mapped, and are
//! moved when their blocks are emptied.

use super::bits::Bits;
use crate::lpn::Lpn;
use crate::nand::Record;
use assay_spec::Bytes;
use std::ops::Range;

/// The trimmed pages.
pub(super) struct Trims {
    /// The number of logical pages that a record page covers.
    bits: u32,
    /// The first record page, as a logical page.
    first: Lpn,
    /// The most trims that may wait to be recorded.
    most: u64,
    /// Trimmed pages of which no record has been requested.
    waiting: Bits,
    /// Trimmed pages whose record is being written.
    recording: Bits,
    /// Trimmed pages whose record is in the cells, and that have not been written since.
    recorded: Bits,
    /// The numbers of the record pages that have changed.
    changed: Bits,
}

/// Returns the number of flash pages that the record for `logical` pages takes.
pub(crate) fn record_pages(page: Bytes, logical: u64) -> u64 {
    logical.div_ceil(page.0 * 8)
}

impl Trims {
    /// Returns the state for `logical` pages without trims. The record begins with logical page
    /// `first`.
    pub(super) fn new(page: Bytes, logical: u32, first: Lpn) -> Trims {
        Trims {
            bits: (page.0 * 8) as u32,
            first,
            most: u64::from(logical) / 256 + 16,
            waiting: Bits::default(),
            recording: Bits::default(),
            recorded: Bits::default(),
            changed: Bits::default(),
        }
    }

    /// Returns `true` if `page`, which is mapped, is kept only until its trim is recorded.
    #[inline]
    pub(super) fn has(&self, page: Lpn) -> bool {
        self.waiting.len() + self.recording.len() > 0
            && (self.waiting.has(page.0) || self.recording.has(page.0))
    }

    /// Notes the trim of `page`, which must be mapped.
    pub(super) fn trim(&mut self, page: Lpn) {
        self.waiting.set(page.0);
        self.changed.set(page.0 / self.bits);
    }

    /// Notes that `page` is written. The record need not say so: the page is newer.
    #[inline]
    pub(super) fn written(&mut self, page: Lpn) {
        if self.waiting.len() + self.recording.len() + self.recorded.len() > 0 {
            [&mut self.waiting, &mut self.recording, &mut self.recorded]
                .into_iter()
                .for_each(|bits| bits.clear(page.0));
        }
    }

    /// Returns `true` if so many trims wait that they should be recorded.
    pub(super) fn are_due(&self) -> bool {
        self.waiting.len() > self.most
    }

    /// Returns the record pages. `logical` is the number of all mapped pages.
    pub(super) fn pages(&self, logical: usize) -> Range<Lpn> {
        self.first..Lpn(logical as u32)
    }

    /// Notes that a recovery scan has found `page` trimmed.
    pub(super) fn note_recorded(&mut self, page: Lpn) {
        self.recorded.set(page.0);
    }

    /// Returns the content of record page `number`.
    pub(super) fn record(&self, number: u32) -> Record {
        let words = (number * self.bits / 64) as usize..((number + 1) * self.bits / 64) as usize;
        let all = |index| self.recording.word(index) | self.recorded.word(index);
        Record { first: number * self.bits, trimmed: words.map(all).collect() }
    }

    /// Begins to record the trims that wait. Returns the numbers of the record pages that have
    /// changed. The record before is in the cells.
    pub(super) fn begin_record(&mut self) -> Vec<u32> {
        if self.waiting.len() == 0 {
            return Vec::new();
        }
        std::mem::swap(&mut self.recording, &mut self.waiting);
        self.changed.drain().collect()
    }

    /// Notes that the record is in the cells. Returns the pages that it trims.
    pub(super) fn end_record(&mut self) -> Vec<Lpn> {
        let trimmed: Vec<Lpn> = self.recording.drain().map(Lpn).collect();
        trimmed.iter().for_each(|page| self.recorded.set(page.0));
        trimmed
    }

    /// Returns record page `number` as a logical page.
    pub(super) fn page(&self, number: u32) -> Lpn {
        self.first + number
    }
}
