//! Greedy: the block with the fewest valid pages. Optimal for uniform random writes (Hu et al.,
//! SYSTOR 2009; Yang et al., Performance Evaluation 2014); blind to hot and cold.

use super::{Candidates, Victim};

pub(super) struct Greedy;

impl Victim for Greedy {
    fn choose(&self, blocks: Candidates<'_>) -> Option<usize> {
        // The maximum over all blocks first, which the compiler turns into vector code; an open
        // block is rarely the stalest, and then the careful way is taken.
        let most = blocks.stale.iter().copied().fold(0, u16::max);
        let first = blocks.stale.iter().position(|s| *s == most)?;
        if blocks.is_eligible(first) {
            return Some(first);
        }
        let stalest = blocks.eligible().map(|b| blocks.stale[b]).max()?;
        blocks.eligible().find(|b| blocks.stale[*b] == stalest)
    }
}
