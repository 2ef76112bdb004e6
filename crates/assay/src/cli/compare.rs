//! `assay compare`: compares targets under the same workloads, or saved runs, with effect sizes.

use super::options::{Common, Running};
use super::pricing::Pricing;
use super::subject::Subject;
use super::{report, run, saved};
use crate::output::plan::Plan;
use crate::output::{DONE, Failure, Outcome, data, json, one_line};
use assay_analysis::load::Run;
use assay_analysis::{compare, text};
use assay_engine::run::RunDirectory;
use std::io;
use std::path::{Path, PathBuf};

/// Options of `assay compare`.
#[derive(Debug, clap::Args)]
pub struct CompareOptions {
    /// Targets (`sim:ssd-m`, a file, a block device), or run directories; the first is the
    /// reference
    #[arg(required = true)]
    subjects: Vec<String>,
    /// Study or experiment file to run on the targets
    #[arg(long, value_name = "STUDY|FILE", default_value = "quick")]
    work: String,
    /// Only this workload of the study or file
    #[arg(long, value_name = "W")]
    workload: Option<String>,
    #[command(flatten)]
    running: Running,
    #[command(flatten)]
    pricing: Pricing,
    #[command(flatten)]
    common: Common,
}

/// Runs the verb.
pub fn main(options: CompareOptions) -> Outcome {
    let subjects = options.subjects.iter();
    let are_runs = subjects.map(|s| is_run(s)).collect::<Result<Vec<bool>, Failure>>()?;
    match are_runs.iter().position(|is_run| !is_run) {
        None => compare_runs(options),
        Some(_) if !are_runs.contains(&true) => compare_targets(options),
        Some(other) => Err(Failure::usage(
            format!(
                "{} is not a run directory, but another subject is one",
                options.subjects[other]
            ),
            "check the path, or measure the target first: `assay run quick --only TARGET --out \
             DIR`",
        )),
    }
}

/// Returns `true` if `subject` is a run directory. One that may not be searched is not taken for a
/// directory to measure in.
fn is_run(subject: &str) -> Result<bool, Failure> {
    match Path::new(subject).join("run.json").try_exists() {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            let hint = "run assay as a user who may read it";
            Err(Failure::usage(format!("{subject} cannot be read: {e}"), hint))
        }
        found => Ok(found.unwrap_or(false)),
    }
}

fn compare_targets(options: CompareOptions) -> Outcome {
    if options.subjects.len() < 2 {
        return Err(Failure::usage(
            "a comparison needs two targets or more, and only one is named",
            "name a second target; the first is the reference",
        ));
    }
    let mut subject = Subject::find(&options.work)?;
    if let Some(name) = &options.workload {
        for (experiment, _) in &mut subject.experiments {
            experiment.workloads.retain(|w| w.name == *name);
        }
        subject.experiments.retain(|(e, _)| !e.workloads.is_empty());
        if subject.experiments.is_empty() {
            return Err(Failure::usage(
                format!("`{}` has no workload `{name}`", options.work),
                "leave out `--workload` to compare all workloads",
            ));
        }
    }
    let targets = run::Targets { everywhere: options.subjects, ..run::Targets::default() };
    let common = &options.common;
    let (mut run, place) =
        run::prepare(subject, targets, options.running, &options.pricing, common)?;
    if common.plan {
        let directory = place.path();
        RunDirectory::check(&directory)?;
        return Plan::of_run(&run, &directory).show(common);
    }
    let directory = run::measure(&mut run, &place, common)?;
    let reference = run.targets[0].record.name.clone();
    let saved = saved::read_at(&directory.place(), directory.path())?;
    let comparison = compare::table(&saved, &reference);
    let table = format!("{}\n{}", text::summary_table(&saved), text::comparison(&comparison));
    report::finish(&directory, &options.common, Some(table))
}

/// Compares every run with the first, target by target. A single run has its targets compared with
/// its first target.
fn compare_runs(options: CompareOptions) -> Outcome {
    if let Some(option) = options.running.first_given() {
        let text = format!("`{option}` has no effect: saved runs are not run again");
        return Err(Failure::usage(text, "leave it out, or compare targets"));
    }
    if options.common.plan {
        let cells = options.subjects.iter().map(|s| Path::new(s).join("cells.json"));
        return Plan::reading(&cells.collect::<Vec<_>>()).show(&options.common);
    }
    let mut runs: Vec<(&str, Run)> = Vec::new();
    for directory in &options.subjects {
        let mut run = saved::read(&PathBuf::from(directory))?;
        options.pricing.of_saved(&mut run.record)?;
        if let Some(name) = &options.workload {
            run.cells.retain(|c| c.workload == *name);
        }
        runs.push((directory, run));
    }
    // A run is named by the last component of its path, or by the whole path if two runs have the
    // same last component.
    let short = |path: &str| Path::new(path).file_name().map(|n| n.to_string_lossy().into_owned());
    let distinct: std::collections::BTreeSet<_> = runs.iter().map(|(d, _)| short(d)).collect();
    let unique = distinct.len() == runs.len();
    let named = |path: &str| {
        let name = short(path).filter(|_| unique).unwrap_or_else(|| path.to_owned());
        if options.common.json { name } else { one_line(&name).into_owned() }
    };
    let runs: Vec<(String, Run)> = runs.into_iter().map(|(d, run)| (named(d), run)).collect();
    let ((base_name, base), others) = runs.split_first().expect("clap requires a subject");
    let mut all = match others {
        // A single run: its targets are compared with its first target.
        [] => base.targets().first().map(|t| compare::table(base, t)).unwrap_or_default(),
        _ => compare::Comparison::default(),
    };
    for (name, run) in others {
        let one = compare::runs((name, run), (base_name, base));
        all.rows.extend(one.rows);
        all.programs.extend(one.programs);
        all.notes.extend(one.notes);
    }
    if all.rows.is_empty() && all.programs.is_empty() {
        let why = all.notes.first().map_or(String::new(), |note| format!(": {note}"));
        return Err(Failure::usage(
            format!("there is nothing to compare{why}"),
            "name runs that have workloads and targets of the same names (`assay report DIR` shows \
             them), and check `--workload`",
        ));
    }
    if options.common.json {
        json(&all);
    } else {
        data(&text::comparison(&all));
    }
    Ok(DONE)
}
