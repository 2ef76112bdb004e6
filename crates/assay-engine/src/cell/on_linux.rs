//! A repeat on Linux in virtual time: boots the guest that runs it, and gathers what it leaves.

use super::repeat::{CellContext, Repeat};
use crate::error::{Error, Result};
use crate::linux::task::{RepeatTask, Task};
use crate::linux::{LinuxSetup, Start, rotational, run_guest};
use crate::measure::log::LogWriter;
use assay_fs::{Directory, Draft, Replace};
use assay_linux::boot::{Outcome, Programs};
use assay_linux::guest::{self, FilesystemSetup, GuestOutcome, Job, MdSetup};
use assay_spec::Op;
use assay_spec::array::Level;
use assay_spec::experiment::{Checkouts, Experiment, FileWork, History, WorkloadSpec};
use assay_spec::linux::{self, LinuxSpec};
use assay_spec::record::RepeatRecord;
use std::ffi::OsStr;
use std::fs::File;

/// Boots Linux on the drives of `setup` and runs the repeat in it.
pub(super) fn run_linux(
    repeat: &Repeat<'_>,
    setup: &LinuxSetup,
    experiment: &Experiment,
    run: CellContext<'_>,
) -> Result<RepeatRecord> {
    let task = RepeatTask {
        experiment: experiment.text.clone(),
        workload: repeat.workload.name.clone(),
        seed: repeat.seed,
        log: repeat.log && repeat.directory.is_some(),
        stem: repeat.stem.clone(),
    };
    let task = serde_json::to_string(&Task::Repeat(task)).expect("plain data");
    let job = Job::new(storage_setup(setup), guest::Task::Own(task));
    let programs = match &repeat.workload.files {
        Some(FileWork::Program(work)) => {
            let image = run.images.of(work, run.seed, &setup.spec.settings)?;
            Some(Programs { image, seed: repeat.seed, user_time: work.user_time })
        }
        _ => None,
    };
    let job = if programs.is_some() { job.with_programs() } else { job };
    let job = if names_host_files(repeat.workload, setup) { job.with_host_files() } else { job };
    let start = Start::in_run(repeat.past(), repeat.workload.write_cache, programs);
    let guest = run_guest(setup, &job, start, drive_log(repeat)?)?;
    let mut record = gather(repeat, &guest.outcome)?;
    if setup.processor.is_none() {
        record.warnings.extend(cached(&guest.drives, &record));
    }
    record.device.extend(guest.drives);
    Ok(record)
}

/// Returns `true` if the work or `mkfs` reads files of the host whose paths the experiment names.
fn names_host_files(workload: &WorkloadSpec, setup: &LinuxSetup) -> bool {
    let clones = matches!(
        &workload.files,
        Some(FileWork::Checkouts(Checkouts { history: History::Repository(_), .. }))
    );
    clones || setup.spec.settings.mkfs.contains('/')
}

fn drive_log(repeat: &Repeat<'_>) -> Result<Option<LogWriter>> {
    let Some(directory) = repeat.directory.filter(|_| repeat.log) else { return Ok(None) };
    let name = format!("{}.drive.parquet", repeat.stem);
    LogWriter::create(directory.log()?, &name).map(Some)
}

/// Reads the record that the guest left, and copies its log and series.
fn gather(repeat: &Repeat<'_>, outcome: &Outcome) -> Result<RepeatRecord> {
    let left: GuestOutcome = serde_json::from_str(&outcome.result).map_err(|e| no_result(&e))?;
    let record = match left {
        GuestOutcome::Done(record) => record,
        GuestOutcome::Failed(message, hint) => {
            return Err(Error::environment(
                "linux-guest",
                format!("in the guest: {message}"),
                hint,
            ));
        }
    };
    if let Some(directory) = repeat.directory {
        for (sub, to) in [("log", directory.log()?), ("series", directory.series()?)] {
            let name = format!("{}.parquet", repeat.stem);
            match outcome.directory.open(&format!("{sub}/{name}")) {
                Ok(left) => bring(left, to, &name)?,
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                Err(e) => return Err(no_result(&e)),
            }
        }
    }
    serde_json::from_str(&record).map_err(|e| no_result(&e))
}

fn no_result(e: &dyn std::error::Error) -> Error {
    let message = format!("the guest left a result that cannot be read: {e}");
    Error::environment(
        "linux-guest",
        message,
        "check that nobody ended the guest's kernel, and run again",
    )
}

/// Copies the guest's file `left` to `name` in `to`, a directory of the run.
fn bring(mut left: File, to: &Directory, name: &str) -> Result<()> {
    let mut copy = || -> std::io::Result<()> {
        let (draft, mut file) = Draft::begin(to, OsStr::new(name))?;
        std::io::copy(&mut left, &mut file)?;
        draft.publish(&file, Replace::Nothing).map(drop)
    };
    copy().map_err(|e| {
        let message = format!("{} cannot be written", to.named(name).display());
        Error::environment("not-written", message, "free space or choose another `--out`")
            .caused_by(e)
    })
}

/// Returns a warning if more than 5 % of the bytes read came from the page cache. `drives` are the
/// counters of the drives.
fn cached(drives: &[(String, f64)], record: &RepeatRecord) -> Option<String> {
    const NOTEWORTHY: f64 = 0.05;
    let read = record.ops.iter().find(|o| o.op == Op::Read)?.bytes.0 as f64;
    let (_, from_drives) = drives.iter().find(|(name, _)| name == "drive_read_bytes")?;
    let cached = 1.0 - from_drives / read;
    (cached > NOTEWORTHY).then(|| {
        format!(
            "{:.0} % of what was read came from the page cache, which takes no time in a guest \
             without `processor=`",
            100.0 * cached
        )
    })
}

/// Returns what the guest sets up on its drives: scheduler, read-ahead, array and file system.
fn storage_setup(setup: &LinuxSetup) -> guest::StorageSetup {
    let LinuxSpec { device, settings } = &setup.spec;
    let array = match device {
        linux::BlockDevice::Drive(_) => None,
        // ZFS makes it of all drives.
        linux::BlockDevice::RaidZ(_) => None,
        linux::BlockDevice::Array(array) => Some(MdSetup {
            level: match array.level {
                Level::Jbod => "linear".to_owned(),
                level => level.name().trim_start_matches("raid").to_owned(),
            },
            chunk_kib: array.level.has_chunks().then_some(array.chunk.0 >> 10),
            missing: array.failed,
        }),
    };
    let split = |words: &str| words.split_whitespace().map(str::to_owned).collect();
    guest::StorageSetup {
        rotational: rotational(setup),
        // A historical elevator is modelled between kernel and drive, and must get the requests in
        // the order in which they come.
        scheduler: settings.historical().is_none().then(|| settings.scheduler.to_owned()),
        readahead_kib: settings.readahead.map(|size| size.0 >> 10),
        max_request_kib: settings.max_request.map(|size| size.0 >> 10),
        sysctl: settings.sysctl.clone(),
        array,
        filesystem: settings.filesystem.map(|kind| FilesystemSetup {
            kind: kind.to_owned(),
            mkfs: split(&settings.mkfs),
            mount: settings.mount.clone(),
        }),
    }
}
