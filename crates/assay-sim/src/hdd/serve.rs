//! Service of commands: from the cache, or with the arm, after which it reads ahead.
//!
//! *Timing.* A read that misses starts the arm when the controller has processed the command; the
//! link takes every sector as soon as it is there and the link is free. A cached write ends when
//! the link has brought its data; the arm may begin to seek for it before that. Read-ahead begins
//! where a read ends, and stops behind the sector under the head when the arm is needed.

use super::Hdd;
use super::arm::{Access, HeadStream};
use super::command_queue::{Command, CommandKind, Flush};
use super::geometry::SectorPlace;
use super::link::DiskTransfer;
use super::media::Ahead;
use super::order::PendingSeek;
use crate::work::Activity;
use assay_spec::Nanos;

impl Hdd {
    /// Handles the arrival of a read: serves it from the cache, or queues it for the arm. `over`
    /// has the controller's times for a hit and for a miss.
    pub(super) fn read_arrives(&mut self, now: Nanos, command: Command, over: (Nanos, Nanos)) {
        let (hit, miss) =
            (now + self.controller.command + over.0, now + self.controller.command + over.1);
        self.media.follow(now);
        let (first, end) = (command.first, command.first + command.sectors);
        let running = self.media.ahead.filter(|a| a.head.next < a.limit);
        let joins = |a: &Ahead| a.head.next == first && self.media.policy.cache.join_read_ahead;
        let found = self.media.cache.find(first, end, running.map(|a| a.slot));
        let found = found.or(running.filter(joins).map(|a| a.slot));
        let Some(slot) = found else { return self.wait_for_arm(command, miss, first) };
        let (_, held) = self.media.cache.range(slot);
        let follows = running.filter(|a| a.slot == slot);
        if held >= end {
            self.media.counts.read_hits += 1;
            self.hand_over(slot, now, hit, &command);
            if let Some(ahead) = follows {
                self.media.ahead =
                    Some(Ahead { limit: ahead.limit.max(self.media.limit(slot, end)), ..ahead });
            }
            return;
        }
        // The answer is not pieced together from dirty data and the platter: the dirty data is
        // written first.
        if self.media.cache.is_dirty(slot) || self.media.cache.dirty_in(held, end).is_some() {
            return self.wait_for_arm(command, miss, first);
        }
        let have = held - first;
        let there = if self.filled.0 == slot { hit.max(self.filled.1) } else { hit };
        match follows {
            Some(ahead) if self.queue.is_empty() && self.flushes.is_empty() => {
                self.media.counts.read_hits += 1;
                self.media.tracer.report(Activity::Command, command.tag, Some(first), (now, there));
                self.read_from(ahead.head.at, ahead.slot, have, there, &command);
            }
            _ => {
                let kind = CommandKind::Rest { have, slot, from: there };
                self.wait_for_arm(Command { kind, ..command }, miss, held);
            }
        }
    }

    fn wait_for_arm(&mut self, command: Command, ready: Nanos, sector: u64) {
        let Command { came, tag, first, .. } = command;
        self.media.tracer.report(Activity::Command, tag, Some(first), (came, ready));
        self.queue_seek(command, ready, sector);
    }

    /// Queues a command for the arm, from `ready` on, at the place of `sector`.
    pub(super) fn queue_seek(&mut self, command: Command, ready: Nanos, sector: u64) {
        let write = matches!(command.kind, CommandKind::Write | CommandKind::Room);
        let goal = if write { self.media.goal(sector) } else { self.media.locate(sector) };
        let place = self.media.arm.geometry.place(goal);
        self.queue.push(command, ready, place);
    }

    /// Handles the arrival of a write, which the controller has processed at `ready`: takes it into
    /// the cache, or queues it for the arm or for room.
    pub(super) fn write_arrives(&mut self, now: Nanos, ready: Nanos, command: Command) {
        self.media.follow(now);
        // A forced write goes past the cache, unless dirty data of its sectors would be written
        // over it later: then it goes into the cache, and ends like a flush.
        let end = command.first + command.sectors;
        let goes_through = command.fua && self.media.cache.dirty_in(command.first, end).is_none();
        if !self.media.policy.cache.write_cache || goes_through {
            self.wait_for_arm(
                Command { kind: CommandKind::Write, ..command },
                ready,
                command.first,
            );
        } else {
            self.media.tracer.report(
                Activity::Command,
                command.tag,
                Some(command.first),
                (now, ready),
            );
            if self.is_room_awaited() || !self.admit(now, ready, &command) {
                self.wait_for_room(command, ready);
            }
        }
    }

