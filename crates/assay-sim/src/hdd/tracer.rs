//! Reports of the disk's work to the observer, if there is one.

use super::arm::{Arm, ArmPart};
use crate::nand::{Observed, Observer};
use crate::work::{Activity, Work};
use assay_spec::Nanos;

/// The observer of a disk.
#[derive(Default)]
pub(super) struct Tracer {
    observer: Option<Box<dyn Observer>>,
}

impl Tracer {
    /// Sends all reports to `observer` from now on.
    pub(super) fn set(&mut self, observer: Box<dyn Observer>) {
        self.observer = Some(observer);
    }

    /// Reports that the controller or the link works for command `tag`, from `start` to `end`.
    #[inline]
    pub(super) fn report(
        &mut self,
        activity: Activity,
        tag: u32,
        first: Option<u64>,
        (start, end): (Nanos, Nanos),
    ) {
        if let Some(observer) = &mut self.observer {
            observer.observe(Observed::Work(Work { activity, tag: Some(tag), first, start, end }));
        }
    }

    /// Reports the work of `arm` since the last report; see [`super::media::Media::report_arm`].
    #[inline]
    pub(super) fn report_arm(
        &mut self,
        arm: &mut Arm,
        passing: Activity,
        tag: Option<u32>,
        first: u64,
    ) {
        let (Some(observer), Some(spans)) = (&mut self.observer, &mut arm.spans) else { return };
        for span in spans.drain(..) {
            let activity = match span.part {
                ArmPart::Moving => Activity::Seek,
                ArmPart::Waiting => Activity::Turn,
                ArmPart::Passing => passing,
            };
            let (first, start, end) = (Some(first), span.start, span.end);
            observer.observe(Observed::Work(Work { activity, tag, first, start, end }));
        }
    }
}
