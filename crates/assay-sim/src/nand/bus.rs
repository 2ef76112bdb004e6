//! The channels: arbitration of the bus.

use super::chips::Chips;
use super::observe::{Observed, Operation, Step};
use super::ops::{NO_OP, OpKind};
use crate::events::Queue;
use assay_spec::Nanos;

impl Chips {
    /// Requests the bus for the transfer of operation `index` of `plane`.
    #[inline]
    pub(super) fn transfer(&mut self, plane: u32, index: u32) {
        let channel = self.planes[plane as usize].channel as usize;
        let c = &mut self.channels[channel];
        if c.now == NO_OP {
            return self.drive_channel(channel, index);
        }
        self.pool.get_mut(index).next = NO_OP;
        match c.first {
            NO_OP => c.first = index,
            _ => self.pool.get_mut(c.last).next = index,
        }
        c.last = index;
    }

    /// Begins the transfer of operation `index` on `channel`.
    #[inline]
    fn drive_channel(&mut self, channel: usize, index: u32) {
        self.channels[channel].now = index;
        let (queue, duration) = match self.multi_page.is_some() {
            true => self.transfer_time(index),
            false => (Queue::Transfer, self.chip.page_transfer),
        };
        let end = self.events.after(queue, self.geometry.channel_slot(channel), duration);
        self.counts.channel_busy += duration;
        if self.observer.is_some() {
            self.notify_transfer(index, end);
        }
    }

    /// Reports the transfer of operation `index`, which ends at `end`, to the observer.
    #[cold]
    fn notify_transfer(&mut self, index: u32, end: Nanos) {
        let Some(observer) = &mut self.observer else { return };
        let op = self.pool.get(index);
        let step = if op.kind == OpKind::Read { Step::TransferOut } else { Step::TransferIn };
        let (cause, plane, page) = (op.cause, op.ppa.plane, op.ppa.page);
        let start = self.events.now();
        let operation = Operation { step, cause, plane, page, start, end };
        observer.observe(Observed::Operation(operation));
    }

    /// Ends the transfer on `channel`, begins the next one, and returns the operation whose
    /// transfer has ended.
    #[inline]
    pub(super) fn end_transfer(&mut self, channel: usize) -> u32 {
        let c = &mut self.channels[channel];
        let (index, next) = (c.now, c.first);
        if next == NO_OP {
            c.now = NO_OP;
        } else {
            c.first = self.pool.get(next).next;
            self.drive_channel(channel, next);
        }
        index
    }
}
