//! `assay explain --timeline`: shows what each part of a modelled drive does for its first
//! requests.

mod shown;

use super::options::Common;
use super::subject::load;
use crate::output::plan;
use crate::output::{DONE, Failure, Outcome, data, json};
use assay_analysis::report::gantt;
use assay_engine::plan::load_model;
use assay_engine::read;
use assay_engine::run::{Replace, write_text};
use assay_engine::timeline::{Plan, record};
use assay_spec::Bytes;
use assay_spec::array::is_array;
use assay_spec::device::{DeviceKind, DeviceSpec};
use assay_spec::experiment::{Address, Arrival, Span, StreamSpec, WorkloadSpec};
use shown::Shown;
use std::path::{Path, PathBuf};

/// Options of a timeline.
#[derive(Debug, clap::Args)]
#[group(id = "timeline")]
pub struct TimelineOptions {
    /// Show the operations of each part of this modelled drive (`sim:ssd-m`, `sim:FILE.toml`) over
    /// time
    #[arg(long = "timeline", value_name = "TARGET", conflicts_with = "words")]
    pub target: Option<String>,
    /// Number of requests
    #[arg(long, value_name = "N", default_value_t = 100, requires = "target",
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    requests: u32,
    /// Workload: `rnd-rd`, `rnd-wr`, `seq-rd`, `seq-wr`, `mixed`, or one of an experiment file
    /// (`FILE.toml#NAME`) [default: rnd-wr; for a disk: rnd-rd]
    #[arg(long, value_name = "WORKLOAD", requires = "target")]
    workload: Option<String>,
    /// Requests in flight, up to the limit of the drive [default: the workload's, or 8]
    #[arg(long, value_name = "N", requires = "target",
        value_parser = clap::value_parser!(u32).range(1..=1024))]
    depth: Option<u32>,
    /// Number of requests before the timeline; they are not shown, and fill logs, spare blocks and
    /// caches
    #[arg(long, value_name = "N", default_value_t = 0, requires = "target",
        value_parser = clap::value_parser!(u32).range(0..=100_000_000))]
    skip: u32,
    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 1, requires = "target")]
    seed: u64,
    /// Draw the timeline into this file instead of printing the requests
    #[arg(long, value_name = "FILE.svg", requires = "target")]
    out: Option<PathBuf>,
    /// Replace a file that assay did not draw, or that was changed after assay drew it
    #[arg(long, requires = "out")]
    force: bool,
}

/// Draws or prints the timeline of `target`.
pub fn main(target: &str, options: &TimelineOptions, common: &Common) -> Outcome {
    let spec = model(target)?;
    let is_disk = matches!(spec.kind, DeviceKind::Hdd(_));
    let words = options.workload.as_deref().unwrap_or(if is_disk { "rnd-rd" } else { "rnd-wr" });
    let (streams, depth) = workload(words)?;
    let plan = Plan {
        streams,
        depth: options.depth.unwrap_or(depth),
        skip: options.skip,
        requests: options.requests,
        seed: options.seed,
    };
    if common.plan {
        let plan = plan::Plan::default().taking(assay_sim::memory(&spec));
        let out = options.out.iter();
        return out.fold(plan, |plan, path| plan.writing(path, None)).show(common);
    }
    let shown = Shown { timeline: record(&spec, &plan)?, spec, words, skip: options.skip };
    if let Some(path) = &options.out {
        let replace = if options.force { Replace::Forced } else { Replace::Written };
        write_text(path, &gantt::svg(&shown.picture()), replace)?;
    }
    if common.json {
        json(&shown.records());
    } else if options.out.is_none() {
        data(&shown.table());
    }
    Ok(DONE)
}

/// Loads the modelled drive that is written as `target`.
///
/// # Errors
/// If the target is an array, or no modelled drive.
fn model(target: &str) -> Result<DeviceSpec, Failure> {
    let hint = "name one modelled drive: `sim:NAME` or `sim:FILE.toml`";
    if is_array(target) {
        return Err(Failure::usage("an array has no timeline; only a single drive has one", hint));
    }
    let name = target.strip_prefix("sim:").unwrap_or(target);
    if name == target && (target == "null" || Path::new(target).exists() && !is_spec(target)) {
        return Err(Failure::usage(
            format!("`{target}` has no timeline: it is not a modelled drive"),
            hint,
        ));
    }
    Ok(load_model(name)?.0)
}

fn is_spec(name: &str) -> bool {
    name.ends_with(".toml")
}

/// Returns the streams of a workload, and the number of requests that it keeps in flight.
fn workload(words: &str) -> Result<(Vec<StreamSpec>, u32), Failure> {
    let stream = |read_share, size: Bytes, address| StreamSpec {
        read_share,
        sizes: vec![(size, 1.0)],
        address,
        span: Span::WHOLE,
        flush_every: 0,
        fua: false,
    };
    let (small, large) = (Bytes(4 << 10), Bytes(64 << 10));
    let stream = match words {
        "rnd-rd" => stream(1.0, small, Address::Random),
        "rnd-wr" => stream(0.0, small, Address::Random),
        "seq-rd" => stream(1.0, large, Address::Sequential),
        "seq-wr" => stream(0.0, large, Address::Sequential),
        "mixed" => stream(0.5, small, Address::Random),
        _ => return from_file(words),
    };
    Ok((vec![stream], 8))
}

/// Reads a workload of an experiment file: the one that `FILE.toml#NAME` names, or the first one of
/// `FILE.toml`.
///
/// # Errors
/// If there is no such workload, or it is no closed loop.
fn from_file(words: &str) -> Result<(Vec<StreamSpec>, u32), Failure> {
    let (file, name) = words.split_once('#').map_or((words, None), |(f, n)| (f, Some(n)));
    if !is_spec(file) {
        let hint = "write `rnd-rd`, `rnd-wr`, `seq-rd`, `seq-wr`, `mixed` or `FILE.toml#NAME`";
        return Err(Failure::usage(format!("there is no workload `{words}`"), hint));
    }
    let text = read::text(Path::new(file), read::SPEC_MAX).map_err(|e| {
        let hint = e.hint("`examples/` has files to start from");
        Failure::usage(format!("{file} cannot be read: {e}"), hint)
    })?;
    let (experiment, _) = load(file, &text)?;
    let named = |w: &&WorkloadSpec| name.is_none_or(|name| w.name == name);
    let Some(workload) = experiment.workloads.iter().find(named) else {
        let names: Vec<&str> = experiment.workloads.iter().map(|w| w.name.as_str()).collect();
        let message = format!("{file} has no workload `{}`", name.unwrap_or_default());
        return Err(Failure::usage(
            message,
            format!("choose one of its workloads: {}", names.join(", ")),
        ));
    };
    match workload.arrival {
        Arrival::Closed { .. } => Ok((workload.streams.clone(), workload.slots())),
        Arrival::Open { .. } => Err(Failure::usage(
            format!(
                "the requests of `{}` arrive at a rate, but a timeline needs a closed loop",
                workload.name
            ),
            "choose a workload with `jobs`",
        )),
    }
}
