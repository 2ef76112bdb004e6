//! Histories of random writes, and a harness that takes a map through one without a drive.

use super::{Ftl, Lpn};
use crate::nand::{FlashEvent, Nand, Token};
use assay_spec::Nanos;
use assay_spec::device::{NandSpec, PlaneMode, ProgramTime};
use assay_spec::seed::mix;

/// Random writes of single pages. The share `heat` of them goes to the first share `hot` of the
/// drive's pages, the rest to the remaining pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomWrites {
    /// The share of the pages that are hot.
    pub hot: f64,
    /// The share of the writes that go to hot pages.
    pub heat: f64,
    /// The seed of the history.
    pub seed: u64,
}

impl RandomWrites {
    /// Uniform random writes: all pages are alike.
    pub const UNIFORM: RandomWrites = RandomWrites { hot: 0.5, heat: 0.5, seed: 0 };

    /// Returns the history of the same kind with another seed.
    pub const fn seeded(self, seed: u64) -> RandomWrites {
        RandomWrites { seed, ..self }
    }

    /// Returns the logical page, out of `pages`, that write number `step` goes to.
    pub(super) fn page(self, step: u64, pages: u32) -> Lpn {
        if pages < 2 {
            return Lpn(0);
        }
        let pages = u64::from(pages);
        let hot = ((pages as f64 * self.hot) as u64).clamp(1, pages - 1);
        // Mixed, so that seeds that are close give unrelated histories.
        let seed = mix(self.seed);
        let (r, s) = (mix(seed ^ (2 * step)), mix(seed ^ (2 * step + 1)));
        let is_hot = r < (self.heat * u64::MAX as f64) as u64;
        Lpn((if is_hot { below(s, hot) } else { hot + below(s, pages - hot) }) as u32)
    }
}

/// Maps a random 64-bit number evenly to one below `n`.
pub(super) fn below(random: u64, n: u64) -> u64 {
    ((u128::from(random) * u128::from(n)) >> 64) as u64
}

/// A map with chips of its own, for writing histories without a drive.
pub(super) struct FtlHarness<F> {
    /// The map that is written.
    pub(super) map: F,
    /// The chips, on which hardly anything takes time.
    nand: Nand,
    /// The number of logical pages written to.
    pages: u32,
    /// The history.
    writes: RandomWrites,
    /// The number of the next write.
    pub(super) step: u64,
    /// A buffer for the events of the chips, which are ignored.
    flash_events: Vec<FlashEvent>,
}

impl<F: Ftl> FtlHarness<F> {
    /// Returns a harness for `map`, with chips of the same blocks as `nand`. Writes go to `pages`
    /// pages.
    pub(super) fn new(map: F, nand: &NandSpec, pages: u32, writes: RandomWrites) -> FtlHarness<F> {
        let nand = Nand::new(&in_no_time(nand), 0);
        FtlHarness { map, nand, pages, writes, step: 0, flash_events: Vec::new() }
    }

    /// Delays each erase until the programs that replaced pages of the block have ended.
    pub(super) fn keeping_replaced(mut self) -> FtlHarness<F> {
        self.nand.keep_replaced();
        self
    }

    /// Writes the next `count` pages of the history. Returns the write amplification.
    pub(super) fn write(&mut self, count: u64) -> f64 {
        self.nand.mark();
        for step in self.step..self.step + count {
            let page = self.writes.page(step, self.pages);
            self.map.write(&mut self.nand, page, &(page..page + 1), Token::NONE);
            self.end();
        }
        self.step += count;
        self.nand.chips.counts.programmed() as f64 / count as f64
    }

    /// Handles the events of the chips until none is left.
    fn end(&mut self) {
        while let Some((queue, slot)) = self.nand.chips.events.pop(Nanos::NEVER) {
            self.nand.on_event(queue, slot, &mut self.flash_events);
        }
        self.flash_events.clear();
    }

    /// Drains the map and returns it. Panics if an operation still waits.
    pub(super) fn done(mut self) -> F {
        self.map.program_gathered(&mut self.nand);
        self.end();
        assert!(self.nand.is_idle(), "something waits that has not been asked for");
        self.map
    }
}

/// Returns the same chips with operations of 1 ns and a bus for each plane.
fn in_no_time(nand: &NandSpec) -> NandSpec {
    NandSpec {
        channels: nand.planes(),
        dies_per_channel: 1,
        planes_per_die: 1,
        plane_mode: PlaneMode::Independent,
        read: Nanos(1),
        program: ProgramTime::uniform(Nanos(1)),
        erase: Nanos(1),
        suspend: None,
        ..*nand
    }
}

/// Returns the largest distance between two empirical distributions (Kolmogorov). Each sample must
/// be sorted.
#[cfg(test)]
pub(super) fn distance(a: &[u32], b: &[u32]) -> f64 {
    let below = |all: &[u32], x: u32| all.partition_point(|y| *y <= x) as f64 / all.len() as f64;
    a.iter().chain(b).map(|x| (below(a, *x) - below(b, *x)).abs()).fold(0.0, f64::max)
}
