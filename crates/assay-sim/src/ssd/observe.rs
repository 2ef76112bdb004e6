//! Reports of firmware and link activity to the observer, if there is one.
//!
//! *Hot path.* Each report costs one test of an option if there is no observer.

use crate::lpn::Lpn;
use crate::nand::{Nand, Observed};
use crate::work::{Activity, Work};
use assay_spec::{Nanos, Op, Request};

/// Reports that the firmware has processed the command of `request`, which begins in page `first`,
/// for `time` until now.
#[inline]
pub(super) fn report_command(nand: &mut Nand, request: &Request, first: Lpn, time: Nanos) {
    if nand.observer().is_some() {
        report(nand, Activity::Command, request, first, time);
    }
}

/// Reports that the link has transferred `page` of `request` for `time` until now.
#[inline]
pub(super) fn report_transfer(
    nand: &mut Nand,
    request: &Request,
    page: Lpn,
    time: impl FnOnce() -> Nanos,
) {
    if nand.observer().is_some() {
        let is_read = request.op == Op::Read;
        let activity = if is_read { Activity::ToHost } else { Activity::FromHost };
        report(nand, activity, request, page, time());
    }
}

#[cold]
fn report(nand: &mut Nand, activity: Activity, request: &Request, first: Lpn, time: Nanos) {
    let end = nand.now();
    let (tag, first) = (Some(request.tag), Some(u64::from(first)));
    let work = Work { activity, tag, first, start: end - time, end };
    if let Some(observer) = nand.observer() {
        observer.observe(Observed::Work(work));
    }
}

/// Reports that the next operations serve the writer of `page`, or with `None` background work.
#[inline]
pub(super) fn report_origin(nand: &mut Nand, page: Option<Lpn>) {
    if let Some(observer) = nand.observer() {
        observer.observe(Observed::Resumes(page.map(|page| page.0)));
    }
}
