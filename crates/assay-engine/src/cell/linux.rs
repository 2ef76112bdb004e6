//! A repeat on Linux in virtual time. The host has the drives and boots the guest; in the guest,
//! this program runs the workload.

use super::Repeat;
use crate::error::{Error, Result};
use crate::files::{self, Content, WorkDir};
use crate::guest::{Start, Task, rotational, run_guest};
use crate::measure::log::LogWriter;
use crate::measure::series::write_series;
use crate::measure::{Recorded, Recorder};
use crate::plan::LinuxSetup;
use crate::run::RunDirectory;
use crate::target::uring::{UringOptions, UringTarget};
use assay_fs::{Directory, Draft, Replace};
use assay_linux::boot::Outcome;
use assay_linux::clock::Schedule;
use assay_linux::guest::{
    self, FilesystemSetup, GuestOutcome, Job, MdSetup, Place, SHARED, Signal,
};
use assay_linux::limits::Limits;
use assay_spec::array::Level;
use assay_spec::decode::Source;
use assay_spec::experiment::{Experiment, FileWork, Operation, WorkloadSpec};
use assay_spec::linux::{self, LinuxSpec};
use assay_spec::record::RepeatRecord;
use assay_spec::{Bytes, Nanos, Op};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Seek;
use std::path::Path;
use std::time::Duration;

/// The most time that a guest may take on its own clock: a month.
pub(crate) const LIFE: Nanos = Nanos::from_secs(31 * 24 * 3600);
/// The most wall-clock time that a guest may compute without its clock moving.
pub(crate) const SILENCE: Duration = Duration::from_secs(120);

impl Repeat<'_> {
    /// Boots Linux on the drives of `setup` and runs the repeat in it.
    pub(super) fn run_linux(
        &self,
        setup: &LinuxSetup,
        experiment: &Experiment,
    ) -> Result<RepeatRecord> {
        let task = Task {
            experiment: experiment.text.clone(),
            workload: self.workload.name.clone(),
            seed: self.seed,
            log: self.log && self.directory.is_some(),
            stem: self.stem.clone(),
        };
        let task = serde_json::to_string(&task).expect("plain data");
        let job = Job::new(storage_setup(setup), guest::Task::Own(task));
        let start = Start {
            past: self.past(),
            cached: self.workload.write_cache,
            watches_itself: true,
            limits: Limits { time: LIFE, silence: SILENCE, stop: crate::load_loop::is_interrupted },
            schedule: Schedule::Shared,
            images: Vec::new(),
            write: None,
            console: None,
        };
        let guest = run_guest(setup, &job, start, self.drive_log()?)?;
        let mut record = self.gather(&guest.outcome)?;
        record.warnings.extend(cached(&guest.drives, &record));
        record.device.extend(guest.drives);
        Ok(record)
    }

    fn drive_log(&self) -> Result<Option<LogWriter>> {
        let Some(directory) = self.directory.filter(|_| self.log) else { return Ok(None) };
        let name = format!("{}.drive.parquet", self.stem);
        LogWriter::create(directory.log()?, &name).map(Some)
    }

    /// Reads the record that the guest left, and copies its log and series.
    fn gather(&self, outcome: &Outcome) -> Result<RepeatRecord> {
        let left: GuestOutcome =
            serde_json::from_str(&outcome.result).map_err(|e| no_result(&e))?;
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
        if let Some(directory) = self.directory {
            for (sub, to) in [("log", directory.log()?), ("series", directory.series()?)] {
                let name = format!("{}.parquet", self.stem);
                match outcome.directory.open(&format!("{sub}/{name}")) {
                    Ok(left) => bring(left, to, &name)?,
                    Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                    Err(e) => return Err(no_result(&e)),
                }
            }
        }
        serde_json::from_str(&record).map_err(|e| no_result(&e))
    }
}

