//! The host link: half duplex. The transfer that is ready first goes first.
//!
//! SATA adds overhead: each command has frames of its own, and the drive requests each data frame
//! of a write.

use super::{LINK, Ssd};
use crate::events::Queue;
use crate::ftl::Ftl;
use assay_spec::device::LinkSpec;
use assay_spec::{Bytes, Nanos, Op, Request};

/// Largest data size of one frame (Serial ATA 3.1, 10.5.12: 2048 words of 4 bytes).
const FRAME: Bytes = Bytes(8 << 10);

/// The transfer of one page, or of the part that a request covers, over the host link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub(super) number: u32,
    pub(super) page: u32,
}

/// Transfer times of the host link.
pub(super) struct Wire {
    rate: Bytes,
    /// Transfer time of a whole page.
    page: Nanos,
    /// Overhead of a command beside its data.
    setup: Nanos,
    /// Time from the drive's request for a data frame until the frame begins.
    activate: Nanos,
}

impl Wire {
    pub(super) fn new(link: LinkSpec, page: Bytes) -> Wire {
        let LinkSpec { rate, setup, activate, .. } = link;
        Wire { rate, page: page.time_at(rate), setup, activate }
    }
}

impl<F: Ftl> Ssd<F> {
    /// Starts a transfer, or queues it if the link is busy.
    #[inline]
    pub(super) fn transfer(&mut self, transfer: Transfer) {
        if self.on_link.is_some() {
            self.waits_for_link();
            return self.link.push_back(transfer);
        }
        self.begin_transfer(transfer);
    }

    /// Starts a transfer. The link must be free.
    #[inline]
    pub(super) fn begin_transfer(&mut self, transfer: Transfer) {
        self.on_link = Some(transfer);
        let duration = self.link_time(transfer);
        self.link_total += duration;
        self.nand.events.after(Queue::Link, LINK, duration);
    }

    /// Returns the time that a transfer takes on the link, with its share of the overhead.
    #[inline]
    pub(super) fn link_time(&self, transfer: Transfer) -> Nanos {
        let flight = &self.requests[transfer.number as usize];
        let data = match flight.whole {
            true => self.wire.page,
            false => self.share(&flight.request, transfer.page).time_at(self.wire.rate),
        };
        let is_first = transfer.page == flight.pages.start;
        let data = if is_first { self.wire.setup + data } else { data };
        if self.wire.activate == Nanos::ZERO || flight.request.op == Op::Read {
            return data;
        }
        // The drive requests each data frame of a write; frames count from the write's first byte.
        let start = flight.request.offset.max(self.page * u64::from(transfer.page));
        let begun = |to: Bytes| (to - flight.request.offset).0.div_ceil(FRAME.0);
        let end = start + self.share(&flight.request, transfer.page);
        data + self.wire.activate * (begun(end) - begun(start))
    }

    /// Returns the number of bytes of `page` that `request` covers.
    pub(super) fn share(&self, request: &Request, page: u32) -> Bytes {
        let start = Bytes(u64::from(page) << self.page_bits);
        (start + self.page).min(request.end()) - start.max(request.offset)
    }
}
