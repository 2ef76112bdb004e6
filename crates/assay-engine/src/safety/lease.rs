//! The lease on a file that is written to (fcntl(2), `F_SETLEASE`): the kernel gives it only if
//! nobody else has the file open, by whatever name, as a program, a loop device or swap; and tells
//! when somebody wants to.
//!
//! Whoever opens the file for writing then, cuts it short or mounts it through a loop device waits
//! until the run has stopped; a reader waits a moment and the run goes on.
//!
//! *Invariant.* While a [`Lease`] lives, `SIGIO` is ignored: its default would end the process.

use crate::drive;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the lease is looked at.
const TICK: Duration = Duration::from_millis(50);

/// What the kernel says to a wish for a lease.
pub(crate) enum Answer {
    /// Nobody else has the file open.
    Held(Lease),
    /// Somebody has.
    Busy,
    /// The file belongs to another user, so the kernel does not say.
    Denied,
    /// The file system has no leases.
    Unknown,
    /// There is no thread to look after it.
    Unwatched(io::Error),
}

/// A lease, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    over: Arc<AtomicBool>,
    watch: Option<JoinHandle<()>>,
}

/// Asks for the lease on `file`, which must be the only description of it that this process has.
pub(crate) fn take(file: &File) -> Answer {
    // SAFETY: ignoring a signal that nothing in this program waits for.
    unsafe { libc::signal(libc::SIGIO, libc::SIG_IGN) };
    let Ok(file) = file.try_clone() else { return Answer::Unknown };
    match set(&file, libc::F_WRLCK) {
        Ok(()) => {}
        Err(e) => {
            return match e.raw_os_error() {
                Some(libc::EAGAIN) => Answer::Busy,
                Some(libc::EACCES) => Answer::Denied,
                _ => Answer::Unknown,
            };
        }
    }
    let over = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&over);
    let watch = std::thread::Builder::new().name("lease".into());
    match watch.spawn(move || watch_over(&file, &is_over)) {
        Ok(watch) => Answer::Held(Lease { over, watch: Some(watch) }),
        // The lease goes with the file.
        Err(e) => Answer::Unwatched(e),
    }
}

/// Looks after the lease until it is given back.
fn watch_over(file: &File, over: &AtomicBool) {
    let mut held = true;
    while !over.load(Ordering::Relaxed) {
        if !held {
            // A reader had it; when that has gone, the lease is there again.
            held = set(file, libc::F_WRLCK).is_ok();
        } else {
            match get(file) {
                libc::F_WRLCK => {}
                libc::F_RDLCK => held = set(file, libc::F_UNLCK).is_err(),
                _ => {
                    drive::stop_for_another_writer(
                        "somebody else opened a target file for writing while it was measured",
                    );
                    // Whoever waits goes on when the last request is done and the file is closed.
                    return;
                }
            }
        }
        std::thread::park_timeout(TICK);
    }
    let _ = set(file, libc::F_UNLCK);
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(watch) = self.watch.take() {
            watch.thread().unpark();
            // It does nothing that panics.
            let _ = watch.join();
        }
    }
}

fn set(file: &File, kind: libc::c_int) -> io::Result<()> {
    // SAFETY: fcntl on a descriptor that `file` keeps open, with plain numbers.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn get(file: &File) -> libc::c_int {
    // SAFETY: fcntl on a descriptor that `file` keeps open, with a plain number.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLEASE) }
}
