//! Which of the waiting commands the arm serves next.
//!
//! First come, first served; or shortest positioning time first (Jacobson and Wilkes, HPL-CSP-91-7;
//! Seltzer, Chen and Ousterhout, USENIX 1990), seek and rotation together, with a limit on the age:
//! what has waited longer goes first.

use super::arm::Arm;
use super::geometry::Place;
use assay_spec::Nanos;
use assay_spec::device::OrderSpec;

/// What an order may know of something that wants the arm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingSeek {
    /// Order of arrival.
    pub number: u64,
    /// When it came, and when it may be served.
    pub came: Nanos,
    pub ready: Nanos,
    pub place: Place,
    pub write: bool,
}

/// An order of commands.
pub(crate) trait Order {
    /// The index of the one to serve at `at`, of those that are ready then.
    fn next(&self, at: Nanos, arm: &Arm, wishes: &[PendingSeek]) -> Option<usize>;
    /// When one of them can be chosen, if the arm had nothing else to do.
    fn ready(&self, wishes: &[PendingSeek]) -> Option<Nanos>;
}

/// First come, first served.
pub(crate) struct Fcfs;

impl Order for Fcfs {
    fn next(&self, at: Nanos, _: &Arm, wishes: &[PendingSeek]) -> Option<usize> {
        let first = wishes.iter().enumerate().min_by_key(|(_, w)| w.number)?;
        (first.1.ready <= at).then_some(first.0)
    }

    fn ready(&self, wishes: &[PendingSeek]) -> Option<Nanos> {
        wishes.iter().min_by_key(|w| w.number).map(|w| w.ready)
    }
}

/// Shortest positioning time first.
pub(crate) struct Sptf {
    /// The longest wait that is not preferred.
    pub age_limit: Nanos,
}

impl Order for Sptf {
    fn next(&self, at: Nanos, arm: &Arm, wishes: &[PendingSeek]) -> Option<usize> {
        if let [only] = wishes {
            return (only.ready <= at).then_some(0);
        }
        let phase = arm.phase(at);
        let (mut best, mut bound) = (None, u32::MAX);
        let mut oldest: Option<&PendingSeek> = None;
        let mut oldest_index = 0;
        for (index, seek_request) in wishes.iter().enumerate() {
            if seek_request.ready > at {
                continue;
            }
            if oldest.is_none_or(|o| seek_request.number < o.number) {
                (oldest, oldest_index) = (Some(seek_request), index);
            }
            if let Some(time) =
                arm.positioning(phase, &seek_request.place, seek_request.write, bound)
            {
                (best, bound) = (Some(index), time);
            }
        }
        let waited = oldest.map(|w| at.saturating_sub(w.came)).unwrap_or(Nanos::ZERO);
        if waited > self.age_limit { Some(oldest_index) } else { best }
    }

    fn ready(&self, wishes: &[PendingSeek]) -> Option<Nanos> {
        wishes.iter().map(|w| w.ready).min()
    }
}

/// The order of a spec.
pub(crate) fn order(spec: OrderSpec) -> Box<dyn Order + Send> {
    match spec {
        OrderSpec::Fcfs => Box::new(Fcfs),
        OrderSpec::Sptf { age_limit } => Box::new(Sptf { age_limit }),
    }
}

#[cfg(test)]
#[path = "tests/schedule.rs"]
mod tests;
