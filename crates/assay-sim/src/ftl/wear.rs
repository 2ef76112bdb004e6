//! Which free block is used next, and whether a cold one must be freed.

use assay_spec::device::WearSpec;
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
