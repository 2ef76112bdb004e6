//! Read-ahead: after a read the head goes on, until the arm is needed or it has read enough.
//!
//! The head reads at the speed of the platter until the arm is needed; how far it has come is
//! computed only when that matters. When the arm is needed, the head finishes the sector under it.
//!
//! *Invariant.* The result does not depend on when or how often it is computed. Dirty sectors are
//! never read ahead.

use super::media::{Ahead, Media};
use crate::work::Activity;
use assay_spec::Nanos;
use assay_spec::device::ReadAhead;

impl Media {
    /// Keeps sectors of a write to `first..end` out of the read-ahead, whose data would be stale:
    /// limits or stops it.
    pub(super) fn keep_out(&mut self, now: Nanos, first: u64, end: u64) {
        let Some(ahead) = self.ahead else { return };
        let (start, _) = self.cache.range(ahead.slot);
        if first >= ahead.head.next {
            self.ahead = Some(Ahead { limit: ahead.limit.min(first), ..ahead });
        } else if start < end {
            self.stop_reading(now);
        }
    }

    /// Returns the sector up to which to read ahead after a read up to `end` into `slot`.
    pub(super) fn limit(&self, slot: usize, end: u64) -> u64 {
        let geometry = &self.arm.geometry;
        let last = self.policy.sectors;
        if end >= last {
            return end;
        }
        let most = end + self.policy.read_ahead;
        let limit = match self.policy.cache.read_ahead {
            ReadAhead::None => end,
            ReadAhead::Track => geometry.track(end - 1).1.min(most),
            ReadAhead::Cylinder => geometry.cylinder_end(end - 1).min(most),
            ReadAhead::Segment => most,
            ReadAhead::Sequential => {
                let (track, next) = geometry.track(end);
                let sequential = self.cache.range(slot).0 < track && next < last;
                if sequential { geometry.track(next).1 } else { next }
            }
        };
        // Dirty sectors are not read before they are written.
        let unwritten = self.cache.dirty_after(end);
        // Sectors in the log of a shingled disk lie elsewhere.
        let logged = self.shingled.as_ref().map_or(u64::MAX, |s| s.log.logged_after(end));
        limit.min(last).min(unwritten).min(logged).max(end)
    }

    /// Computes what has been read ahead up to `now`, and adds it to the segment.
    pub(super) fn follow(&mut self, now: Nanos) {
        let Some(ahead) = self.ahead else { return };
        let head = self.arm.stream(ahead.head, ahead.limit, now, false);
        self.report_arm(Activity::ReadAhead, None, ahead.head.next);
        self.hold_ahead(ahead.slot, head.next);
        self.ahead = Some(Ahead { head, ..ahead });
    }

    fn hold_ahead(&mut self, slot: usize, next: u64) {
        let (first, _) = self.cache.range(slot);
        self.cache.hold(slot, first, next);
    }

    /// Stops the read-ahead behind the sector under the head; returns when the arm is free, `now`
    /// at the earliest.
    pub(super) fn stop_reading(&mut self, now: Nanos) -> Nanos {
        if let Some(ahead) = self.give_up(now) {
            self.hold_ahead(ahead.slot, ahead.head.next);
        }
        self.arm.free = self.arm.free.max(now);
        self.arm.free
    }

    /// Stops the read-ahead as [`Media::stop_reading`] does, but leaves its segment as it is.
    /// Returns the read-ahead as it has ended, if there was one.
    pub(super) fn give_up(&mut self, now: Nanos) -> Option<Ahead> {
        let ahead = self.ahead.take()?;
        if ahead.head.at >= now {
            // The head is still in the sectors of the read itself.
            return Some(ahead);
        }
        let head = self.arm.stream(ahead.head, ahead.limit, now, true);
        self.report_arm(Activity::ReadAhead, None, ahead.head.next);
        self.arm.free = self.arm.free.max(head.at);
        Some(Ahead { head, ..ahead })
    }
}
