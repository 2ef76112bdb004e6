//! Cost-benefit: the block with the highest age · (1 − u) / 2u, u being its share of valid pages
//! (Rosenblum and Ousterhout, ACM TOCS 1992; Kawaguchi et al., USENIX 1995, for flash). Old blocks
//! are emptied with more valid pages left; young ones wait until more of their pages are stale.

use super::victim::{Candidates, Victim};

pub(super) struct CostBenefit;

impl Victim for CostBenefit {
    fn choose(&self, blocks: Candidates<'_>) -> Option<usize> {
        let pages = u64::from(blocks.pages_per_block);
        // Compares age · stale / valid as fractions, so that no rounding decides.
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
