//! The latency histogram: log-linear, fixed layout, mergeable.
//!
//! Values below 256 ns have a bucket each. Above, every power of two is cut into 128 equal buckets,
//! so a bucket is at most 1/128 of its value wide and its midpoint is off by at most 1/256 (0.4 %).
//! The layout never changes, so histograms of any two runs merge by adding counts. 7 bits for each
//! power of two up to 2⁴³ ns (2.4 hours) make 4,736 buckets, 37 KiB.

use crate::units::Nanos;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The binary logarithm of the number of buckets for each power of two.
const BITS: u32 = 7;
/// The power of two from which on all values count in the last bucket.
const MAX_POWER: u32 = 43;
/// The number of buckets.
pub const BUCKETS: usize = ((MAX_POWER - BITS) as usize + 1) << BITS;

const _: () = assert!(BUCKETS == 4736);

/// A histogram of latencies, with exact count, sum, sum of squares, minimum and maximum.
#[derive(Clone)]
pub struct Histogram {
    /// The count of every bucket; empty while the counts are in `few`.
    counts: Box<[u64]>,
    /// The counts of the buckets that are not empty, as they were read. A file of many small
    /// histograms thus takes no more memory than its own size.
    few: Box<[(u32, u64)]>,
    total: u64,
    sum: u128,
    squares: u128,
    min: u64,
    max: u64,
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Histogram) -> bool {
        let exact = |h: &Histogram| (h.total, h.sum, h.squares, h.min, h.max);
        exact(self) == exact(other) && self.buckets().eq(other.buckets())
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

/// Returns the bucket of a value.
#[inline]
pub fn bucket(value: Nanos) -> usize {
    let v = value.0.min((1 << MAX_POWER) - 1);
    // With `| 2^BITS` the small values, which have a bucket each, take the same path.
    let shift = (63 - (v | (1 << BITS)).leading_zeros()) - BITS;
    ((shift as usize) << BITS) + (v >> shift) as usize
}

/// Returns the smallest value of a bucket.
pub fn lower_bound(bucket: usize) -> Nanos {
    let shift = (bucket >> BITS).saturating_sub(1) as u32;
    let mantissa = (bucket - ((shift as usize) << BITS)) as u64;
    Nanos(mantissa << shift)
}

/// Returns the value that represents a bucket: its midpoint.
pub fn midpoint(bucket: usize) -> Nanos {
    let (low, high) = (lower_bound(bucket).0, lower_bound(bucket + 1).0);
    Nanos(low + (high - low) / 2)
}

impl Histogram {
    /// Returns an empty histogram.
    pub fn new() -> Self {
        Histogram::of_buckets(vec![0; BUCKETS].into_boxed_slice(), Box::default())
    }

    fn of_buckets(counts: Box<[u64]>, few: Box<[(u32, u64)]>) -> Self {
        Histogram { counts, few, total: 0, sum: 0, squares: 0, min: u64::MAX, max: 0 }
    }

    /// Adds a value.
    #[inline]
    pub fn record(&mut self, value: Nanos) {
        match self.counts.get_mut(bucket(value)) {
            Some(count) => *count += 1,
            None => self.unpacked()[bucket(value)] += 1,
        }
        self.total += 1;
        self.sum += u128::from(value.0);
        self.squares += u128::from(value.0) * u128::from(value.0);
        self.min = self.min.min(value.0);
        self.max = self.max.max(value.0);
    }

    /// Returns the counts of every bucket. Unpacks `few` first.
    #[cold]
    fn unpacked(&mut self) -> &mut [u64] {
        if self.counts.is_empty() {
            self.counts = vec![0; BUCKETS].into_boxed_slice();
            for (bucket, count) in std::mem::take(&mut self.few) {
                self.counts[bucket as usize] = count;
            }
        }
        &mut self.counts
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        let mine = self.unpacked();
        for (bucket, count) in other.buckets() {
            mine[bucket] += count;
        }
        self.total += other.total;
        self.sum += other.sum;
        self.squares += other.squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        debug_assert_eq!(self.counts.iter().sum::<u64>(), self.total);
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.total
    }
    /// Returns `true` if there are no values.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
    /// Returns the smallest value, exact.
    pub fn min(&self) -> Option<Nanos> {
        (self.total > 0).then_some(Nanos(self.min))
    }
    /// Returns the largest value, exact.
    pub fn max(&self) -> Option<Nanos> {
        (self.total > 0).then_some(Nanos(self.max))
    }
    /// Returns the sum in nanoseconds, exact.
    pub fn sum(&self) -> u128 {
        self.sum
    }
    /// Returns the mean in nanoseconds, exact except for the final division.
    pub fn mean(&self) -> Option<f64> {
        (self.total > 0).then(|| self.sum as f64 / self.total as f64)
    }
    /// Returns the mean of the reciprocals of the values, per second, from the midpoints of the
    /// buckets. A value below a nanosecond counts as one.
    pub fn mean_rate(&self) -> Option<f64> {
        let sum =
            |sum, (bucket, count)| sum + count as f64 * 1e9 / midpoint(bucket).0.max(1) as f64;
        (self.total > 0).then(|| self.buckets().fold(0.0, sum) / self.total as f64)
    }
    /// Returns the sample standard deviation in nanoseconds.
    pub fn deviation(&self) -> Option<f64> {
        if self.total < 2 {
            return None;
        }
        let n = self.total as f64;
        let mean = self.sum as f64 / n;
        Some(((self.squares as f64 - n * mean * mean) / (n - 1.0)).max(0.0).sqrt())
    }

    /// Returns the value at `rank` (from 0) in sorted order: its bucket's midpoint, kept within
    /// min..max.
    pub fn at_rank(&self, rank: u64) -> Option<Nanos> {
        if rank >= self.total {
            return None;
        }
        let mut before = 0;
        for (index, count) in self.buckets() {
            before += count;
            if before > rank {
                return Some(Nanos(midpoint(index).0.clamp(self.min, self.max)));
            }
        }
        unreachable!("counts sum to the total")
    }

    /// Returns the value below which the share `q` of the values lies (nearest rank).
    pub fn quantile(&self, q: f64) -> Option<Nanos> {
        let rank = (q * self.total as f64).ceil().max(1.0) as u64 - 1;
        self.at_rank(rank.min(self.total.checked_sub(1)?))
    }

    /// Returns the share of the values in `low..high`. A bucket across a bound counts in
    /// proportion.
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

    /// Returns the buckets that are not empty: (index, count).
    pub fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let few = self.few.iter().map(|(bucket, count)| (*bucket as usize, *count));
        few.chain(self.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0))
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Histogram({} values, {}..{} ns)", self.total, self.min, self.max)
    }
}

