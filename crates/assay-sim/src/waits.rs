//! How long things wait.
//!
//! Kept as the sum of all ends less the sum of all beginnings, so that nobody remembers when which
//! wait began: two additions for each, and only for what does wait.

use assay_spec::Nanos;

/// Waits of one cause. How many are open is asked of whoever knows that anyway.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waits {
    count: u64,
    /// Ends less beginnings; what is open counts as begun.
    sum: u64,
}

impl Waits {
    /// Something begins to wait at `now`, or will at most.
    #[inline]
    pub(crate) fn begin(&mut self, now: Nanos) {
        self.count += 1;
        self.sum = self.sum.wrapping_sub(now.0);
    }

    /// And has waited long enough.
    #[inline]
    pub(crate) fn end(&mut self, now: Nanos) {
        self.sum = self.sum.wrapping_add(now.0);
    }

    /// How many have begun since the last mark.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The time waited until `now`, if so many are open. What is to begin later than now counts for
    /// nothing.
    pub(crate) fn total(&self, now: Nanos, open: usize) -> Nanos {
        let sum = self.sum.wrapping_add((open as u64).wrapping_mul(now.0));
        Nanos(sum.cast_signed().max(0).cast_unsigned())
    }

    /// Starts counting afresh; what is open goes on from `now`.
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
        let mut waits = Waits::default();
        waits.begin(Nanos(10));
        waits.begin(Nanos(30));
        assert_eq!(waits.total(Nanos(35), 2), Nanos(25 + 5));
        waits.end(Nanos(40));
        // Which of them has ended does not matter: 30 + 5 until now.
        assert_eq!(waits.total(Nanos(45), 1), Nanos(30 + 15));
        waits.mark(Nanos(50), 1);
        assert_eq!((waits.count, waits.total(Nanos(50), 1)), (0, Nanos::ZERO));
        assert_eq!(waits.total(Nanos(57), 1), Nanos(7), "one is open and waits on");
        waits.end(Nanos(60));
        assert_eq!(waits.total(Nanos(99), 0), Nanos(10));
        waits.begin(Nanos(120));
        assert_eq!(waits.total(Nanos(110), 1), Nanos::ZERO, "not before it begins");
    }
}
