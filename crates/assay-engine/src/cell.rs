//! Runs a cell: a workload on a target, with all its repeats and phases.

pub(crate) mod files;
mod halts;
mod judge;
mod on_linux;
mod prepare;
pub(crate) mod repeat;
mod skip;
mod summary;

use crate::error::{Error, Result};
use crate::plan::{PlannedTarget, TargetKind, switch_caches_off};
use crate::stop::{interrupted, is_interrupted};
use crate::target::Target;
use crate::target::null::NullTarget;
use crate::target::uring::{UringOptions, UringTarget};
use assay_sim::build;
use assay_spec::device::DeviceKind;
use assay_spec::experiment::{Amount, Experiment, HostSpec, HostVariant, Step, WorkloadSpec};
use assay_spec::record::{CellRecord, RepeatRecord};
use assay_spec::{Bytes, Nanos, Op, Request, seed};
use files::run_in_directory;
use halts::Halts;
use on_linux::run_linux;
pub use repeat::CellContext;
use repeat::{Repeat, writes_lost};
use std::path::Path;

/// Runs every repeat of a cell, with no phase longer than `limit`. A real target ignores `host`.
///
/// # Errors
/// If the target or the directory cannot be used, or a range begins beyond the end of the target.
/// If a guest breaks off, requests fail, or the time is over, the record says so instead.
pub fn run_cell(
    experiment: &Experiment,
    workload: &WorkloadSpec,
    target: &PlannedTarget,
    host: &HostVariant,
    run: CellContext<'_>,
    limit: Option<Nanos>,
) -> Result<CellRecord> {
    let reason = skip::reason(workload, target);
    let mut cell = unmeasured(experiment, workload, cell_target(host, target), reason);
    if cell.skipped.is_some() {
        return Ok(cell);
    }
    let workload = &fitted(experiment, workload, target);
    for repeat in 1..=experiment.repeats.count {
        let task = Repeat {
            workload,
            seed: seed::of_repeat(run.seed, &experiment.name, &workload.name, repeat),
            log: experiment.log,
            limit,
            directory: Some(run.directory),
            stem: cell.stem(repeat),
            scale: experiment.scale,
            errors: experiment.errors,
        };
        let halts = if target.record.virtual_time { None } else { Halts::watch() };
        let disks = target.disk_reads();
        // The loop device may be switched to direct I/O meanwhile.
        let page_cache = target.page_cache();
        match run_on(&task, host.spec, target, experiment, run) {
            // The run goes on with its other cells if a guest breaks off.
            Err(e) if GUESTS_END.contains(&e.id) => {
                let is_own = e.id == "linux-guest" && !e.hint.is_empty();
                let advice = if is_own { format!("; {}", e.hint) } else { String::new() };
                cell.skipped = Some(e.message + &advice);
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
                let caution = target.caution(workload);
                let from_disks = || disks.and_then(|disks| disks.warning(bytes_read(&repeat)));
                let caution = caution.or(page_cache).or_else(from_disks);
                repeat.warnings.extend(caution);
                repeat.warnings.extend(halts.into_iter().flat_map(Halts::warnings));
                cell.repeats.push(repeat);
                target.check_measured()?;
            }
        }
    }
    Ok(cell)
}

/// Returns the bytes that a repeat has read.
fn bytes_read(repeat: &RepeatRecord) -> Bytes {
    Bytes(repeat.ops.iter().filter(|op| op.op == Op::Read).map(|op| op.bytes.0).sum())
}

/// The interval between looks for an interruption while a flush is in flight.
const FLUSH_TICK: Nanos = Nanos::from_millis(100);

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

/// Makes what was written to `target`, found at `path`, durable: a drive, or a page cache between,
/// may have accepted data that it has no room for. Nothing may be in flight.
///
/// # Errors
/// If that fails, or the run is asked to end first.
fn flush(target: &mut impl Target, path: &Path) -> Result<()> {
    let (offset, length) = (Bytes::ZERO, Bytes::ZERO);
    let now = target.now();
    target.submit(now, Request { tag: 0, op: Op::Flush, offset, length, fua: false });
    let mut completions = Vec::new();
    while completions.is_empty() {
        if is_interrupted() {
            return Err(interrupted());
        }
        let until = target.now() + FLUSH_TICK;
        target.poll(until, &mut completions);
    }
    let Some(failed) = completions.iter().find(|completion| completion.error != 0) else {
        return Ok(());
    };
    Err(writes_lost(path, std::io::Error::from_raw_os_error(failed.error)))
}

/// Runs the repeat on `target`, behind `host` if that is a model.
fn run_on(
    repeat: &Repeat<'_>,
    host: HostSpec,
    target: &PlannedTarget,
    experiment: &Experiment,
    run: CellContext<'_>,
) -> Result<RepeatRecord> {
    let cached = repeat.workload.write_cache;
    match &target.kind {
        TargetKind::Null => {
            let mut target = NullTarget::new(target.record.capacity);
            repeat.run(&mut target, &|| Ok(()), |_| {})
        }
        TargetKind::Model(spec) => {
            let mut spec = spec.clone();
            if !cached {
                spec.set_write_cache(false);
            }
            let is_disk = matches!(spec.kind, DeviceKind::Hdd(_));
            repeat.run_model(host, is_disk, |past| Some(build(&spec, past)))
        }
        TargetKind::Array(setup) => {
            let mut setup = setup.clone();
            if !cached {
                switch_caches_off(&mut setup);
            }
            let is_disk = setup.has_disk();
            repeat.run_model(host, is_disk, |past| setup.build_unless(past, &is_interrupted))
        }
        TargetKind::Linux(setup) => run_linux(repeat, setup, experiment, run),
        TargetKind::Directory(path) => run_in_directory(repeat, path),
        TargetKind::Real(opened) => {
            let file = opened.file.try_clone().map_err(|e| {
                Error::environment("device-lost", "the device cannot be used", "try again")
                    .caused_by(e)
            })?;
            let options = UringOptions {
                depth: repeat.workload.deepest(),
                max_length: repeat.workload.max_size(),
                granularity: opened.granularity,
                writes: repeat.workload.writes(),
                seed: repeat.seed,
                clock: crate::clock::Clock::start(),
            };
            let mut target = UringTarget::new(file, opened.capacity, options)?;
            let below = repeat.workload.writes().then(|| opened.open_layers()).transpose()?;
            let measured = repeat.run(&mut target, &|| opened.check_before_writes(), |_| {});
            if let Some(below) = below {
                let measured = measured.and_then(|record| {
                    let path = &opened.identity.path;
                    flush(&mut target, path)?;
                    below.flush(|e| writes_lost(path, e))?;
                    Ok(record)
                });
                let own = opened.check_own_writes(target.written());
                return measured.and_then(|record| own.map(|()| record));
            }
            let measured = measured?;
            opened.check_untouched()?;
            Ok(measured)
        }
    }
}
