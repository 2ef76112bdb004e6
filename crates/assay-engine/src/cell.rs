//! Runs a cell: a workload on a target, with all its repeats and phases.

mod judge;
mod linux;
mod prepare;
mod skip;
mod summary;

pub(crate) use linux::in_guest;

use crate::error::{Error, Result};
use crate::files::{Content, WorkDir};
use crate::generate::Generator;
use crate::load_loop::{End, Forget, run_phase};
use crate::measure::log::LogWriter;
use crate::measure::series::write_series;
use crate::measure::{Recorded, Recorder};
use crate::plan::{PlannedTarget, TargetKind, switch_caches_off};
use crate::run::RunDirectory;
use crate::target::Target;
use crate::target::null::NullTarget;
use crate::target::sim::SimTarget;
use crate::target::uring::{UringOptions, UringTarget};
use assay_fs::Scratch;
use assay_sim::{Array, Drive, Host, Past, RandomWrites, build};
use assay_spec::device::DeviceKind;
use assay_spec::experiment::{
    Amount, Arrival, ErrorLimit, Experiment, HostSpec, HostVariant, Scale, StartState, Step,
    StreamSpec, WorkloadSpec,
};
use assay_spec::record::{CellRecord, RepeatRecord};
use assay_spec::{Bytes, Nanos, seed};
use std::path::Path;
use std::time::{Duration, Instant};

/// Runs every repeat of a cell, with no phase longer than `limit`. Writes logs and series into
/// `directory`, if there is one. A real target ignores `host`.
///
/// # Errors
/// If the target or the directory cannot be used, or a range begins beyond the end of the target.
/// If a guest breaks off, requests fail, or the time is over, the record says so instead.
pub fn run_cell(
    experiment: &Experiment,
    workload: &WorkloadSpec,
    target: &PlannedTarget,
    host: &HostVariant,
    run_seed: u64,
    limit: Option<Nanos>,
    directory: Option<&RunDirectory>,
) -> Result<CellRecord> {
    let reason = skip::reason(workload, target);
    let mut cell = unmeasured(experiment, workload, cell_target(host, target), reason);
    if cell.skipped.is_some() {
        return Ok(cell);
    }
    let workload = &fitted(experiment, workload, target);
    for repeat in 1..=experiment.repeats {
        // The target is not part of the seed: all targets get the same stream.
        let path = [experiment.name.as_str(), &workload.name, &repeat.to_string()];
        let task = Repeat {
            workload,
            seed: seed::derive(run_seed, &path),
            log: experiment.log,
            limit,
            directory,
            stem: cell.stem(repeat),
            scale: experiment.scale,
            errors: experiment.errors,
        };
        match task.run_on(host.spec, target, experiment) {
            // The run goes on with its other cells if a guest breaks off.
            Err(e) if GUESTS_END.contains(&e.id) => {
                cell.skipped = Some(e.message);
                cell.failed = Some(false);
                cell.repeats.clear();
                break;
            }
            Err(e) if FAILED.contains(&e.id) => {
                cell.skipped = Some(target.why_failed(&e));
                cell.failed = Some(e.id == "all-failed");
                cell.repeats.clear();
                break;
            }
            Err(e) if e.id == "budget-over" => {
                cell.skipped = Some(e.message);
                cell.repeats.clear();
                break;
            }
            repeat => {
                let mut repeat = repeat?;
                repeat.warnings.extend(target.caution());
                cell.repeats.push(repeat);
                target.check_measured()?;
            }
        }
    }
    Ok(cell)
}

/// The errors of a guest that ends without a result through its own fault, not the machine's.
const GUESTS_END: [&str; 5] =
    ["linux-guest", "linux-silent", "linux-asleep", "linux-limit", "linux-ended"];

/// The errors of a cell that has no result because requests failed.
const FAILED: [&str; 2] = ["all-failed", "too-many-errors"];

/// Returns the record of a cell without repeats; `skipped` says why it will have none, if so.
pub fn unmeasured(
    experiment: &Experiment,
    workload: &WorkloadSpec,
    target: String,
    skipped: Option<String>,
) -> CellRecord {
    CellRecord {
        id: cell_id(&experiment.name, &workload.name, &target),
        experiment: experiment.name.clone(),
        workload: workload.name.clone(),
        target,
        summary: summary::of(workload),
        skipped,
        failed: None,
        repeats: Vec::new(),
    }
}

/// Returns the name of a cell: `EXPERIMENT/WORKLOAD@TARGET`.
pub fn cell_id(experiment: &str, workload: &str, target: &str) -> String {
    format!("{experiment}/{workload}@{target}")
}

/// Returns the hosts of `experiment` that `target` is measured behind. A target on the wall clock
/// has its own host, so the first one stands for it.
pub fn hosts_of<'e>(experiment: &'e Experiment, target: &PlannedTarget) -> &'e [HostVariant] {
    match target.record.virtual_time {
        true => &experiment.hosts,
        false => &experiment.hosts[..1],
    }
}

