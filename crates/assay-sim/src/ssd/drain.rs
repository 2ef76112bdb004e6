//! Draining of written pages into the cells: for flushes, waiting writes and a power cut.

use super::Ssd;
use super::link::Transfer;
use crate::ftl::Ftl;
use assay_spec::{Nanos, Op};

impl<F: Ftl> Ssd<F> {
    /// Returns `true` if all pages written before the first flush are in the cells; starts their
    /// programs if not.
    pub(super) fn flush_or_done(&mut self) -> bool {
        if self.map_save.is_under_way() {
            return false;
        }
        // Trims and writes that arrived during the recording are not covered by this flush.
        if self.writes.take_recorded() {
            return true;
        }
        self.flush_all();
        self.ftl.release_stripe(&mut self.nand);
        self.writes.want_drain(self.nand.has_multi_page());
        if self.buffer.unprogrammed() > 0 {
            return false;
        }
        self.map_save.add(self.ftl.record_trims(&mut self.nand));
        let is_recording = self.map_save.is_under_way();
        self.writes.set_recording(is_recording);
        !is_recording
    }

    /// Returns `true` if a flush is first in `writes`, or if the drive flushes for itself.
    pub(super) fn is_flushing(&self) -> bool {
        self.writes.wants_record()
            || !self.buffer.is_protected()
                && self.writes.first().is_some_and(|n| self.requests.is(n, Op::Flush))
    }

    /// Starts incomplete multi-page programs if a request waits for one of their pages or slots. It
    /// first waits for all fetched write data, because an incomplete program wastes flash pages.
    #[cold]
    pub(super) fn drain_if_due(&mut self) {
        let is_write = |t: Transfer| self.requests.is(t.number, Op::Write);
        if self.link.transfers().any(is_write) || self.map_misses.has_writes() {
            return;
        }
        // Pages that wait for more pages free no slot. An erase that waits for the other planes of
        // its die frees none either, so it starts first.
        self.nand.erase_on_idle_planes();
        let is_stuck = || !self.writes.is_empty() && self.nand.is_at_rest();
        if self.writes.is_any_awaited() || self.is_flushing() || is_stuck() {
            self.ftl.program_gathered(&mut self.nand);
        }
        self.writes.note_drained();
    }

    /// Writes the protected buffer to the cells after a power cut. Panics if pages are left in it.
    #[cold]
    pub(super) fn save_what_survives(&mut self) {
        // Acts like a flush. The firmware's queue is dropped; transfers on the link still arrive.
        self.firmware.clear();
        self.idle.stop(&mut self.nand.events);
        // A recording under way may lack later trims.
        self.writes.set_recording(false);
        self.writes.want_record();
        self.buffer.end_protection();
        self.fetch_write_data();
        self.drain_if_due();
        while self.writes.wants_record() && self.step(Nanos::NEVER) {}
        assert!(!self.writes.wants_record(), "what is in the buffer goes to the cells");
    }
}