    /// Takes a write into the cache at `now`; its data comes from `ready` on. Returns `false` if
    /// there is no room for it.
    pub(super) fn admit(&mut self, now: Nanos, ready: Nanos, command: &Command) -> bool {
        let (first, end) = (command.first, command.first + command.sectors);
        let joinable = self.media.cache.joinable(first, end);
        let clash = self.media.cache.dirty_in(first, end).is_some();
        if joinable.is_none() && (clash || !self.media.cache.has_room(now, first, end)) {
            return false;
        }
        let (start, arrived) = self.link.transfer(ready, command.sectors);
        self.media.tracer.report(Activity::FromHost, command.tag, Some(first), (start, arrived));
        self.media.keep_out(now, first, end);
        match joinable {
            Some(index) => self.media.cache.join(index, first, end, arrived),
            None => {
                let place = self.media.arm.geometry.place(first);
                self.media.cache.write((first, end), place, (start, arrived));
            }
        }
        if let Some(shingled) = &mut self.media.shingled {
            shingled.came(now, first, end, arrived);
        }
        if self.media.ahead.is_some_and(|a| self.media.cache.is_dirty(a.slot)) {
            // The write has taken the segment that was being read into.
            self.media.give_up(now);
        }
        let answer = arrived + self.controller.overhead.write_end;
        let Command { tag, number, fua, .. } = *command;
        match fua {
            true => {
                let until = self.media.cache.uses;
                self.flushes.push_back(Flush { tag, number, ready: answer, until });
            }
            false => self.complete(answer, number, tag),
        }
        true
    }

    /// Serves command `index` of the queue with the arm, from `at` on.
    pub(super) fn serve(&mut self, at: Nanos, index: usize) {
        let command = self.queue.get(index);
        self.media.follow(at);
        if matches!(command.kind, CommandKind::Room) {
            return self.make_room(at);
        }
        let (_, seek_request) = self.queue.remove(index);
        match command.kind {
            CommandKind::Room => unreachable!("room was made for it"),
            CommandKind::Write => self.write_through(at, &seek_request, &command),
            CommandKind::Read => self.read(at, &seek_request, 0, None, &command),
            CommandKind::Rest { have, slot, from } => {
                let held = command.first + have;
                let (start, end) = self.media.cache.range(slot);
                let still =
                    start <= command.first && end == held && !self.media.cache.is_dirty(slot);
                match still {
                    true => self.read(at, &seek_request, have, Some((slot, from)), &command),
                    false => {
                        let place = self.media.arm.geometry.place(command.first);
                        self.read(at, &PendingSeek { place, ..seek_request }, 0, None, &command);
                    }
                }
            }
        }
    }

    /// Serves a read with the arm. The first `have` sectors are in the segment of `segment`, from
    /// which the link may take them from its time on.
    fn read(
        &mut self,
        at: Nanos,
        seek_request: &PendingSeek,
        have: u64,
        segment: Option<(usize, Nanos)>,
        command: &Command,
    ) {
        let mut at = self.media.stop_reading(at);
        let (first, end) = (command.first, command.first + command.sectors);
        // Dirty data must reach the platter before it is read from there.
        while let Some(index) = self.media.cache.dirty_in(first, end) {
            self.media.destage(at, index);
            at = self.media.arm.free;
        }
        self.media.counts.media_reads += 1;
        let slot = match segment {
            Some((slot, _)) => Some(slot),
            None => self.media.cache.take_for_read(first),
        };
        let from = segment.map_or(at, |(_, from)| from);
        match slot {
            Some(slot) => {
                self.read_from_place(at, seek_request.place, Some(slot), have, from, command)
            }
            None => self.read_from_place(at, seek_request.place, None, have, from, command),
        }
    }

    /// Lets the arm, which reads ahead into `slot`, go on to the end of `command`.
    fn read_from(&mut self, at: Nanos, slot: usize, have: u64, link: Nanos, command: &Command) {
        let place = self.media.arm.geometry.place(command.first + have);
        self.read_from_place(at, place, Some(slot), have, link, command);
    }

