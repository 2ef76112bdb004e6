//! Victim selection: which block of a plane is emptied next. Each policy has a file of its own.

mod cost_benefit;
mod fifo;
mod greedy;
mod random_greedy;
mod victim;

pub(crate) use victim::{Candidates, Victim};

use assay_spec::device::VictimSpec;

/// Returns the policy of `spec`. `seed` is for policies with random draws.
pub(crate) fn policy(spec: VictimSpec, seed: u64) -> Box<dyn Victim> {
    match spec {
        VictimSpec::Greedy => Box::new(greedy::Greedy),
        VictimSpec::Fifo => Box::new(fifo::Fifo),
        VictimSpec::CostBenefit => Box::new(cost_benefit::CostBenefit),
        VictimSpec::RandomGreedy { choices } => {
            Box::new(random_greedy::RandomGreedy { choices, seed })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [VictimSpec; 4] = [
        VictimSpec::Greedy,
        VictimSpec::Fifo,
        VictimSpec::CostBenefit,
        VictimSpec::RandomGreedy { choices: 3 },
    ];

    fn chosen(spec: VictimSpec, stale: &[u16], closed: &[u32]) -> Option<usize> {
        policy(spec, 1).choose(Candidates {
            stale,
            closed,
            now: 100,
            pages_per_block: 64,
            plane: 0,
            least: 1,
        })
    }

    /// Every policy chooses only blocks with at least `least` stale pages.
    #[test]
    fn a_block_has_enough_to_be_worth_it() {
        for spec in ALL {
            let of = |least| {
                let (stale, closed) = (&[5, 3, 8, 60][..], &[1, 2, 3, 0][..]);
                let blocks =
                    Candidates { stale, closed, now: 9, pages_per_block: 64, plane: 0, least };
                policy(spec, 1).choose(blocks)
            };
            assert_eq!((of(6), of(9)), (Some(2), None), "{spec:?}");
        }
    }

    #[test]
    fn only_closed_blocks_with_stale_pages_are_chosen() {
        for spec in ALL {
            assert_eq!(chosen(spec, &[9, 0, 64, 0], &[0, 5, 0, 6]), None, "{spec:?}");
            assert_eq!(chosen(spec, &[9, 0, 64, 1], &[0, 5, 0, 6]), Some(3), "{spec:?}");
            assert_eq!(chosen(spec, &[], &[]), None, "{spec:?}");
        }
    }

    #[test]
    fn each_policy_has_its_own_mind() {
        let stale = [40, 50, 10, 45];
        let closed = [90, 99, 1, 95];
        assert_eq!(chosen(VictimSpec::Greedy, &stale, &closed), Some(1));
        assert_eq!(chosen(VictimSpec::Fifo, &stale, &closed), Some(2));
        // age · (1 − u) / 2u is 10·40/48, 1·50/28, 99·10/108 and 5·45/38: the third is the highest.
        assert_eq!(chosen(VictimSpec::CostBenefit, &stale, &closed), Some(2));
        let all = VictimSpec::RandomGreedy { choices: 1000 };
        assert_eq!(chosen(all, &stale, &closed), Some(1), "with enough draws it is greedy");
    }
}