/// Returns the name that cells give to `target` behind `host`, which is one of its [`hosts_of`].
pub fn cell_target(host: &HostVariant, target: &PlannedTarget) -> String {
    let name = &target.record.name;
    if target.record.virtual_time { host.target(name) } else { name.clone() }
}

/// Returns the workload as it runs on `target`. On the wall clock, phases that end by time get the
/// length that the experiment gives with `wall_clock`, and no idle step is longer than that.
fn fitted(
    experiment: &Experiment,
    workload: &WorkloadSpec,
    target: &PlannedTarget,
) -> WorkloadSpec {
    let mut workload = workload.clone();
    if let Some(time) = experiment.wall_clock.filter(|_| !target.record.virtual_time) {
        let phases = &mut workload.phases;
        let steps = phases.precondition.iter_mut().filter_map(|step| match step {
            Step::Requests { amount, .. } => Some(amount),
            Step::Idle(idle) => {
                *idle = time.min(*idle);
                None
            }
        });
        for amount in steps.chain(&mut phases.settle).chain([&mut phases.measure]) {
            if let Amount::Time(t) = amount {
                *t = time;
            }
        }
    }
    workload
}

/// A repeat of a cell.
struct Repeat<'a> {
    workload: &'a WorkloadSpec,
    seed: u64,
    log: bool,
    limit: Option<Nanos>,
    directory: Option<&'a RunDirectory>,
    /// The name of its files without the ending.
    stem: String,
    scale: Scale,
    errors: ErrorLimit,
}

