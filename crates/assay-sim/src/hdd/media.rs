//! The media side of a disk: arm, cache, read-ahead and destaging, without commands of the host.
//!
//! *Invariant.* The head does not write a sector before the link has brought it, except with
//! `write_on_arrival`, which writes sectors in the order in which they pass under the head.

use super::arm::{Access, Arm, HeadStream};
use super::bands::Shingled;
use super::cache::{Cache, Dirty};
use super::link::LinkRate;
use super::tracer::Tracer;
use crate::work::Activity;
use assay_spec::device::{CacheSpec, HddSpec, LinkSpec};
use assay_spec::{Bytes, Nanos};

/// The policies of the cache.
pub(super) struct CachePolicy {
    pub(super) cache: CacheSpec,
    /// The most sectors to read ahead of a request.
    pub(super) read_ahead: u64,
    /// The number of sectors of the drive.
    pub(super) sectors: u64,
}

/// A read-ahead under way, up to sector `limit`, into segment `slot`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    pub slot: usize,
    pub head: HeadStream,
    pub limit: u64,
}

/// The counters since the last mark.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DiskCounts {
    pub(super) read_hits: u64,
    pub(super) media_reads: u64,
    pub(super) destaged: u64,
}

/// The arm and the cache.
pub(super) struct Media {
    pub(super) arm: Arm,
    pub(super) cache: Cache,
    pub(super) policy: CachePolicy,
    pub(super) link: LinkRate,
    /// The read-ahead under way.
    pub(super) ahead: Option<Ahead>,
    /// The state of a shingled disk.
    pub(super) shingled: Option<Box<Shingled>>,
    pub(super) counts: DiskCounts,
    pub(super) tracer: Tracer,
}

impl Media {
    /// Creates the media side of the disk of `spec`.
    pub(super) fn new(spec: &HddSpec, link: LinkSpec, capacity: Bytes) -> Media {
        let (sectors, mut cache) = (capacity.0 / 512, Cache::new(&spec.cache));
        if let Some(shingled) = &spec.shingled {
            cache.part_at(shingled.band.0 / 512);
        }
        let read_ahead = spec.cache.read_ahead_limit.0 / 512;
        Media {
            arm: Arm::new(spec),
            cache,
            policy: CachePolicy { cache: spec.cache, read_ahead, sectors },
            link: LinkRate::new(link),
            ahead: None,
            shingled: spec.shingled.as_ref().map(|s| Box::new(Shingled::new(s, sectors))),
            counts: DiskCounts::default(),
            tracer: Tracer::default(),
        }
    }

    /// Reports the arm's work since the last report. It was done for command `tag`, or for none;
    /// `passing` is what the head did with the sectors, `first` is the first of them.
    #[inline]
    pub(super) fn report_arm(&mut self, passing: Activity, tag: Option<u32>, first: u64) {
        self.tracer.report_arm(&mut self.arm, passing, tag, first);
    }

    /// Returns the index in `dirty` of the segment to destage next, of those that came to the cache
    /// by its use `until`: of the oldest the one that the arm reaches first or, on a shingled disk,
    /// what [`Media::due`] says.
    pub(super) fn nearest(&self, at: Nanos, until: u64) -> Option<usize> {
        if let Some(shingled) = &self.shingled {
            return self.due(at, until, shingled);
        }
        let phase = self.arm.phase(at);
        let (mut best, mut bound) = (None, u32::MAX);
        let window = self.policy.cache.destage_window as usize;
        let due = self.cache.dirty.iter().enumerate().filter(|(_, dirty)| dirty.came <= until);
        for (index, dirty) in due.take(window) {
            if let Some(time) = self.arm.positioning(phase, &dirty.place, true, bound) {
                (best, bound) = (Some(index), time);
            }
        }
        best
    }

    /// Destages the segment that [`Media::nearest`] returns, if there is one.
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
        self.report_arm(Activity::Write, None, first);
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
            on_arrival: self.policy.cache.write_on_arrival,
            not_before: from,
            per_sector: Nanos::ZERO,
            link: Nanos::ZERO,
        };
        self.arm.access(at, place, &access).end
    }
}
