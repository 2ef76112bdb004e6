//! The arrivals of an open loop.

use crate::generate::Random;
use assay_spec::Nanos;

/// The arrivals, Poisson arrivals if there is a `random`.
pub(super) struct OpenLoop {
    pub(super) interval: Nanos,
    pub(super) random: Option<Random>,
    pub(super) next: Nanos,
}

impl OpenLoop {
    /// Returns the time of the next arrival, and draws the one after it.
    pub(super) fn take(&mut self) -> Nanos {
        let at = self.next;
        let gap = match &mut self.random {
            Some(random) => random.exponential(self.interval),
            None => self.interval,
        };
        self.next = at + gap;
        at
    }
}
