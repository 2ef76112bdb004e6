//! `assay linux run`: a command in the guest, on modelled drives.
//!
//! The command's output and exit status are this program's. What the drives were asked stays in a
//! run directory: `command.json` and `log/drives.parquet`.

use crate::cli::run::{parse_size, watch_for_interrupt};
use crate::output::{DONE, Failure, Outcome, talk};
use assay_engine::guest::{Start, run_guest};
use assay_engine::machine::utc_now;
use assay_engine::measure::log::LogWriter;
use assay_engine::plan::open_drives;
use assay_engine::run::write_json;
use assay_linux::guest::{Ground, Job, Left, Task};
use assay_linux::machine::Limits;
use assay_spec::experiment::ElevatorKind;
use assay_spec::linux::{SCHEDULERS, Settings};
use assay_spec::{Bytes, Nanos};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options of `assay linux run`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// A modelled drive, which the guest has as /dev/vda; again for /dev/vdb …
    #[arg(long, required = true, value_name = "MODEL")]
    drive: Vec<String>,
    /// Memory of the guest
    #[arg(long, default_value = "1GiB", value_name = "SIZE")]
    memory: String,
    /// The elevator before each drive: none, mq-deadline, bfq, kyber; of 2009: noop, deadline,
    /// anticipatory, cfq
    #[arg(long, default_value = "none", value_name = "NAME")]
    scheduler: String,
    /// What the machine needs between a completion and the next request
    #[arg(long, default_value = "0us", value_name = "TIME")]
    host: String,
    /// End the guest when it is this old, in its own time
    #[arg(long, default_value = "744h", value_name = "TIME")]
    limit: String,
    /// End the guest when it has computed so long and its clock stood still
    #[arg(long, default_value = "120s", value_name = "TIME")]
    watchdog: String,
    /// The drives have never been written
    #[arg(long)]
    fresh: bool,
    /// Directory for the log of the drives [default: runs/linux-TIME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Do not say how long it took
    #[arg(long, short)]
    quiet: bool,
    /// The command and its words
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

/// Runs the verb.
pub fn main(options: Options) -> Outcome {
    let settings = settings(&options)?;
    let limits = Limits {
        time: time("--limit", &options.limit)?,
        silence: Duration::from_nanos(time("--watchdog", &options.watchdog)?.0),
        stop: assay_engine::drive::is_interrupted,
    };
    watch_for_interrupt();
    let setup = open_drives(&options.drive, settings)?;
    let started = utc_now();
    let name = format!("runs/linux-{}", started.replace([':', '-'], ""));
    let directory = options.out.clone().unwrap_or_else(|| PathBuf::from(name));
    let log = directory.join("log");
    let failed = |e: std::io::Error| {
        let text = format!("{} cannot be made: {e}", log.display());
        Failure::from(assay_engine::Error::environment(
            "out-not-writable",
            text,
            "choose another `--out`",
        ))
    };
    std::fs::create_dir_all(&log).map_err(failed)?;
    let log = LogWriter::create(&log.join("drives.parquet"))?;
    let job = Job {
        ground: Ground {
            rotational: assay_engine::guest::rotational(&setup),
            scheduler: setup
                .spec
                .settings
                .historical()
                .is_none()
                .then(|| options.scheduler.clone()),
            ..Ground::default()
        },
        task: Task::Command(options.command.clone()),
    };
    let start = Start { filled: !options.fresh, cached: true, watches_itself: false, limits };
    let guest = run_guest(&setup, &job, start, Some(log))?;
    let code = status(&guest.outcome.result)?;
    let directory_of = guest.outcome.directory.path();
    copy(&directory_of.join("stdout"), &mut std::io::stdout().lock());
    copy(&directory_of.join("stderr"), &mut std::io::stderr().lock());
    let (age, wall) = (guest.outcome.virtual_time, guest.outcome.wall);
    let record = serde_json::json!({
        "schema": 1,
        "command": options.command,
        "drives": options.drive,
        "kernel": setup.kernel.identity,
        "started": started,
        "status": code,
        "virtual_ns": age.0,
        "wall_ns": wall.as_nanos() as u64,
        "counters": guest.drives,
    });
    write_json(&directory.join("command.json"), &record)?;
    if !options.quiet {
        let wall = wall.as_secs_f64();
        let directory = directory.display();
        talk(&format!("{age} in the guest, {wall:.2} s here; drives: {directory}"));
    }
    Ok(code)
}

fn settings(options: &Options) -> Result<Settings, Failure> {
    let schedulers: Vec<&str> = SCHEDULERS.into_iter().chain(ElevatorKind::NAMES).collect();
    let found = schedulers.iter().find(|name| **name == options.scheduler);
    let scheduler = *found.ok_or_else(|| {
        let hint = format!("one of {}", schedulers.join(", "));
        Failure::usage(format!("there is no scheduler `{}`", options.scheduler), hint)
    })?;
    let memory = parse_size(&options.memory)?;
    if !(Bytes::MIB * 64..=Bytes::GIB * 64).contains(&memory) {
        let text = format!("a guest of {memory}");
        return Err(Failure::usage(text, "it takes 64MiB to 64GiB, e.g. `--memory 2GiB`"));
    }
    let gap = time("--host", &options.host)?;
    Ok(Settings { scheduler, memory, gap, ..Settings::default() })
}

fn time(option: &str, text: &str) -> Result<Nanos, Failure> {
    text.parse().map_err(|_| {
        let hint = format!("write a time such as `10us`, `30s` or `2h`, e.g. `{option} 30s`");
        Failure::usage(format!("`{text}` is no time"), hint)
    })
}

/// The exit status that the guest's command ended with.
fn status(result: &str) -> Outcome {
    let left: Left = serde_json::from_str(result).map_err(|e| Failure::usage(e.to_string(), ""))?;
    match left {
        Left::Done(code) => Ok(code.parse().unwrap_or(DONE)),
        Left::Failed(message, hint) => {
            let text = format!("in the guest: {message}");
            Err(assay_engine::Error::environment("linux-guest", text, hint).into())
        }
    }
}

/// Hands on what the command said; whoever has gone away misses it.
fn copy(path: &Path, to: &mut impl Write) {
    let bytes = std::fs::read(path).unwrap_or_default();
    let _ = to.write_all(&bytes).and_then(|()| to.flush());
}
