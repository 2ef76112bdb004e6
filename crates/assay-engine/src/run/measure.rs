//! Measures the cells of a run.

use super::directory::RunDirectory;
use super::order::CellOrder;
use super::planned::Run;
use crate::budget::Budget;
use crate::cell::{CellContext, run_cell, unmeasured};
use crate::error::Result;
use crate::linux::image::Images;
use crate::plan::PlannedTarget;
use crate::read::{CELLS_MAX, RUN_MAX};
use crate::target::block::Opened;
use assay_spec::Nanos;
use assay_spec::record::{CellPlan, CellRecord, SCHEMA};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// A listener to the progress of a run.
pub trait Observer: Sync {
    /// Called when a cell begins.
    fn started(&self, plan: &CellPlan);
    /// Called when a cell is finished, as the `done`-th of `of` cells.
    fn finished(&self, cell: &CellRecord, done: usize, of: usize);
}

impl Run {
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
            directory.check_apart(&opened.identity.path)?;
            opened.make()?;
        }
        directory.write_json("run.json", &self.record, RUN_MAX)
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
        let CellOrder { modelled, wall, combinations } = CellOrder::of(self, missing);
        let before = finished.len();
        let finished = Mutex::new(finished);
        let images = Images::default();
        let one = |index: usize, limit: Option<Nanos>| -> Result<()> {
            let plan = &self.record.plan[index];
            observer.started(plan);
            let (experiment, workload) = self.workload_of(index);
            let (target, host) = self.place_of(index);
            let run = CellContext { seed: self.record.seed, images: &images, directory };
            let ran = run_cell(experiment, workload, target, host, run, limit);
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
            directory.write_json("cells.json", &cells, CELLS_MAX)?;
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
