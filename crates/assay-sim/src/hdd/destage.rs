//! Writing to the platter: destaging from the cache, and writes that go past the cache.
//!
//! *Invariant.* The head does not write a sector before the link has brought it, except with
//! `write_on_arrival`, which writes sectors in the order in which they pass under the head.

use super::Hdd;
use super::arm::Access;
use super::cache::Dirty;
use crate::work::Activity;
use assay_spec::Nanos;

impl Hdd {
    /// Returns the index in `dirty` of the segment to destage next, of those that came to the cache
    /// by its use `until`: of the oldest the one that the arm reaches first or, on a shingled disk,
    /// what [`Hdd::due`] says.
    pub(super) fn nearest(&self, at: Nanos, until: u64) -> Option<usize> {
        if let Some(shingled) = &self.shingled {
            return self.due(at, until, shingled);
        }
        let phase = self.arm.phase(at);
        let (mut best, mut bound) = (None, u32::MAX);
        let window = self.controller.cache.destage_window as usize;
        let due = self.cache.dirty.iter().enumerate().filter(|(_, dirty)| dirty.came <= until);
        for (index, dirty) in due.take(window) {
            if let Some(time) = self.arm.positioning(phase, &dirty.place, true, bound) {
                (best, bound) = (Some(index), time);
            }
        }
        best
    }

    /// Destages the segment that [`Hdd::nearest`] returns, if there is one.
    pub(super) fn destage_nearest(&mut self, at: Nanos, until: u64) {
        let at = self.stop_reading(at);
        if let Some(index) = self.nearest(at, until) {
            self.destage(at, index);
        }
    }

    /// Writes segment `index` of `dirty` to the platter, with the arm from `at` on.
    pub(super) fn destage(&mut self, at: Nanos, index: usize) {
        if self.shingled.is_some() {
            return self.put_away(at, index);
        }
        let Dirty { slot, ready, .. } = self.cache.dirty[index];
        let (first, end) = self.cache.range(slot);
        let from = self.may_write(index, first, end - first);
        let passed = self.put(at.max(ready), first, end - first, from);
        self.tell_arm(Activity::Write, None, first);
        self.cache.written(index, passed);
        self.counts.destaged += 1;
    }

    /// Returns the earliest time at which the head may begin to write `sectors` from `number` on so
    /// that the link keeps up with it. The link brings them in order, the last one by `arrived`.
    pub(super) fn keeps_up(&self, number: u64, sectors: u64, arrived: Nanos) -> Nanos {
        let place = self.arm.geometry.place(number);
        let turn = u64::from(self.arm.geometry.turn());
        let media = Nanos((sectors - 1) * turn / u64::from(place.per_track));
        arrived - media.min(self.link.time(sectors - 1))
    }

    /// Returns the earliest time at which the first `sectors` of segment `index` of `dirty` may be
    /// written to the place of sector `number`.
    pub(super) fn may_write(&self, index: usize, number: u64, sectors: u64) -> Nanos {
        let Dirty { arrived, in_order, .. } = self.cache.dirty[index];
        if in_order { self.keeps_up(number, sectors, arrived) } else { arrived }
    }

    /// Writes sectors with the arm from `at` on, the first not before `from`; returns when all are
    /// written.
    pub(super) fn put(&mut self, at: Nanos, first: u64, sectors: u64, from: Nanos) -> Nanos {
        let place = self.arm.geometry.place(first);
        let access = Access {
            first,
            sectors,
            write: true,
            on_arrival: self.controller.cache.write_on_arrival,
            not_before: from,
            per_sector: Nanos::ZERO,
            link: Nanos::ZERO,
        };
        self.arm.access(at, place, &access).end
    }
}
