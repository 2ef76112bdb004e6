//! A run: its directory, its cells, and resuming it after an interruption.
//!
//! `run.json` is written first and never changes. Each finished cell is added to `cells.json`,
//! which is replaced as a whole (written beside, synced, renamed), so that a reader sees only
//! complete files, even after a crash. Modelled targets run side by side; targets on the wall clock
//! run alone, one after the other.

mod directory;
mod needs;
mod order;
mod places;
mod text;

use crate::budget::Budget;
use crate::cell::{cell_id, cell_target, hosts_of, run_cell, unmeasured};
use crate::error::{Error, Result};
use crate::plan::{PlanError, PlannedTarget, reopen_target};
use crate::target::block::Opened;
pub use assay_fs::Replace;
use assay_spec::Nanos;
use assay_spec::experiment::{Experiment, HostVariant, WorkloadSpec};
use assay_spec::record::{
    CellPlan, CellRecord, ExperimentRecord, HostRecord, IntentRecord, PricesRecord, RunRecord,
    SCHEMA,
};
pub use directory::RunDirectory;
pub(crate) use needs::available_memory;
pub use needs::{Needs, check_guest_memory, guest_memory};
use order::Order;
use places::Place;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;
pub use text::write_text;

/// A run: its record, and the experiments and opened targets of the record.
pub struct Run {
    /// The contents of `run.json`.
    pub record: RunRecord,
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

/// A listener to the progress of a run.
pub trait Observer: Sync {
    /// Called when a cell begins.
    fn started(&self, plan: &CellPlan);
    /// Called when a cell is finished, as the `done`-th of `of` cells.
    fn finished(&self, cell: &CellRecord, done: usize, of: usize);
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
        let places = places::find_cells(&record.plan, &experiments, &targets)?;
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

    /// Creates the directory `path`, makes missing target files, and writes `run.json`.
    ///
    /// # Errors
    /// If the run needs more than the machine has, or the directory or a file cannot be made. New
    /// files and directories are then removed.
    pub fn begin(&mut self, path: &Path) -> Result<RunDirectory> {
        self.check_needs()?;
        let directory = RunDirectory::create(path, &["log", "series"])?;
        match self.prepare(&directory) {
            Ok(()) => Ok(directory),
            Err(e) => {
                let opened = self.targets.iter_mut().filter_map(PlannedTarget::real_mut);
                opened.for_each(Opened::unmake);
                directory.abandon();
                Err(e)
            }
        }
    }

    fn prepare(&mut self, directory: &RunDirectory) -> Result<()> {
        for opened in self.targets.iter_mut().filter_map(PlannedTarget::real_mut) {
            opened.make()?;
        }
        directory.write_json("run.json", &self.record)
    }

    /// Removes the files that a killed process left of cells that are not among `done`.
    pub fn clean_up(&self, directory: &RunDirectory, done: &[CellRecord]) {
        let is_unfinished = |cell: &&CellPlan| done.iter().all(|done| done.id != cell.id);
        let unfinished: Vec<_> = self.record.plan.iter().filter(is_unfinished).collect();
        directory.remove_files_of(&unfinished);
    }

