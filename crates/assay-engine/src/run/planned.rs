//! A run that is planned: its experiments, its targets and the cells that they make.

use super::places::{Place, find_cells};
use crate::available::available_threads;
use crate::cell::{cell_id, cell_target, hosts_of};
use crate::error::{Error, Result};
use crate::plan::{PlanError, PlannedTarget, reopen_target};
use assay_spec::experiment::{Experiment, HostVariant, WorkloadSpec};
use assay_spec::record::{
    CellPlan, ExperimentRecord, HostRecord, IntentRecord, PricesRecord, RunRecord, SCHEMA,
};
use std::time::Instant;

/// A run: its record, and the experiments and opened targets of the record.
pub struct Run {
    /// The contents of `run.json`.
    pub(super) record: RunRecord,
    /// The decoded experiments, in the order of the record.
    pub experiments: Vec<Experiment>,
    /// The opened targets, in the order of the record.
    pub targets: Vec<PlannedTarget>,
    /// The number of threads for modelled targets.
    pub threads: usize,
    /// The time from which a budget counts.
    pub begun: Instant,
    /// The place of each cell of the plan in the lists above.
    places: Vec<Place>,
}

/// The request for a run: the part of [`RunRecord`] that does not follow from the rest.
pub struct Asked {
    /// The name of the study or file.
    pub study: String,
    /// The title, in one line.
    pub title: String,
    /// The command line, word by word.
    pub command: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// The time when it began.
    pub started: String,
    /// The user's permissions.
    pub intent: IntentRecord,
    /// Targets, as written, that every experiment measures. Other targets are measured only by the
    /// experiments that name them.
    pub everywhere: Vec<String>,
    /// The prices of the targets, where known.
    pub prices: Option<PricesRecord>,
}

impl Run {
    /// Assembles a run; `experiments` come with their texts.
    ///
    /// # Errors
    /// If two cells would write the same files.
    pub fn new(
        asked: Asked,
        experiments: Vec<(Experiment, ExperimentRecord)>,
        targets: Vec<PlannedTarget>,
        host: HostRecord,
    ) -> Result<Run> {
        let of = |experiment: &Experiment| {
            let asked_for = |target: &&PlannedTarget| {
                let written = &target.record.written;
                experiment.targets.contains(written) || asked.everywhere.contains(written)
            };
            plan_of(experiment, targets.iter().filter(asked_for))
        };
        let plan = experiments.iter().flat_map(|(e, _)| of(e)).collect();
        let (experiments, texts): (Vec<_>, Vec<_>) = experiments.into_iter().unzip();
        let record = RunRecord {
            schema: SCHEMA,
            assay: env!("CARGO_PKG_VERSION").into(),
            study: asked.study,
            title: asked.title,
            command: asked.command,
            seed: asked.seed,
            started: asked.started,
            experiments: texts,
            targets: targets.iter().map(|t| t.record.clone()).collect(),
            host,
            intent: asked.intent,
            plan,
            prices: asked.prices,
        };
        Run::of(record, experiments, targets)
    }

    /// Assembles a run from its record.
    ///
    /// # Errors
    /// If the plan has a cell that does not belong to these experiments and targets.
    fn of(
        record: RunRecord,
        experiments: Vec<Experiment>,
        targets: Vec<PlannedTarget>,
    ) -> Result<Run> {
        let places = find_cells(&record.plan, &experiments, &targets)?;
        let (threads, begun) = (available_threads(), Instant::now());
        Ok(Run { record, experiments, targets, threads, begun, places })
    }

    /// Opens a saved run to resume it, from what its record holds, so that a device file that was
    /// changed since makes no difference. `experiments` are those of the record, `again` is what
    /// the user allows now.
    ///
    /// # Errors
    /// If another version began it, a target cannot be opened, or the plan has a cell that is not
    /// theirs.
    pub fn reopen(
        record: RunRecord,
        experiments: Vec<Experiment>,
        again: &IntentRecord,
    ) -> std::result::Result<Run, PlanError> {
        same_version(&record)?;
        let mut workloads = experiments.iter().flat_map(|e| &e.workloads);
        let writes = workloads.any(WorkloadSpec::writes);
        let targets =
            record.targets.iter().map(|t| reopen_target(t, &record.intent, again, writes));
        let targets = targets.collect::<std::result::Result<_, _>>()?;
        Ok(Run::of(record, experiments, targets)?)
    }

