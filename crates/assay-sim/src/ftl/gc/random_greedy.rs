//! Random-greedy, d choices: of `choices` blocks drawn at random, the one with the fewest valid
//! pages (Van Houdt, SIGMETRICS 2013; Li et al., SIGMETRICS 2013). Nearly greedy for d ≥ 10, at a
//! cost that does not grow with the drive.
//!
//! The draw is a function of the drive's state, not of the number of earlier calls.

use super::victim::{Candidates, Victim};
use assay_spec::seed::mix;

pub(super) struct RandomGreedy {
    /// The number of blocks to draw.
    pub(super) choices: u32,
    /// The seed of the draws.
    pub(super) seed: u64,
}

impl Victim for RandomGreedy {
    fn choose(&self, blocks: Candidates<'_>) -> Option<usize> {
        let count = blocks.stale.len();
        if count == 0 {
            return None;
        }
        let state = mix(self.seed ^ u64::from(blocks.plane) << 32 ^ u64::from(blocks.now));
        let draw = |n: u32| {
            let r = mix(state.wrapping_add(u64::from(n)));
            ((u128::from(r) * count as u128) >> 64) as usize
        };
        let drawn = (0..self.choices).map(draw).filter(|b| blocks.is_eligible(*b));
        // If no drawn block is eligible: the first one that is, from a random place on.
        drawn.max_by_key(|b| blocks.stale[*b]).or_else(|| {
            let from = draw(self.choices);
            (from..count).chain(0..from).find(|b| blocks.is_eligible(*b))
        })
    }
}
