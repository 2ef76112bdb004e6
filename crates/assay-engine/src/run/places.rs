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
/// If a part of a cell does not exist, or two cells would write the same files.
pub(super) fn find_cells(
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
    let mut stems: BTreeMap<String, &str> = BTreeMap::new();
    for cell in plan {
        // Some file systems take no account of case.
        if let Some(other) = stems.insert(cell.stem().to_lowercase(), &cell.id) {
            return Err(same_files(other, &cell.id));
        }
    }
    plan.iter().map(|cell| place(cell).ok_or_else(|| not_there(cell))).collect()
}

fn same_files(one: &str, other: &str) -> Error {
    Error::usage(
        "same-files",
        format!("the cells `{one}` and `{other}` would write the same files"),
        "give one of them another name: in the name of a file, `/` becomes `+`, and case does not \
         count",
    )
}

fn not_there(cell: &CellPlan) -> Error {
    Error::usage(
        "plan-unknown",
        format!(
            "the plan has the cell `{}`, but `run.json` lacks its experiment, workload or target",
            cell.id
        ),
        "restore `run.json` as assay wrote it, or start a new run with another `--out`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_the_same_files_are_refused() {
        let cell = |workload: &str, target: &str| CellPlan {
            id: format!("e/{workload}@{target}"),
            experiment: "e".to_owned(),
            workload: workload.to_owned(),
            target: target.to_owned(),
        };
        for (one, other) in [
            (cell("w", "a/b"), cell("w", "a+b")),
            (cell("w", "x.y"), cell("w.x", "y")),
            (cell("w", "A"), cell("w", "a")),
        ] {
            let error = find_cells(&[one, other], &[], &[]).unwrap_err();
            assert_eq!(error.id, "same-files");
        }
        let different = [cell("w", "a/b"), cell("w", "a/c")];
        assert_eq!(find_cells(&different, &[], &[]).unwrap_err().id, "plan-unknown");
    }
}
