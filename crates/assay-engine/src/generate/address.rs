//! Chooses the addresses of requests.

use super::random::Random;
use super::zipf::Zipf;
use assay_spec::Bytes;
use assay_spec::experiment::{Address, StreamSpec};

/// A walk over a span of the target, in bytes.
#[derive(Debug)]
pub(super) struct Walker {
    /// The start of the span on the target.
    start: u64,
    /// The length of the span.
    length: u64,
    /// The unit of random addresses, which are multiples of it relative to the span's start.
    unit: u64,
    /// The next sequential address, relative to the span's start.
    cursor: u64,
    way: Way,
}

#[derive(Debug)]
enum Way {
    Sequential,
    Random,
    Mixed(f64),
    Stride(u64),
    Zipf(Zipf),
    HotCold { hot_units: u64, hot_requests: f64 },
}

impl Walker {
    pub(super) fn new(spec: &StreamSpec, capacity: Bytes) -> Walker {
        let largest = spec.max_size().0;
        let smallest = spec.sizes.iter().map(|(s, _)| s.0).min().unwrap_or(largest);
        let span = spec.span.on(capacity);
        let start = span.start.0.min(capacity.0.saturating_sub(largest));
        let end = span.end.map_or(capacity.0, |e| e.0.min(capacity.0)).max(start + largest);
        let length = end - start;
        let unit = smallest;
        let units = (length / unit).max(1);
        let way = match spec.address {
            Address::Sequential => Way::Sequential,
            Address::Random => Way::Random,
            Address::Mixed { random_share } => Way::Mixed(random_share),
            Address::Stride { step } => Way::Stride(step.0),
            Address::Zipf { theta } => Way::Zipf(Zipf::new(units, theta)),
            Address::HotCold { hot_space, hot_requests } => Way::HotCold {
                hot_units: ((units as f64 * hot_space) as u64).clamp(1, units.max(2) - 1),
                hot_requests,
            },
        };
        Walker { start, length, unit, cursor: 0, way }
    }

    /// Chooses the address of the next request, of `length` bytes.
    #[inline]
    pub(super) fn step(&mut self, length: Bytes, random: &mut Random) -> Bytes {
        let room = self.length - length.0;
        let places = room / self.unit + 1;
        let relative = match &mut self.way {
            Way::Sequential => self.advance(length.0, length.0),
            Way::Stride(step) => {
                let step = *step;
                self.advance(length.0, step)
            }
            Way::Random => random.below(places) * self.unit,
            Way::Mixed(share) => {
                if random.unit() < *share {
                    self.cursor = random.below(places) * self.unit;
                }
                self.advance(length.0, length.0)
            }
            Way::Zipf(zipf) => (zipf.sample(random) * self.unit).min(room),
            Way::HotCold { hot_units, hot_requests } => {
                let units = self.length / self.unit;
                let unit = if random.unit() < *hot_requests {
                    random.below(*hot_units)
                } else {
                    *hot_units + random.below((units - *hot_units).max(1))
                };
                (unit * self.unit).min(room)
            }
        };
        Bytes(self.start + relative)
    }

    /// Returns the cursor and moves it on by `step`. Sets it to the start of the span before, if a
    /// request of `length` no longer fits.
    fn advance(&mut self, length: u64, step: u64) -> u64 {
        if self.cursor + length > self.length {
            self.cursor = 0;
        }
        let here = self.cursor;
        self.cursor += step;
        here
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ask, Generator};
    use super::*;
    use assay_spec::Op;
    use assay_spec::experiment::Span;

    const K4: Bytes = Bytes(4096);

    fn asks(address: Address, end: u64, n: usize) -> Vec<u64> {
        let spec = StreamSpec {
            read_share: 1.0,
            sizes: vec![(K4, 1.0)],
            address,
            span: Span { start: K4 * 10, end: Some(K4 * (10 + end)), percent: None },
            flush_every: 0,
            fua: false,
        };
        let mut generator = Generator::new(&[spec], K4 * 1_000_000, 7);
        (0..n).map(|_| generator.ask()).map(|a: Ask| a.offset.0 / 4096 - 10).collect()
    }

    #[test]
    fn sequential_and_stride_wrap_inside_the_span() {
        assert_eq!(asks(Address::Sequential, 3, 7), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(asks(Address::Stride { step: K4 * 2 }, 5, 6), [0, 2, 4, 0, 2, 4]);
    }

    #[test]
    fn random_is_uniform() {
        // Chi-square over 64 places, 64,000 draws: 63 degrees of freedom, 99.9 % below 103.4.
        let mut counts = [0_u64; 64];
        asks(Address::Random, 64, 64_000).iter().for_each(|p| counts[*p as usize] += 1);
        let chi: f64 = counts.iter().map(|c| (*c as f64 - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi < 103.4, "{chi}");
    }

    #[test]
    fn zipf_frequencies_follow_the_law() {
        let (n, draws) = (1000_u64, 400_000);
        let mut counts = vec![0_u64; n as usize];
        asks(Address::Zipf { theta: 0.9 }, n, draws).iter().for_each(|p| counts[*p as usize] += 1);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let norm: f64 = (1..=n).map(|k| (k as f64).powf(-0.9)).sum();
        for rank in [1_usize, 2, 5, 10, 50, 100] {
            let expected = draws as f64 * (rank as f64).powf(-0.9) / norm;
            let error = (counts[rank - 1] as f64 - expected).abs() / expected.sqrt();
            assert!(error < 5.0, "rank {rank}: {} for {expected}", counts[rank - 1]);
        }
    }

    #[test]
    fn hot_requests_go_to_the_hot_space() {
        let address = Address::HotCold { hot_space: 0.1, hot_requests: 0.9 };
        let hot = asks(address, 1000, 50_000).iter().filter(|p| **p < 100).count();
        assert!((hot as f64 / 50_000.0 - 0.9).abs() < 0.01, "{hot}");
    }

    #[test]
    fn mixed_jumps_as_often_as_told() {
        let places = asks(Address::Mixed { random_share: 0.25 }, 100_000, 20_000);
        let jumps = places.windows(2).filter(|w| w[1] != w[0] + 1).count();
        assert!((jumps as f64 / 20_000.0 - 0.25).abs() < 0.02, "{jumps}");
    }

    #[test]
    fn a_flush_takes_its_turn_after_so_many_requests() {
        let spec = StreamSpec {
            read_share: 0.0,
            sizes: vec![(K4, 1.0)],
            address: Address::Sequential,
            span: Span::WHOLE,
            flush_every: 2,
            fua: false,
        };
        let mut generator = Generator::new(&[spec], K4 * 100, 3);
        let asks: Vec<Ask> = (0..6).map(|_| generator.ask()).collect();
        let of = |a: &Ask| (a.op == Op::Flush, a.offset.0 / 4096, a.length.0 / 4096);
        let (data, flush) = (|page| (false, page, 1), (true, 0, 0));
        let expected = [data(0), data(1), flush, data(2), data(3), flush];
        assert_eq!(asks.iter().map(of).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn spans_beyond_the_device_are_cut() {
        let spec = StreamSpec {
            read_share: 0.5,
            sizes: vec![(K4, 1.0), (K4 * 4, 1.0)],
            address: Address::Random,
            span: Span { start: K4 * 50, end: Some(K4 * 5000), percent: None },
            flush_every: 0,
            fua: false,
        };
        let mut generator = Generator::new(&[spec], K4 * 100, 3);
        for _ in 0..10_000 {
            let a = generator.ask();
            assert!(a.offset >= K4 * 50 && a.offset + a.length <= K4 * 100);
        }
    }
}
