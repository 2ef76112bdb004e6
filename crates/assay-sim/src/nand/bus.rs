//! The channels: who gets the bus, and what happens when a page is through.

use super::observe::{Operation, Step};
use super::ops::{Kind, NO_OP};
use super::{NOBODY, Nand, Notice};

impl Nand {
    /// The register of `plane` asks for the bus.
    #[inline]
    pub(super) fn shift(&mut self, plane: u32, index: u32) {
        let channel = self.geometry.channel(plane);
        if self.channels[channel].now == NO_OP {
            return self.drive_channel(channel, index);
        }
        self.channels[channel].queue.push_back(index);
    }

    #[inline]
    fn drive_channel(&mut self, channel: usize, index: u32) {
        self.channels[channel].now = index;
        let end = self.events.after(self.first_slot + channel, self.shift);
        self.channel_total += self.shift;
        if let Some(observer) = &mut self.observer {
            let op = self.pool.get(index);
            let step = if op.kind == Kind::Read { Step::ShiftOut } else { Step::ShiftIn };
            let (cause, plane, page) = (op.cause, op.spot.plane, op.spot.page);
            let start = self.events.now();
            observer.operation(&Operation { step, cause, plane, page, start, end });
        }
    }

    pub(super) fn shifted(&mut self, channel: usize, notices: &mut Vec<Notice>) {
        let index = self.channels[channel].now;
        match self.channels[channel].queue.pop_front() {
            Some(next) => self.drive_channel(channel, next),
            None => {
                self.channels[channel].now = NO_OP;
                self.events.cancel(self.first_slot + channel);
            }
        }
        let op = self.pool.get(index);
        let (plane, token) = (op.spot.plane, op.token);
        if op.kind == Kind::Program {
            op.loaded = true;
            if token != NOBODY {
                notices.push(Notice::Loaded(token));
            }
            return self.confirm(plane);
        }
        if token != NOBODY {
            notices.push(Notice::Read(token));
        }
        self.planes[plane as usize].register = NO_OP;
        self.move_sensed(plane);
        self.end(index);
        self.serve_plane(plane);
    }

    /// Data that waits on the array of `plane` moves to its free cache register.
    fn move_sensed(&mut self, plane: u32) {
        let array = self.geometry.array(plane);
        let (index, waits) = (self.arrays[array].op, self.arrays[array].waits);
        if waits && self.pool.get(index).spot.plane == plane {
            (self.arrays[array].op, self.arrays[array].waits) = (NO_OP, false);
            self.planes[plane as usize].register = index;
            self.shift(plane, index);
            self.serve_array(array);
        }
    }
}
