//! Reports of the disk's work to the observer, if there is one.

use super::Hdd;
use super::arm::ArmPart;
use crate::nand::Observed;
use crate::work::{Activity, Work};
use assay_spec::Nanos;

impl Hdd {
    /// Reports that the controller or the link works for command `tag`, from `start` to `end`.
    #[inline]
    pub(super) fn tell(
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

    /// Reports the arm's work since the last report. It was done for command `tag`, or for none;
    /// `passing` is what the head did with the sectors, `first` is the first of them.
    #[inline]
    pub(super) fn tell_arm(&mut self, passing: Activity, tag: Option<u32>, first: u64) {
        let (Some(observer), Some(spans)) = (&mut self.observer, &mut self.arm.spans) else {
            return;
        };
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
