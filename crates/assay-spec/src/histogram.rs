//! The latency histogram: log-linear, fixed layout, mergeable.
//!
//! Values below 256 ns have a bucket each; above, every power of two is cut into 128 equal buckets,
//! so a bucket is at most 1/128 of its value wide and its midpoint is off by at most 1/256 (0.4 %).
//! The layout never changes, so histograms of any two runs merge by adding counts. 7 bits a power
//! of two up to 2⁴³ ns (2.4 hours): 4,736 buckets, 37 KiB.

use crate::units::Nanos;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Sub-buckets per power of two are 2 to this.
const BITS: u32 = 7;
/// Values from 2 to this on share the last power of two.
const MAX_POWER: u32 = 43;
/// Number of buckets.
pub const BUCKETS: usize = ((MAX_POWER - BITS) as usize + 1) << BITS;

const _: () = assert!(BUCKETS == 4736);

/// A histogram of latencies, with exact count, sum, sum of squares, minimum and maximum.
#[derive(Clone, PartialEq)]
pub struct Histogram {
    counts: Box<[u64]>,
    total: u64,
    sum: u128,
    squares: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

/// The bucket of a value.
#[inline]
pub fn bucket(value: Nanos) -> usize {
    let v = value.0.min((1 << MAX_POWER) - 1);
    // `| 2^BITS` makes the small values, which have a bucket each, take the same path.
    let shift = (63 - (v | (1 << BITS)).leading_zeros()) - BITS;
    ((shift as usize) << BITS) + (v >> shift) as usize
}

/// Smallest value of a bucket.
pub fn lower_bound(bucket: usize) -> Nanos {
    let shift = (bucket >> BITS).saturating_sub(1) as u32;
    let mantissa = (bucket - ((shift as usize) << BITS)) as u64;
    Nanos(mantissa << shift)
}

/// The value that stands for a bucket: its midpoint.
pub fn midpoint(bucket: usize) -> Nanos {
    let (low, high) = (lower_bound(bucket).0, lower_bound(bucket + 1).0);
    Nanos(low + (high - low) / 2)
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Histogram {
            counts: vec![0; BUCKETS].into_boxed_slice(),
            total: 0,
            sum: 0,
            squares: 0,
            min: u64::MAX,
            max: 0,
        }
    }

    /// Adds one value.
    #[inline]
    pub fn record(&mut self, value: Nanos) {
        self.counts[bucket(value)] += 1;
        self.total += 1;
        self.sum += u128::from(value.0);
        self.squares += u128::from(value.0) * u128::from(value.0);
        self.min = self.min.min(value.0);
        self.max = self.max.max(value.0);
    }

    /// Adds everything of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
        self.sum += other.sum;
        self.squares += other.squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        debug_assert_eq!(self.counts.iter().sum::<u64>(), self.total);
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.total
    }
    /// True without any value.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
    /// Smallest value, exact.
    pub fn min(&self) -> Option<Nanos> {
        (self.total > 0).then_some(Nanos(self.min))
    }
    /// Largest value, exact.
    pub fn max(&self) -> Option<Nanos> {
        (self.total > 0).then_some(Nanos(self.max))
    }
    /// Mean in nanoseconds, exact but for the last division.
    pub fn mean(&self) -> Option<f64> {
        (self.total > 0).then(|| self.sum as f64 / self.total as f64)
    }
    /// Mean of one over the values, per second; what is less than a nanosecond counts as one.
    pub fn mean_rate(&self) -> Option<f64> {
        let sum =
            |sum, (bucket, count)| sum + count as f64 * 1e9 / midpoint(bucket).0.max(1) as f64;
        (self.total > 0).then(|| self.buckets().fold(0.0, sum) / self.total as f64)
    }
    /// Sample standard deviation in nanoseconds.
    pub fn deviation(&self) -> Option<f64> {
        if self.total < 2 {
            return None;
        }
        let n = self.total as f64;
        let mean = self.sum as f64 / n;
        Some(((self.squares as f64 - n * mean * mean) / (n - 1.0)).max(0.0).sqrt())
    }

    /// The value at `rank` (from 0) in sorted order, as its bucket's midpoint kept inside min..max.
    pub fn at_rank(&self, rank: u64) -> Option<Nanos> {
        if rank >= self.total {
            return None;
        }
        let mut before = 0;
        for (index, count) in self.counts.iter().enumerate() {
            before += count;
            if before > rank {
                return Some(Nanos(midpoint(index).0.clamp(self.min, self.max)));
            }
        }
        unreachable!("counts sum to the total")
    }

    /// The value below which the share `q` of values lies (nearest rank).
    pub fn quantile(&self, q: f64) -> Option<Nanos> {
        let rank = (q * self.total as f64).ceil().max(1.0) as u64 - 1;
        self.at_rank(rank.min(self.total.checked_sub(1)?))
    }

    /// The share of values in `low..high`; a bucket that straddles a bound counts in proportion.
    pub fn share(&self, low: Nanos, high: Nanos) -> Option<f64> {
        if self.total == 0 {
            return None;
        }
        let inside = |(index, count): (usize, u64)| {
            let from = lower_bound(index).0.max(self.min);
            let to = lower_bound(index + 1).0.min(self.max + 1).max(from + 1);
            let overlap = to.min(high.0).saturating_sub(from.max(low.0));
            count as f64 * overlap as f64 / (to - from) as f64
        };
        Some(self.buckets().map(inside).sum::<f64>() / self.total as f64)
    }

    /// The buckets that hold something: (index, count).
    pub fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Histogram({} values, {}..{} ns)", self.total, self.min, self.max)
    }
}

