//! `assay run`: a study or an experiment file, on its targets or on others.

use super::options::{Common, Running};
use super::pricing::Pricing;
use super::signals::watch_for_interrupt;
use super::subject::Subject;
use super::targets::{check_effect, names, open_targets};
use super::{report, saved};
use crate::output::plan::Plan;
use crate::output::progress::Progress;
use crate::output::{Failure, Outcome, talk};
use assay_engine::machine::{this_host, utc_now};
use assay_engine::plan::{PlannedTarget, Use};
use assay_engine::run::{Asked, Run, RunDirectory};
use assay_spec::array::split_targets;
use assay_spec::experiment::WorkloadSpec;
use assay_spec::record::{IntentRecord, TargetRecord};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Options of `assay run`.
#[derive(Debug, clap::Args)]
pub struct RunOptions {
    /// A study (`quick`) or an experiment file (`slow.toml`)
    subject: String,
    /// Targets to measure in addition to the experiment's own: `sim:NAME`, `raid5(sim:NAME*4)`,
    /// `null`, a file, a block device
    #[arg(long, value_name = "T,T…")]
    on: Vec<String>,
    /// Targets to measure instead of the experiment's own
    #[arg(long, value_name = "T,T…", conflicts_with = "on")]
    only: Vec<String>,
    /// Size of files, memory and partitions relative to the document's, e.g. `1/4`; only for
    /// experiments that have a `scale`
    #[arg(long, value_name = "F", conflicts_with = "full")]
    scale: Option<String>,
    /// Check out the tags of this git repository instead of a generated history
    #[arg(long, value_name = "PATH")]
    repo: Option<PathBuf>,
    /// Use the document's own sizes (`--scale 1`) and its number of repeats, and measure all
    /// combinations of `[factors]` without a base
    #[arg(long)]
    full: bool,
    /// Number of repeats of every cell, each with its own seed; 1 to 1000
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: Option<u32>,
    /// Measure all combinations of an experiment's `[factors]`, not one factor at a time
    #[arg(long)]
    factorial: bool,
    #[command(flatten)]
    running: Running,
    #[command(flatten)]
    pricing: Pricing,
    #[command(flatten)]
    common: Common,
}

/// Cells that a run may have, about: all of them are kept in one file, which is written anew after
/// each.
const MOST_CELLS: usize = 100_000;

/// Runs the verb.
pub fn main(options: RunOptions) -> Outcome {
    let mut subject = Subject::find(&options.subject)?;
    if let Some(text) = &options.scale {
        subject.rescale(text)?;
    }
    if options.full {
        subject.take_full_size()?;
    }
    if let Some(path) = &options.repo {
        subject.take_repository(path)?;
    }
    subject.repeat(options.repeats, options.full)?;
    if options.full {
        subject.take_combinations();
    }
    if options.factorial {
        subject.all_combinations(!options.only.is_empty())?;
    }
    let own = subject.experiments.iter().flat_map(|(e, _)| e.targets.clone());
    // Commas in parentheses belong to an array.
    let listed = |lists: &[String]| -> Vec<String> {
        lists.iter().flat_map(|list| split_targets(list)).collect()
    };
    let (own, everywhere) = match options.only.as_slice() {
        [] => (own.collect(), listed(&options.on)),
        only => (Vec::new(), listed(only)),
    };
    let asked = Targets { own, everywhere };
    let common = &options.common;
    let (mut run, place) =
        prepare(subject, asked, options.running, &options.pricing, &options.common)?;
    if common.plan {
        let directory = place.path();
        RunDirectory::check(&directory)?;
        return Plan::of_run(&run, &directory).show(common);
    }
    let directory = measure(&mut run, &place, common)?;
    report::finish(&directory, common, None)
}

/// Targets as written.
#[derive(Default)]
pub struct Targets {
    /// Those of the experiments, measured where they are named.
    pub own: Vec<String>,
    /// Those that every experiment measures.
    pub everywhere: Vec<String>,
}

/// Opens the targets for a run of the subject on them; returns it and the place of its directory.
pub fn prepare(
    subject: Subject,
    Targets { own, everywhere }: Targets,
    running: Running,
    pricing: &Pricing,
    common: &Common,
) -> Result<(Run, Place), Failure> {
    let begun = Instant::now();
    let mut targets = own;
    targets.extend_from_slice(&everywhere);
    let mut seen = std::collections::BTreeSet::new();
    targets.retain(|t| seen.insert(t.clone()));
    if targets.is_empty() {
        let hint = match subject.experiments.iter().any(|(e, _)| e.factors.is_some()) {
            true => "add `--factorial`: without a base it measures all combinations or none",
            false => {
                "add `targets = [\"sim:ssd-m\"]` to the experiment, or give `--on sim:ssd-m` or \
                 `--on PATH`"
            }
        };
        return Err(Failure::usage("the experiment names no target", hint));
    }
    let workloads: usize = subject.experiments.iter().map(|(e, _)| e.workloads.len()).sum();
    if workloads.saturating_mul(targets.len()) > MOST_CELLS {
        let text = format!("{workloads} workloads on {} targets are too many cells", targets.len());
        let hint = format!("split the run into several: a run has at most {MOST_CELLS} cells");
        return Err(Failure::usage(text, hint));
    }
    let intent = IntentRecord {
        write: running.write,
        destroy: running.destroy,
        size: running.size.as_deref().map(|text| parse_size("--size", text)).transpose()?,
        budget: running.budget.as_deref().map(parse_budget).transpose()?,
    };
    let mut workloads = subject.experiments.iter().flat_map(|(e, _)| &e.workloads);
    let plan = Use { writes: workloads.any(WorkloadSpec::writes), only_shown: common.plan };
    watch_for_interrupt();
    let experiments = subject.experiments.iter().map(|(e, _)| e);
    let targets = open_targets(&targets, &everywhere, &intent, plan, &names(experiments))?;
    check_effect(&intent, &targets)?;
    let started = utc_now();
    let records: Vec<TargetRecord> = targets.iter().map(|t| t.record.clone()).collect();
    let experiments = subject.experiments.iter().map(|(e, _)| e);
    let prices = pricing.of_run(&subject.study, experiments, &records, &started)?;
    let place = Place::new(running.out, &subject.study, &started);
    let asked = Asked {
        study: subject.study,
        title: subject.title,
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        seed: running.seed,
        started,
        intent,
        everywhere,
        prices,
    };
    let mut run = Run::new(asked, subject.experiments, targets, this_host())?;
    // Making a file is part of it.
    run.begun = begun;
    if let Some(threads) = running.threads {
        run.threads = usize::from(threads);
    }
    if !common.plan {
        announce_writes(&run, common);
    }
    Ok((run, place))
}

