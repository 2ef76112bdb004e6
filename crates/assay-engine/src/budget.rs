//! Limits the length of phases so that a run ends within its budget.
//!
//! The remaining time is shared equally among the remaining phases. From each share the mean time
//! between phases so far (opening, saving) is subtracted. So a run that is slow at first gets
//! shorter phases, and a run whose phases end early gets longer ones.

use assay_spec::Nanos;
use std::time::{Duration, Instant};

/// The time that is reserved for the page and the tables.
const REPORT: Duration = Duration::from_secs(3);
/// The share of the remaining time that phases get: the next ones may cost more than the last.
const SHARE: f64 = 0.95;
/// The shortest limit of a phase: a shorter phase would have no useful result.
const SHORTEST: Nanos = Nanos::from_millis(20);

/// The budget of a run, if it has one.
pub(crate) struct Budget {
    /// The time when the last phase must end; `None` without a budget.
    end: Option<Instant>,
    /// The time when phases began.
    begun: Instant,
    /// The number of phases so far.
    phases: u32,
    /// The sum of the limits of all phases so far.
    given: Duration,
    /// The limit of the next phases.
    limit: Duration,
}

impl Budget {
    /// Creates a budget that counts from `since`, with phases that begin now.
    pub(crate) fn new(budget: Option<Nanos>, since: Instant) -> Budget {
        let end = budget.map(|b| since + Duration::from_nanos(b.0));
        let end = end.map(|end| end.checked_sub(REPORT).unwrap_or(since));
        let (given, limit) = (Duration::ZERO, Duration::ZERO);
        Budget { end, begun: Instant::now(), phases: 0, given, limit }
    }

    /// Returns `true` if there is a budget and its time is over.
    pub(crate) fn is_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// Returns the time limit of each of the next `left` phases, or `None` without a budget.
    pub(crate) fn limit(&mut self, left: u32) -> Option<Nanos> {
        let rest = self.end?.saturating_duration_since(Instant::now());
        let between = match self.phases {
            0 => Duration::ZERO,
            n => self.begun.elapsed().saturating_sub(self.given) / n,
        };
        let each = rest.mul_f64(SHARE) / left.max(1);
        let nanos = Nanos(each.saturating_sub(between).as_nanos() as u64).max(SHORTEST);
        self.limit = Duration::from_nanos(nanos.0);
        Some(nanos)
    }

    /// Notes that this number of phases, which had the last limit, have ended.
    pub(crate) fn spend(&mut self, phases: u32) {
        self.phases += phases;
        self.given += self.limit * phases;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_shared_and_never_less_than_the_shortest() {
        let now = Instant::now();
        assert_eq!(Budget::new(None, now).limit(7), None);
        assert!(!Budget::new(None, now).is_over());
        assert!(!Budget::new(Some(Nanos::from_secs(103)), now).is_over());
        assert!(Budget::new(Some(Nanos::from_secs(1)), now).is_over(), "kept for the page");
        let mut budget = Budget::new(Some(Nanos::from_secs(103)), now);
        let each = budget.limit(10).expect("a budget").as_secs_f64();
        assert!((9.3..=9.5).contains(&each), "95 % of 100 s for ten: {each}");
        // The phases took less than their limits, so no time between phases is subtracted.
        budget.spend(5);
        let each = budget.limit(5).expect("a budget").as_secs_f64();
        assert!((18.6..=19.0).contains(&each), "{each}");
        assert_eq!(Budget::new(Some(Nanos::from_secs(1)), now).limit(3), Some(SHORTEST));
    }
}
