//! In which order the cells of a run are measured.
//!
//! First modelled targets, side by side; then real ones, one after the other; last what the budget
//! has left of the first, and the combinations of factors, again side by side. Those come in a
//! random order, so that whatever part of them there is when the budget or the patience ends has
//! all levels in it.

use super::Run;
use assay_spec::seed;

/// Numbers of cells in the plan.
pub(super) struct Order {
    /// On modelled targets.
    pub modelled: Vec<usize>,
    /// On the wall clock.
    pub wall: Vec<usize>,
    /// Of modelled targets of experiments with factors.
    pub combinations: Vec<usize>,
}

impl Order {
    /// Of the cells that are missing.
    pub(super) fn of(run: &Run, missing: Vec<usize>) -> Order {
        let (modelled, wall): (Vec<usize>, Vec<usize>) =
            missing.into_iter().partition(|i| run.takes_virtual_time(*i));
        let varied = |index: &usize| run.workload_of(*index).0.factors.is_some();
        let (mut combinations, modelled): (Vec<usize>, Vec<usize>) =
            modelled.into_iter().partition(varied);
        combinations
            .sort_by_key(|i| seed::derive(run.record.seed, &["order", &run.record.plan[*i].id]));
        Order { modelled, wall, combinations }
    }
}
