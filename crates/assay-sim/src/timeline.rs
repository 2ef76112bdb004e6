//! A resource that does one thing at a time, asked for out of order.
//!
//! A bus is reserved when an operation is planned, for a time when its data will be ready. What is
//! planned later may be ready earlier: it takes the first gap that is long enough, as a bus given
//! to whoever is ready first would. An operation already planned is never moved, which is the one
//! difference to such a bus; a test holds both together (`tests/event_reference.rs`).
//!
//! *Invariants.* Busy intervals are sorted and do not touch; nothing is planned before `now`.

use assay_spec::Nanos;

/// So many intervals that are over are kept before the others are moved down.
const FORGOTTEN_MAX: usize = 64;

/// When a resource is busy, from now on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline {
    /// Sorted; those before `first` are over.
    busy: Vec<Interval>,
    first: usize,
    /// Everything before this is over.
    last_end: Nanos,
    total: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct Interval {
    start: Nanos,
    end: Nanos,
}

impl Timeline {
    /// Reserves `duration`, not before `earliest`; returns when it begins. `now` is a time before
    /// which nothing will be asked for any more.
    #[inline]
    pub(crate) fn reserve(&mut self, now: Nanos, earliest: Nanos, duration: Nanos) -> Nanos {
        debug_assert!(earliest >= now, "planned in the past");
        self.total += duration;
        self.forget(now);
        if earliest < self.last_end {
            return self.fit(earliest, duration);
        }
        // Nothing is planned so late: the common case of a resource with room to spare.
        self.insert(self.busy.len(), earliest, earliest + duration);
        earliest
    }

    #[inline]
    fn forget(&mut self, now: Nanos) {
        while self.busy.get(self.first).is_some_and(|i| i.end <= now) {
            self.first += 1;
        }
        if self.first == self.busy.len() {
            self.busy.clear();
            self.first = 0;
        } else if self.first >= FORGOTTEN_MAX {
            self.busy.drain(..self.first);
            self.first = 0;
        }
    }

    /// The first gap from `earliest` on that holds `duration`.
    fn fit(&mut self, earliest: Nanos, duration: Nanos) -> Nanos {
        let mut index = self.busy.len();
        while index > self.first && self.busy[index - 1].end > earliest {
            index -= 1;
        }
        let mut start = earliest;
        while let Some(next) = self.busy.get(index) {
            if start + duration <= next.start {
                break;
            }
            start = start.max(next.end);
            index += 1;
        }
        self.insert(index, start, start + duration);
        start
    }

    /// Puts an interval before the one at `index`, joined with the neighbours that it touches.
    fn insert(&mut self, index: usize, start: Nanos, end: Nanos) {
        let joins_previous = index > self.first && self.busy[index - 1].end == start;
        let joins_next = self.busy.get(index).is_some_and(|next| next.start == end);
        match (joins_previous, joins_next) {
            (true, true) => {
                self.busy[index - 1].end = self.busy[index].end;
                self.busy.remove(index);
            }
            (true, false) => self.busy[index - 1].end = end,
            (false, true) => self.busy[index].start = start,
            (false, false) => self.busy.insert(index, Interval { start, end }),
        }
        self.last_end = self.last_end.max(end);
    }

    /// Time it was busy, planned work included, since the last [`Timeline::mark`].
    pub(crate) fn total(&self) -> Nanos {
        self.total
    }

    /// Starts counting afresh.
    pub(crate) fn mark(&mut self) {
        self.total = Nanos::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ZERO: Nanos = Nanos::ZERO;

    #[test]
    fn a_gap_is_used_when_it_is_long_enough_and_not_when_it_is_shorter() {
        let mut line = Timeline::default();
        assert_eq!(line.reserve(ZERO, Nanos(100), Nanos(10)), Nanos(100));
        assert_eq!(line.reserve(ZERO, Nanos(0), Nanos(101)), Nanos(110), "a nanosecond too long");
        assert_eq!(line.reserve(ZERO, Nanos(0), Nanos(100)), Nanos(0), "just fits");
        assert_eq!(line.busy.len(), 1, "all touch");
        assert_eq!(line.total(), Nanos(211));
    }

    #[test]
    fn what_is_over_is_forgotten() {
        let mut line = Timeline::default();
        for i in 0..1000 {
            line.reserve(Nanos(i * 20), Nanos(i * 20 + 5), Nanos(10));
        }
        assert!(line.busy.len() <= FORGOTTEN_MAX + 2);
    }

    proptest! {
        #[test]
        fn one_thing_at_a_time_and_never_early(
            asks in proptest::collection::vec((0_u64..50, 0_u64..200, 1_u64..40), 1..100)
        ) {
            let mut line = Timeline::default();
            let mut now = 0;
            let mut given: Vec<(u64, u64)> = Vec::new();
            for (step, ahead, duration) in asks {
                now += step;
                let start = line.reserve(Nanos(now), Nanos(now + ahead), Nanos(duration)).0;
                prop_assert!(start >= now + ahead);
                prop_assert!(given.iter().all(|(s, e)| start + duration <= *s || *e <= start));
                // It is the first gap: at any earlier start it would overlap something.
                if start > now + ahead {
                    let before = start - 1;
                    prop_assert!(given.iter().any(|(s, e)| before < *e && *s < before + duration));
                }
                given.push((start, start + duration));
            }
        }
    }
}
