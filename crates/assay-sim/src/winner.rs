//! A winner tree: the smallest of a fixed set of keys, kept up to date in log₈ n steps.
//!
//! Each node holds eight keys side by side, so that a step up the tree is a few comparisons in
//! parallel without a branch. Keys carry their slot in their low bits; they must leave room for it:
//! below 2⁴⁸, which in nanoseconds is more than three days, or 2⁵⁶ for up to 256 slots.

/// Keys in slots; the winner is the slot with the smallest, the lower slot of equals.
#[derive(Clone, Debug)]
pub(crate) struct WinnerTree {
    /// The leaves' nodes first, then those above, the root's last.
    nodes: Vec<[u64; 8]>,
    /// Where each level begins.
    levels: Vec<usize>,
    root: u64,
    bits: u32,
    out: u64,
}

impl WinnerTree {
    /// `slots` keys, all out of the race.
    pub(crate) fn new(slots: usize) -> WinnerTree {
        assert!(slots <= 1 << 16, "a slot's number fits beside its key");
        let bits = slots.next_power_of_two().trailing_zeros().max(1);
        let (mut nodes, mut levels) = (Vec::new(), Vec::new());
        let mut width = slots.max(1);
        loop {
            width = width.div_ceil(8);
            levels.push(nodes.len());
            nodes.resize(nodes.len() + width, [u64::MAX; 8]);
            if width == 1 {
                break;
            }
        }
        let out = u64::MAX >> bits;
        let mut tree = WinnerTree { nodes, levels, root: u64::MAX, bits, out };
        (0..slots).for_each(|slot| tree.set(slot, None));
        tree
    }

    /// The winning slot and its key, if any is in the race.
    #[inline]
    pub(crate) fn winner(&self) -> Option<(usize, u64)> {
        let key = self.root >> self.bits;
        (key != self.out).then_some(((self.root & ((1 << self.bits) - 1)) as usize, key))
    }

    /// Gives a slot another key, or takes it out of the race.
    #[inline]
    pub(crate) fn set(&mut self, slot: usize, key: Option<u64>) {
        let key = key.unwrap_or(self.out);
        assert!(key <= self.out, "keys leave room for slots");
        let (mut best, mut index) = (key << self.bits | slot as u64, slot);
        for level in &self.levels {
            let node = &mut self.nodes[level + index / 8];
            node[index % 8] = best;
            best = smallest(node);
            index /= 8;
        }
        self.root = best;
    }
}

#[inline]
fn smallest(n: &[u64; 8]) -> u64 {
    let low = n[0].min(n[1]).min(n[2].min(n[3]));
    let high = n[4].min(n[5]).min(n[6].min(n[7]));
    low.min(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::seed::mix;

    #[test]
    fn the_winner_is_the_smallest_of_all() {
        for slots in [1, 2, 3, 8, 9, 33, 64, 65, 600] {
            let mut tree = WinnerTree::new(slots);
            let mut keys: Vec<Option<u64>> = vec![None; slots];
            for step in 0..3000_u64 {
                let r = mix(step << 10 | slots as u64);
                let slot = r as usize % slots;
                keys[slot] = (r >> 60 != 0).then_some(r >> 32 & 0xff);
                tree.set(slot, keys[slot]);
                let in_race = keys.iter().enumerate().filter_map(|(s, k)| Some(((*k)?, s)));
                let best = in_race.min().map(|(key, slot)| (slot, key));
                assert_eq!(tree.winner(), best);
            }
        }
    }
}
