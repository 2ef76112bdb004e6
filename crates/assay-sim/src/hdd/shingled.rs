//! Writes of a drive-managed shingled disk: to bands, to the log, and cleaning (`bands.rs`).
//!
//! *Invariant.* A band is written to its end before the arm does anything else, so that no data is
//! lost in between.

use super::arm::{Access, Passed};
use super::bands::Shingled;
use super::media::Media;
use super::persistent::{Cleaning, Piece};
use crate::work::Activity;
use assay_spec::Nanos;

impl Media {
    /// Returns the number under which a sector of the host lies now: its own, or one of the log.
    pub(super) fn locate(&self, sector: u64) -> u64 {
        self.shingled.as_ref().map_or(sector, |s| s.log.place(sector))
    }

    /// Returns the sector number to which the arm goes to write the dirty segment from `sector` on.
    pub(super) fn goal(&self, sector: u64) -> u64 {
        let Some(shingled) = &self.shingled else { return sector };
        shingled.whole_band(sector).map_or(shingled.log.next(), |(first, _)| first)
    }

    /// Returns when the drive next destages or cleans without a command, if at all.
    pub(super) fn next_of_its_own(&self, shingled: &Shingled, idle_since: Nanos) -> Option<Nanos> {
        let mut next = (shingled.log.extents() > 0).then(|| idle_since + shingled.clean_after);
        for dirty in &self.cache.dirty {
            let held = shingled.held(self.cache.range(dirty.slot).0);
            let at = dirty.ready.max(held.unwrap_or(shingled.changed));
            next = Some(next.map_or(at, |next| next.min(at)));
            if held.is_none() {
                break;
            }
        }
        next
    }

    /// Destages or cleans, at the time that [`Media::next_of_its_own`] has returned.
    pub(super) fn work_off(&mut self, at: Nanos) {
        let shingled = self.shingled.as_ref().expect("it is shingled");
        let held = |slot| shingled.held(self.cache.range(slot).0).is_some_and(|until| at < until);
        if self.cache.dirty.iter().any(|d| d.ready <= at && !held(d.slot)) {
            self.destage_nearest(at, u64::MAX);
        } else {
            let at = self.stop_reading(at);
            self.clean(at);
        }
    }

    /// Returns the index in `dirty` of the segment to destage next, of those that came by use
    /// `until` of the cache: the oldest that waits for no stream, or else the oldest.
    pub(super) fn due(&self, at: Nanos, until: u64, shingled: &Shingled) -> Option<usize> {
        let held = |slot| shingled.held(self.cache.range(slot).0).is_some_and(|until| at < until);
        let due = self.cache.dirty.iter().take_while(|d| d.came <= until);
        let free = due.enumerate().find(|(_, d)| d.ready <= at && !held(d.slot)).map(|(i, _)| i);
        let oldest = self.cache.dirty.front().filter(|d| d.came <= until).map(|_| 0);
        free.or(oldest)
    }

    /// Destages segment `index` of `dirty`: with its band if its stream has a whole one, or else in
    /// an entry of the log. If the log is full, cleans a band instead.
    pub(super) fn put_away(&mut self, at: Nanos, index: usize) {
        let shingled = self.shingled.as_ref().expect("it is shingled");
        let (first, _) = self.cache.range(self.cache.dirty[index].slot);
        match shingled.whole_band(first) {
            Some((first, end)) => match self.cache.dirty_across(first) {
                Some(before) => self.append(at, before),
                None => self.write_band(at, first, end),
            },
            None => self.append(at, index),
        }
    }

    /// Writes a band, all sectors of which are dirty, to its place.
    fn write_band(&mut self, at: Nanos, first: u64, end: u64) {
        let arrived = self.cache.arrived(first, end).expect("the band waits");
        let passed = self.write_run(at, first, end - first, arrived);
        while let Some(index) = self.cache.dirty_within(first, end) {
            self.take_away(index, end, passed);
        }
        self.shingled.as_mut().expect("it is shingled").band_written(first, end);
    }

    /// Notes that segment `index` of `dirty` is on the platter at `passed`, up to sector `end`.
    fn take_away(&mut self, index: usize, end: u64, passed: Nanos) {
        match self.cache.range(self.cache.dirty[index].slot).1 > end {
            true => self.cache.written_to(index, end),
            false => self.cache.written(index, passed),
        }
        self.counts.destaged += 1;
    }

    /// Appends segment `index` of `dirty` to the log, with others that wait for no stream; or
    /// cleans, if there is no room.
    fn append(&mut self, at: Nanos, index: usize) {
        let batch = self.batch(at, index);
        let shingled = self.shingled.as_mut().expect("it is shingled");
        let extents: Vec<(u64, u64)> = batch.iter().map(|(_, extent)| *extent).collect();
        if !shingled.log.fits(&extents) {
            return self.clean(at);
        }
        let (number, sectors) = shingled.log.append(&extents);
        // All data of the other segments is in the cache already.
        let (_, (first, end)) = batch[0];
        let from = self.may_write(index, number, end - first);
        let passed = self.write_run(at, number, sectors, from);
        for (slot, (first, end)) in batch {
            self.take_away(self.cache.place_of(slot), end, passed);
            self.shingled.as_mut().expect("it is shingled").appended(first, end);
        }
    }

