//! A lease on a file that is written to (fcntl(2), `F_SETLEASE`). The kernel grants it only if
//! nobody else has the file open, by any name: no program, no loop device, no swap. It reports when
//! somebody wants to open the file.
//!
//! Then the run stops, and a process that opens the file, truncates it or attaches a loop device to
//! it waits until that is done. Reading ends the run, too: while somebody has the file open, the
//! kernel grants no lease, and so nothing would keep a program that reads first and writes then
//! (`mkfs`, `mkswap`, an editor) from writing beside the run.
//!
//! *Invariant.* While a [`Lease`] lives, `SIGIO` is ignored, because its default action would end
//! the process. So are the signals of a terminal that would stop it (Ctrl-Z): a stopped process
//! loses its lease after 45 seconds, and its requests in flight would still be written.

use crate::stop;
use assay_fs::{DeviceNumber, InodeId};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The interval between checks of the lease.
const TICK: Duration = Duration::from_millis(50);

/// The kernel's answer to a request for a lease.
pub(crate) enum Answer {
    /// It is granted: nobody else has the file open.
    Held(Lease),
    /// It is refused: somebody else has the file open.
    Busy,
    /// It is refused because the file belongs to another user.
    Denied,
    /// The file system has no leases.
    Unknown,
    /// It failed for another reason.
    Failed(io::Error),
    /// No thread could be started to watch it.
    Unwatched(io::Error),
}

/// A lease, given back when the value is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    over: Arc<AtomicBool>,
    watch: Option<JoinHandle<()>>,
}

/// Returns `true` if another process of this program holds a lease on the file `id`, as far as the
/// kernel's table of locks shows it. To open the file would end that process's run.
pub(crate) fn is_held_by_another_run(id: InodeId) -> bool {
    let DeviceNumber { major, minor } = id.device;
    let file = format!("{major:02x}:{minor:02x}:{}", id.inode);
    let name = |process: &str| fs::read(format!("/proc/{process}/comm")).ok();
    let is_ours = |process: &str| name(process).is_some_and(|found| Some(found) == name("self"));
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    locks.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "LEASE", _, "WRITE", process, of, ..] = words[..] else { return false };
        of == file && is_ours(process)
    })
}

/// Requests a lease on `file`, which must be this process's only open file description of it.
pub(crate) fn take(file: &File) -> Answer {
    for signal in [libc::SIGIO, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU] {
        // SAFETY: ignoring a signal takes no pointer, and nothing in this program waits for these.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    let file = match file.try_clone() {
        Ok(file) => file,
        Err(e) => return Answer::Failed(e),
    };
    if let Err(e) = set(&file, libc::F_WRLCK) {
        return match e.raw_os_error() {
            Some(libc::EAGAIN) => Answer::Busy,
            Some(libc::EACCES) => Answer::Denied,
            Some(libc::EINVAL | libc::EOPNOTSUPP | libc::ENOLCK) => Answer::Unknown,
            _ => Answer::Failed(e),
        };
    }
    let over = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&over);
    let watch = std::thread::Builder::new().name("lease".into());
    match watch.spawn(move || watch_over(&file, &is_over)) {
        Ok(watch) => Answer::Held(Lease { over, watch: Some(watch) }),
        // The lease ends when the caller closes the file.
        Err(e) => Answer::Unwatched(e),
    }
}

/// Watches the lease until it is given back.
fn watch_over(file: &File, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        if get(file) != libc::F_WRLCK {
            stop::stop_for_another_writer(
                "somebody else opened a target file while it was measured",
            );
            // The other process goes on when the last request is done and the file is closed.
            return;
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
            // The thread does nothing that panics.
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
