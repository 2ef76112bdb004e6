//! The number and total time of waits of one cause.
//!
//! The total is the sum of all ends less the sum of all beginnings, so that the beginning of each
//! wait need not be kept: a wait costs two additions.

use assay_spec::Nanos;

/// The waits of one cause. The caller knows how many are open, and passes that number. Nothing is
/// counted before [`Waits::time`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waits {
    is_timed: bool,
    count: u64,
    /// Ends less beginnings, in nanoseconds; an open wait has only its beginning in it.
    sum: u64,
}

impl Waits {
    /// Returns a counter that is timed from the start. No wait may be open.
    pub(crate) fn timed() -> Waits {
        Waits { is_timed: true, ..Waits::default() }
    }

    /// Counts and times waits from the next mark on.
    pub(crate) fn time(&mut self) {
        self.is_timed = true;
    }

    /// Returns `true` if waits are timed.
    pub(crate) fn is_timed(&self) -> bool {
        self.is_timed
    }

    /// Counts a wait that begins at `now`, which may be a time to come.
    #[inline]
    pub(crate) fn begin(&mut self, now: Nanos) {
        if self.is_timed {
            self.count += 1;
            self.sum = self.sum.wrapping_sub(now.0);
        }
    }

    /// Counts the end of a wait at `now`.
    #[inline]
    pub(crate) fn end(&mut self, now: Nanos) {
        if self.is_timed {
            self.sum = self.sum.wrapping_add(now.0);
        }
    }

    /// Returns the number of waits begun since the last mark, and the time waited since then until
    /// `now`, if `open` waits are open. A total below zero, from a wait that begins after `now`,
    /// counts as zero.
    pub(crate) fn since_mark(&self, now: Nanos, open: usize) -> (u64, Nanos) {
        if !self.is_timed {
            return (0, Nanos::ZERO);
        }
        let sum = self.sum.wrapping_add((open as u64).wrapping_mul(now.0));
        (self.count, Nanos(sum.cast_signed().max(0).cast_unsigned()))
    }

    /// Resets the counts; the `open` waits under way count from `now` on.
    pub(crate) fn mark(&mut self, now: Nanos, open: usize) {
        self.count = 0;
        self.sum = 0_u64.wrapping_sub((open as u64).wrapping_mul(now.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_add_up_whatever_is_open() {
        let mut waits = Waits::timed();
        waits.begin(Nanos(10));
        waits.begin(Nanos(30));
        assert_eq!(waits.since_mark(Nanos(35), 2).1, Nanos(25 + 5));
        waits.end(Nanos(40));
        // The sum is the same whichever of the two has ended: 30 + 15, or 10 + 35.
        assert_eq!(waits.since_mark(Nanos(45), 1).1, Nanos(30 + 15));
        waits.mark(Nanos(50), 1);
        assert_eq!((waits.count, waits.since_mark(Nanos(50), 1).1), (0, Nanos::ZERO));
        assert_eq!(waits.since_mark(Nanos(57), 1).1, Nanos(7), "one is open and waits on");
        waits.end(Nanos(60));
        assert_eq!(waits.since_mark(Nanos(99), 0).1, Nanos(10));
        waits.begin(Nanos(120));
        assert_eq!(waits.since_mark(Nanos(110), 1).1, Nanos::ZERO, "not before it begins");
    }

    #[test]
    fn waits_are_not_counted_before_they_are_timed() {
        let mut waits = Waits::default();
        waits.begin(Nanos(10));
        assert_eq!(waits.since_mark(Nanos(15), 1), (0, Nanos::ZERO));
        // One wait is open when the timing begins.
        waits.time();
        waits.mark(Nanos(20), 1);
        waits.begin(Nanos(30));
        assert_eq!(waits.since_mark(Nanos(40), 2), (1, Nanos(20 + 10)));
    }
}
