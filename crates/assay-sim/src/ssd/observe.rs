//! Reports of firmware and link activity to the observer, if there is one.
//!
//! *Hot path.* Each hook costs one test of an option if there is no observer.

use super::Ssd;
use super::link::Transfer;
use crate::ftl::Ftl;
use crate::work::{Activity, Work};
use assay_spec::Op;

impl<F: Ftl> Ssd<F> {
    /// Reports that the firmware has processed the command of request `number`.
    #[inline]
    pub(super) fn tell_command(&mut self, number: u32) {
        if self.nand.observer().is_none() {
            return;
        }
        let (request, end) = (self.requests[number].request, self.nand.events.now());
        self.tell(Work {
            activity: Activity::Command,
            tag: Some(request.tag),
            first: Some(u64::from(self.addressing.page_at(request.offset))),
            start: end - self.firmware.command(),
            end,
        });
    }

    /// Reports that the link has transferred a page of a request.
    #[inline]
    pub(super) fn tell_transfer(&mut self, transfer: Transfer) {
        if self.nand.observer().is_none() {
            return;
        }
        let flight = &self.requests[transfer.number];
        let (request, end) = (flight.request, self.nand.events.now());
        let is_read = request.op == Op::Read;
        self.tell(Work {
            activity: if is_read { Activity::ToHost } else { Activity::FromHost },
            tag: Some(request.tag),
            first: Some(u64::from(transfer.page)),
            start: end - self.link.time(transfer, &self.requests),
            end,
        });
    }

    /// Reports that the next operations serve the writer of `page`, or with `None` background work.
    #[inline]
    pub(super) fn report_origin(&mut self, page: Option<u32>) {
        if let Some(observer) = self.nand.observer() {
            observer.resumes(page);
        }
    }

    #[cold]
    fn tell(&mut self, work: Work) {
        if let Some(observer) = self.nand.observer() {
            observer.work(&work);
        }
    }
}