    /// Returns the contents of `run.json`.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// Takes the cells that `wanted` refuses out of the plan.
    pub fn keep(&mut self, wanted: impl Fn(&CellPlan) -> bool) {
        let cells =
            std::mem::take(&mut self.record.plan).into_iter().zip(self.places.iter().copied());
        let (plan, places) = cells.filter(|(cell, _)| wanted(cell)).unzip();
        (self.record.plan, self.places) = (plan, places);
    }

    /// Returns the number of phases of a cell, over all its repeats.
    pub(super) fn phases_of(&self, index: usize) -> u32 {
        let (experiment, workload) = self.workload_of(index);
        let phases = &workload.phases;
        let laid_out = workload.files.is_some();
        let each = phases.precondition.len()
            + usize::from(phases.settle.is_some())
            + usize::from(laid_out)
            + 1;
        each as u32 * experiment.repeats.count
    }

    /// Returns `true` if cell `index` is measured in virtual time.
    pub(super) fn takes_virtual_time(&self, index: usize) -> bool {
        self.place_of(index).0.record.virtual_time
    }

    /// Returns the target of a cell and the host that it is behind.
    pub(super) fn place_of(&self, index: usize) -> (&PlannedTarget, &HostVariant) {
        let Place { experiment, target, host, .. } = self.places[index];
        (&self.targets[target], &self.experiments[experiment].hosts[host])
    }

    pub(super) fn workload_of(&self, index: usize) -> (&Experiment, &WorkloadSpec) {
        let Place { experiment, workload, .. } = self.places[index];
        let experiment = &self.experiments[experiment];
        (experiment, &experiment.workloads[workload])
    }
}

/// Returns the cells of an experiment: every workload on every target behind every host.
fn plan_of<'a>(
    experiment: &'a Experiment,
    targets: impl Iterator<Item = &'a PlannedTarget>,
) -> Vec<CellPlan> {
    let place = |target| {
        let name = move |host| cell_target(host, target);
        hosts_of(experiment, target).iter().map(name)
    };
    let places: Vec<String> = targets.flat_map(place).collect();
    let cell = |workload: &WorkloadSpec, target: &String| CellPlan {
        id: cell_id(&experiment.name, &workload.name, target),
        experiment: experiment.name.clone(),
        workload: workload.name.clone(),
        target: target.clone(),
    };
    let of = |workload| places.iter().map(move |target| cell(workload, target));
    experiment.workloads.iter().flat_map(of).collect()
}

/// Checks that this version began the run: another may measure differently, and one run must not
/// mix the numbers of two.
fn same_version(record: &RunRecord) -> Result<()> {
    const THIS: &str = env!("CARGO_PKG_VERSION");
    if record.assay == THIS {
        return Ok(());
    }
    Err(Error::usage(
        "other-version",
        format!("assay {} began this run, but this is assay {THIS}", record.assay),
        format!("resume it with assay {}, or start a new run with another `--out`", record.assay),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Use, open_target};
    use assay_spec::catalog::STUDIES;
    use assay_spec::decode::Source;

    #[test]
    fn a_cell_that_is_kept_keeps_its_workload() {
        let quick = &STUDIES[0].experiments[0];
        let source = Source { file: quick.file, text: quick.text };
        let experiment = Experiment::parse(source).unwrap();
        let record = ExperimentRecord {
            name: quick.name.into(),
            file: quick.file.into(),
            text: quick.text.into(),
        };
        let intent = IntentRecord::default();
        let shown = Use { writes: true, only_shown: true };
        let target = open_target("sim:ssd-l", &intent, shown).unwrap();
        let asked = Asked {
            study: STUDIES[0].name.into(),
            title: String::new(),
            command: Vec::new(),
            seed: 1,
            started: String::new(),
            intent,
            everywhere: Vec::new(),
            prices: None,
        };
        let experiments = vec![(experiment, record)];
        let mut run = Run::new(asked, experiments, vec![target], HostRecord::default()).unwrap();
        run.keep(|cell| cell.workload == "seq-rd");
        assert_eq!(run.record().plan.len(), 1);
        assert_eq!(run.workload_of(0).1.name, "seq-rd");
    }
}
