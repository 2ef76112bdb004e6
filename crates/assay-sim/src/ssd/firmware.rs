//! The firmware's processor: one command at a time, in the order of arrival.

use super::slots::FIRMWARE;
use crate::events::{Events, Queue};
use crate::waits::Waits;
use assay_spec::Nanos;
use std::collections::VecDeque;

/// The firmware's processor and its queue of commands.
pub(super) struct Firmware {
    /// The time that a command takes.
    command: Nanos,
    /// The requests in the queue; the first is being processed.
    queue: VecDeque<u32>,
    /// The busy time since the last mark. A command counts when it ends.
    busy: Nanos,
    /// The waits for the processor.
    waits: Waits,
}

impl Firmware {
    /// Creates an idle processor that takes `command` for a command.
    pub(super) fn new(command: Nanos) -> Firmware {
        Firmware { command, queue: VecDeque::new(), busy: Nanos::ZERO, waits: Waits::default() }
    }

    /// Queues request `number`. Returns `true` if the processor is free: call
    /// [`Firmware::begin`] then.
    #[inline]
    pub(super) fn queue(&mut self, number: u32, now: Nanos) -> bool {
        self.queue.push_back(number);
        let is_free = self.queue.len() == 1;
        if !is_free {
            self.waits.begin(now);
        }
        is_free
    }

    /// Begins the first command of the queue, after a `pause` for throttling.
    #[inline]
    pub(super) fn begin(&mut self, pause: Nanos, events: &mut Events) {
        events.after(Queue::Firmware, FIRMWARE, self.command + pause);
    }

    /// Ends the command under way and returns its request, or `None` if the queue was cleared.
    /// If [`Firmware::is_busy`] afterwards, call [`Firmware::begin`].
    #[inline]
    pub(super) fn end(&mut self, now: Nanos) -> Option<u32> {
        self.busy += self.command;
        let number = self.queue.pop_front()?;
        if !self.queue.is_empty() {
            self.waits.end(now);
        }
        Some(number)
    }

    /// Returns `true` if there are commands in the queue.
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Drops all commands, as a power cut does.
    pub(super) fn clear(&mut self) {
        self.queue.clear();
    }

    /// Returns the time that a command takes.
    pub(super) fn command(&self) -> Nanos {
        self.command
    }

    /// Returns the busy time since the last mark.
    pub(super) fn busy(&self) -> Nanos {
        self.busy
    }

    /// Returns the number and the time of waits since the last mark.
    pub(super) fn waited(&self, now: Nanos) -> (u64, Nanos) {
        self.waits.since_mark(now, self.waiting())
    }

    fn waiting(&self) -> usize {
        self.queue.len().saturating_sub(1)
    }

    /// Sets a mark for the waits: they count from `now` on.
    pub(super) fn mark_waits(&mut self, now: Nanos) {
        let open = self.waiting();
        self.waits.mark(now, open);
    }

    /// Times waits from the next mark on.
    pub(super) fn time_waits(&mut self) {
        self.waits.time();
    }

    /// Returns `true` if waits are timed.
    pub(super) fn times_waits(&self) -> bool {
        self.waits.is_timed()
    }

    /// Sets a mark for the busy time.
    pub(super) fn mark_busy(&mut self) {
        self.busy = Nanos::ZERO;
    }
}
