//! What waits in the cache is written to the platter, and what comes past it.
//!
//! *Invariant.* But for `write_on_arrival`, which takes them as they pass, no sector is under the
//! writing head before the link has brought it.

use super::Hdd;
use super::arm::Access;
use super::cache::Dirty;
use crate::work::Activity;
use assay_spec::Nanos;

impl Hdd {
    /// Of what waits to be written and came to the cache by its use `until`, the segment that can
    /// be reached first.
    pub(super) fn nearest(&self, at: Nanos, until: u64) -> Option<usize> {
        if let Some(shingled) = &self.shingled {
            return self.due(at, until, shingled);
        }
        let phase = self.arm.phase(at);
        let (mut best, mut bound) = (None, u32::MAX);
        let window = self.policy.spec.destage_window as usize;
        let due = self.cache.dirty.iter().enumerate().filter(|(_, dirty)| dirty.came <= until);
        for (index, dirty) in due.take(window) {
            if let Some(time) = self.arm.positioning(phase, &dirty.place, true, bound) {
                (best, bound) = (Some(index), time);
            }
        }
        best
    }

    /// Writes the waiting segment that can be reached first, of those that came by `until`.
    pub(super) fn destage_nearest(&mut self, at: Nanos, until: u64) {
        let at = self.stop_reading(at);
        if let Some(index) = self.nearest(at, until) {
            self.destage(at, index);
        }
    }

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

    /// From when on the link keeps up with the head that writes sectors from `number` on, the last
    /// of which has come at `arrived`, and those before it in order.
    pub(super) fn keeps_up(&self, number: u64, sectors: u64, arrived: Nanos) -> Nanos {
        let place = self.arm.geometry.place(number);
        let turn = u64::from(self.arm.geometry.turn());
        let media = Nanos((sectors - 1) * turn / u64::from(place.per_track));
        arrived - media.min(self.per_sector * (sectors - 1))
    }

    /// From when on the first sectors of the waiting segment `index` may be written, from `number`
    /// on.
    pub(super) fn may_write(&self, index: usize, number: u64, sectors: u64) -> Nanos {
        let Dirty { arrived, in_order, .. } = self.cache.dirty[index];
        if in_order { self.keeps_up(number, sectors, arrived) } else { arrived }
    }

    /// Writes sectors, not before `from`; returns when they are written.
    pub(super) fn put(&mut self, at: Nanos, first: u64, sectors: u64, from: Nanos) -> Nanos {
        let place = self.arm.geometry.place(first);
        let access = Access {
            first,
            sectors,
            write: true,
            on_arrival: self.policy.spec.write_on_arrival,
            not_before: from,
            per_sector: Nanos::ZERO,
            link: Nanos::ZERO,
        };
        self.arm.access(at, place, &access).end
    }
}
