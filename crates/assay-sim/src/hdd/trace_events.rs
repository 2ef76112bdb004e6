//! What the disk does, told to the observer, if there is one.

use super::Hdd;
use super::arm::Part;
use crate::work::{Activity, Work};
use assay_spec::Nanos;

impl Hdd {
    /// The controller or the link is at work for the command `tag`.
    #[inline]
    pub(super) fn tell(
        &mut self,
        activity: Activity,
        tag: u32,
        first: Option<u64>,
        (start, end): (Nanos, Nanos),
    ) {
        if let Some(observer) = &mut self.observer {
            observer.work(&Work { activity, tag: Some(tag), first, start, end });
        }
    }

    /// The arm has got what it is doing for `tag`, or for nobody in particular: `passing` says what
    /// is done with the sectors, `first` is the first of them.
    #[inline]
    pub(super) fn tell_arm(&mut self, passing: Activity, tag: Option<u32>, first: u64) {
        let (Some(observer), Some(spans)) = (&mut self.observer, &mut self.arm.spans) else {
            return;
        };
        for span in spans.drain(..) {
            let activity = match span.part {
                Part::Moving => Activity::Seek,
                Part::Waiting => Activity::Turn,
                Part::Passing => passing,
            };
            let (first, start, end) = (Some(first), span.start, span.end);
            observer.work(&Work { activity, tag, first, start, end });
        }
    }
}
