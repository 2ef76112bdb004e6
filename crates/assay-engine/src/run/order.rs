//! The order in which the cells of a run are measured.
//!
//! First come modelled targets, side by side; then real ones, one after the other; last, side by
//! side again, modelled targets that the budget left out and the combinations of factors.
//! Combinations come in random order, so that the part of them that is measured when the budget or
//! the user's patience ends covers all levels.

use super::planned::Run;
use assay_spec::seed;

/// Indices of cells in the plan.
pub(super) struct CellOrder {
    /// Cells on modelled targets.
    pub modelled: Vec<usize>,
    /// Cells on the wall clock.
    pub wall: Vec<usize>,
    /// Cells on modelled targets, of experiments with factors.
    pub combinations: Vec<usize>,
}

impl CellOrder {
    /// Orders the cells that are missing.
    pub(super) fn of(run: &Run, missing: Vec<usize>) -> CellOrder {
        let (modelled, wall): (Vec<usize>, Vec<usize>) =
            missing.into_iter().partition(|i| run.takes_virtual_time(*i));
        let varied = |index: &usize| run.workload_of(*index).0.factors.is_some();
        let (mut combinations, modelled): (Vec<usize>, Vec<usize>) =
            modelled.into_iter().partition(varied);
        combinations
            .sort_by_key(|i| seed::derive(run.record.seed, &["order", &run.record.plan[*i].id]));
        CellOrder { modelled, wall, combinations }
    }
}
