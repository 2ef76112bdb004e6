//! An elevator's statistics of a process: its think time and its seek distance.
//!
//! After the statistics that the anticipatory elevator and CFQ of Linux 2.6 keep: means in which a
//! new sample has a weight of one eighth and the past seven eighths, in integers scaled by 256.

use super::interface::Waiting;
use assay_spec::{Bytes, Nanos};

const SCALE: u64 = 256;
/// The weight of samples, scaled, above which a mean is used: three samples have 84.
const BELIEVED: u64 = 80;

/// A decaying mean.
#[derive(Clone, Copy, Debug, Default)]
struct Fading {
    samples: u64,
    total: u128,
}

impl Fading {
    fn add(&mut self, sample: u64) {
        self.samples = (7 * self.samples + SCALE) / 8;
        self.total = (7 * self.total + u128::from(SCALE) * u128::from(sample)) / 8;
    }

    fn mean(&self) -> u64 {
        let samples = u128::from(self.samples.max(1));
        ((self.total + 128) / samples) as u64
    }
}

/// The statistics of a process.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IoContext {
    /// The time from the end of a request to the next request, in nanoseconds.
    think: Fading,
    /// The distance from the end of a request to the next request, in bytes.
    seek: Fading,
    /// The first byte after its last request, if it made one.
    position: Option<Bytes>,
    /// When its last request ended, if one has.
    ended: Option<Nanos>,
    /// The number of its requests in flight.
    in_flight: u32,
}

impl IoContext {
    /// Notes that it makes the request at `index` of `queue` at `now`. A think time counts as
    /// `think_max` at most.
    pub(super) fn asks(&mut self, now: Nanos, queue: &[Waiting], index: usize, think_max: Nanos) {
        let request = &queue[index];
        let is_own = |w: &&Waiting| w.is_sync() && w.process == request.process;
        let alone = self.in_flight == 0 && queue.iter().filter(is_own).count() == 1;
        if let Some(ended) = self.ended.filter(|_| alone) {
            self.think.add((now - ended).min(think_max).0);
        }
        if let Some(position) = self.position {
            let distance = request.offset.0.abs_diff(position.0);
            // The limit keeps a single far seek from dominating the mean.
            let slack = if self.seek.samples <= 60 { 1 << 30 } else { 1 << 26 };
            self.seek.add(distance.min(4 * self.seek.mean() + slack));
        }
        self.position = Some(request.end);
    }

    /// Notes that one of its requests is dispatched.
    pub(super) fn is_sent(&mut self) {
        self.in_flight += 1;
    }

    /// Notes that one of its requests has ended at `now`.
    pub(super) fn is_served(&mut self, now: Nanos) {
        self.in_flight -= 1;
        self.ended = Some(now);
    }

    /// Returns its mean think time, or `None` before there are enough samples.
    pub(super) fn think(&self) -> Option<Nanos> {
        (self.think.samples > BELIEVED).then(|| Nanos(self.think.mean()))
    }

    /// Returns its mean seek distance, or `None` before there are enough samples.
    pub(super) fn seek(&self) -> Option<Bytes> {
        (self.seek.samples > BELIEVED).then(|| Bytes(self.seek.mean()))
    }
}

/// Returns the statistics of `process`, new ones if it has none yet.
pub(super) fn of(io_contexts: &mut Vec<IoContext>, process: u32) -> &mut IoContext {
    let index = process as usize;
    if io_contexts.len() <= index {
        io_contexts.resize(index + 1, IoContext::default());
    }
    &mut io_contexts[index]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_believed_from_the_third_sample_and_forgets() {
        let mut mean = Fading::default();
        for _ in 0..2 {
            mean.add(1000);
            assert!(mean.samples <= BELIEVED);
        }
        mean.add(1000);
        assert!(mean.samples > BELIEVED);
        assert!((950..=1050).contains(&mean.mean()), "{}", mean.mean());
        (0..100).for_each(|_| mean.add(0));
        assert!(mean.mean() < 10);
    }
}