    /// Returns the segments, with their sectors, of a log entry that begins with segment `index` of
    /// `dirty`. It is at most as long as a band, has at most `destage_window` segments, and, behind
    /// the first one, no data of streams.
    fn batch(&self, at: Nanos, index: usize) -> Vec<(usize, (u64, u64))> {
        let shingled = self.shingled.as_ref().expect("it is shingled");
        let mut room = shingled.log.band;
        let mut batch = Vec::new();
        let most = self.policy.cache.destage_window as usize;
        let others = (0..self.cache.dirty.len()).filter(|other| *other != index);
        for (which, index) in std::iter::once(index).chain(others).enumerate() {
            let dirty = self.cache.dirty[index];
            let (first, end) = self.cache.range(dirty.slot);
            let waits = || {
                shingled.whole_band(first).is_some()
                    || shingled.held(first).is_some_and(|until| at < until)
            };
            if which > 0 && (dirty.arrived > at || waits()) {
                continue;
            }
            let stream = shingled.stream_within(first, end);
            let end = end.min(stream.unwrap_or(end)).min(first + room);
            batch.push((dirty.slot, (first, end)));
            room -= end - first;
            if room == 0 || batch.len() == most {
                break;
            }
        }
        batch
    }

    /// Writes `n` sectors past the cache, to the log; returns when they are written. Used with the
    /// write cache off, and for forced writes.
    pub(super) fn log_through(&mut self, at: Nanos, first: u64, n: u64, arrived: Nanos) -> Nanos {
        let (mut first, end, mut at) = (first, first + n, at);
        while first < end {
            let shingled = self.shingled.as_mut().expect("it is shingled");
            let until = end.min(first + shingled.log.band);
            if !shingled.log.fits(&[(first, until)]) {
                self.clean(at);
                at = self.arm.free;
                continue;
            }
            shingled.counts.host += until - first;
            let (number, sectors) = shingled.log.append(&[(first, until)]);
            let from = self.keeps_up(number, sectors, arrived - self.link.time(end - until));
            at = self.write_run(at, number, sectors, from);
            first = until;
        }
        at
    }

    /// Cleans the band with the oldest data in the log: reads its parts, and writes it as a whole.
    fn clean(&mut self, at: Nanos) {
        let shingled = self.shingled.as_mut().expect("it is shingled");
        let plan = shingled.log.oldest_band();
        let Cleaning { reads, first, end } = plan.expect("a full log has data");
        let mut at = at;
        for piece in &reads {
            at = self.arm_over(at, piece, false, Nanos::ZERO).end;
            self.report_arm(Activity::Read, None, piece.number);
        }
        self.write_run(at, first, end - first, Nanos::ZERO);
        let shingled = self.shingled.as_mut().expect("it is shingled");
        shingled.log.forget(first, end);
        shingled.counts.cleaned += 1;
    }

    /// Writes sectors from `number` on, the first not before `from`; returns when they are written.
    fn write_run(&mut self, at: Nanos, number: u64, sectors: u64, from: Nanos) -> Nanos {
        let run = Piece { number, sectors, logged: false };
        let passed = self.arm_over(at, &run, true, from);
        self.report_arm(Activity::Write, None, number);
        self.shingled.as_mut().expect("it is shingled").counts.written += sectors;
        passed.end
    }

    /// Reads or writes a piece with the arm, without the link.
    fn arm_over(&mut self, at: Nanos, piece: &Piece, write: bool, not_before: Nanos) -> Passed {
        let access = Access {
            first: piece.number,
            sectors: piece.sectors,
            write,
            on_arrival: false,
            not_before,
            per_sector: Nanos::ZERO,
            link: Nanos::ZERO,
        };
        let place = self.arm.geometry.place(piece.number);
        self.arm.access(at, place, &access)
    }

    /// Reads the newest data of an access of the host, from the log or from its band.
    pub(super) fn read_pieces(&mut self, at: Nanos, access: &Access) -> Passed {
        let shingled = self.shingled.as_ref().expect("it is shingled");
        let pieces = shingled.log.pieces(access.first, access.first + access.sectors);
        let (mut at, mut link, mut whole) = (at, access.link, None);
        for Piece { number, sectors, logged } in pieces {
            let place = self.arm.geometry.place(number);
            let access = Access { first: number, sectors, link, ..*access };
            let passed = self.arm.access(at, place, &access);
            (at, link) = (passed.end, passed.delivered);
            let begun: Passed = whole.unwrap_or(passed);
            // Sectors behind a piece in the log are not those that follow it for the host.
            let next = passed.next.filter(|_| !logged);
            whole = Some(Passed { over: begun.over, first: begun.first, next, ..passed });
        }
        whole.expect("something is read")
    }
}

#[cfg(test)]
#[path = "tests/shingled.rs"]
mod tests;
