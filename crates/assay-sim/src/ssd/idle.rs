//! The idle timer: it starts background work, and the flush of the write-back cache.

use super::slots::TIMER;
use crate::events::{Events, Queue};
use assay_spec::Nanos;
use assay_spec::device::FtlSpec;

/// The idle timer of a drive. A request stops it.
pub(super) struct IdleTimer {
    /// The idle time before background work, if the translation layer has any.
    background_after: Option<Nanos>,
    /// The idle time before the write-back cache is flushed, if it is.
    flush_after: Option<Nanos>,
    /// When the drive became idle.
    since: Nanos,
    /// Whether background work is under way.
    is_working: bool,
}

/// The actions that are due when the timer expires.
pub(super) struct Due {
    pub(super) flush: bool,
    pub(super) background: bool,
}

impl IdleTimer {
    /// Creates the timer of a drive with this translation layer, whose write-back cache is flushed
    /// after `flush_after`.
    pub(super) fn new(ftl: &FtlSpec, flush_after: Option<Nanos>) -> IdleTimer {
        IdleTimer {
            background_after: background_after(ftl),
            flush_after,
            since: Nanos::ZERO,
            is_working: false,
        }
    }

    /// Starts the timer, if there is anything to do for an idle drive. The drive must have become
    /// idle now.
    #[inline]
    pub(super) fn start(&mut self, events: &mut Events) {
        let first = match (self.background_after, self.flush_after) {
            (None, None) => return,
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b).unwrap_or_default(),
        };
        self.since = events.now();
        events.after(Queue::Timer, TIMER, first);
    }

    /// Stops the timer, and background work after its present step.
    #[inline]
    pub(super) fn stop(&mut self, events: &mut Events) {
        events.cancel(Queue::Timer);
        self.is_working = false;
    }

    /// Handles the end of an idle time: starts the timer again for the later action, if there are
    /// two, and returns what is due.
    pub(super) fn expire(&mut self, events: &mut Events) -> Due {
        let since = events.now() - self.since;
        let all = [self.flush_after, self.background_after].into_iter().flatten();
        if let Some(later) = all.filter(|after| *after > since).min() {
            events.after(Queue::Timer, TIMER, later - since);
        }
        Due {
            flush: self.flush_after == Some(since),
            background: self.background_after.is_some_and(|after| after <= since),
        }
    }

    /// Returns `true` while background work is under way.
    #[inline]
    pub(super) fn is_working(&self) -> bool {
        self.is_working
    }

    /// Notes whether background work goes on.
    pub(super) fn set_working(&mut self, is_working: bool) {
        self.is_working = is_working;
    }
}

/// Returns the idle time before background work, or `None` if the translation layer has none.
fn background_after(ftl: &FtlSpec) -> Option<Nanos> {
    let FtlSpec::Page(map) = ftl else { return None };
    let fold = map.slc.map(|slc| slc.fold_after);
    map.collection.background.map(|b| b.after).into_iter().chain(fold).min()
}
