//! The order in which the arm serves the waiting commands.
//!
//! First come, first served; or shortest positioning time first (Jacobson and Wilkes, HPL-CSP-91-7;
//! Seltzer, Chen and Ousterhout, USENIX 1990), of seek and rotation together, with an age limit: if
//! the oldest ready command has waited longer, it goes first.

use super::arm::Arm;
use super::geometry::SectorPlace;
use assay_spec::Nanos;
use assay_spec::device::OrderSpec;

/// A waiting command, as an order sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingSeek {
    /// The order of arrival.
    pub number: u64,
    /// When it arrived.
    pub came: Nanos,
    /// When it may be served.
    pub ready: Nanos,
    pub place: SectorPlace,
    pub write: bool,
}

/// An order of commands.
pub(crate) trait CommandOrder {
    /// Returns the index of the command to serve at `at`, or `None` if none is ready by then.
    fn next(&self, at: Nanos, arm: &Arm, commands: &[PendingSeek]) -> Option<usize>;
    /// Returns when a free arm could get its next command, or `None` if no command waits.
    fn ready(&self, commands: &[PendingSeek]) -> Option<Nanos>;
}

/// First come, first served.
pub(crate) struct Fcfs;

impl CommandOrder for Fcfs {
    fn next(&self, at: Nanos, _: &Arm, commands: &[PendingSeek]) -> Option<usize> {
        let first = commands.iter().enumerate().min_by_key(|(_, c)| c.number)?;
        (first.1.ready <= at).then_some(first.0)
    }

    fn ready(&self, commands: &[PendingSeek]) -> Option<Nanos> {
        commands.iter().min_by_key(|c| c.number).map(|c| c.ready)
    }
}

/// Shortest positioning time first.
pub(crate) struct Sptf {
    /// The time after which the oldest command goes first.
    pub age_limit: Nanos,
}

impl CommandOrder for Sptf {
    fn next(&self, at: Nanos, arm: &Arm, commands: &[PendingSeek]) -> Option<usize> {
        if let [only] = commands {
            return (only.ready <= at).then_some(0);
        }
        let phase = arm.phase(at);
        let (mut best, mut bound) = (None, u32::MAX);
        let mut oldest: Option<&PendingSeek> = None;
        let mut oldest_index = 0;
        for (index, seek_request) in commands.iter().enumerate() {
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
        let waited = oldest.map(|c| at.saturating_sub(c.came)).unwrap_or(Nanos::ZERO);
        if waited > self.age_limit { Some(oldest_index) } else { best }
    }

    fn ready(&self, commands: &[PendingSeek]) -> Option<Nanos> {
        commands.iter().map(|c| c.ready).min()
    }
}

/// Builds the order of a spec.
pub(crate) fn order(spec: OrderSpec) -> Box<dyn CommandOrder + Send> {
    match spec {
        OrderSpec::Fcfs => Box::new(Fcfs),
        OrderSpec::Sptf { age_limit } => Box::new(Sptf { age_limit }),
    }
}

#[cfg(test)]
#[path = "tests/order.rs"]
mod tests;