    /// Measures the cells that are not among `done`; returns all that are finished.
    ///
    /// # Errors
    /// If a target or the directory can no longer be used; finished cells are kept.
    pub fn measure(
        &self,
        directory: &RunDirectory,
        done: Vec<CellRecord>,
        observer: &dyn Observer,
    ) -> Result<Vec<CellRecord>> {
        let total = self.record.plan.len();
        let finished: BTreeMap<usize, CellRecord> = (self.record.plan.iter().enumerate())
            .filter_map(|(i, p)| done.iter().find(|c| c.id == p.id).map(|c| (i, c.clone())))
            .collect();
        let missing: Vec<usize> = (0..total).filter(|i| !finished.contains_key(i)).collect();
        let Order { modelled, wall, combinations } = Order::of(self, missing);
        let before = finished.len();
        let finished = Mutex::new(finished);
        let one = |index: usize, limit: Option<Nanos>| -> Result<()> {
            let plan = &self.record.plan[index];
            observer.started(plan);
            let (experiment, workload) = self.workload_of(index);
            let (target, host) = self.place_of(index);
            let seed = self.record.seed;
            let ran = run_cell(experiment, workload, target, host, seed, limit, Some(directory));
            let cell = match ran {
                // A study has other experiments for a target that is too small for this one.
                Err(e) if e.id == "range-outside" && self.experiments.len() > 1 => {
                    unmeasured(experiment, workload, plan.target.clone(), Some(e.message))
                }
                ran => ran?,
            };
            let mut finished = finished_of(&finished);
            finished.insert(index, cell.clone());
            let cells = Finished { schema: SCHEMA, cells: finished.values().collect() };
            directory.write_json("cells.json", &cells)?;
            observer.finished(&cell, finished.len(), total);
            Ok(())
        };
        let has_ended = |index: &usize| finished_of(&finished).contains_key(index);
        let while_it_lasts = |indices: &[usize], budget: &Budget| {
            side_by_side(self.threads, indices, &|index| {
                // One cell is measured in any case, so that resuming often enough ends the run.
                let begins = !budget.is_over() || finished_of(&finished).len() == before;
                if begins { one(index, None) } else { Ok(()) }
            })
        };
        let whole = self.record.intent.budget;
        // The user waits for real targets, so they get at least half of the time.
        let half = whole.filter(|_| !wall.is_empty()).map(|b| Nanos(b.0 / 2));
        while_it_lasts(&modelled, &Budget::new(half.or(whole), self.begun))?;
        let mut budget = Budget::new(whole, self.begun);
        for (place, index) in wall.iter().enumerate() {
            // Work between phases, such as making files, may have used up the time.
            if place > 0 && budget.is_over() {
                break;
            }
            let left = wall[place..].iter().map(|i| self.phases_of(*i)).sum();
            one(*index, budget.limit(left))?;
            budget.spend(self.phases_of(*index));
        }
        let left = modelled.into_iter().filter(|i| !has_ended(i)).chain(combinations);
        while_it_lasts(&left.collect::<Vec<usize>>(), &budget)?;
        Ok(finished.into_inner().expect("no cell panicked").into_values().collect())
    }

    /// Returns the number of phases of a cell, over all its repeats.
    fn phases_of(&self, index: usize) -> u32 {
        let (experiment, workload) = self.workload_of(index);
        let phases = &workload.phases;
        let laid_out = workload.files.is_some();
        let each = phases.precondition.len()
            + usize::from(phases.settle.is_some())
            + usize::from(laid_out)
            + 1;
        each as u32 * experiment.repeats
    }

    /// Returns `true` if cell `index` is measured in virtual time.
    fn takes_virtual_time(&self, index: usize) -> bool {
        self.place_of(index).0.record.virtual_time
    }

    /// Returns the target of a cell and the host that it is behind.
    fn place_of(&self, index: usize) -> (&PlannedTarget, &HostVariant) {
        let Place { experiment, target, host, .. } = self.places[index];
        (&self.targets[target], &self.experiments[experiment].hosts[host])
    }

    fn workload_of(&self, index: usize) -> (&Experiment, &WorkloadSpec) {
        let Place { experiment, workload, .. } = self.places[index];
        let experiment = &self.experiments[experiment];
        (experiment, &experiment.workloads[workload])
    }
}

/// Locks the finished cells, which are keyed by their index in the plan.
fn finished_of(
    cells: &Mutex<BTreeMap<usize, CellRecord>>,
) -> MutexGuard<'_, BTreeMap<usize, CellRecord>> {
    cells.lock().expect("no cell panics while it holds the lock")
}

/// [`assay_spec::record::CellsRecord`] for writing, with borrowed cells.
#[derive(serde::Serialize)]
struct Finished<'a> {
    schema: u32,
    cells: Vec<&'a CellRecord>,
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
        format!("assay {} began this run, and this is assay {THIS}", record.assay),
        format!("resume it with assay {}, or run it anew with `--out` elsewhere", record.assay),
    ))
}

/// Calls `one` with every index, on up to `threads` threads. After an error no further index
/// begins.
fn side_by_side(
    threads: usize,
    indices: &[usize],
    one: &(dyn Fn(usize) -> Result<()> + Sync),
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    let work = || {
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            let Some(index) = indices.get(position) else { return };
            if let Err(e) = one(*index) {
                next.store(indices.len(), Ordering::Relaxed);
                failed.lock().expect("nobody panics here").get_or_insert(e);
            }
        }
    };
    std::thread::scope(|scope| {
        // This thread is one of them, and does everything if no other can be started.
        for _ in 1..threads.min(indices.len()) {
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    failed.into_inner().expect("nobody panicked").map_or(Ok(()), Err)
}

/// Returns the number of processors that this process may use.
pub(crate) fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
