//! `assay linux run`: runs a command or a shell in a guest, on modelled drives.
//!
//! The output and the exit status of the command become those of this program. The requests to the
//! drives stay in a run directory: `command.json` and `log/drives.parquet`.

use super::shell::LentTerminal;
use crate::cli::options::Common;
use crate::cli::run::{Place, parse_size};
use crate::cli::signals::{end_on_signals, watch_for_every_end, watch_for_interrupt};
use crate::output::plan::Plan;
use crate::output::stream::Stream;
use crate::output::{Failure, Outcome, not_written, talk};
use assay_engine::linux::{Guest, LinuxSetup, Start, run_guest};
use assay_engine::machine::utc_now;
use assay_engine::measure::log::LogWriter;
use assay_engine::plan::open_drives;
use assay_engine::read::RUN_MAX;
use assay_engine::run::{RunDirectory, check_guest_memory, guest_memory};
use assay_linux::boot::{CHANGES, CHANGES_ERROR};
use assay_linux::clock::Schedule;
use assay_linux::guest::{Caller, CommandEnd, GuestOutcome, Job, StorageSetup, Task};
use assay_linux::limits::Limits;
use assay_linux::user::User;
use assay_sim::InitialState;
use assay_spec::date::{DATE_EXPECTED, Date};
use assay_spec::experiment::ElevatorKind;
use assay_spec::linux::{SCHEDULERS, Settings};
use assay_spec::{Bytes, Nanos};
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// The values of `--clock`: the ways in which a guest and its clock exchange times.
const CLOCK_WAYS: [&str; 2] = ["shared", "messages"];

/// Options of `assay linux run`.
#[derive(Debug, clap::Args)]
pub struct LinuxRunOptions {
    /// A modelled drive, which is /dev/vda in the guest; may be given again for /dev/vdb …
    #[arg(long, required = true, value_name = "MODEL")]
    drive: Vec<String>,
    #[command(flatten)]
    machine: MachineOptions,
    /// End the guest after this time on its own clock
    #[arg(long, default_value = "744h", value_name = "TIME")]
    limit: String,
    /// End the guest if it computes for this long in real time while its clock stands still
    #[arg(long, default_value = "120s", value_name = "TIME")]
    watchdog: String,
    /// Keep the contents of the first drive in this file, which assay makes if it does not exist;
    /// may be given again for the second drive …
    #[arg(long, value_name = "FILE")]
    image: Vec<PathBuf>,
    /// Let the guest change this existing image, which assay did not make; FILE is as in --image
    #[arg(long, value_name = "FILE", requires = "image")]
    write: Option<PathBuf>,
    /// Way to keep the guest's clock: in shared memory, or by messages, which kernels before 6.12
    /// need; messages give the same times and are half as fast
    #[arg(long, default_value = CLOCK_WAYS[0], value_name = "WAY", value_parser = CLOCK_WAYS)]
    clock: String,
    /// Run an interactive shell instead of a command; time stands still while it waits for input
    #[arg(long, conflicts_with = "command")]
    shell: bool,
    /// Run the command or shell as this user of the machine [default: root]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Use drives that have never been written
    #[arg(long)]
    fresh: bool,
    /// Directory for the log of the drives [default: runs/linux-TIME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Keep the files that the command makes or changes, as `changes.tar` in the run directory
    #[arg(long)]
    keep: bool,
    /// Print the time and memory that the command would take and its writes, and do nothing
    #[arg(long)]
    plan: bool,
    /// Do not print the time that the command took
    #[arg(long, short)]
    quiet: bool,
    /// The command and its arguments
    #[arg(last = true, required_unless_present = "shell")]
    command: Vec<String>,
}

/// Options about the machine that the guest gets.
#[derive(Debug, clap::Args)]
struct MachineOptions {
    /// Memory of the guest
    #[arg(long, default_value = "1GiB", value_name = "SIZE")]
    memory: String,
    /// Elevator before each drive: none, mq-deadline, bfq, kyber; those of 2009: noop, deadline,
    /// anticipatory, cfq
    #[arg(long, default_value = "none", value_name = "NAME")]
    scheduler: String,
    /// The machine's processor: a bundled one (`assay devices`) or a file whose name ends in
    /// `.toml`; the kernel's work takes time on it [default: it takes none]
    #[arg(long, value_name = "NAME")]
    processor: Option<String>,
    /// Day on which the guest boots, at midnight UTC
    #[arg(long, default_value_t = Date::OF_GUESTS, value_name = "YYYY-MM-DD", value_parser = date)]
    date: Date,
    /// Let flash drives accept discards
    #[arg(long)]
    discard: bool,
}

