//! How requests end.

use super::Ssd;
use super::flow::{AHEAD, MAP};
use crate::ftl::Ftl;
use assay_spec::{Completion, Op};

/// `EROFS`: the drive takes no writes any more.
const READ_ONLY: i32 = 30;
/// `EIO`: what is read cannot be put right.
const UNREADABLE: i32 = 5;

impl<F: Ftl> Ssd<F> {
    #[inline]
    pub(super) fn complete(&mut self, number: u32) {
        let is_lost = self.requests[number as usize].is_lost;
        self.answer(number, if is_lost { UNREADABLE } else { 0 });
    }

    /// A page that comes now, or has been fetched, cannot be put right. Whoever has asked for it is
    /// told; what nobody has asked for is fetched again when somebody does.
    #[cold]
    pub(super) fn page_lost(&mut self, number: u32, page: u32) {
        let number = match number & AHEAD {
            0 => Some(number),
            _ => self.readahead.as_mut().and_then(|ahead| ahead.lost(page, number & !AHEAD)),
        };
        let is_read = |n: &u32| *n < MAP && self.requests[*n as usize].request.op == Op::Read;
        if let Some(number) = number.filter(is_read) {
            self.requests[number as usize].is_lost = true;
        }
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
