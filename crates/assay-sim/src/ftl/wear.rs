//! Wear levelling and endurance: which free block is used next, which cold block must be emptied,
//! and when a block is worn.

use assay_spec::device::{EnduranceSpec, WearSpec};
use assay_spec::seed::mix;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The free blocks of a plane, in the order in which they will be used.
#[derive(Clone, Debug)]
pub(crate) struct FreeBlocks {
    /// The wear-levelling policy, which gives the order.
    wear: WearSpec,
    /// (key, block): the smallest is used first.
    heap: BinaryHeap<Reverse<(u32, u32)>>,
    /// The number of blocks added since the beginning.
    freed: u32,
}

impl FreeBlocks {
    /// Returns a set of all blocks of `range`, never erased.
    pub(crate) fn new(wear: WearSpec, range: std::ops::Range<u32>) -> FreeBlocks {
        let mut free = FreeBlocks { wear, heap: BinaryHeap::new(), freed: 0 };
        range.for_each(|block| free.put(block, 0));
        free
    }

    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    /// Removes all blocks.
    pub(crate) fn clear(&mut self) {
        self.heap.clear();
    }

    /// Adds `block`, which has been erased `erases` times.
    pub(crate) fn put(&mut self, block: u32, erases: u32) {
        let key = match self.wear {
            WearSpec::None => self.freed,
            WearSpec::Dynamic | WearSpec::Static { .. } => erases,
        };
        self.freed += 1;
        self.heap.push(Reverse((key, block)));
    }

    /// Removes and returns the block to use next, or `None` if none is free.
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.heap.pop().map(|Reverse((_, block))| block)
    }

    /// Returns the free blocks in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.heap.iter().map(|Reverse((_, block))| *block)
    }
}

/// The endurance of the blocks, and which of them have gone bad.
#[derive(Clone, Debug)]
pub(crate) struct Endurance {
    /// The rated cycles, their spread and the number of spare blocks.
    spec: EnduranceSpec,
    /// By plane: the bad blocks, which are used no more.
    bad: Vec<Vec<u32>>,
    /// Whether a plane has had more worn blocks than spare ones: the drive takes no more writes.
    pub(crate) is_over: bool,
}

impl Endurance {
    /// Returns the state of `planes` planes without bad blocks.
    pub(crate) fn new(spec: EnduranceSpec, planes: usize) -> Endurance {
        Endurance { spec, bad: vec![Vec::new(); planes], is_over: false }
    }

    /// Returns `true` if `block`, erased `erases` times, has been erased as often as it can be.
    /// Blocks differ as the sum of twelve uniform numbers does, which is normal except for its
    /// tails.
    pub(crate) fn is_worn(&self, block: u32, erases: u32) -> bool {
        let uniform = |i: u64| mix(u64::from(block) * 12 + i) as f64 / u64::MAX as f64;
        let deviations = (0..12).map(uniform).sum::<f64>() - 6.0;
        let share = 1.0 + deviations * f64::from(self.spec.spread) / 100.0;
        f64::from(erases) >= (f64::from(self.spec.cycles) * share).max(1.0)
    }

    /// Retires the worn `block` of `plane`. Returns `false` if the plane has no spare block left.
    /// The drive then takes no more writes, but the block stays in use, so that pending work finds
    /// room.
    pub(crate) fn retire(&mut self, plane: usize, block: u32) -> bool {
        let has_spare = self.bad[plane].len() < self.spec.spare_blocks as usize;
        match has_spare {
            true => self.bad[plane].push(block),
            false => self.is_over = true,
        }
        has_spare
    }

    /// Notes that a recovery scan has found `blocks` worn blocks in a plane.
    pub(crate) fn finds_worn(&mut self, blocks: usize) {
        self.is_over |= blocks > self.spec.spare_blocks as usize;
    }

    /// Returns the bad blocks of `plane`.
    pub(crate) fn bad(&self, plane: usize) -> &[u32] {
        &self.bad[plane]
    }

    /// Returns the wear counters that drives report. `available_spare` is the share of spare blocks
    /// left in the plane with the fewest, `percentage_used` the mean of `erases` as a share of the
    /// rated cycles; both are in per cent.
    pub(crate) fn counters(&self, erases: &[u32]) -> Vec<(String, f64)> {
        let bad = self.bad.iter().map(Vec::len).sum::<usize>() as f64;
        let most = self.bad.iter().map(Vec::len).max().unwrap_or_default();
        let all = f64::from(self.spec.spare_blocks);
        let spare = if all > 0.0 { 100.0 * (all - most as f64) / all } else { 0.0 };
        let mean = erases.iter().map(|n| f64::from(*n)).sum::<f64>() / erases.len() as f64;
        let told = [
            ("bad_blocks", bad),
            ("available_spare", spare),
            ("percentage_used", 100.0 * mean / f64::from(self.spec.cycles)),
            ("read_only", f64::from(u8::from(self.is_over))),
        ];
        told.map(|(name, value)| (name.to_owned(), value)).to_vec()
    }
}

/// Returns the closed block that static wear levelling must empty: the least erased one, if the
/// most erased block of the plane is ahead of it by more than the spread. Returns `None` with other
/// policies.
pub(crate) fn cold_block(wear: WearSpec, closed: &[u32], erases: &[u32]) -> Option<usize> {
    let WearSpec::Static { spread } = wear else { return None };
    let most = *erases.iter().max()?;
    let least = (0..erases.len()).filter(|b| closed[*b] != 0).min_by_key(|b| erases[*b])?;
    (most - erases[least] > spread).then_some(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_levelling_blocks_are_used_in_turn() {
        let mut free = FreeBlocks::new(WearSpec::None, 0..3);
        assert_eq!(free.take(), Some(0));
        free.put(0, 9);
        free.put(7, 1);
        let order: Vec<u32> = std::iter::from_fn(|| free.take()).collect();
        assert_eq!(order, [1, 2, 0, 7]);
    }

    #[test]
    fn dynamic_levelling_takes_the_least_worn() {
        let mut free = FreeBlocks::new(WearSpec::Dynamic, 0..0);
        [(4, 9), (5, 2), (6, 5)].iter().for_each(|(block, erases)| free.put(*block, *erases));
        let order: Vec<u32> = std::iter::from_fn(|| free.take()).collect();
        assert_eq!(order, [5, 6, 4]);
    }

    #[test]
    fn static_levelling_empties_a_block_only_beyond_its_spread() {
        let wear = WearSpec::Static { spread: 10 };
        let closed = [1, 1, 0, 1];
        assert_eq!(cold_block(wear, &closed, &[15, 5, 0, 9]), None, "the free one does not count");
        assert_eq!(cold_block(wear, &closed, &[16, 5, 0, 9]), Some(1));
        assert_eq!(cold_block(WearSpec::Dynamic, &closed, &[99, 0, 0, 0]), None);
    }
}
