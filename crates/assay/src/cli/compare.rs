//! `assay compare`: the same work on several targets, or several saved runs, with effect sizes.

use super::{Common, Running, report, run, saved};
use crate::output::{DONE, Failure, Outcome, data, json};
use assay_analysis::load::Run;
use assay_analysis::{compare, text};
use std::path::{Path, PathBuf};

/// Options of `assay compare`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Targets (`sim:ssd-m`, a file, a block device), or run directories; the first is the
    /// reference
    #[arg(required = true)]
    subjects: Vec<String>,
    /// Study or experiment file to run on the targets
    #[arg(long, value_name = "STUDY|FILE", default_value = "quick")]
    work: String,
    /// Only this workload of it
    #[arg(long, value_name = "W")]
    workload: Option<String>,
    #[command(flatten)]
    running: Running,
    #[command(flatten)]
    common: Common,
}

/// Runs the verb.
pub fn main(options: Options) -> Outcome {
    let is_run = |s: &String| Path::new(s).join("run.json").exists();
    let runs = options.subjects.iter().filter(|s| is_run(s)).count();
    match runs {
        0 => compare_targets(options),
        n if n == options.subjects.len() => compare_runs(options),
        _ => Err(Failure::usage(
            "targets and run directories cannot be compared with each other",
            "run the targets first: `assay run quick --only T --out DIR`",
        )),
    }
}

fn compare_targets(options: Options) -> Outcome {
    if options.subjects.len() < 2 {
        return Err(Failure::usage(
            "one target alone has nothing to be compared with",
            "name a second target; the first is the reference",
        ));
    }
    let mut subject = run::find_subject(&options.work)?;
    if let Some(name) = &options.workload {
        for (experiment, _) in &mut subject.experiments {
            experiment.workloads.retain(|w| w.name == *name);
        }
        subject.experiments.retain(|(e, _)| !e.workloads.is_empty());
        if subject.experiments.is_empty() {
            return Err(Failure::usage(
                format!("`{}` has no workload `{name}`", options.work),
                "leave `--workload` out to see them all",
            ));
        }
    }
    let (directory, run) =
        run::execute(subject, &options.subjects, options.running, &options.common)?;
    let reference = run.targets[0].record.name.clone();
    let saved = saved::read(&directory)?;
    let comparison = compare::table(&saved, &reference);
    let table = format!("{}\n{}", text::summary_table(&saved), text::comparison(&comparison));
    report::finish(&directory, &options.common, Some(table))
}

fn compare_runs(options: Options) -> Outcome {
    let mut all: Option<Run> = None;
    for directory in &options.subjects {
        let mut run = saved::read(&PathBuf::from(directory))?;
        if let Some(name) = &options.workload {
            run.cells.retain(|c| c.workload == *name);
        }
        if options.subjects.len() > 1 {
            // The same target in two runs is two subjects here.
            let label = |target: &str| format!("{target} ({directory})");
            run.cells.iter_mut().for_each(|c| c.target = label(&c.target));
            run.record.targets.iter_mut().for_each(|t| t.name = label(&t.name));
        }
        match &mut all {
            None => all = Some(run),
            Some(all) => {
                all.cells.extend(run.cells);
                all.record.targets.extend(run.record.targets);
            }
        }
    }
    let all = all.expect("clap requires a subject");
    let Some(reference) = all.cells.first().map(|c| c.target.clone()) else {
        return Err(Failure::usage("there is no cell to compare", "check `--workload`"));
    };
    let comparison = compare::table(&all, &reference);
    if options.common.json {
        json(&comparison);
    } else {
        data(&text::comparison(&comparison));
    }
    Ok(DONE)
}
