//! Failure of members, and rebuilding onto spares.
//!
//! Rows are rebuilt from the first on, one at a time: a job reads the chunks that determine the
//! row, and writes those of the spare. Rows before the next one use the spare; later ones are still
//! degraded. With a rate, a row begins no earlier than the rate allows; in idle time, a row begins
//! only while no request of the host is in progress, so that a request waits for at most one row.
//!
//! *Invariant.* While a row is rebuilt, no other job works on it.

use super::agenda::Event;
use super::layout::Members;
use super::spares::Rebuilding;
use super::state::Array;
use assay_spec::Nanos;
use assay_spec::array::Rebuild;

impl Array {
    /// Lets `count` members fail, chosen so that no data is lost; spares take their places.
    pub(super) fn fail(&mut self, now: Nanos, count: usize) {
        let mut lost = 0;
        for member in self.layout.victims(count) {
            lost |= self.layout.lost_with(member);
        }
        assert_eq!(self.missing & lost, 0, "a member fails once");
        self.missing |= lost;
        let mut undone = Vec::new();
        for member in super::layout::each(lost) {
            let spare = self.recovery.spares.as_mut().and_then(|s| s.drives.pop());
            undone.extend(self.ports[member].fail(spare));
        }
        if self.recovery.spares.is_some() {
            let (targets, earliest) = (lost, now);
            let rebuilding = Rebuilding { targets, next_row: 0, is_busy: true, earliest };
            self.recovery.rebuilding = Some(rebuilding);
            self.after(now, Event::Rebuild);
        }
        for operation in undone {
            self.came_to_nothing(now, operation);
        }
    }

    /// Returns the members whose spares are being filled.
    pub(super) fn rebuild_targets(&self) -> Members {
        self.recovery.rebuilding.as_ref().map_or(0, |r| r.targets)
    }

    /// Rebuilds the next row, if that is allowed now.
    pub(super) fn rebuild_next(&mut self, now: Nanos) {
        let idle = self.requests == 0;
        let (Some(rebuilding), Some(spares)) =
            (&mut self.recovery.rebuilding, &self.recovery.spares)
        else {
            return;
        };
        if spares.rebuild == Rebuild::Idle && !idle {
            // When the last request ends, it calls `rebuild_when_idle`.
            rebuilding.is_busy = false;
            return;
        }
        rebuilding.is_busy = true;
        if let Rebuild::Rate(rate) = spares.rebuild {
            rebuilding.earliest = rebuilding.earliest.max(now) + self.layout.chunk.time_at(rate);
        }
        let row = rebuilding.next_row;
        self.start_rebuild(now, row);
    }

    /// Resumes rebuilding if it has paused. Called when no request is in progress any more.
    pub(super) fn rebuild_when_idle(&mut self, now: Nanos) {
        if let Some(rebuilding) = self.recovery.rebuilding.as_mut().filter(|r| !r.is_busy) {
            rebuilding.is_busy = true;
            self.after(now, Event::Rebuild);
        }
    }

    /// Handles the end of a row: schedules the next one, or ends the rebuilding.
    pub(super) fn rebuilt(&mut self, now: Nanos) {
        let rows = self.layout.rows;
        let Some(rebuilding) = &mut self.recovery.rebuilding else { return };
        rebuilding.next_row += 1;
        if rebuilding.next_row < rows {
            let at = rebuilding.earliest.max(now);
            self.after(at, Event::Rebuild);
            return;
        }
        self.missing &= !rebuilding.targets;
        self.recovery.rebuilding = None;
    }
}
