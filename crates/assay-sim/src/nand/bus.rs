//! The channels: arbitration of the bus, and the end of a transfer.

use super::counts::CollectionWait;
use super::observe::{Observed, Operation, Step};
use super::ops::{NO_OP, OpKind};
use super::{FlashEvent, Nand, Token};
use crate::events::Queue;
use assay_spec::Nanos;

impl Nand {
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
        let (queue, duration) = match self.has_multi_page() {
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

    /// Handles the end of the transfer on `channel` and begins the next one.
    pub(super) fn on_transfer_done(&mut self, channel: usize, flash_events: &mut Vec<FlashEvent>) {
        let c = &mut self.channels[channel];
        let (index, next) = (c.now, c.first);
        if next == NO_OP {
            c.now = NO_OP;
        } else {
            c.first = self.pool.get(next).next;
            self.drive_channel(channel, next);
        }
        let op = self.pool.get_mut(index);
        let (plane, token) = (op.ppa.plane, op.token);
        if op.kind == OpKind::Program {
            op.loaded = true;
            let held = op.held;
            if self.has_multi_page() {
                self.program_loaded(index);
            }
            if token != Token::NONE {
                flash_events.push(FlashEvent::Loaded(token));
                if token.is_behind_collection() {
                    self.counts.end_collection_wait(CollectionWait::Program, self.events.now());
                }
            }
            return if held { self.loaded_while_held(index) } else { self.confirm(plane) };
        }
        if token != Token::NONE {
            flash_events.push(FlashEvent::Read(token));
            if token.is_behind_collection() {
                self.counts.end_collection_wait(CollectionWait::Read, self.events.now());
            }
        }
        if self.suspension.is_none() || !self.on_priority_transferred(plane, index) {
            self.planes[plane as usize].register = NO_OP;
            self.move_sensed(plane);
        }
        self.end(index);
        self.serve_plane(plane);
    }

    /// Moves a sensed page that waits on the array of `plane` to the plane's free cache register.
    fn move_sensed(&mut self, plane: u32) {
        let array = self.planes[plane as usize].array as usize;
        let (index, waits) = (self.arrays[array].op, self.arrays[array].waits);
        if waits && !self.has_priority_read(array) && self.pool.get(index).ppa.plane == plane {
            (self.arrays[array].op, self.arrays[array].waits) = (NO_OP, false);
            self.planes[plane as usize].register = index;
            self.transfer(plane, index);
            self.serve_array(array);
        }
    }
}
