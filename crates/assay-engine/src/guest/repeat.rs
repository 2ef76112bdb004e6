//! A repeat in a guest: this program runs the workload, by the guest's clock.

use crate::cell::files::run_on_files;
use crate::cell::repeat::Repeat;
use crate::error::{Error, Result};
use crate::files::{self, Content, WorkDir};
use crate::linux::task::RepeatTask;
use crate::run::directory::RunDirectory;
use crate::target::uring::{UringOptions, UringTarget};
use assay_fs::Directory;
use assay_linux::guest::{Place, SHARED, Signal, start_work};
use assay_spec::Bytes;
use assay_spec::decode::Source;
use assay_spec::experiment::{Experiment, FileWork, WorkloadSpec};
use assay_spec::record::RepeatRecord;
use std::fs::File;
use std::io::Seek;
use std::path::Path;

/// Runs one repeat inside the guest.
///
/// # Errors
/// If the guest has another version of this program, or the repeat fails.
pub(super) fn run(task: &RepeatTask, place: &Place) -> Result<RepeatRecord> {
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
    take_memory(task.seed)?;
    start_work()?;
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
    let watch = || {
        // A kernel without the virtual clock, which carries the signal, is refused at boot.
        Signal::Watch.send().expect("the kernel has a clock");
    };
    let record = match &workload.files {
        Some(work) => run_files(&repeat, work, place, watch),
        None => run_device(&repeat, workload, place, watch),
    };
    Signal::Unwatch.send()?;
    record
}

/// Takes some pages of the guest's memory until its end, as many as the seed says.
///
/// No two boots of a real machine leave a file system the same memory. How pages lie in memory
/// decides which requests are merged, so repeats would otherwise measure one case of many.
fn take_memory(seed: u64) -> Result<()> {
    const PAGES: u64 = 256;
    const PAGE: usize = 4096;
    let pages = (seed % PAGES) as usize;
    std::fs::write("/run/taken", vec![1; pages * PAGE]).map_err(|e| {
        let hint = "give the guest more memory";
        Error::environment("linux-guest", "the guest has no memory left", hint).caused_by(e)
    })
}

/// Runs a workload of files in the guest's file system. Calls `watch` when what counts begins.
fn run_files(
    repeat: &Repeat<'_>,
    work: &FileWork,
    place: &Place,
    mut watch: impl Fn(),
) -> Result<RepeatRecord> {
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
    run_on_files(repeat, work, &work_dir, &mut watch)
}

/// Runs a workload of requests on the guest's device, or on a file in its file system. Calls
/// `watch` when the measured phase begins.
fn run_device(
    repeat: &Repeat<'_>,
    workload: &WorkloadSpec,
    place: &Place,
    watch: impl Fn(),
) -> Result<RepeatRecord> {
    let path = match &place.directory {
        None => place.device.clone(),
        Some(directory) => lay_out(directory, workload, place)?,
    };
    let mut options = File::options();
    options.read(true).write(workload.writes());
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_DIRECT);
    let lost = |e| Error::environment("device-lost", "the device cannot be used", "").caused_by(e);
    let mut file = options.open(&path).map_err(lost)?;
    let capacity = Bytes(file.seek(std::io::SeekFrom::End(0)).map_err(lost)?);
    let options = UringOptions {
        depth: workload.deepest(),
        max_length: workload.max_size(),
        granularity: Bytes(512),
        writes: workload.writes(),
        seed: repeat.seed,
        clock: crate::clock::Clock::start(),
    };
    repeat.run(&mut UringTarget::new(file, capacity, options)?, &|| Ok(()), |_| watch())
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
