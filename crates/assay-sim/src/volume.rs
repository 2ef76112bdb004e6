//! A cloud volume: a token bucket of operations and one of bytes in front of servers on a network.
//!
//! A request waits until both buckets let it through, in the order of arrival; then its data waits
//! for the instance's link, and the servers take a constant time: they are many, so that no request
//! waits for them. A flush has nothing to do, because an acknowledged write is on every replica.
//!
//! The state of a bucket is the time at which it would be full (the virtual scheduling of ATM Forum
//! TM 4.1, section 4.4.2), so that credit needs no clock of its own.

use crate::completions::Completions;
use crate::drive::{Accept, Counters, Drive, Inspect, PowerCut, Prefetch};
use assay_spec::device::{LinkSpec, RateSpec, VolumeSpec};
use assay_spec::{Bytes, Completion, Nanos, Op, Request};

/// The number of time units of a bucket in a nanosecond: so fine that rounding loses no credit.
const FINE: u128 = 1 << 20;
/// The number of time units of a bucket in a second.
const SECOND: u128 = 1_000_000_000 * FINE;

/// A token bucket. Times are in units of 1 / [`FINE`] nanoseconds.
struct Bucket {
    spec: RateSpec,
    /// The time in which an empty bucket fills.
    depth: u128,
    /// When the bucket is full, if nothing more is drawn.
    full: u128,
    /// When the burst rate lets the next request through.
    next: u128,
}

impl Bucket {
    fn new(spec: RateSpec) -> Bucket {
        let depth = u128::from(spec.credit) * SECOND / u128::from(spec.baseline);
        Bucket { spec, depth, full: 0, next: 0 }
    }

    /// Returns when, at `now` or later, the bucket lets a request through: when it is not below
    /// empty. A request may draw it below empty, as it need not fit; the next one waits longer.
    fn opens(&self, now: Nanos) -> Nanos {
        let at = self.next.max(self.full.saturating_sub(self.depth));
        now.max(Nanos(at.div_ceil(FINE) as u64))
    }

    /// Draws `cost` units of credit at `now`.
    fn draw(&mut self, now: Nanos, cost: u64) {
        let now = u128::from(now.0) * FINE;
        let time = |rate: u64| u128::from(cost) * SECOND / u128::from(rate);
        // `opens` rounds up to a nanosecond; the draw counts from the exact time.
        self.next = self.next.max(now.saturating_sub(FINE)) + time(self.spec.burst);
        self.full = self.full.max(now.saturating_sub(FINE)) + time(self.spec.baseline);
    }

    /// Returns the credit at `now`.
    fn left(&self, now: Nanos) -> u64 {
        let owed =
            self.full.saturating_sub(u128::from(now.0) * FINE) * u128::from(self.spec.baseline);
        self.spec.credit.saturating_sub((owed / SECOND) as u64)
    }
}

/// A cloud volume.
pub(crate) struct Volume {
    spec: VolumeSpec,
    link: LinkSpec,
    capacity: Bytes,
    operations: Bucket,
    throughput: Bucket,
    /// When the buckets let the last request through.
    passed: Nanos,
    /// When the link has moved the data of all requests so far.
    link_free: Nanos,
    completions: Completions,
    clock: Nanos,
    counts: VolumeCounts,
}

/// The counters since the last mark.
#[derive(Clone, Copy, Debug, Default)]
struct VolumeCounts {
    operations: u64,
    throttled: u64,
    throttled_time: Nanos,
}

impl Volume {
    pub(crate) fn new(spec: &VolumeSpec, link: LinkSpec, capacity: Bytes) -> Volume {
        Volume {
            spec: *spec,
            link,
            capacity,
            operations: Bucket::new(spec.operations),
            throughput: Bucket::new(spec.throughput),
            passed: Nanos::ZERO,
            link_free: Nanos::ZERO,
            completions: Completions::default(),
            clock: Nanos::ZERO,
            counts: VolumeCounts::default(),
        }
    }

    /// Draws the credit for a request that arrives at `now`, and reserves the link. Returns when it
    /// ends, which is known at once because requests are served in the order of arrival.
    fn end_of(&mut self, now: Nanos, request: &Request) -> Nanos {
        let (bytes, service) = match request.op {
            Op::Read => (request.length, self.spec.read),
            Op::Write => (request.length, self.spec.write),
            Op::Trim | Op::Flush => (Bytes::ZERO, Nanos::ZERO),
        };
        let came = now.max(self.passed) + self.link.command;
        if bytes == Bytes::ZERO {
            return came + self.spec.round_trip;
        }
        let operations = bytes.0.div_ceil(self.spec.unit.0);
        let passed = self.throughput.opens(self.operations.opens(came));
        self.operations.draw(passed, operations);
        self.throughput.draw(passed, bytes.0);
        self.counts.operations += operations;
        self.counts.throttled += u64::from(passed > came);
        self.counts.throttled_time += passed - came;
        self.passed = passed;
        self.link_free = self.link_free.max(passed) + bytes.time_at(self.link.rate);
        self.link_free + self.spec.round_trip + service
    }
}

impl Drive for Volume {
    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Accept {
        assert!(now >= self.clock, "time runs back: {now} after {}", self.clock);
        assert!(request.end() <= self.capacity, "request beyond the end of the drive");
        if self.completions.len() >= self.link.queue_depth as usize {
            return Accept::QueueFull;
        }
        self.clock = now;
        let (number, end) = (self.completions.number(), self.end_of(now, &request));
        self.completions.push(end, number, request.tag);
        Accept::Accepted
    }

    fn next_event(&self) -> Option<Nanos> {
        self.completions.next()
    }

    fn advance(&mut self, to: Nanos, completions: &mut Vec<Completion>) {
        assert!(to >= self.clock, "time runs back: {to} after {}", self.clock);
        self.completions.hand_over(to, completions);
        self.clock = to;
    }
}

impl Counters for Volume {
    fn counters(&self) -> Vec<(String, f64)> {
        let VolumeCounts { operations, throttled, throttled_time } = self.counts;
        [
            ("operations", operations),
            ("throttled", throttled),
            ("throttled_ns", throttled_time.0),
            ("operations_left", self.operations.left(self.clock)),
            ("bytes_left", self.throughput.left(self.clock)),
        ]
        .map(|(name, n)| (name.to_owned(), n as f64))
        .to_vec()
    }

    fn mark(&mut self) {
        self.counts = VolumeCounts::default();
    }
}

impl Inspect for Volume {}

impl PowerCut for Volume {}

impl Prefetch for Volume {}

#[cfg(test)]
mod tests;