/// Runs the verb.
pub fn main(options: LinuxRunOptions) -> Outcome {
    let settings = settings(&options)?;
    let limits = Limits {
        time: time("--limit", &options.limit)?,
        silence: Duration::from_nanos(time("--watchdog", &options.watchdog)?.0),
        stop: assay_engine::stop::is_interrupted,
    };
    match options.shell {
        true => watch_for_every_end(),
        false => watch_for_interrupt(),
    }
    let setup = open_drives(&options.drive, settings)?;
    let started = utc_now();
    let place = Place::new(options.out.clone(), "linux", &started);
    if options.plan {
        let directory = place.path();
        RunDirectory::check(&directory)?;
        let plan = Plan::default().taking(guest_memory(&setup)).writing(directory, None);
        let images = options.image.iter();
        let plan = images.fold(plan, |plan, image| plan.writing(image, None));
        return plan.show(&Common { json: false, quiet: options.quiet, plan: true });
    }
    check_guest_memory(&setup)?;
    let directory = place.create(|path| RunDirectory::create(path, &["log"]))?;
    if let Err(e) = options.image.iter().try_for_each(|image| directory.check_apart(image)) {
        directory.abandon();
        return Err(e.into());
    }
    let log = LogWriter::create(directory.log()?, "drives.parquet")?;
    let guest = match live(&options, &setup, limits, log) {
        Ok(guest) => guest,
        Err(e) => {
            directory.abandon();
            return Err(e);
        }
    };
    let end = end(&guest.outcome.result)?;
    let texts = ["stdout", "stderr"].map(|name| left_by(&guest, name));
    let kept = if options.keep { keep_changes(&guest, &directory) } else { Ok(()) };
    let (age, wall) = (guest.outcome.virtual_time, guest.outcome.wall);
    let record = record(&options, &setup, &guest, started, end);
    let recorded = directory.write_json("command.json", &record, RUN_MAX);
    drop(guest);
    end_on_signals();
    // The output of a shell was shown while the guest ran.
    if !options.shell {
        copy_output(texts).map_err(|e| not_written(&e))?;
    }
    recorded?;
    kept?;
    directory.check_results()?;
    if !options.quiet {
        talk(&format!(
            "the guest ran for {age} of virtual time, {:.2} s of real time; logs and counters of \
             the drives: {}",
            wall.as_secs_f64(),
            directory.path().display()
        ));
    }
    if end.killed_for_memory > 0 {
        talk(&format!(
            "the memory of the guest was full, and its kernel killed processes ({}); give the \
             guest more: `--memory SIZE` (now {})",
            end.killed_for_memory, options.machine.memory
        ));
    }
    Ok(end.status)
}

/// Describes the run, for `command.json`.
fn record(
    options: &LinuxRunOptions,
    setup: &LinuxSetup,
    guest: &Guest,
    started: String,
    end: CommandEnd,
) -> serde_json::Value {
    serde_json::json!({
        "schema": 1,
        "command": options.command,
        "drives": options.drive,
        "date": options.machine.date.to_string(),
        "processor": setup.processor.as_ref().map(|processor| &processor.name),
        "kernel": setup.kernel.as_ref().ok().map(|kernel| &kernel.identity),
        "started": started,
        "status": end.status,
        "killed_for_memory": end.killed_for_memory,
        "virtual_ns": guest.outcome.virtual_time.0,
        "wall_ns": guest.outcome.wall.as_nanos() as u64,
        "counters": guest.drives,
    })
}

/// Runs a guest with the command, or with a shell on the user's terminal, until the guest ends.
///
/// # Errors
/// If the terminal cannot be lent to the guest, or the guest cannot be booted or breaks off.
fn live(
    options: &LinuxRunOptions,
    setup: &LinuxSetup,
    limits: Limits,
    log: LogWriter,
) -> Result<Guest, Failure> {
    let lent = options.shell.then(LentTerminal::take).transpose()?;
    let is_the_kernels = setup.spec.settings.historical().is_none();
    let storage = StorageSetup {
        rotational: assay_engine::linux::rotational(setup),
        scheduler: is_the_kernels.then(|| options.machine.scheduler.clone()),
        ..StorageSetup::default()
    };
    let caller = caller(options.user.as_deref())?;
    let task = match &lent {
        Some(lent) => Task::Shell(lent.terminal(), caller),
        None => Task::Command(options.command.clone(), caller),
    };
    let job = Job { keeps_changes: options.keep, ..Job::new(storage, task) };
    let start = Start {
        past: if options.fresh { InitialState::New } else { InitialState::Filled },
        cached: true,
        programs: None,
        watches_itself: false,
        limits,
        schedule: match options.clock == CLOCK_WAYS[0] {
            true => Schedule::Shared,
            false => Schedule::Messages,
        },
        images: options.image.clone(),
        write: options.write.clone(),
        console: lent.as_ref().map(LentTerminal::console).transpose()?,
    };
    Ok(run_guest(setup, &job, start, Some(log))?)
}

/// Returns this program's directory and environment, for the guest's program, and its user. A
/// variable that is no text is left out.
fn caller(user: Option<&str>) -> Result<Caller, Failure> {
    let hint = "change to another directory, e.g. `cd /`";
    let directory = std::env::current_dir()
        .map_err(|e| Failure::usage(format!("the current directory cannot be read: {e}"), hint))?;
    let directory = directory.into_os_string().into_string().map_err(|name| {
        let name = name.display();
        Failure::usage(format!("the name of the current directory is no text: {name}"), hint)
    })?;
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    let mut environment: Vec<_> = std::env::vars_os().filter_map(text).collect();
    let user = user.map(found_user).transpose()?;
    if let Some(user) = &user {
        let own = user.environment();
        environment.retain(|(variable, _)| own.iter().all(|(name, _)| variable != name));
        environment.extend(own.map(|(name, value)| (name.into(), value.into())));
    }
    Ok(Caller { directory, environment, user: user.map(|user| (user.id, user.group)) })
}