/// The form on disk: counts as (bucket, count) pairs, 128-bit sums as strings so that no JSON
/// reader rounds them.
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
        Stored::deserialize(deserializer)?.histogram().map_err(D::Error::custom)
    }
}

/// The limit of the number of values in a histogram that is read: at 10^7 a second, nearly a year.
const COUNT_END: u64 = 1 << 48;
/// The limit of the values in a histogram that is read, in nanoseconds: 104 days.
const VALUE_END: u64 = 1 << 53;
/// The limit of the sum of squares in a histogram that is read. The sums of thousands of histograms
/// still fit in 128 bits.
const SQUARES_END: u128 = 1 << 112;

impl Stored {
    /// Returns the histogram, if its numbers are possible.
    fn histogram(&self) -> Result<Histogram, &'static str> {
        let few = self.buckets.iter().map(|(bucket, count)| (*bucket as u32, *count)).collect();
        let mut histogram = Histogram::of_buckets(Box::default(), few);
        let mut next = 0;
        for (index, count) in &self.buckets {
            if *index >= BUCKETS {
                return Err("histogram bucket out of range");
            }
            if *index < next || *count == 0 {
                return Err("histogram buckets are not in order, or without a count");
            }
            next = index + 1;
            let total = histogram.total.checked_add(*count).filter(|total| *total < COUNT_END);
            histogram.total = total.ok_or("histogram counts overflow")?;
        }
        histogram.sum = self.sum_ns.parse().map_err(|_| "`sum_ns` is no whole number")?;
        let squares = self.sum_of_squares_ns2.parse();
        histogram.squares = squares.map_err(|_| "`sum_of_squares_ns2` is no whole number")?;
        histogram.min = if histogram.total == 0 { u64::MAX } else { self.min_ns };
        histogram.max = self.max_ns;
        self.is_possible(&histogram)?;
        Ok(histogram)
    }

    /// Checks that some values could give these numbers: that the minimum and the maximum lie in
    /// the outermost buckets, and that the sums lie between the smallest and largest sums of the
    /// buckets.
    fn is_possible(&self, histogram: &Histogram) -> Result<(), &'static str> {
        let (Some((first, _)), Some((last, _))) = (self.buckets.first(), self.buckets.last())
        else {
            let none = (self.min_ns, self.max_ns) == (0, 0)
                && (histogram.sum, histogram.squares) == (0, 0);
            return if none { Ok(()) } else { Err("histogram without values has sums") };
        };
        if self.min_ns > self.max_ns {
            return Err("histogram minimum above its maximum");
        }
        if self.max_ns >= VALUE_END {
            return Err("histogram maximum is no latency");
        }
        let (min, max) = (Nanos(self.min_ns), Nanos(self.max_ns));
        if (bucket(min), bucket(max)) != (*first, *last) {
            return Err("histogram minimum or maximum is not in its outermost bucket");
        }
        let (mut low, mut high) = ((0_u128, 0_u128), (0_u128, 0_u128));
        for (index, count) in &self.buckets {
            let least = u128::from(lower_bound(*index).0.max(min.0));
            // The last bucket of the layout has no upper bound.
            let below = if index + 1 == BUCKETS { max.0 } else { lower_bound(index + 1).0 - 1 };
            let most = u128::from(below.min(max.0));
            let times = u128::from(*count);
            let squares = |v: u128| (v * v).saturating_mul(times);
            low = (low.0 + times * least, low.1.saturating_add(squares(least)));
            high = (high.0 + times * most, high.1.saturating_add(squares(most)));
        }
        let is_between = (low.0..=high.0).contains(&histogram.sum)
            && (low.1..=high.1).contains(&histogram.squares);
        match is_between && histogram.squares < SQUARES_END {
            true => Ok(()),
            false => Err("histogram sums are not those of its buckets"),
        }
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

    #[test]
    fn what_is_read_can_be_a_histogram() {
        let mut h = Histogram::new();
        [0, 5, 100, 300, 299_000, 1 << 45, 1 << 46].iter().for_each(|v| h.record(Nanos(*v)));
        let text = serde_json::to_string(&h).unwrap();
        let mut read: Histogram = serde_json::from_str(&text).unwrap();
        assert!(read == h, "{text}");
        // A histogram that was read accepts further values.
        read.record(Nanos(300));
        h.record(Nanos(300));
        assert!(read == h && read.quantile(0.5) == h.quantile(0.5));
        let mut both: Histogram = serde_json::from_str(&text).unwrap();
        both.merge(&h);
        assert_eq!((both.count(), both.buckets().count()), (15, h.buckets().count()));
        let empty = serde_json::to_string(&Histogram::new()).unwrap();
        assert!(serde_json::from_str::<Histogram>(&empty).unwrap().is_empty());
        let small = r#"{"min_ns":5,"max_ns":300,"sum_ns":"405","sum_of_squares_ns2":"100025",
            "buckets":[[5,1],[100,1],[278,1]]}"#;
        assert!(serde_json::from_str::<Histogram>(small).is_ok());
        for (from, to, why) in [
            ("[278,1]", "[4736,1]", "out of range"),
            ("[278,1]", "[18446744073709551615,1]", "out of range"),
            ("[278,1]", "[278,0]", "without a count"),
            ("[278,1]", "[278,18446744073709551615]", "overflow"),
            ("[278,1]", "[278,1],[278,1]", "not in order"),
            ("[5,1],[100,1]", "[100,1],[5,1]", "not in order"),
            ("\"max_ns\":300", "\"max_ns\":30000", "outermost"),
            ("\"min_ns\":5", "\"min_ns\":500", "above its maximum"),
            ("\"min_ns\":5", "\"min_ns\":4", "outermost"),
            ("\"405\"", "\"999999\"", "not those of its buckets"),
            ("\"405\"", "\"-405\"", "no whole number"),
            ("\"100025\"", "\"0\"", "not those of its buckets"),
            ("[[5,1],[100,1],[278,1]]", "[]", "without values"),
        ] {
            assert!(small.contains(from), "{from}");
            let error = serde_json::from_str::<Histogram>(&small.replace(from, to));
            assert!(error.err().unwrap().to_string().contains(why), "{from} {to}: {why}");
        }
    }
}
