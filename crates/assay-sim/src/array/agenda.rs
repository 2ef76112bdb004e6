//! The events inside an array, in the order in which they happen.

use assay_spec::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An event inside the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// The card's processor has processed a request.
    Taken(u32),
    /// The data of a write is on the card.
    Started(u32),
    /// The card's link has set up an operation.
    SetUp(u32),
    /// The processor of the member's card has processed an operation.
    Commanded(u32),
    /// The data of a write operation is on the member's card.
    Handed(u32),
    /// The data of a read operation has passed the member's card.
    Ended(u32),
    /// The parities of a job have been computed.
    Computed(u32),
    /// The data of a job has reached the host.
    Delivered(u32),
    /// This number of members fails.
    Fail(u32),
    /// The next row is rebuilt, if that is allowed.
    Rebuild,
}

/// The events to come. Events of one time happen in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    events: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    added: u64,
}

impl Agenda {
    /// Adds `event`, which happens at `at`.
    pub(super) fn add(&mut self, at: Nanos, event: Event) {
        self.added += 1;
        self.events.push(Reverse((at, self.added, event)));
    }

    /// Returns the time of the next event.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.events.peek().map(|Reverse((at, ..))| *at)
    }

    /// Takes the next event out.
    pub(super) fn take(&mut self) -> Option<Event> {
        self.events.pop().map(|Reverse((.., event))| event)
    }
}
