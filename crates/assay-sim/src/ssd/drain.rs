//! When what is written must be in the cells: flushes, and writes that are answered only then.

use super::Ssd;
use super::link::Transfer;
use crate::events::Queue;
use crate::ftl::Ftl;
use assay_spec::{Nanos, Op};

impl<F: Ftl> Ssd<F> {
    /// Whether all that was written before the first flush is in the cells. If not, it goes there.
    pub(super) fn is_flushed(&mut self) -> bool {
        if self.saving > 0 {
            return false;
        }
        // What has been trimmed, or written, meanwhile is not what was asked for.
        if std::mem::take(&mut self.has_recorded) {
            return true;
        }
        self.flush_all();
        self.ftl.flush(&mut self.nand);
        self.wants_drain |= self.nand.has_multi_page();
        if self.unprogrammed > 0 {
            return false;
        }
        self.saving += self.ftl.record_trims(&mut self.nand);
        self.has_recorded = self.saving > 0;
        self.saving == 0
    }

    /// Whether a flush is next among the writes, or one of the drive's own.
    pub(super) fn is_flushing(&self) -> bool {
        self.wants_record
            || !self.is_protected && self.writes.front().is_some_and(|n| self.is_of(*n, Op::Flush))
    }

    fn is_of(&self, number: u32, op: Op) -> bool {
        self.requests[number as usize].request.op == op
    }

    /// Programs what is gathered, if somebody waits for it or for its room: not before everything
    /// that was sent for is there, because each program that lacks pages wastes them.
    #[cold]
    pub(super) fn drain_if_due(&mut self) {
        let is_write = |t: &Transfer| self.is_of(t.number, Op::Write);
        if self.on_link.iter().chain(&self.link).any(is_write) || self.is_any_landing() {
            return;
        }
        // Who waits for a slot gets none from pages that wait for others. An erase that waits for
        // the planes beside its own is not what frees one.
        self.nand.erase_what_can_be();
        let is_stuck = || !self.writes.is_empty() && self.nand.is_at_rest();
        if self.awaited > 0 || self.is_flushing() || is_stuck() {
            self.ftl.drain(&mut self.nand);
        }
        self.wants_drain = !self.writes.is_empty() || self.wants_record;
    }

    /// The power fails: a buffer that survives that goes to the cells.
    #[cold]
    pub(super) fn save_what_survives(&mut self) {
        // As a flush. Commands are not looked at any more; what is on the link comes.
        self.firmware.clear();
        self.nand.events.cancel(Queue::Timer);
        self.is_working = false;
        // What is being written down may lack what was trimmed since.
        self.has_recorded = false;
        self.wants_record = true;
        self.is_protected = false;
        self.fetch_write_data();
        self.drain_if_due();
        while self.wants_record && self.step(Nanos::NEVER) {}
        assert!(!self.wants_record, "what is in the buffer goes to the cells");
    }
}