fn no_result(e: &dyn std::error::Error) -> Error {
    let message = format!("the guest left what is no result: {e}");
    Error::environment("linux-guest", message, "was its kernel ended from outside?")
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

/// Returns a warning if more than 5 % of the bytes read came from the page cache, which takes no
/// time in a guest. `drives` are the counters of the drives.
fn cached(drives: &[(String, f64)], record: &RepeatRecord) -> Option<String> {
    const NOTEWORTHY: f64 = 0.05;
    let read = record.ops.iter().find(|o| o.op == Op::Read)?.bytes.0 as f64;
    let (_, from_drives) = drives.iter().find(|(name, _)| name == "drive_read_bytes")?;
    let cached = 1.0 - from_drives / read;
    (cached > NOTEWORTHY).then(|| {
        format!(
            "{:.0} % of what was read came from the page cache, which takes no time in the guest",
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
        array,
        filesystem: settings.filesystem.map(|kind| FilesystemSetup {
            kind: kind.to_owned(),
            mkfs: split(&settings.mkfs),
            mount: settings.mount.clone(),
        }),
    }
}

/// Runs one repeat inside the guest.
///
/// # Errors
/// If the guest has another version of this program, or the repeat fails.
pub(crate) fn in_guest(task: &Task, place: &Place) -> Result<RepeatRecord> {
    let source = Source { file: "experiment", text: &task.experiment };
    let experiment = Experiment::parse(source).map_err(|e| {
        Error::usage("linux-guest", e.to_string(), "host and guest must be the same program")
    })?;
    let found = experiment.workloads.iter().find(|w| w.name == task.workload);
    let workload = found.expect("the host names one of its own");
    let shared = Directory::open(Path::new(SHARED)).and_then(|shared| {
        ["log", "series"].iter().try_for_each(|sub| shared.make_all(Path::new(sub)).map(|_| ()))
    });
    shared.map_err(|e| Error::environment("linux-guest", "no directory", "").caused_by(e))?;
    let shared = RunDirectory::open(Path::new(SHARED))?;
    let repeat = Repeat {
        workload,
        seed: task.seed,
        log: task.log,
        limit: None,
        directory: Some(&shared),
        stem: task.stem.clone(),
        scale: experiment.scale,
        errors: experiment.errors,
    };
    let record = match &workload.files {
        Some(work) => repeat.run_files(work, place),
        None => repeat.run_device(workload, place),
    };
    Signal::Unwatch.send()?;
    record
}

impl Repeat<'_> {
    /// Runs a workload of files in the guest's file system.
    fn run_files(&self, work: &FileWork, place: &Place) -> Result<RepeatRecord> {
        let directory = place.directory.as_deref().expect("the host asked for a file system");
        let remount = || place.remount().map_err(Error::from);
        // The stores of the guest's drives need no memory for zeros.
        let content = vec![0; 1 << 20];
        let work_dir = WorkDir {
            directory,
            remount: Some(&remount),
            is_free: true,
            content: Content { bytes: &content, until: None },
            limit: None,
        };
        self.run_on_files(work, &work_dir, &mut watch)
    }

    /// Runs `work` in `work_dir` and records it. Calls `before_measure` when the measured phase
    /// begins.
    pub(super) fn run_on_files(
        &self,
        work: &FileWork,
        work_dir: &WorkDir<'_>,
        before_measure: &mut dyn FnMut(),
    ) -> Result<RepeatRecord> {
        let mut recorder = Recorder::new(self.log_writer()?).keeping(self.workload.first);
        let done = files::run(work, work_dir, self.seed, &mut recorder, before_measure)?;
        let Recorded { ops, seconds, fine, first } = recorder.finish()?;
        if let Some(directory) = self.directory {
            write_series(directory.series()?, &format!("{}.parquet", self.stem), &fine)?;
        }
        let mut told = done.told;
        if done.is_whole {
            let full = done.elapsed.0 as f64 / self.scale.as_f64();
            told.push(("full_time".to_owned(), full));
        }
        Ok(RepeatRecord {
            seed: self.seed,
            elapsed: done.elapsed,
            ops,
            series: seconds,
            first,
            steady: None,
            device: told,
            warnings: done.warnings,
        })
    }

    /// Runs a workload of requests on the guest's device, or on a file in its file system.
    fn run_device(&self, workload: &WorkloadSpec, place: &Place) -> Result<RepeatRecord> {
        let path = match &place.directory {
            None => place.device.clone(),
            Some(directory) => lay_out(directory, workload, place)?,
        };
        let mut options = File::options();
        options.read(true).write(workload.writes());
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_DIRECT);
        let lost =
            |e| Error::environment("device-lost", "the device cannot be used", "").caused_by(e);
        let mut file = options.open(&path).map_err(lost)?;
        let capacity = Bytes(file.seek(std::io::SeekFrom::End(0)).map_err(lost)?);
        let options = UringOptions {
            depth: workload.deepest(),
            max_length: workload.max_size(),
            granularity: Bytes(512),
            writes: workload.writes(),
            seed: self.seed,
            clock: crate::clock::Clock::start(),
        };
        self.run(&mut UringTarget::new(file, capacity, options)?, &|| Ok(()), |_| watch())
    }
}

/// Tells the host to count and log the requests to the drives from now on.
fn watch() {
    // A kernel without the virtual clock, which carries the signal, is refused at boot.
    Signal::Watch.send().expect("the kernel has a clock");
}

/// Makes a file for requests, and mounts the file system again. The file ends where the ranges of
/// the streams do, or takes half of the free space if a stream has no end.
fn lay_out(directory: &Path, workload: &WorkloadSpec, place: &Place) -> Result<std::path::PathBuf> {
    let free = rustix::fs::statvfs(directory).map(|s| s.f_bavail * s.f_frsize).unwrap_or(0);
    let ends: Option<Vec<Bytes>> = workload.all_streams().map(|s| s.span.end).collect();
    let wanted = ends.and_then(|ends| ends.into_iter().max());
    let length = wanted.unwrap_or(Bytes::MIB * (free / 2 / Bytes::MIB.0));
    const NAME: &str = "file";
    let root = Directory::open(directory);
    let root = root.map_err(|e| Error::environment("linux-guest", "no directory", "").caused_by(e));
    files::lay_out(&root?, NAME, length, Content { bytes: &[0; 1 << 16], until: None })?;
    place.remount()?;
    Ok(directory.join(NAME))
}

/// Returns why a workload of files has no meaningful result in a guest of so much `memory`, if so:
/// reads from the page cache take no time in a guest.
pub(super) fn meaningless(work: &FileWork, memory: Bytes) -> Option<String> {
    let FileWork::Records(records) = work else { return None };
    let cached = !records.is_direct
        && records.length <= memory
        && records.between == assay_spec::experiment::Between::Nothing
        && matches!(records.operation, Operation::Read | Operation::Reread | Operation::RandomRead);
    let text = "it reads what is in the page cache, and that takes no time in the guest";
    cached.then(|| text.to_owned())
}
