//! What waiting commands get without the arm: room in the cache, and data that has come to it.
//!
//! Writes that find no room get it in the order in which they came, whatever the order of commands:
//! they do not want the arm but its work. The first of them stands for all among those that do, at
//! the place of what would be written to make room. A read that waits for the arm is answered by
//! the cache, if what it wants was read meanwhile for another, or on the way.

use super::Hdd;
use super::serve::{Command, Kind};
use assay_spec::Nanos;

impl Hdd {
    /// Whether a write waits for room.
    pub(super) fn is_room_awaited(&self) -> bool {
        self.first_for_room().is_some()
    }

    fn first_for_room(&self) -> Option<usize> {
        if !self.policy.spec.write_cache {
            return None;
        }
        self.waiting.iter().position(|w| matches!(w.kind, Kind::Room))
    }

    pub(super) fn wait_for_room(&mut self, command: Command, ready: Nanos) {
        let command = Command { kind: Kind::Room, ..command };
        match self.is_room_awaited() {
            true => self.room.push_back((command, ready)),
            false => self.wish_for_arm(command, ready, command.first),
        }
    }

    /// Whoever waits and does not need the arm is served; false if nobody was.
    pub(super) fn serve_without_arm(&mut self, at: Nanos) -> bool {
        self.take_in(at) | self.answer_from_cache(at)
    }

    /// Writes that there is room for now come into the cache.
    fn take_in(&mut self, at: Nanos) -> bool {
        let mut any = false;
        while let Some(index) = self.first_for_room().filter(|i| self.wishes[*i].ready <= at) {
            self.follow(at);
            let command = self.waiting[index];
            if !self.admit(at, at, &command) {
                break;
            }
            any = true;
            self.waiting.swap_remove(index);
            self.wishes.swap_remove(index);
            if let Some((next, ready)) = self.room.pop_front() {
                self.wish_for_arm(next, ready.max(at), next.first);
            }
        }
        any
    }

    /// Reads of what the segment last read into has by now. What is only read ahead after they came
    /// was looked for in vain, and nobody looks again: a command does when another one has read.
    fn answer_from_cache(&mut self, at: Nanos) -> bool {
        let (slot, read) = self.filled;
        let mut any = false;
        if self.depth == 1 || self.cache.is_dirty(slot) {
            return any;
        }
        self.follow(at);
        let (from, to) = self.cache.range(slot);
        let mut index = 0;
        while index < self.waiting.len() {
            let command = self.waiting[index];
            let is_there = from <= command.first && command.first + command.sectors <= to;
            let reads = matches!(command.kind, Kind::Read | Kind::Rest { .. });
            if is_there && reads && command.came < read && self.wishes[index].ready <= at {
                self.waiting.swap_remove(index);
                self.wishes.swap_remove(index);
                self.counts.read_hits += 1;
                self.give_out(slot, at, at, &command);
                any = true;
            } else {
                index += 1;
            }
        }
        any
    }

    /// Who waits for room wants the arm where it would make some.
    pub(super) fn aim_for_room(&mut self, at: Nanos) {
        let Some(index) = self.first_for_room() else { return };
        if let Some(dirty) = self.in_the_way(at, index) {
            let slot = self.cache.dirty[dirty].slot;
            let goal = self.goal(self.cache.range(slot).0);
            self.wishes[index].place = self.arm.geometry.place(goal);
        }
    }

    /// What must be written before the waiting write `index` gets room: what it overlaps, or what
    /// can be reached first.
    fn in_the_way(&self, at: Nanos, index: usize) -> Option<usize> {
        let Command { first, sectors, .. } = self.waiting[index];
        self.cache.dirty_in(first, first + sectors).or_else(|| self.nearest(at, u64::MAX))
    }

    /// The arm makes room for the write that waits for it.
    pub(super) fn make_room(&mut self, at: Nanos) {
        let index = self.first_for_room().expect("one waits");
        let dirty = self.in_the_way(at, index).expect("the cache is full");
        let at = self.stop_reading(at);
        self.destage(at, dirty);
    }
}