    /// Reads the sectors of `command` behind the first `have` from `place` on, into segment `slot`,
    /// and begins to read ahead. The link may take the first `have` from `link` on.
    fn read_from_place(
        &mut self,
        at: Nanos,
        place: SectorPlace,
        slot: Option<usize>,
        have: u64,
        link: Nanos,
        command: &Command,
    ) {
        let (first, end) = (command.first + have, command.first + command.sectors);
        let access = Access {
            first,
            sectors: end - first,
            write: false,
            on_arrival: self.media.policy.cache.read_on_arrival,
            not_before: Nanos::ZERO,
            per_sector: self.link.time(1),
            link: if have > 0 { link + self.link.time(have) } else { link },
        };
        let passed = match self.media.shingled {
            Some(_) => self.media.read_pieces(at, &access),
            None => self.media.arm.access(at, place, &access),
        };
        self.media.report_arm(Activity::Read, Some(command.tag), first);
        if let Some(slot) = slot {
            let mut start = self.media.cache.range(slot).0;
            if have == 0 && self.media.policy.cache.read_whole_track && start == first {
                let waited = passed.first - passed.over;
                let sectors = waited.0 * u64::from(place.per_track)
                    / u64::from(self.media.arm.geometry.turn());
                let (track, _) = self.media.arm.geometry.track(first);
                let landed = first.saturating_sub(sectors.saturating_sub(1)).max(track);
                start = self.media.cache.dirty_before(landed, first);
            }
            self.media.cache.hold(slot, start, end);
            self.filled = (slot, passed.end);
            let limit = self.media.limit(slot, end);
            self.media.ahead = (limit > end).then_some(Ahead {
                slot,
                head: HeadStream { next: end, at: passed.past, place: passed.next },
                limit,
            });
        }
        let at = if have > 0 { link } else { passed.first };
        let Command { sectors, number, tag, .. } = *command;
        let transfer = DiskTransfer { at, delivered: passed.delivered, sectors, number, tag };
        match self.controller.depth {
            1 => self.deliver(transfer),
            _ => self.link.add(transfer),
        }
    }

    /// Moves data that has come off the platter over the link, and completes its command.
    pub(super) fn deliver(&mut self, transfer: DiskTransfer) {
        let DiskTransfer { number, tag, .. } = transfer;
        let (start, end) = self.link.deliver(&transfer);
        self.media.tracer.report(Activity::ToHost, tag, None, (start, end));
        self.complete(end + self.controller.overhead.read_end, number, tag);
    }

    /// Serves a read from segment `slot`: from `at` on, or when its data is there. Reports the
    /// controller's work.
    fn hand_over(&mut self, slot: usize, now: Nanos, at: Nanos, command: &Command) {
        if !self.is_on_its_way(slot, now, at) {
            self.media.tracer.report(
                Activity::Command,
                command.tag,
                Some(command.first),
                (now, at),
            );
        }
        self.give_out(slot, now, at, command);
    }

    /// Returns `true` if data that a command reads into segment `slot` is all there only after
    /// `now` and `at`.
    fn is_on_its_way(&self, slot: usize, now: Nanos, at: Nanos) -> bool {
        self.filled.0 == slot && self.filled.1 > now && self.filled.1 > at
    }

    /// Moves a command's data out of segment `slot` over the link: from `at` on, or when it is
    /// there.
    pub(super) fn give_out(&mut self, slot: usize, now: Nanos, at: Nanos, command: &Command) {
        let Command { sectors, number, tag, .. } = *command;
        if self.is_on_its_way(slot, now, at) {
            let at = self.filled.1;
            let delivered = at + self.link.time(sectors);
            return self.link.add(DiskTransfer { at, delivered, sectors, number, tag });
        }
        let (start, end) = self.link.transfer(at, sectors);
        self.media.tracer.report(Activity::CacheHit, tag, Some(command.first), (start, end));
        self.complete(end + self.controller.overhead.read_end, number, tag);
    }

    /// Writes a command to the platter, past the cache.
    fn write_through(&mut self, at: Nanos, seek_request: &PendingSeek, command: &Command) {
        let at = self.media.stop_reading(at);
        let (start, arrived) = self.link.transfer(seek_request.ready, command.sectors);
        self.media.tracer.report(
            Activity::FromHost,
            command.tag,
            Some(command.first),
            (start, arrived),
        );
        self.media.cache.forget(command.first, command.first + command.sectors);
        let end = match self.media.shingled {
            Some(_) => self.media.log_through(at, command.first, command.sectors, arrived),
            None => {
                let from = self.media.keeps_up(command.first, command.sectors, arrived);
                self.media.put(at, command.first, command.sectors, from)
            }
        };
        self.media.report_arm(Activity::Write, Some(command.tag), command.first);
        self.complete(end + self.controller.overhead.write_end, command.number, command.tag);
    }
}
