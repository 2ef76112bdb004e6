//! Which free block is used next, whether a cold one must be freed, and when a block has had it.

use assay_spec::device::{EnduranceSpec, WearSpec};
use assay_spec::seed::mix;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The free blocks of a plane in the order in which they will be used.
#[derive(Clone, Debug)]
pub(crate) struct FreeBlocks {
    wear: WearSpec,
    /// (key, block): the smallest first.
    heap: BinaryHeap<Reverse<(u32, u32)>>,
    freed: u32,
}

impl FreeBlocks {
    /// All blocks of `range`, never erased.
    pub(crate) fn new(wear: WearSpec, range: std::ops::Range<u32>) -> FreeBlocks {
        let mut free = FreeBlocks { wear, heap: BinaryHeap::new(), freed: 0 };
        range.for_each(|block| free.put(block, 0));
        free
    }

    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    /// None is free.
    pub(crate) fn clear(&mut self) {
        self.heap.clear();
    }

    /// Adds a block that has been erased `erases` times.
    pub(crate) fn put(&mut self, block: u32, erases: u32) {
        let key = match self.wear {
            WearSpec::None => self.freed,
            WearSpec::Dynamic | WearSpec::Static { .. } => erases,
        };
        self.freed += 1;
        self.heap.push(Reverse((key, block)));
    }

    /// Takes the next block.
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.heap.pop().map(|Reverse((_, block))| block)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.heap.iter().map(|Reverse((_, block))| *block)
    }
}

/// How many erases blocks take, and which have gone bad.
#[derive(Clone, Debug)]
pub(crate) struct Endurance {
    spec: EnduranceSpec,
    /// By plane: the blocks that are not used any more.
    bad: Vec<Vec<u32>>,
    /// One more would have gone bad than may.
    pub(crate) is_over: bool,
}

impl Endurance {
    pub(crate) fn new(spec: EnduranceSpec, planes: usize) -> Endurance {
        Endurance { spec, bad: vec![Vec::new(); planes], is_over: false }
    }

    /// Whether `block` has been erased as often as it can be. Blocks differ as the sum of twelve
    /// uniform numbers does, which is normal but for its ends.
    pub(crate) fn is_worn(&self, block: u32, erases: u32) -> bool {
        let uniform = |i: u64| mix(u64::from(block) * 12 + i) as f64 / u64::MAX as f64;
        let deviations = (0..12).map(uniform).sum::<f64>() - 6.0;
        let share = 1.0 + deviations * f64::from(self.spec.spread) / 100.0;
        f64::from(erases) >= (f64::from(self.spec.cycles) * share).max(1.0)
    }

    /// `block` of `plane` is worn: true if it is not to be used any more. What the drive has begun
    /// still finds room in the block that would have been one too many.
    pub(crate) fn retire(&mut self, plane: usize, block: u32) -> bool {
        let has_spare = self.bad[plane].len() < self.spec.spare_blocks as usize;
        match has_spare {
            true => self.bad[plane].push(block),
            false => self.is_over = true,
        }
        has_spare
    }

    /// After a power cut so many blocks of a plane are found worn.
    pub(crate) fn finds_worn(&mut self, blocks: usize) {
        self.is_over |= blocks > self.spec.spare_blocks as usize;
    }

    /// The bad blocks of `plane`.
    pub(crate) fn bad(&self, plane: usize) -> &[u32] {
        &self.bad[plane]
    }

    /// What it tells, as drives do: spare blocks that are left in the plane that has fewest, and
    /// erases, each in per cent of what there was or may be.
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

/// With static levelling, the block that must be emptied because the others have left it behind.
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
