//! Members that fail, and spares that are filled in their place.
//!
//! Rows are rebuilt from the first on, one at a time: read what determines the row, write the
//! spare. What lies before the next row is as good as before; the rest is still computed. At a
//! rate, a row begins no earlier than the rate allows; in idle time, only while no request of the
//! host is there, and a request that comes waits for its members at most one row long.
//!
//! *Invariant.* A row is rebuilt while no other job works on it.

use super::layout::Members;
use super::{Array, Event};
use crate::drive::Drive;
use assay_spec::Nanos;
use assay_spec::array::Rebuild;

/// Spares being filled.
pub(super) struct Rebuilding {
    /// Members being filled.
    pub(super) targets: Members,
    /// Rows before this one are done.
    pub(super) next_row: u64,
    /// A row is being rebuilt, or will be at a time that is set.
    pub(super) is_busy: bool,
    /// No row before this time.
    pub(super) earliest: Nanos,
}

/// What replaces members, and how it is filled.
pub(super) struct Spares {
    pub(super) rebuild: Rebuild,
    pub(super) drives: Vec<Box<dyn Drive + Send>>,
}

impl Array {
    /// So many members fail, such that nothing is lost; spares take their places.
    pub(super) fn fail(&mut self, now: Nanos, count: usize) {
        let mut lost = 0;
        for member in self.layout.victims(count) {
            lost |= self.layout.lost_with(member);
        }
        assert_eq!(self.missing & lost, 0, "a member fails once");
        self.missing |= lost;
        let mut undone = Vec::new();
        for member in super::layout::each(lost) {
            let spare = self.spares.as_mut().and_then(|s| s.drives.pop());
            undone.extend(self.ports[member].fail(spare));
        }
        if self.spares.is_some() {
            let (targets, earliest) = (lost, now);
            let rebuilding = Rebuilding { targets, next_row: 0, is_busy: true, earliest };
            self.rebuilding = Some(rebuilding);
            self.after(now, Event::Rebuild);
        }
        for operation in undone {
            self.came_to_nothing(now, operation);
        }
    }

    pub(super) fn rebuild_targets(&self) -> Members {
        self.rebuilding.as_ref().map_or(0, |r| r.targets)
    }

    /// Rebuilds the next row, if it may be.
    pub(super) fn rebuild_next(&mut self, now: Nanos) {
        let idle = self.requests == 0;
        let (Some(rebuilding), Some(spares)) = (&mut self.rebuilding, &self.spares) else { return };
        if spares.rebuild == Rebuild::Idle && !idle {
            // The last request to end comes back here.
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

    /// No request is there any more.
    pub(super) fn rebuild_when_idle(&mut self, now: Nanos) {
        if let Some(rebuilding) = self.rebuilding.as_mut().filter(|r| !r.is_busy) {
            rebuilding.is_busy = true;
            self.after(now, Event::Rebuild);
        }
    }

    /// A row is done.
    pub(super) fn rebuilt(&mut self, now: Nanos) {
        let rows = self.layout.rows;
        let Some(rebuilding) = &mut self.rebuilding else { return };
        rebuilding.next_row += 1;
        if rebuilding.next_row < rows {
            let at = rebuilding.earliest.max(now);
            self.after(at, Event::Rebuild);
            return;
        }
        self.missing &= !rebuilding.targets;
        self.rebuilding = None;
    }
}
