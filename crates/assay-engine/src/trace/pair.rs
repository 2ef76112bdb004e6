//! Makes requests of events.
//!
//! A queued piece waits under its first block. A dispatch takes all waiting pieces in its range,
//! one behind the other. So merges need no event of their own (the kernel has none for some kinds).
//! If a piece is longer than the dispatch, its rest stays: a split. A completion ends a dispatched
//! request, or a part at its front. A device without a queue of its own (md, dm) has no dispatches,
//! so a completion ends waiting pieces.

use super::event::{Action, Event, Of};
use super::open::{NEVER, OpenRequest, Table};
use assay_spec::trace::{BLOCK, PathCounts, RequestCount, TraceRow, Unpaired};
use assay_spec::{Bytes, Nanos, Op};

/// The requests of one device that are in flight, and counts of those that have ended.
#[derive(Default)]
pub struct Pairing {
    /// The start of the trace, in ns on its own clock.
    start: u64,
    /// Queued pieces that are not dispatched.
    waiting: Table,
    /// Dispatched requests.
    flying: Table,
    requests: [PairingCount; Op::ALL.len()],
    happened: PathCounts,
    left: Left,
}

#[derive(Clone, Copy, Default)]
struct PairingCount {
    requests: u64,
    bytes: u64,
    errors: u64,
}

/// The counts of events that led to no request.
#[derive(Default)]
struct Left {
    without_beginning: u64,
    empty: u64,
    not_flying: u64,
    commands: u64,
    given_up: u64,
}

impl Pairing {
    /// Creates a pairing of events from the time `start` on.
    pub fn new(start: u64) -> Pairing {
        Pairing { start, ..Pairing::default() }
    }

    /// Returns the number of requests that have not ended yet.
    pub fn unfinished(&self) -> u64 {
        self.waiting.len() + self.flying.len()
    }

    /// Takes the next event; calls `done` with each request that ends with it.
    #[inline]
    pub fn take(&mut self, event: &Event, done: &mut impl FnMut(TraceRow)) {
        if !event.action.is_of_request() {
            return;
        }
        let op = match event.of {
            Of::Data(op) => op,
            Of::Command => {
                self.left.commands += u64::from(event.action == Action::Complete);
                return;
            }
            Of::Nothing => return,
        };
        match event.action {
            Action::Queue if op == Op::Flush || event.bytes > 0 => {
                self.waiting.push(OpenRequest { queue: event.time, ..open(op, event) });
            }
            Action::Insert if op == Op::Flush || event.bytes > 0 => self.insert(op, event),
            Action::Issue if op == Op::Flush || event.bytes > 0 => self.issue(op, event),
            Action::Requeue => self.requeue(op, event),
            Action::Complete => self.complete(op, event, done),
            _ => {}
        }
    }

    /// Forgets all requests in flight, because events were lost: these requests may have ended
    /// unseen, and would be mistaken for later ones at the same place.
    pub fn forget(&mut self) {
        self.left.given_up += self.waiting.clear() + self.flying.clear();
    }

    /// Handles an insertion into the elevator.
    fn insert(&mut self, op: Op, event: &Event) {
        let mut one = self.absorb(op, event).unwrap_or_else(|| open(op, event));
        // A request that the driver sent back is inserted again: the first time counts.
        one.insert = one.insert.min(event.time);
        self.waiting.push(one);
    }

    /// Handles a dispatch to the driver.
    fn issue(&mut self, op: Op, event: &Event) {
        let mut one = self.absorb(op, event).unwrap_or_else(|| open(op, event));
        one.dispatch = event.time;
        self.flying.push(one);
    }

    /// Handles a request that came back from the driver.
    fn requeue(&mut self, op: Op, event: &Event) {
        let place = place(op, event);
        match self.flying.take(op, place, u64::from(event.bytes)) {
            Some(one) => {
                self.happened.requeued += 1;
                self.waiting.push(OpenRequest { dispatch: NEVER, ..one });
            }
            None => self.left.not_flying += 1,
        }
    }

    /// Takes all waiting pieces in the range of an event, joined to one, or `None` if there are
    /// none.
    fn absorb(&mut self, op: Op, event: &Event) -> Option<OpenRequest> {
        if op == Op::Flush {
            return self.absorb_flushes();
        }
        let (mut at, mut left) = (event.sector, u64::from(event.bytes));
        let mut all: Option<OpenRequest> = None;
        while left > 0 {
            let Some(mut one) = self.waiting.take(op, at, left) else { break };
            if one.bytes > left {
                let sector = at + left / BLOCK.0;
                let bytes = one.bytes - left;
                self.waiting.push(OpenRequest { sector, bytes, ..one });
                self.happened.split += 1;
                one.bytes = left;
            }
            at += one.bytes / BLOCK.0;
            left -= one.bytes;
            all = Some(match all {
                None => one,
                Some(first) => {
                    self.happened.merged += 1;
                    joined(first, &one)
                }
            });
        }
        // The length of the event counts: the trace may lack the beginning of some pieces.
        all.map(|one| OpenRequest { bytes: u64::from(event.bytes), ..one })
    }

    /// Takes all waiting flushes, joined to one, because one flush of the drive serves all of them.
    fn absorb_flushes(&mut self) -> Option<OpenRequest> {
        let mut all = self.waiting.take(Op::Flush, 0, 0)?;
        while let Some(one) = self.waiting.take(Op::Flush, 0, 0) {
            self.happened.merged += 1;
            all = joined(all, &one);
        }
        Some(all)
    }

