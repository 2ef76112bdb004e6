//! `assay resume`: goes on with an interrupted run; ends with the files an undisturbed run leaves.

use super::run::{load, open_targets, point_to_resume, watch_for_interrupt};
use super::{Common, report, saved};
use crate::output::Outcome;
use crate::output::progress::Progress;
use assay_engine::run::Run;
use std::path::PathBuf;

/// Options of `assay resume`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The run directory
    directory: PathBuf,
    #[command(flatten)]
    common: Common,
}

/// Runs the verb.
pub fn main(options: Options) -> Outcome {
    let saved = saved::read(&options.directory)?;
    let experiments = saved.record.experiments.iter().map(|e| load(&e.file, &e.text));
    let experiments = experiments.collect::<Result<Vec<_>, _>>()?;
    let mut workloads = experiments.iter().flat_map(|(e, _)| &e.workloads);
    let writes = workloads.any(|w| w.writes());
    let asked = saved.record.targets.iter().map(|target| {
        let mut intent = saved.record.intent.clone();
        if target.created {
            // The run made this file itself; the safety layer checks the mark it left.
            intent.write = Some(target.written.clone());
        }
        (target.written.as_str(), intent)
    });
    let targets = open_targets(asked, writes)?;
    let run = Run {
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        targets,
        experiments: experiments.into_iter().map(|(e, _)| e).collect(),
        record: saved.record,
    };
    watch_for_interrupt();
    let progress = Progress::new(run.record.plan.len(), options.common.quiet);
    let ended = run.go_on(&options.directory, saved.cells, &progress);
    progress.clear();
    ended.inspect_err(|e| point_to_resume(&options.directory, e))?;
    report::finish(&options.directory, &options.common, None)
}
