//! Random-greedy, d choices: the block with the fewest valid pages of `choices` drawn at random
//! (Van Houdt, SIGMETRICS 2013; Li et al., SIGMETRICS 2013). Nearly greedy for d ≥ 10, at a cost
//! that does not grow with the drive.

use super::{Candidates, Victim};
use assay_spec::seed::mix;

pub(super) struct RandomGreedy {
    choices: u32,
    state: u64,
}

impl RandomGreedy {
    pub(super) fn new(choices: u32, seed: u64) -> RandomGreedy {
        RandomGreedy { choices, state: seed }
    }

    fn draw(&mut self, below: usize) -> usize {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        ((u128::from(mix(self.state)) * below as u128) >> 64) as usize
    }
}

impl Victim for RandomGreedy {
    fn choose(&mut self, blocks: Candidates<'_>) -> Option<usize> {
        let count = blocks.stale.len();
        if count == 0 {
            return None;
        }
        let mut best: Option<usize> = None;
        for _ in 0..self.choices {
            let drawn = self.draw(count);
            let better = best.is_none_or(|b| blocks.stale[drawn] > blocks.stale[b]);
            if better && blocks.is_eligible(drawn) {
                best = Some(drawn);
            }
        }
        // None of those drawn will do: from a random place on, the first that does.
        best.or_else(|| {
            let from = self.draw(count);
            (from..count).chain(0..from).find(|b| blocks.is_eligible(*b))
        })
    }
}
