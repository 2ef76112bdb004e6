//! Histories of random writes, and a map that goes through one without a drive around it.

use super::Ftl;
use crate::nand::{FlashEvent, NOBODY, Nand};
use assay_spec::Nanos;
use assay_spec::device::{NandSpec, PlaneMode};
use assay_spec::seed::mix;

/// Random writes of single pages: a share `heat` of them goes to the first share `hot` of the
/// drive, the rest to the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomWrites {
    /// The share of the pages.
    pub hot: f64,
    /// The share of the writes.
    pub heat: f64,
    /// Which of all such histories.
    pub seed: u64,
}

impl RandomWrites {
    /// All pages alike.
    pub const UNIFORM: RandomWrites = RandomWrites { hot: 0.5, heat: 0.5, seed: 0 };

    /// Another history of the kind.
    pub const fn seeded(self, seed: u64) -> RandomWrites {
        RandomWrites { seed, ..self }
    }

    /// The page of `pages` that write number `step` goes to.
    pub(super) fn page(self, step: u64, pages: u32) -> u32 {
        if pages < 2 {
            return 0;
        }
        let pages = u64::from(pages);
        let hot = ((pages as f64 * self.hot) as u64).clamp(1, pages - 1);
        // Numbers that are close give other histories, too.
        let seed = mix(self.seed);
        let (r, s) = (mix(seed ^ (2 * step)), mix(seed ^ (2 * step + 1)));
        let is_hot = r < (self.heat * u64::MAX as f64) as u64;
        (if is_hot { below(s, hot) } else { hot + below(s, pages - hot) }) as u32
    }
}

/// Which of `n` a random number stands for.
pub(super) fn below(random: u64, n: u64) -> u64 {
    ((u128::from(random) * u128::from(n)) >> 64) as u64
}

/// A map and what it asks, while it is written.
pub(super) struct FtlHarness<F> {
    pub(super) map: F,
    nand: Nand,
    pages: u32,
    writes: RandomWrites,
    /// Writes so far: the next one's number.
    pub(super) step: u64,
    flash_events: Vec<FlashEvent>,
}

impl<F: Ftl> FtlHarness<F> {
    pub(super) fn new(map: F, nand: &NandSpec, pages: u32, writes: RandomWrites) -> FtlHarness<F> {
        let nand = Nand::new(&in_no_time(nand), 0);
        FtlHarness { map, nand, pages, writes, step: 0, flash_events: Vec::new() }
    }

    /// The same of chips that erase nothing before what replaced it is in the cells.
    pub(super) fn keeping_replaced(mut self) -> FtlHarness<F> {
        self.nand.keep_replaced();
        self
    }

    /// Writes so many pages; returns how many it programs for each.
    pub(super) fn write(&mut self, count: u64) -> f64 {
        self.nand.mark();
        for step in self.step..self.step + count {
            let page = self.writes.page(step, self.pages);
            self.map.write(&mut self.nand, page, &(page..page + 1), NOBODY);
            self.end();
        }
        self.step += count;
        self.nand.counts.programmed() as f64 / count as f64
    }

    /// What it has asked for ends.
    fn end(&mut self) {
        while let Some((queue, slot)) = self.nand.events.pop(Nanos::NEVER) {
            self.nand.on_event(queue, slot, &mut self.flash_events);
        }
        self.flash_events.clear();
    }

    /// The map, which waits for nothing.
    pub(super) fn done(mut self) -> F {
        self.map.drain(&mut self.nand);
        self.end();
        assert!(self.nand.is_idle(), "something waits that has not been asked for");
        self.map
    }
}

/// Chips like these on which hardly anything takes time: each plane has a bus of its own.
fn in_no_time(nand: &NandSpec) -> NandSpec {
    NandSpec {
        channels: nand.planes(),
        dies_per_channel: 1,
        planes_per_die: 1,
        plane_mode: PlaneMode::Independent,
        read: Nanos(1),
        program: Nanos(1),
        program_slow: Nanos(1),
        erase: Nanos(1),
        suspend: None,
        ..*nand
    }
}

/// The largest distance between two distributions, each sorted (Kolmogorov).
#[cfg(test)]
pub(super) fn distance(a: &[u32], b: &[u32]) -> f64 {
    let below = |all: &[u32], x: u32| all.partition_point(|y| *y <= x) as f64 / all.len() as f64;
    a.iter().chain(b).map(|x| (below(a, *x) - below(b, *x)).abs()).fold(0.0, f64::max)
}
