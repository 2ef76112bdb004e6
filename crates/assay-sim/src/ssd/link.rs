//! The host link: half duplex. The transfer that is ready first goes first.
//!
//! SATA adds overhead: each command has frames of its own, and the drive requests each data frame
//! of a write.

use super::addressing::Addressing;
use super::requests::Requests;
use super::slots::LINK;
use crate::events::{Events, Queue};
use crate::lpn::Lpn;
use crate::waits::Waits;
use assay_spec::device::LinkSpec;
use assay_spec::{Bytes, Nanos, Op, Rate};
use std::collections::VecDeque;

/// The largest data size of one frame (Serial ATA 3.1, 10.5.12: 2048 words of 4 bytes).
const FRAME: Bytes = Bytes(8 << 10);

/// The transfer of one page, or of the part that a request covers, over the host link.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkTransfer {
    /// The number of the request.
    pub(super) number: u32,
    pub(super) page: Lpn,
}

/// The host link and its queue of transfers.
pub(super) struct HostLink {
    /// Bytes a second.
    rate: Rate,
    addressing: Addressing,
    /// The transfer time of a whole page.
    page_time: Nanos,
    /// The overhead of a command beside its data.
    setup: Nanos,
    /// The time from the drive's request for a data frame until the frame begins.
    activate: Nanos,
    /// The transfers that wait.
    queue: VecDeque<LinkTransfer>,
    under_way: Option<LinkTransfer>,
    /// The busy time since the last mark. A transfer counts when it begins.
    busy: Nanos,
    /// The pages of writes that have been transferred since the last mark.
    pages_written: u64,
    /// The waits for the link.
    waits: Waits,
}

impl HostLink {
    /// Creates an idle link of `link` to pages of this `addressing`.
    pub(super) fn new(link: LinkSpec, addressing: Addressing) -> HostLink {
        let LinkSpec { rate, setup, activate, .. } = link;
        HostLink {
            rate,
            addressing,
            page_time: addressing.page().time_at(rate),
            setup,
            activate,
            queue: VecDeque::new(),
            under_way: None,
            busy: Nanos::ZERO,
            pages_written: 0,
            waits: Waits::default(),
        }
    }

    /// Begins a transfer for one of `requests`, or queues it if the link is busy.
    #[inline]
    pub(super) fn transfer(
        &mut self,
        transfer: LinkTransfer,
        requests: &Requests,
        events: &mut Events,
    ) {
        if self.under_way.is_some() {
            self.waits.begin(events.now());
            return self.queue.push_back(transfer);
        }
        self.begin(transfer, requests, events);
    }

    #[inline]
    fn begin(&mut self, transfer: LinkTransfer, requests: &Requests, events: &mut Events) {
        self.under_way = Some(transfer);
        let time = self.time(transfer, requests);
        self.busy += time;
        events.after(Queue::Link, LINK, time);
    }

    /// Ends the transfer under way, begins the next, and returns the ended one.
    #[inline]
    pub(super) fn end(&mut self, requests: &Requests, events: &mut Events) -> Option<LinkTransfer> {
        let ended = self.under_way.take()?;
        self.pages_written += u64::from(!requests.is(ended.number, Op::Read));
        if let Some(transfer) = self.queue.pop_front() {
            self.waits.end(events.now());
            self.begin(transfer, requests, events);
        }
        Some(ended)
    }

    /// Returns the transfers under way and waiting.
    pub(super) fn transfers(&self) -> impl Iterator<Item = LinkTransfer> {
        self.under_way.iter().chain(&self.queue).copied()
    }

    /// Returns the time that a transfer takes, with its share of the overhead.
    #[inline]
    pub(super) fn time(&self, transfer: LinkTransfer, requests: &Requests) -> Nanos {
        let LinkTransfer { number, page } = transfer;
        let flight = &requests[number];
        let data = match flight.whole {
            true => self.page_time,
            false => self.addressing.share(&flight.request, page).time_at(self.rate),
        };
        let is_first = page == flight.pages.start;
        let data = if is_first { self.setup + data } else { data };
        if self.activate == Nanos::ZERO || flight.request.op == Op::Read {
            return data;
        }
        // The drive requests each data frame of a write; frames count from the write's first byte.
        let start = flight.request.offset.max(self.addressing.start(page));
        let begun = |to: Bytes| (to - flight.request.offset).0.div_ceil(FRAME.0);
        let end = start + self.addressing.share(&flight.request, page);
        data + self.activate * (begun(end) - begun(start))
    }

    /// Returns the busy time since the last mark.
    pub(super) fn busy(&self) -> Nanos {
        self.busy
    }

    /// Returns the number of pages of writes that have been transferred since the last mark.
    pub(super) fn pages_written(&self) -> u64 {
        self.pages_written
    }

    /// Returns the number and the time of waits since the last mark.
    pub(super) fn waited(&self, now: Nanos) -> (u64, Nanos) {
        self.waits.since_mark(now, self.queue.len())
    }

    /// Sets a mark for the waits: they count from `now` on.
    pub(super) fn mark_waits(&mut self, now: Nanos) {
        let open = self.queue.len();
        self.waits.mark(now, open);
    }

    /// Times waits from the next mark on.
    pub(super) fn time_waits(&mut self) {
        self.waits.time();
    }

    /// Sets a mark for the busy time and the pages.
    pub(super) fn mark(&mut self) {
        self.busy = Nanos::ZERO;
        self.pages_written = 0;
    }
}
