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
    let mut intent = saved.record.intent.clone();
    let written: Vec<String> = saved.record.targets.iter().map(|t| t.written.clone()).collect();
    if let (None, Some(_)) = (&intent.write, intent.size) {
        // The run created this file itself; the safety layer checks the mark it left.
        let file = saved.record.targets.iter().find(|t| t.kind == "file");
        intent.write = file.map(|t| t.written.clone());
    }
    let experiments = saved.record.experiments.iter().map(|e| load(&e.file, &e.text));
    let experiments = experiments.collect::<Result<Vec<_>, _>>()?;
    let mut workloads = experiments.iter().flat_map(|(e, _)| &e.workloads);
    let writes = workloads.any(|w| w.writes());
    let run = Run {
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        targets: open_targets(&written, &intent, writes)?,
        experiments: experiments.into_iter().map(|(e, _)| e).collect(),
        record: saved.record,
    };
    watch_for_interrupt();
    let progress = Progress::new(run.record.plan.len(), options.common.quiet);
    let ended = run.go_on(&options.directory, saved.cells, &progress);
    progress.clear();
    ended.inspect_err(|_| point_to_resume(&options.directory))?;
    report::finish(&options.directory, &options.common, None)
}
