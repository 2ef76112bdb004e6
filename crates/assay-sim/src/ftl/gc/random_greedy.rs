//! Random-greedy, d choices: the block with the fewest valid pages of `choices` drawn at random
//! (Van Houdt, SIGMETRICS 2013; Li et al., SIGMETRICS 2013). Nearly greedy for d ≥ 10, at a cost
//! that does not grow with the drive.

//!
//! What is drawn is a function of the drive's state, not of how often it was looked at.

use super::{Candidates, Victim};
use assay_spec::seed::mix;

pub(super) struct RandomGreedy {
    pub(super) choices: u32,
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
        // None of those drawn will do: from a random place on, the first that does.
        drawn.max_by_key(|b| blocks.stale[*b]).or_else(|| {
            let from = draw(self.choices);
            (from..count).chain(0..from).find(|b| blocks.is_eligible(*b))
        })
    }
}