fn found_user(name: &str) -> Result<User, Failure> {
    User::find(name).ok_or_else(|| {
        let hint = "write a name that is in /etc/passwd, e.g. `--user nobody`";
        Failure::usage(format!("this machine has no user `{name}`"), hint)
    })
}

fn settings(options: &LinuxRunOptions) -> Result<Settings, Failure> {
    let schedulers: Vec<&str> = SCHEDULERS.into_iter().chain(ElevatorKind::NAMES).collect();
    let found = schedulers.iter().find(|name| **name == options.machine.scheduler);
    let scheduler = *found.ok_or_else(|| {
        let hint = format!("write one of {}", schedulers.join(", "));
        Failure::usage(format!("there is no scheduler `{}`", options.machine.scheduler), hint)
    })?;
    let memory = parse_size("--memory", &options.machine.memory)?;
    if !(Bytes::MIB * 64..=Bytes::GIB * 64).contains(&memory) {
        let text = format!("`--memory {memory}` is out of range");
        return Err(Failure::usage(text, "write a size from 64MiB to 64GiB, e.g. `--memory 2GiB`"));
    }
    if options.image.len() > options.drive.len() {
        let text =
            format!("{} images are given for {} drives", options.image.len(), options.drive.len());
        return Err(Failure::usage(
            text,
            "give one `--drive` for each `--image`, in the same order",
        ));
    }
    let MachineOptions { processor, date, discard, .. } = &options.machine;
    let (processor, date, discard) = (processor.clone(), *date, *discard);
    Ok(Settings { scheduler, memory, processor, date, discard, ..Settings::default() })
}

/// Reads a date of the command line.
fn date(text: &str) -> Result<Date, String> {
    text.parse().map_err(|()| format!("write {DATE_EXPECTED}"))
}

fn time(option: &str, text: &str) -> Result<Nanos, Failure> {
    text.parse().map_err(|_| {
        let hint = format!("write a time such as `10us`, `30s` or `2h`, e.g. `{option} 30s`");
        Failure::usage(format!("`{option} {text}` is not a time"), hint)
    })
}

/// Returns how the guest's command ended.
///
/// # Errors
/// If the guest left no result, or could not run the command.
fn end(result: &str) -> Result<CommandEnd, Failure> {
    let left: GuestOutcome = serde_json::from_str(result).map_err(|e| {
        let text = format!("the guest left no result: {e}");
        let place = std::env::temp_dir();
        let hint = format!(
            "check that {} has free space: the output of a guest is kept there",
            place.display()
        );
        assay_engine::Error::environment("linux-guest", text, hint)
    })?;
    match left {
        GuestOutcome::Done(end) => serde_json::from_str(&end).map_err(|_| {
            let text = format!("the guest did not say how the command ended, but `{end}`");
            assay_engine::Error::environment("linux-guest", text, "run it again").into()
        }),
        GuestOutcome::Failed(message, hint) => {
            let text = format!("in the guest: {message}");
            Err(assay_engine::Error::environment("linux-guest", text, hint).into())
        }
    }
}

/// Copies the archive of the changed files to the run directory.
///
/// # Errors
/// If the guest could not make it, or it cannot be copied.
fn keep_changes(guest: &Guest, directory: &RunDirectory) -> Result<(), Failure> {
    const LONGEST: u64 = 1 << 16;
    if let Ok(reason) = left_by(guest, CHANGES_ERROR) {
        let reason = serde_json::from_reader(std::io::Read::take(reason, LONGEST));
        let (message, hint): (String, String) = reason.unwrap_or_default();
        let text = format!("the changes could not be kept: {message}");
        return Err(assay_engine::Error::environment("changes-not-kept", text, hint).into());
    }
    let mut changes = left_by(guest, CHANGES).map_err(|e| not_written(&e))?;
    Ok(directory.copy_file(CHANGES, &mut changes)?)
}

/// Opens the file `name` that the guest has left.
fn left_by(guest: &Guest, name: &str) -> std::io::Result<File> {
    let gone = |_| std::io::Error::other(format!("the guest did not leave the file `{name}`"));
    guest.outcome.directory.open(name).map_err(gone)
}

/// Copies the command's stdout and stderr to those of this program. A reader that has gone away is
/// no error.
fn copy_output([output, errors]: [std::io::Result<File>; 2]) -> std::io::Result<()> {
    copy(output, &mut Stream::to(&std::io::stdout()))?;
    copy(errors, &mut Stream::to(&std::io::stderr()))
}

fn copy(left: std::io::Result<File>, to: &mut impl Write) -> std::io::Result<()> {
    match std::io::copy(&mut left?, to) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(e),
        _ => Ok(()),
    }
}
