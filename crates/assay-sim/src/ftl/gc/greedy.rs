//! Greedy: the block with the fewest valid pages. Optimal for uniform random writes (Hu et al.,
//! SYSTOR 2009; Yang et al., Performance Evaluation 2014), but blind to hot and cold data.

use super::victim::{Candidates, Victim};

pub(super) struct Greedy;

impl Victim for Greedy {
    fn choose(&self, blocks: Candidates<'_>) -> Option<usize> {
        // Finds the maximum over all blocks first, which the compiler turns into vector code. A
        // block that is not eligible is rarely the stalest; only then are the eligible ones
        // searched.
        let most = blocks.stale.iter().copied().fold(0, u16::max);
        let first = blocks.stale.iter().position(|s| *s == most)?;
        if blocks.is_eligible(first) {
            return Some(first);
        }
        let stalest = blocks.eligible().map(|b| blocks.stale[b]).max()?;
        blocks.eligible().find(|b| blocks.stale[*b] == stalest)
    }
}