/// Measures what was prepared; returns the directory that it is in.
pub fn measure(run: &mut Run, place: &Place, common: &Common) -> Result<RunDirectory, Failure> {
    let progress = Progress::new(run.record().plan.len(), common.quiet);
    let began = place.create(|path| run.begin(path));
    let ended = began.and_then(|directory| {
        let cells = run.measure(&directory, Vec::new(), &progress);
        let cells = cells.map_err(|e| saved::pointing_to_resume(&directory, e))?;
        Ok((directory, cells))
    });
    progress.clear();
    let (directory, cells) = ended?;
    report_cells_left(directory.path(), run, cells.len(), common);
    Ok(directory)
}

/// Says what the budget was too small for.
pub(super) fn report_cells_left(directory: &Path, run: &Run, done: usize, common: &Common) {
    let left = run.record().plan.len() - done;
    if left > 0 && !common.quiet {
        talk(&format!(
            "the budget is used up and {left} cells are not measured: `assay resume {}` continues \
             with the same budget",
            directory.display()
        ));
    }
}

fn parse_budget(text: &str) -> Result<assay_spec::Nanos, Failure> {
    let time = text.parse().ok().filter(|t| *t >= assay_spec::Nanos::from_secs(1));
    time.ok_or_else(|| {
        Failure::usage(
            format!("`--budget {text}` is not a time between one second and 584 years"),
            "write a number and its unit, e.g. `90s` or `10m`",
        )
    })
}

pub(super) fn parse_size(option: &str, text: &str) -> Result<assay_spec::Bytes, Failure> {
    let expected = assay_spec::units::SIZE_EXPECTED;
    text.parse().map_err(|_| {
        Failure::usage(format!("`{option} {text}` is not a size"), format!("write {expected}"))
    })
}

/// The place of a run directory: the one that the user gave, or the first free one below `runs`.
pub struct Place {
    given: Option<PathBuf>,
    /// The name below `runs`, to which a number is added if it is not free.
    name: String,
}

impl Place {
    /// Creates the place of a run of `study`.
    pub fn new(given: Option<PathBuf>, study: &str, started: &str) -> Place {
        let stamp: String = started.chars().filter(char::is_ascii_alphanumeric).collect();
        Place { given, name: format!("{study}-{stamp}") }
    }

    /// Returns the path that is free now, or the one that the user gave.
    pub fn path(&self) -> PathBuf {
        if let Some(given) = &self.given {
            return given.clone();
        }
        let numbered = (2..).map(|n| format!("{}-{n}", self.name));
        let names = std::iter::once(self.name.clone()).chain(numbered);
        let mut paths = names.map(|name| Path::new("runs").join(name));
        paths.find(|p| !p.exists()).expect("some number is free")
    }

    /// Calls `create` with the path. If another run has taken the path below `runs` meanwhile,
    /// tries the next one.
    ///
    /// # Errors
    /// If `create` fails for any other reason.
    pub fn create<T>(
        &self,
        mut create: impl FnMut(&Path) -> assay_engine::Result<T>,
    ) -> assay_engine::Result<T> {
        const TAKEN: [&str; 4] = ["run-exists", "run-busy", "out-not-empty", "out-not-writable"];
        const TRIES: u32 = 100;
        for _ in 1..TRIES {
            let path = self.path();
            match create(&path) {
                // What this run made is removed again, so the directory is another run's.
                Err(e) if self.given.is_none() && TAKEN.contains(&e.id) && path.exists() => {}
                created => return created,
            }
        }
        create(&self.path())
    }
}

/// Before anything is written to a real target, says how much may be.
fn announce_writes(run: &Run, common: &Common) {
    let writing = run.experiments.iter().flat_map(|e| e.workloads.iter().map(move |w| (e, w)));
    let cells: u32 = writing.filter(|(_, w)| w.writes()).map(|(e, _)| e.repeats.count).sum();
    let real = |t: &&PlannedTarget| !t.record.virtual_time && t.record.kind != "null";
    for target in run.targets.iter().filter(real).filter(|t| t.may_write && !common.quiet) {
        let TargetRecord { written, kind, capacity, .. } = &target.record;
        let what = match kind.as_str() {
            "directory" => "files are created in it, and removed at the end".to_owned(),
            _ => format!("{cells} measurements, within its first {capacity}"),
        };
        talk(&format!("{written} ({kind}) will be written to: {what}"));
    }
}
