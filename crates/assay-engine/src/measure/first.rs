//! Keeps the first requests of a measured phase one by one, in the order of submission.

use assay_spec::record::FirstRecord;
use assay_spec::{Nanos, Op};

/// The latencies of the first requests of a phase.
#[derive(Debug, Default)]
pub(super) struct First {
    /// By number of the request: `None` if it has not completed, or has failed.
    kept: Vec<Option<(Op, Nanos)>>,
}

impl First {
    /// Creates places for `count` requests.
    pub(super) fn new(count: u32) -> First {
        First { kept: vec![None; count as usize] }
    }

    /// Keeps the `number`-th request, from 0, if it is one of the first.
    #[inline]
    pub(super) fn record(&mut self, number: u64, op: Op, latency: Nanos) {
        // Most workloads keep nothing, so this comparison is all that is done.
        if number < self.kept.len() as u64 {
            self.kept[number as usize] = Some((op, latency));
        }
    }

    /// Returns the requests that were kept, or `None` if none were to be.
    pub(super) fn into_record(self) -> Option<FirstRecord> {
        let wanted = !self.kept.is_empty();
        let requests: Vec<(Op, Nanos)> = self.kept.into_iter().flatten().collect();
        wanted.then(|| FirstRecord::new(&requests))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_kept_in_the_order_of_submission_whatever_ends_first() {
        let mut first = First::new(4);
        for (number, latency) in [(2, 30), (0, 10), (4, 50), (3, 40)] {
            first.record(number, Op::Read, Nanos(latency));
        }
        let record = first.into_record().expect("some were wanted");
        assert_eq!(record.latency_ns, [10, 30, 40], "1 failed, 4 is too late");
        assert_eq!(First::new(0).into_record(), None);
    }
}
