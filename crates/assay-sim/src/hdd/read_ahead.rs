//! Reading ahead: after a read the head goes on, until it is needed or has read enough.
//!
//! The head reads on at the speed of the platter while nothing else is asked, and what it has read
//! is worked out when somebody looks. *Invariant.* It depends on the times of looking only in that
//! the sector under the head is finished when the arm is called away. Sectors that wait to be
//! written are never read ahead.

use super::Hdd;
use super::arm::Stream;
use crate::work::Activity;
use assay_spec::Nanos;
use assay_spec::device::ReadAhead;

/// The head reads on to `limit`, into `slot`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    pub slot: usize,
    pub head: Stream,
    pub limit: u64,
}

impl Hdd {
    /// Data read ahead before a write of `first..end` must not be taken for what was written.
    pub(super) fn keep_out(&mut self, now: Nanos, first: u64, end: u64) {
        let Some(ahead) = self.ahead else { return };
        let (start, _) = self.cache.range(ahead.slot);
        if first >= ahead.head.next {
            self.ahead = Some(Ahead { limit: ahead.limit.min(first), ..ahead });
        } else if start < end {
            self.stop_reading(now);
        }
    }

    /// How far to read ahead of a read up to `end` into `slot`.
    pub(super) fn limit(&self, slot: usize, end: u64) -> u64 {
        let geometry = &self.arm.geometry;
        let last = self.policy.last;
        if end >= last {
            return end;
        }
        let most = end + self.policy.limit;
        let limit = match self.policy.spec.read_ahead {
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
        // Sectors that wait to be written are not read before they are.
        let unwritten = self.cache.dirty_after(end);
        // What lies elsewhere is not on the way.
        let logged = self.shingled.as_ref().map_or(u64::MAX, |s| s.log.logged_after(end));
        limit.min(last).min(unwritten).min(logged).max(end)
    }

    /// Brings the segment being read ahead up to `now`.
    pub(super) fn follow(&mut self, now: Nanos) {
        let Some(ahead) = self.ahead else { return };
        let head = self.arm.stream(ahead.head, ahead.limit, now, false);
        self.tell_arm(Activity::ReadAhead, None, ahead.head.next);
        self.hold_ahead(ahead.slot, head.next);
        self.ahead = Some(Ahead { head, ..ahead });
    }

    fn hold_ahead(&mut self, slot: usize, next: u64) {
        let (first, _) = self.cache.range(slot);
        self.cache.hold(slot, first, next);
    }

    /// Stops reading ahead after the sector under the head; returns when the arm can set out, `now`
    /// at the earliest.
    pub(super) fn stop_reading(&mut self, now: Nanos) -> Nanos {
        if let Some(ahead) = self.give_up(now) {
            self.hold_ahead(ahead.slot, ahead.head.next);
        }
        self.arm.free = self.arm.free.max(now);
        self.arm.free
    }

    /// As [`Hdd::stop_reading`], but its segment belongs to something else already.
    pub(super) fn give_up(&mut self, now: Nanos) -> Option<Ahead> {
        let ahead = self.ahead.take()?;
        if ahead.head.at >= now {
            // The head is still in what was asked for.
            return Some(ahead);
        }
        let head = self.arm.stream(ahead.head, ahead.limit, now, true);
        self.tell_arm(Activity::ReadAhead, None, ahead.head.next);
        self.arm.free = self.arm.free.max(head.at);
        Some(Ahead { head, ..ahead })
    }
}
