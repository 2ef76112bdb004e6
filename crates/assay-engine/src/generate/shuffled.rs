//! Returns the numbers below n in a random order, each once, without a table of them.

use assay_spec::seed::mix;

/// A permutation of 0..n: a Feistel network over the next power of four, walked until it lands
/// inside (Black, Rogaway, CT-RSA 2002).
#[derive(Clone, Debug)]
pub struct Shuffled {
    count: u64,
    /// The number of bits in half a number of the network.
    bits: u32,
    keys: [u64; ROUNDS],
}

/// The number of rounds: with fewer, numbers that are near each other stay so too often.
const ROUNDS: usize = 6;

impl Shuffled {
    /// Creates the order of the numbers below `count` that follows from `seed`.
    pub fn new(count: u64, seed: u64) -> Shuffled {
        let bits = (u64::BITS - count.saturating_sub(1).leading_zeros()).div_ceil(2).max(1);
        Shuffled { count, bits, keys: std::array::from_fn(|round| mix(seed ^ round as u64)) }
    }

    /// Returns the number at `place`, which must be below the count.
    pub fn at(&self, place: u64) -> u64 {
        debug_assert!(place < self.count);
        let mut number = self.network(place);
        while number >= self.count {
            number = self.network(number);
        }
        number
    }

    /// Applies the Feistel network once.
    fn network(&self, number: u64) -> u64 {
        let mask = (1 << self.bits) - 1;
        let (mut left, mut right) = (number >> self.bits, number & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mix(right ^ key) & mask));
        }
        left << self.bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_comes_once() {
        for count in [1, 2, 3, 5, 64, 100, 1000, 4096, 4097] {
            let order = Shuffled::new(count, count);
            let mut all: Vec<u64> = (0..count).map(|place| order.at(place)).collect();
            all.sort_unstable();
            assert!(all.iter().copied().eq(0..count), "{count}");
        }
    }

    #[test]
    fn another_seed_is_another_order() {
        let of = |seed| (0..1000).map(|p| Shuffled::new(1000, seed).at(p)).collect::<Vec<_>>();
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    /// The mean distance from one number to the next is that of two random numbers, a third of the
    /// range, and neighbours follow each other only by chance.
    #[test]
    fn the_order_is_as_good_as_drawn() {
        const COUNT: u64 = 100_000;
        let order = Shuffled::new(COUNT, 7);
        let distances = (1..COUNT).map(|place| order.at(place).abs_diff(order.at(place - 1)));
        let (mut sum, mut neighbours) = (0, 0);
        for distance in distances {
            sum += distance;
            neighbours += u32::from(distance == 1);
        }
        let mean = sum as f64 / (COUNT - 1) as f64 / COUNT as f64;
        assert!((mean - 1.0 / 3.0).abs() < 0.003, "{mean}");
        // 2 are expected.
        assert!(neighbours < 12, "{neighbours}");
    }
}
