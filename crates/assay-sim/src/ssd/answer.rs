//! How requests end.

use super::Ssd;
use crate::ftl::Ftl;
use assay_spec::Completion;

/// `EROFS`: the drive takes no writes any more.
const READ_ONLY: i32 = 30;

impl<F: Ftl> Ssd<F> {
    #[inline]
    pub(super) fn complete(&mut self, number: u32) {
        self.answer(number, 0);
    }

    /// Whether write `number`, the first of those that wait, is refused, for the flash is worn out.
    /// What has begun is still written: there is room for it.
    #[inline]
    pub(super) fn refuses(&mut self, number: u32) -> bool {
        let is_refused = self.ftl.is_worn_out();
        if is_refused {
            self.writes.pop_front();
            self.refuse(number);
        }
        is_refused
    }

    pub(super) fn refuse(&mut self, number: u32) {
        self.answer(number, READ_ONLY);
    }

    #[inline]
    fn answer(&mut self, number: u32, error: i32) {
        let tag = self.requests[number as usize].request.tag;
        self.free.push(number);
        self.done.push(Completion { tag, at: self.nand.events.now(), error });
        if let Some(after) = self.idle_after.filter(|_| self.in_flight() == 0) {
            self.leave_alone(after);
        }
    }
}