/// On disk: counts as (gap, count) pairs, 128-bit sums as strings so that no JSON reader rounds
/// them.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    min_ns: u64,
    max_ns: u64,
    sum_ns: String,
    sum_of_squares_ns2: String,
    buckets: Vec<(usize, u64)>,
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let stored = Stored {
            min_ns: if self.total == 0 { 0 } else { self.min },
            max_ns: self.max,
            sum_ns: self.sum.to_string(),
            sum_of_squares_ns2: self.squares.to_string(),
            buckets: self.buckets().collect(),
        };
        stored.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Stored::deserialize(deserializer)?;
        let mut histogram = Histogram::new();
        for (index, count) in stored.buckets {
            let slot = histogram.counts.get_mut(index);
            *slot.ok_or_else(|| D::Error::custom("histogram bucket out of range"))? += count;
            histogram.total = (histogram.total.checked_add(count))
                .ok_or_else(|| D::Error::custom("histogram counts overflow"))?;
        }
        histogram.sum = stored.sum_ns.parse().map_err(D::Error::custom)?;
        histogram.squares = stored.sum_of_squares_ns2.parse().map_err(D::Error::custom)?;
        histogram.min = if histogram.total == 0 { u64::MAX } else { stored.min_ns };
        histogram.max = stored.max_ns;
        if histogram.total > 0 && histogram.min > histogram.max {
            return Err(D::Error::custom("histogram minimum above its maximum"));
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_its_bucket_and_the_midpoint_is_close() {
        let mut v = 0_u64;
        while v < 1 << 42 {
            let b = bucket(Nanos(v));
            assert!(lower_bound(b).0 <= v && v < lower_bound(b + 1).0, "{v} in bucket {b}");
            let error = midpoint(b).0.abs_diff(v) as f64 / v.max(1) as f64;
            assert!(error <= 1.0 / 256.0 + 1e-9, "{v}: {error}");
            v = v * 1001 / 1000 + 1;
        }
        assert!(bucket(Nanos(u64::MAX)) < BUCKETS);
    }

    #[test]
    fn bounds_at_powers_of_two() {
        for power in 8..43 {
            let v = 1_u64 << power;
            assert_eq!(bucket(Nanos(v)), bucket(Nanos(v - 1)) + 1, "2^{power}");
        }
    }

    #[test]
    fn merge_equals_recording_everything_in_one() {
        let (mut a, mut b, mut both) = (Histogram::new(), Histogram::new(), Histogram::new());
        for i in 0..10_000_u64 {
            let v = Nanos(crate::seed::mix(i) % 5_000_000);
            if i % 3 == 0 {
                a.record(v)
            } else {
                b.record(v)
            }
            both.record(v);
        }
        a.merge(&b);
        assert!(a == both);
    }

    #[test]
    fn quantiles_and_shares_of_a_known_set() {
        let mut h = Histogram::new();
        for v in 1..=100 {
            h.record(Nanos(v));
        }
        assert_eq!(h.quantile(0.5), Some(Nanos(50)));
        assert_eq!(h.quantile(0.99), Some(Nanos(99)));
        assert_eq!(h.quantile(1.0), Some(Nanos(100)));
        assert_eq!(h.quantile(0.0), Some(Nanos(1)));
        assert!((h.share(Nanos(0), Nanos(51)).unwrap() - 0.5).abs() < 1e-12);
        assert!((h.mean().unwrap() - 50.5).abs() < 1e-12);
        assert!((h.deviation().unwrap() - 29.011).abs() < 1e-3);
        assert_eq!(Histogram::new().quantile(0.5), None);
    }
}
