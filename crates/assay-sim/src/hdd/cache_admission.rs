//! Service of waiting commands without the arm: writes get room in the cache, reads its new data.
//!
//! Writes that find no room get it in the order of arrival, whatever the order of commands, because
//! they do not need the arm themselves: the destaging that makes room does. The first of them waits
//! for the arm in place of all, at the place of the data that would be destaged. A read that waits
//! for the arm is answered from the cache if its data has been read for another command meanwhile.

use super::Hdd;
use super::command_queue::{Command, CommandKind};
use assay_spec::Nanos;

impl Hdd {
    /// Returns `true` if a write waits for room.
    pub(super) fn is_room_awaited(&self) -> bool {
        self.first_for_room().is_some()
    }

    /// Returns the index in the queue of the first write that waits for room.
    fn first_for_room(&self) -> Option<usize> {
        if !self.media.policy.cache.write_cache {
            return None;
        }
        self.queue.first_for_room()
    }

    /// Makes a write wait for room, which it may have from `ready` on.
    pub(super) fn wait_for_room(&mut self, command: Command, ready: Nanos) {
        let command = Command { kind: CommandKind::Room, ..command };
        match self.is_room_awaited() {
            true => self.queue.push_for_room(command, ready),
            false => self.queue_seek(command, ready, command.first),
        }
    }

    /// Serves all waiting commands that need no arm. Returns `false` if there were none.
    pub(super) fn serve_without_arm(&mut self, at: Nanos) -> bool {
        self.take_in(at) | self.answer_from_cache(at)
    }

    /// Takes waiting writes into the cache while there is room. Returns `false` if it took none.
    fn take_in(&mut self, at: Nanos) -> bool {
        let mut any = false;
        while let Some(index) = self.first_for_room().filter(|i| self.queue.ready(*i) <= at) {
            self.media.follow(at);
            let command = self.queue.get(index);
            if !self.admit(at, at, &command) {
                break;
            }
            any = true;
            self.queue.remove(index);
            if let Some((next, ready)) = self.queue.pop_for_room() {
                self.queue_seek(next, ready.max(at), next.first);
            }
        }
        any
    }

    /// Answers waiting reads from the segment that a command last read into, if they arrived before
    /// that read ended. Others did not find its data when they arrived, and the firmware does not
    /// look again for what is only read ahead. Returns `false` if it answered none.
    fn answer_from_cache(&mut self, at: Nanos) -> bool {
        let (slot, read) = self.filled;
        let mut any = false;
        if self.controller.depth == 1 || self.media.cache.is_dirty(slot) {
            return any;
        }
        self.media.follow(at);
        let (from, to) = self.media.cache.range(slot);
        let mut index = 0;
        while index < self.queue.len() {
            let command = self.queue.get(index);
            let is_there = from <= command.first && command.first + command.sectors <= to;
            let reads = matches!(command.kind, CommandKind::Read | CommandKind::Rest { .. });
            if is_there && reads && command.came < read && self.queue.ready(index) <= at {
                self.queue.remove(index);
                self.media.counts.read_hits += 1;
                self.give_out(slot, at, at, &command);
                any = true;
            } else {
                index += 1;
            }
        }
        any
    }

    /// Updates the place at which the arm would make room for the first write that waits for it.
    pub(super) fn aim_for_room(&mut self, at: Nanos) {
        let Some(index) = self.first_for_room() else { return };
        if let Some(dirty) = self.in_the_way(at, index) {
            let slot = self.media.cache.dirty[dirty].slot;
            let goal = self.media.goal(self.media.cache.range(slot).0);
            self.queue.set_place(index, self.media.arm.geometry.place(goal));
        }
    }

    /// Returns the index in `dirty` of the segment to destage so that write `index` of the queue
    /// gets room: one that it overlaps, or else the one that [`Hdd::nearest`] returns.
    fn in_the_way(&self, at: Nanos, index: usize) -> Option<usize> {
        let Command { first, sectors, .. } = self.queue.get(index);
        self.media
            .cache
            .dirty_in(first, first + sectors)
            .or_else(|| self.media.nearest(at, u64::MAX))
    }

    /// Destages a segment with the arm, for the first write that waits for room.
    pub(super) fn make_room(&mut self, at: Nanos) {
        let index = self.first_for_room().expect("one waits");
        let dirty = self.in_the_way(at, index).expect("the cache is full");
        let at = self.media.stop_reading(at);
        self.media.destage(at, dirty);
    }
}