impl Repeat<'_> {
    /// Returns the rule for the end of a phase of this amount.
    fn end(&self, amount: Amount) -> End {
        End { amount, limit: self.limit, errors: self.errors }
    }

    /// Runs the repeat on `target`, behind `host` if that is a model.
    fn run_on(
        &self,
        host: HostSpec,
        target: &PlannedTarget,
        experiment: &Experiment,
    ) -> Result<RepeatRecord> {
        let cached = self.workload.write_cache;
        match &target.kind {
            TargetKind::Null => {
                let mut target = NullTarget::new(target.record.capacity);
                self.run(&mut target, &|| Ok(()), |_| {})
            }
            TargetKind::Model(spec) => {
                let mut spec = spec.clone();
                if !cached {
                    spec.set_write_cache(false);
                }
                let is_disk = matches!(spec.kind, DeviceKind::Hdd(_));
                self.run_model(host, is_disk, |past| build(&spec, past))
            }
            TargetKind::Array(setup) => {
                let mut setup = setup.clone();
                if !cached {
                    switch_caches_off(&mut setup);
                }
                let is_disk = setup.has_disk();
                self.run_model(host, is_disk, |past| Array::new(&setup, past))
            }
            TargetKind::Linux(setup) => self.run_linux(setup, experiment),
            TargetKind::Directory(path) => self.run_in_directory(path),
            TargetKind::Real(opened) => {
                let file = opened.file.try_clone().map_err(|e| {
                    Error::environment("device-lost", "the device cannot be used", "try again")
                        .caused_by(e)
                })?;
                let options = UringOptions {
                    depth: self.workload.deepest(),
                    max_length: self.workload.max_size(),
                    granularity: opened.granularity,
                    writes: self.workload.writes(),
                    seed: self.seed,
                    clock: crate::clock::Clock::start(),
                };
                let mut target = UringTarget::new(file, opened.capacity, options)?;
                let measured = self.run(&mut target, &|| opened.check_untouched(), |_| {});
                if self.workload.writes() {
                    opened.note_written();
                    return measured;
                }
                let measured = measured?;
                opened.check_untouched()?;
                Ok(measured)
            }
        }
    }

    /// Runs a workload of files in a new directory in `path`, which is removed afterwards.
    fn run_in_directory(&self, path: &Path) -> Result<RepeatRecord> {
        let work = self.workload.files.as_ref().expect("others are skipped");
        let directory = Scratch::new(path, "assay", crate::files::makes).map_err(|e| {
            let message = format!("no directory can be made in {}", path.display());
            Error::environment("directory-unusable", message, "check its permissions").caused_by(e)
        })?;
        let mut content = vec![0; 1 << 20];
        fill(&mut content, self.seed);
        let until = self.limit.map(|limit| Instant::now() + Duration::from_nanos(limit.0));
        let work_dir = WorkDir {
            directory: &directory.directory().path(),
            remount: None,
            is_free: false,
            content: Content { bytes: &content, until },
            limit: self.limit,
        };
        self.run_on_files(work, &work_dir, &mut || {})
    }

    /// Returns the state in which a modelled drive begins.
    fn past(&self) -> Past {
        match self.workload.phases.start {
            StartState::Fresh => Past::New,
            StartState::Filled => Past::Filled,
            StartState::Steady => Past::Steady(RandomWrites::UNIFORM.seeded(self.seed)),
        }
    }

    /// Runs the repeat on a modelled drive behind its host.
    fn run_model<D: Drive>(
        &self,
        host: HostSpec,
        is_disk: bool,
        build: impl FnOnce(Past) -> D,
    ) -> Result<RepeatRecord> {
        let drive = build(self.past());
        let elevator = if is_disk { host.elevator.hdd } else { host.elevator.ssd };
        let mut sim = SimTarget::new(Host::new(drive, host, elevator));
        let watched = self.directory.is_some();
        let mut record = self.run(&mut sim, &|| Ok(()), |sim| sim.begin_measure(watched))?;
        record.device = sim.drive().counters();
        if let Some((directory, drive_series)) = self.directory.zip(sim.end_measure()) {
            let name = format!("{}.drive.parquet", self.stem);
            drive_series.write(directory.series()?, &name)?;
        }
        Ok(record)
    }

    /// Runs all phases on `target`. Calls `before_writes` before the first phase that writes, and
    /// `before_measure` when the measured phase begins.
    fn run<T: Target>(
        &self,
        target: &mut T,
        before_writes: &dyn Fn() -> Result<()>,
        before_measure: impl FnOnce(&mut T),
    ) -> Result<RepeatRecord> {
        let WorkloadSpec { phases, arrival, streams, first, .. } = self.workload;
        self.check_ranges(target.capacity())?;
        let mut warnings = self.range_warnings(target.capacity());
        let wrote = self.prepare(target, before_writes, &mut warnings)?;
        if !wrote && streams.iter().any(StreamSpec::writes) {
            before_writes()?;
        }
        let mut generator = Generator::new(streams, target.capacity(), self.seed);
        let gap_seed = seed::derive(self.seed, &["arrivals"]);
        target.set_processes(tags_per_process(*arrival));
        let mut steady = None;
        if let Some(amount) = phases.settle {
            let mut forget = Forget::default();
            let end = self.end(amount);
            let end = run_phase(target, &mut generator, *arrival, end, gap_seed, &mut forget)?;
            steady = end.steady;
        }
        before_measure(target);
        let mut recorder = Recorder::new(self.log_writer()?).keeping(*first);
        let end = self.end(phases.measure);
        let end = run_phase(target, &mut generator, *arrival, end, gap_seed, &mut recorder)?;
        let Recorded { ops, seconds, fine, first } = recorder.finish()?;
        if let Some(directory) = self.directory {
            write_series(directory.series()?, &format!("{}.parquet", self.stem), &fine)?;
        }
        self.judge(&ops, &end, &mut warnings);
        let steady = end.steady.or(steady);
        if steady.as_ref().is_some_and(|s| !s.reached) {
            warnings.push("steady state was not reached within the limit of rounds".into());
        }
        Ok(RepeatRecord {
            seed: self.seed,
            elapsed: end.elapsed,
            ops,
            series: seconds,
            first,
            steady,
            device: Vec::new(),
            warnings,
        })
    }

    fn log_writer(&self) -> Result<Option<LogWriter>> {
        let Some(directory) = self.directory.filter(|_| self.log) else { return Ok(None) };
        LogWriter::create(directory.log()?, &format!("{}.parquet", self.stem)).map(Some)
    }

    /// Refuses a range that begins beyond the end of the target: no request would lie in it.
    fn check_ranges(&self, capacity: Bytes) -> Result<()> {
        let outside = |s: &&StreamSpec| s.span.start >= capacity;
        let Some(stream) = self.workload.all_streams().find(outside) else { return Ok(()) };
        Err(Error::usage(
            "range-outside",
            format!(
                "the range of `{}` begins at {} and the target ends at {capacity}",
                self.workload.name, stream.span.start
            ),
            "lower `range`, or measure a larger target",
        ))
    }

    fn range_warnings(&self, capacity: Bytes) -> Vec<String> {
        let beyond = |s: &&StreamSpec| s.span.end.is_some_and(|end| end > capacity);
        let cut = self.workload.all_streams().find(beyond);
        let text = |_| format!("the range was cut to the target's {capacity}");
        cut.map(text).into_iter().collect()
    }
}

/// Fills `content` with pseudo-random bytes, which no drive can compress.
fn fill(content: &mut [u8], seed: u64) {
    let mut state = seed;
    for word in content.chunks_mut(8) {
        state = seed::mix(state.wrapping_add(1));
        word.copy_from_slice(&state.to_le_bytes()[..word.len()]);
    }
}

/// Returns the number of requests that a job may have in flight. An open loop is one job.
fn tags_per_process(arrival: Arrival) -> u32 {
    match arrival {
        Arrival::Closed { queue_depth, .. } => queue_depth,
        Arrival::Open { max_in_flight, .. } => max_in_flight,
    }
}
