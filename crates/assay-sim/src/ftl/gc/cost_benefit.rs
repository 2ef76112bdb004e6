//! Cost-benefit: the highest age · (1 − u) / 2u, with u the valid share of a block (Rosenblum and
//! Ousterhout, ACM TOCS 1992; Kawaguchi et al., USENIX 1995, for flash). Keeps cold blocks from
//! being copied over and over while they wait for their last stale pages.

use super::{Candidates, Victim};

pub(super) struct CostBenefit;

impl Victim for CostBenefit {
    fn choose(&self, blocks: Candidates<'_>) -> Option<usize> {
        let pages = u64::from(blocks.pages_per_block);
        // age · stale / valid, compared as fractions: no rounding decides.
        let value = |b: usize| {
            let age = u64::from(blocks.now - blocks.closed[b]) + 1;
            let stale = u64::from(blocks.stale[b]);
            (age * stale, pages - stale)
        };
        blocks.eligible().reduce(|best, b| {
            let ((n, d), (best_n, best_d)) = (value(b), value(best));
            if u128::from(n) * u128::from(best_d) > u128::from(best_n) * u128::from(d) {
                b
            } else {
                best
            }
        })
    }
}
