//! Finds the cells of a plan among experiments and targets.

use crate::cell::{cell_target, hosts_of};
use crate::error::{Error, Result};
use crate::plan::PlannedTarget;
use assay_spec::experiment::Experiment;
use assay_spec::record::CellPlan;
use std::collections::BTreeMap;

/// A cell, as the indices of its parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The index of its experiment in the run.
    pub experiment: usize,
    /// The index of its workload in the experiment.
    pub workload: usize,
    /// The index of its target in the run.
    pub target: usize,
    /// The index of its host in the experiment.
    pub host: usize,
}

/// Returns the places of the cells of `plan`.
///
/// # Errors
/// If a part of a cell does not exist.
pub(super) fn of(
    plan: &[CellPlan],
    experiments: &[Experiment],
    targets: &[PlannedTarget],
) -> Result<Vec<Place>> {
    let mut named: BTreeMap<(usize, String), (usize, usize)> = BTreeMap::new();
    for (index, experiment) in experiments.iter().enumerate() {
        for (target, planned) in targets.iter().enumerate() {
            for (host, variant) in hosts_of(experiment, planned).iter().enumerate() {
                let name = cell_target(variant, planned);
                named.entry((index, name)).or_insert((target, host));
            }
        }
    }
    let place = |cell: &CellPlan| {
        let experiment = experiments.iter().position(|e| e.name == cell.experiment)?;
        let mut workloads = experiments[experiment].workloads.iter();
        let workload = workloads.position(|w| w.name == cell.workload)?;
        let (target, host) = *named.get(&(experiment, cell.target.clone()))?;
        Some(Place { experiment, workload, target, host })
    };
    plan.iter().map(|cell| place(cell).ok_or_else(|| not_there(cell))).collect()
}

fn not_there(cell: &CellPlan) -> Error {
    Error::usage(
        "plan-unknown",
        format!("the plan has the cell `{}`, and not what it is made of", cell.id),
        "`run.json` is not as it was written: run it again with `--out` elsewhere",
    )
}
