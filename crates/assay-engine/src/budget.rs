//! How long a phase may take so that a run ends within its budget.
//!
//! What is left is shared among the phases that are left, after what lies between phases (opening,
//! saving) has been taken off, as much each as it was so far. So a run that is slow at first gets
//! shorter phases, and one whose phases end early gets longer ones.

use assay_spec::Nanos;
use std::time::{Duration, Instant};

/// Kept for the page and the tables.
const REPORT: Duration = Duration::from_secs(3);
/// Of what is left, what is given away: the next phases may cost more than the last.
const SHARE: f64 = 0.95;
/// No phase is cut shorter than this: it would tell nothing.
const SHORTEST: Nanos = Nanos::from_millis(20);

/// The budget of a run, if it has one.
pub(crate) struct Budget {
    end: Option<Instant>,
    begun: Instant,
    /// Phases so far, what they were given, and the longest that one may take now.
    phases: u32,
    given: Duration,
    limit: Duration,
}

impl Budget {
    /// Counts from `since`; phases begin now.
    pub(crate) fn new(budget: Option<Nanos>, since: Instant) -> Budget {
        let end = budget.map(|b| since + Duration::from_nanos(b.0));
        let end = end.map(|end| end.checked_sub(REPORT).unwrap_or(since));
        let (given, limit) = (Duration::ZERO, Duration::ZERO);
        Budget { end, begun: Instant::now(), phases: 0, given, limit }
    }

    /// True if there is one and nothing of it is left.
    pub(crate) fn is_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// The longest that one of the `left` phases may take.
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

    /// So many phases with the last limit are over.
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
        // They took no time at all, so there is nothing between them.
        budget.spend(5);
        let each = budget.limit(5).expect("a budget").as_secs_f64();
        assert!((18.6..=19.0).contains(&each), "{each}");
        assert_eq!(Budget::new(Some(Nanos::from_secs(1)), now).limit(3), Some(SHORTEST));
    }
}
