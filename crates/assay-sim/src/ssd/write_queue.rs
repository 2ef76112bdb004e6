//! The write queue: writes with pages that have not been fetched from the host, and flushes.
//!
//! It also keeps why written pages must be driven into the cells: an incomplete multi-page program
//! starts as soon as no page on its way could still join it, if a request waits for it, and trims
//! are recorded before any later write.

use assay_spec::Nanos;
use std::collections::VecDeque;

/// Why the first write waited for a slot of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotWait {
    /// The page that freed the slot had waited for its plane.
    Plane,
    /// The page that freed the slot had found collection before it on its plane.
    Collection,
    /// All slots were held by pages that waited for the map to be saved.
    MapSave,
}

/// The waits of first writes for a slot.
#[derive(Clone, Debug)]
struct SlotWaits {
    /// Since when the first write has no slot; [`Nanos::NEVER`] if it does not wait for one.
    since: Nanos,
    /// The cause as far as it is known.
    cause: SlotWait,
    /// Whether the page that last came into the cells had collection before it.
    was_behind_collection: bool,
    /// The ended waits by [`SlotWait`]: number and time.
    ended: [(u64, Nanos); 3],
}

/// The writes and flushes in order of arrival.
pub(super) struct WriteQueue {
    requests: VecDeque<u32>,
    /// Whether a slot may have become free, so that write data may be fetched.
    has_room: bool,
    /// The number of pages of multi-page programs that a request waits for in the cells.
    awaited: u64,
    /// Whether incomplete multi-page programs must start as soon as no page on its way could still
    /// join them.
    wants_drain: bool,
    /// Whether trims must be recorded in the cells before any later write.
    wants_record: bool,
    /// Whether trims have been recorded for the flush that waits first.
    has_recorded: bool,
    /// The waits for a slot, if they are timed.
    waits: Option<SlotWaits>,
}

impl WriteQueue {
    /// Creates an empty queue.
    pub(super) fn new() -> WriteQueue {
        WriteQueue {
            requests: VecDeque::new(),
            has_room: false,
            awaited: 0,
            wants_drain: false,
            wants_record: false,
            has_recorded: false,
            waits: None,
        }
    }

    /// Adds request `number`; returns `true` if it is the only one.
    #[inline]
    pub(super) fn push(&mut self, number: u32) -> bool {
        self.requests.push_back(number);
        self.requests.len() == 1
    }

    /// Returns the first request.
    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        self.requests.front().copied()
    }

    /// Removes the first request.
    #[inline]
    pub(super) fn pop(&mut self) {
        self.requests.pop_front();
    }

    /// Returns `true` if no request waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Notes that write data may be fetched, if `has_room`.
    #[inline]
    pub(super) fn note_room(&mut self, has_room: bool) {
        self.has_room |= has_room;
    }

    /// Returns `true` if write data may be fetched, and clears that note.
    #[inline]
    pub(super) fn take_room(&mut self) -> bool {
        std::mem::take(&mut self.has_room)
    }

    /// Notes that a request waits for a page of a multi-page program.
    #[inline]
    pub(super) fn await_page(&mut self) {
        self.awaited += 1;
    }

    /// Notes that such a page is in the cells.
    #[inline]
    pub(super) fn end_awaited_page(&mut self) {
        self.awaited -= 1;
    }

    /// Returns `true` if a request waits for a page of a multi-page program.
    pub(super) fn is_any_awaited(&self) -> bool {
        self.awaited > 0
    }

    /// Asks for incomplete multi-page programs to be started, if the flash has such programs.
    #[inline]
    pub(super) fn want_drain(&mut self, has_multi_page: bool) {
        self.wants_drain |= has_multi_page;
    }

    /// Returns `true` if incomplete multi-page programs must be started.
    #[inline]
    pub(super) fn wants_drain(&self) -> bool {
        self.wants_drain
    }

    /// Notes that incomplete multi-page programs have been started: that goes on only while a
    /// request waits.
    pub(super) fn note_drained(&mut self) {
        self.wants_drain = !self.requests.is_empty() || self.wants_record;
    }

    /// Asks for trims to be recorded before any later write.
    pub(super) fn want_record(&mut self) {
        self.wants_record = true;
    }

    /// Returns `true` if trims must be recorded before any later write.
    #[inline]
    pub(super) fn wants_record(&self) -> bool {
        self.wants_record
    }

    /// Notes that all trims are recorded.
    #[inline]
    pub(super) fn note_recorded(&mut self) {
        self.wants_record = false;
    }

    /// Sets whether trims have been recorded for the flush that waits first, or are being recorded.
    pub(super) fn set_recorded(&mut self, has_recorded: bool) {
        self.has_recorded = has_recorded;
    }

    /// Returns `true` if trims have been recorded for the flush that waits first, and clears that
    /// note.
    pub(super) fn take_recorded(&mut self) -> bool {
        std::mem::take(&mut self.has_recorded)
    }

    /// Times waits for a slot from now on.
    pub(super) fn time_waits(&mut self) {
        self.waits = Some(SlotWaits {
            since: Nanos::NEVER,
            cause: SlotWait::Plane,
            was_behind_collection: false,
            ended: Default::default(),
        });
    }

    /// Notes that a page has come into the cells, which frees its slot.
    #[inline]
    pub(super) fn note_programmed(&mut self, is_behind_collection: bool) {
        if let Some(waits) = &mut self.waits {
            waits.was_behind_collection = is_behind_collection;
        }
    }

    /// Notes that the first write waits for a slot.
    #[inline]
    pub(super) fn begin_wait(&mut self, now: Nanos) {
        if let Some(waits) = &mut self.waits {
            waits.since = waits.since.min(now);
        }
    }

    /// Notes that all slots are held by pages that waited for the map to be saved.
    pub(super) fn note_map_save(&mut self) {
        if let Some(waits) = self.waits.as_mut().filter(|waits| waits.since != Nanos::NEVER) {
            waits.cause = SlotWait::MapSave;
        }
    }

    /// Ends the wait for a slot, if there is one, and counts it by cause.
    #[inline]
    pub(super) fn end_wait(&mut self, now: Nanos) {
        if let Some(waits) = &mut self.waits {
            waits.end(now);
        }
    }

    /// Returns the number and time of ended waits for a slot since the last mark.
    pub(super) fn waited(&self, cause: SlotWait) -> (u64, Nanos) {
        self.waits.as_ref().map_or_else(Default::default, |waits| waits.ended[cause as usize])
    }

    /// Sets a mark for the waits; one under way counts from `now` on.
    pub(super) fn mark_waits(&mut self, now: Nanos) {
        if let Some(waits) = &mut self.waits {
            waits.ended = Default::default();
            if waits.since != Nanos::NEVER {
                waits.since = now;
            }
        }
    }
}

impl SlotWaits {
    fn end(&mut self, now: Nanos) {
        if self.since == Nanos::NEVER {
            return;
        }
        let since = std::mem::replace(&mut self.since, Nanos::NEVER);
        let cause = match std::mem::replace(&mut self.cause, SlotWait::Plane) {
            SlotWait::Plane if self.was_behind_collection => SlotWait::Collection,
            cause => cause,
        };
        let (count, time) = &mut self.ended[cause as usize];
        *count += 1;
        *time += now - since;
    }
}
