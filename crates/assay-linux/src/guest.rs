//! The part of assay that runs in a guest: mounts file systems, makes the array and the file system
//! of the job, and does the job.
//!
//! The guest's first program (`init.c`) starts it. The guest has the tools of this machine,
//! read-only, under the same paths.

mod changes;
mod image;
mod job;
mod program;
mod root;
mod shell;
pub(crate) mod signal;
mod storage;
mod tools;

use crate::boot::{RESULT, SHARED_BY_HOST};
use crate::error::{Error, Result};
use crate::program::{DEVICE, read_job};
use rustix::mount::{MountFlags, mount};
use std::fs;
use std::path::Path;
use std::time::Duration;
use tools::{make, work_takes_time};

pub use image::{pack, unpack};
pub use job::{
    Caller, CommandEnd, FilesystemSetup, GuestOutcome, Job, MdSetup, StorageSetup, Task, Terminal,
};
pub use program::{command, killed_for_memory, left_running};
pub use signal::Signal;
pub use storage::Place;
pub use tools::{CLOCK, MOUNT, SHARED, drop_caches, run, start_work};

/// Does the job and writes its result to the shared directory. First calls `settle`, which prepares
/// the program's memory. `work` does a task of the caller's ([`Task::Own`]); it calls
/// [`start_work`] when it has read the task.
pub fn main(
    settle: fn() -> std::io::Result<()>,
    work: impl FnOnce(&str, &Place) -> Result<String>,
) {
    let settled = settle().map_err(|e| Error::system("the program's memory", e));
    let left = match settled.and_then(|()| mounts()).and_then(|()| job(work)) {
        Ok(done) => GuestOutcome::Done(done),
        Err(e) => GuestOutcome::Failed(e.to_string(), e.hint),
    };
    let text = serde_json::to_string(&left).expect("plain data");
    if fs::write(Path::new(SHARED).join(RESULT), &text).is_err() {
        // The host then reports a missing result, with the last lines of the console.
        eprintln!("{text}");
    }
}

/// Mounts the guest's own file systems and the shared directory.
fn mounts() -> Result<()> {
    let at = |kind: &str, place: &str, options: &str| -> Result<()> {
        let options = std::ffi::CString::new(options).expect("no zero in it");
        mount(kind, place, kind, MountFlags::empty(), options.as_c_str())
            .map_err(|e| Error::system(&format!("{kind} at {place}"), e.into()))
    };
    at("proc", "/proc", "")?;
    at("sysfs", "/sys", "")?;
    at("tmpfs", "/run", "")?;
    at("tmpfs", "/tmp", "")?;
    for place in [MOUNT, SHARED, "/dev/shm", "/dev/mqueue", "/run/lock"] {
        make(place)?;
    }
    at("tmpfs", "/dev/shm", "")?;
    at("mqueue", "/dev/mqueue", "")?;
    at("hostfs", SHARED, SHARED_BY_HOST)
}

fn job(work: impl FnOnce(&str, &Place) -> Result<String>) -> Result<String> {
    let text = fs::File::open(DEVICE).and_then(|memory| read_job(&memory));
    let text = text.map_err(|e| Error::system("the job", e))?;
    let job: Job = serde_json::from_str(&text).map_err(|e| Error::system("the job", e.into()))?;
    let changes = if job.has_overlay { root::overlay(job.keeps_changes)? } else { None };
    if job.has_overlay && !job.runs_programs {
        root::hide_libraries();
    }
    let place = storage::prepare(&job.storage)?;
    if job.runs_programs {
        program::prepare()?;
    }
    let done = match &job.task {
        Task::Command(words, caller) => {
            start_work()?;
            program::run(words, caller)?
        }
        Task::Shell(terminal, caller) => {
            start_work()?;
            shell::run(terminal, caller, job.storage.rotational.len())?
        }
        Task::Own(task) => work(task, &place)?,
    };
    work_takes_time(false)?;
    if job.runs_programs {
        program::end_all();
    }
    if matches!(job.task, Task::Command(..) | Task::Shell(..)) {
        storage::unmount_drives();
    }
    if let Some(changes) = &changes {
        changes::keep(changes);
    }
    match &place.filesystem {
        Some(filesystem) if filesystem.kind == "zfs" => storage::leave_pool()?,
        // The job may have unmounted it already.
        Some(_) => drop(run("umount", &[MOUNT])),
        None => {}
    }
    if job.storage.array.is_some() {
        stop_array()?;
    }
    Signal::Time.send()?;
    Ok(done)
}

/// Stops the array. Tries for a second, because an io_uring releases its files a little after its
/// program has closed it; until then the file system on the array cannot be unmounted.
fn stop_array() -> Result<()> {
    const TRIES: u32 = 100;
    for _ in 0..TRIES {
        if run("mdadm", &["--stop", "--scan"]).is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
        // This fails if the job or an earlier try has unmounted it.
        drop(run("umount", &[MOUNT]));
    }
    run("mdadm", &["--stop", "--scan"])
}
