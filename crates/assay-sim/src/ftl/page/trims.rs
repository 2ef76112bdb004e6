//! What has been trimmed, written down: when the power fails, old copies of trimmed pages are still
//! on the flash, and must not come back once a flush has been answered.
//!
//! The record is one bit a logical page, in logical pages beyond the host's and the map's, so they
//! are placed, collected and counted like any other. Those of them that have changed are written
//! with a flush, or when many trims wait. A page is found trimmed if the newest record says so and
//! is newer than the page. So it is written when nothing else is on its way to the cells; and until
//! it is there the trimmed pages are kept, and moved when their blocks are emptied.

use super::bits::Bits;
use super::{NONE, PageMap};
use crate::ftl::Ftl;
use crate::nand::{Cause, Nand, Record};
use crate::ssd::MAP;
use assay_spec::Bytes;

/// The trimmed pages.
pub(super) struct Trims {
    /// Logical pages of a page of the record, the first of which is `first`.
    bits: u32,
    first: u32,
    /// So many may wait.
    most: u64,
    /// Not written down; being written down; written down, and not written since.
    waiting: Bits,
    recording: Bits,
    recorded: Bits,
    /// Pages of the record that have changed.
    changed: Bits,
}

/// Pages of flash that the record for `logical` pages takes.
pub(crate) fn record_pages(page: Bytes, logical: u64) -> u64 {
    logical.div_ceil(page.0 * 8)
}

impl Trims {
    /// Of `logical` pages; the record's own begin with `first`.
    pub(super) fn new(page: Bytes, logical: u32, first: u32) -> Trims {
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

    /// Whether `page`, which is mapped, is kept only until its trim is written down.
    #[inline]
    pub(super) fn has(&self, page: u32) -> bool {
        self.waiting.len() + self.recording.len() > 0
            && (self.waiting.has(page) || self.recording.has(page))
    }

    /// `page`, which is mapped, is trimmed.
    pub(super) fn trim(&mut self, page: u32) {
        self.waiting.set(page);
        self.changed.set(page / self.bits);
    }

    /// `page` is written. The record need not say so: the page is newer.
    #[inline]
    pub(super) fn written(&mut self, page: u32) {
        if self.waiting.len() + self.recording.len() + self.recorded.len() > 0 {
            [&mut self.waiting, &mut self.recording, &mut self.recorded]
                .into_iter()
                .for_each(|bits| bits.clear(page));
        }
    }

    /// Whether so many wait to be written down that they should be.
    pub(super) fn are_due(&self) -> bool {
        self.waiting.len() > self.most
    }

    /// The pages of the record.
    pub(super) fn pages(&self, logical: usize) -> std::ops::Range<u32> {
        self.first..logical as u32
    }

    /// `page` is found trimmed.
    pub(super) fn note_recorded(&mut self, page: u32) {
        self.recorded.set(page);
    }

    /// The page of the record with this number.
    fn record(&self, number: u32) -> Record {
        let words = (number * self.bits / 64) as usize..((number + 1) * self.bits / 64) as usize;
        let all = |index| self.recording.word(index) | self.recorded.word(index);
        Record { first: number * self.bits, trimmed: words.map(all).collect() }
    }
}

impl PageMap {
    pub(super) fn trim_later(&mut self, page: u32) {
        if self.tables.l2p[page as usize] != NONE && !self.trims.has(page) {
            self.trims.trim(page);
        }
    }

    /// Writes down what has been trimmed; returns how many pages that takes.
    pub(super) fn write_record(&mut self, nand: &mut Nand) -> u32 {
        if self.trims.waiting.len() == 0 {
            return 0;
        }
        // Nothing is left of the last time.
        std::mem::swap(&mut self.trims.recording, &mut self.trims.waiting);
        let changed: Vec<u32> = self.trims.changed.drain().collect();
        for number in &changed {
            if let Some(observer) = nand.observer() {
                observer.records(self.trims.record(*number));
            }
            let page = self.trims.first + number;
            self.put(nand, page, Cause::Map, u64::from(MAP) << 32 | u64::from(page), &[]);
        }
        self.drain(nand);
        changed.len() as u32
    }

    /// What was being written down is in the cells: the pages are needed no more.
    pub(super) fn record_is_written(&mut self) {
        let mut recording = std::mem::take(&mut self.trims.recording);
        for page in recording.drain() {
            self.forget(page);
            self.trims.recorded.set(page);
        }
        self.trims.recording = recording;
    }
}