    /// Handles a completion, of one or several requests or of a part of one.
    fn complete(&mut self, op: Op, event: &Event, done: &mut impl FnMut(TraceRow)) {
        let (mut at, mut left) = (place(op, event), u64::from(event.bytes));
        if left == 0 && op != Op::Flush {
            // This ends a write after its data has ended, or one that failed as a whole.
            match self.flying.take(op, at, 0).filter(|_| event.error != 0) {
                Some(one) => self.end(one, event, done),
                None => self.left.empty += 1,
            }
            return;
        }
        let mut any = false;
        while let Some(mut one) = self.flying.take(op, at, left) {
            any = true;
            if one.bytes > left {
                self.happened.partial += 1;
                one.sector += left / BLOCK.0;
                one.done += left;
                one.bytes -= left;
                self.flying.push(one);
                return;
            }
            at += one.bytes / BLOCK.0;
            left -= one.bytes;
            self.end(one, event, done);
            if left == 0 {
                return;
            }
        }
        // If the completion reaches beyond what was dispatched, the trace lacks a dispatch there.
        let waits = if any { None } else { self.absorb(op, event) };
        match waits {
            Some(one) => self.end(one, event, done),
            None => self.left.without_beginning += 1,
        }
    }

    /// Counts the request `one`, which `event` ends, and gives it to `done`.
    fn end(&mut self, one: OpenRequest, event: &Event, done: &mut impl FnMut(TraceRow)) {
        let known = [one.begun, one.queue, one.insert, one.dispatch];
        // The clocks of processors may differ a little, but nothing ends before it began.
        let latest = known.into_iter().filter(|time| *time != NEVER).max();
        let end = event.time.max(latest.unwrap_or(0));
        let since = |time: u64| match time {
            NEVER => Nanos::NEVER,
            time => Nanos(time.saturating_sub(self.start)),
        };
        let length = one.done + one.bytes;
        let row = TraceRow {
            submit: since(one.begun),
            complete: since(end),
            queue: since(one.queue),
            insert: since(one.insert),
            dispatch: since(one.dispatch),
            offset: Bytes((one.sector * BLOCK.0).saturating_sub(one.done)),
            length: Bytes(length),
            op: one.op,
            job: one.process,
            error: event.error,
        };
        let count = &mut self.requests[one.op as usize];
        count.requests += 1;
        count.bytes += length;
        count.errors += u64::from(event.error != 0);
        self.happened.without_queue += u64::from(one.queue == NEVER);
        self.happened.without_insert += u64::from(one.insert == NEVER);
        self.happened.without_dispatch += u64::from(one.dispatch == NEVER);
        done(row);
    }

    /// Returns the counts of requests, and of events that could not be paired. These include
    /// requests that are still in flight.
    pub fn finish(self) -> (Vec<RequestCount>, PathCounts, Vec<Unpaired>) {
        let Left { without_beginning, empty, not_flying, commands, given_up } = self.left;
        let unpaired = [
            (
                "completed, but never queued or dispatched",
                without_beginning,
                "the trace began after their start, or lost it",
            ),
            (
                "dispatched, not completed",
                self.flying.len(),
                "the trace ended before their completion, or lost it",
            ),
            (
                "queued, not dispatched",
                self.waiting.len(),
                "the trace ended before their dispatch, or lost it",
            ),
            (
                "given up where events were lost",
                given_up,
                "requests in flight whose completion may be among the lost events",
            ),
            (
                "requeued, not dispatched before",
                not_flying,
                "the trace does not have their dispatch",
            ),
            (
                "completions of no bytes",
                empty,
                "the end of writes that were complete but for a flush",
            ),
            ("commands", commands, "commands that pass through to the drive and have no address"),
        ];
        let unpaired = unpaired.into_iter().filter(|(_, count, _)| *count > 0);
        let unpaired = unpaired.map(|(what, count, why)| Unpaired {
            what: what.to_owned(),
            count,
            why: why.to_owned(),
        });
        let requests = Op::ALL.into_iter().zip(self.requests).filter(|(_, c)| c.requests > 0);
        let requests = requests.map(|(op, count)| RequestCount {
            op,
            requests: count.requests,
            bytes: Bytes(count.bytes),
            errors: count.errors,
        });
        (requests.collect(), self.happened, unpaired.collect())
    }
}

/// Returns the first block under which an event is kept: 0 for a flush, which has none.
fn place(op: Op, event: &Event) -> u64 {
    if op == Op::Flush { 0 } else { event.sector }
}

/// Returns the request of an event, with no other event known.
fn open(op: Op, event: &Event) -> OpenRequest {
    OpenRequest {
        op,
        sector: place(op, event),
        bytes: u64::from(event.bytes),
        done: 0,
        begun: event.time,
        queue: NEVER,
        insert: NEVER,
        dispatch: NEVER,
        process: event.process,
    }
}

/// Joins two pieces to one, which has the place of `first` and the earliest times of both.
fn joined(first: OpenRequest, second: &OpenRequest) -> OpenRequest {
    OpenRequest {
        bytes: first.bytes + second.bytes,
        begun: first.begun.min(second.begun),
        queue: first.queue.min(second.queue),
        insert: first.insert.min(second.insert),
        ..first
    }
}
