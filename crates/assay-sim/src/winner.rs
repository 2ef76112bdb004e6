//! A winner tree: the smallest of a fixed set of keys, kept up to date in log₂ n steps.
//!
//! Keys carry their slot in their low bits, so that a step up the tree is one comparison without a
//! branch or an indirection. Keys must leave room for that: below 2⁵⁶ for up to 256 slots, which in
//! nanoseconds is more than two years.

/// Keys in slots; the winner is the slot with the smallest, the lower slot of equals.
#[derive(Clone, Debug)]
pub(crate) struct WinnerTree {
    /// Node 1 is the root, leaves begin at `leaves`; each node is the smaller of its two.
    nodes: Vec<u64>,
    leaves: usize,
    bits: u32,
}

/// The key of a slot that is out of the race.
pub(crate) const OUT: u64 = u64::MAX >> 16;

impl WinnerTree {
    /// `slots` keys, all [`OUT`].
    pub(crate) fn new(slots: usize) -> WinnerTree {
        assert!(slots <= 1 << 16, "a slot's number fits beside its key");
        let leaves = slots.next_power_of_two().max(2);
        let bits = leaves.trailing_zeros();
        let mut nodes = vec![0; 2 * leaves];
        for slot in 0..leaves {
            nodes[leaves + slot] = OUT << bits | slot as u64;
        }
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node].min(nodes[2 * node + 1]);
        }
        WinnerTree { nodes, leaves, bits }
    }

    /// The winning slot and its key.
    #[inline]
    pub(crate) fn winner(&self) -> (usize, u64) {
        (self.nodes[1] as usize & (self.leaves - 1), self.nodes[1] >> self.bits)
    }

    /// Gives a slot another key.
    #[inline]
    pub(crate) fn set(&mut self, slot: usize, key: u64) {
        assert!(key <= OUT, "keys leave room for slots");
        let mut node = slot + self.leaves;
        let mut best = key << self.bits | slot as u64;
        self.nodes[node] = best;
        while node > 1 {
            best = best.min(self.nodes[node ^ 1]);
            node /= 2;
            self.nodes[node] = best;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::seed::mix;

    #[test]
    fn the_winner_is_the_smallest_of_all() {
        for slots in [1, 2, 3, 8, 33] {
            let mut tree = WinnerTree::new(slots);
            let mut keys = vec![OUT; slots];
            for step in 0..2000_u64 {
                let r = mix(step << 8 | slots as u64);
                let slot = r as usize % slots;
                keys[slot] = if r >> 60 == 0 { OUT } else { r >> 32 & 0xff };
                tree.set(slot, keys[slot]);
                let smallest = keys.iter().copied().min().expect("slots");
                let first = keys.iter().position(|k| *k == smallest).expect("there");
                assert_eq!(tree.winner(), (first, smallest));
            }
        }
    }
}
