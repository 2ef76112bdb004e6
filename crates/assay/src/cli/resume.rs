//! `assay resume`: continues an interrupted run. It ends with the same files as a run without an
//! interruption.

use super::options::Common;
use super::run::report_cells_left;
use super::signals::watch_for_interrupt;
use super::subject::load;
use super::{report, saved};
use crate::output::plan::Plan;
use crate::output::progress::Progress;
use crate::output::{Failure, Outcome};
use assay_engine::run::{Run, RunDirectory};
use assay_spec::record::IntentRecord;
use std::path::PathBuf;

/// Options of `assay resume`.
#[derive(Debug, clap::Args)]
pub struct ResumeOptions {
    /// The run directory
    directory: PathBuf,
    /// Confirm that this is the device the run began with, and allow writing to it; needed if the
    /// device reports nothing to recognise it by
    #[arg(long, value_name = "PATH")]
    write: Option<String>,
    /// Allow destroying data that others have written to the device with this serial number since
    /// the run began
    #[arg(long, value_name = "SERIAL")]
    destroy: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Runs the verb.
pub fn main(options: ResumeOptions) -> Outcome {
    let path = &options.directory;
    // The directory is locked before it is read, because another process may still write to it.
    let directory = match options.common.plan {
        true => saved::open(path, RunDirectory::open)?,
        false => saved::open(path, RunDirectory::lock)?,
    };
    let saved = saved::read_at(&directory.place(), path)?;
    let is_real = |kind: &str| ["file", "block device", "directory"].contains(&kind);
    if saved.record.targets.iter().any(|target| is_real(&target.kind)) {
        directory.check_owner()?;
    }
    let experiments = saved.record.experiments.iter().map(|e| Ok(load(&e.file, &e.text)?.0));
    let experiments = experiments.collect::<Result<Vec<_>, Failure>>()?;
    let again =
        IntentRecord { write: options.write, destroy: options.destroy, ..IntentRecord::default() };
    let run = Run::reopen(saved.record, experiments, &again)?;
    if options.common.plan {
        return Plan::of_run(&run, path).show(&options.common);
    }
    run.check_needs()?;
    run.clean_up(&directory, &saved.cells);
    watch_for_interrupt();
    let progress = Progress::new(run.record().plan.len(), options.common.quiet);
    let ended = run.measure(&directory, saved.cells, &progress);
    progress.clear();
    let cells = ended.map_err(|e| saved::pointing_to_resume(&directory, e))?;
    report_cells_left(path, &run, cells.len(), &options.common);
    report::finish(&directory, &options.common, None)
}
