//! Ends every running phase early: for the user, or because another program wants a target.

use crate::error::{Error, ErrorKind, Result};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The longest wait for requests in flight, counted from the time when a phase is asked to end.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// The least time that other work gets after the request to end, even if [`PATIENCE`] is over.
const LEAST_PATIENCE: Duration = Duration::from_millis(100);

/// The time between two looks for the request to end.
const TICK: Duration = Duration::from_millis(50);

/// The reason why every running phase is to end, or [`GO_ON`].
static STOP: AtomicU8 = AtomicU8::new(GO_ON);
const GO_ON: u8 = 0;
const INTERRUPTED: u8 = 1;
const ANOTHER_WRITER: u8 = 2;

/// Asks every running phase to end. Safe to call from a signal handler.
pub fn interrupt() {
    let _ = STOP.compare_exchange(GO_ON, INTERRUPTED, Ordering::Relaxed, Ordering::Relaxed);
}

/// A description of the other program's use, if that is the reason.
static WHAT: Mutex<String> = Mutex::new(String::new());

/// Asks every running phase to end because another program wants to write to a target. `what` is
/// the message of the error that they return.
pub(crate) fn stop_for_another_writer(what: &str) {
    what.clone_into(&mut WHAT.lock().unwrap_or_else(PoisonError::into_inner));
    // If the user interrupted the run before, the answer is the one for that.
    let _ = STOP.compare_exchange(GO_ON, ANOTHER_WRITER, Ordering::Release, Ordering::Relaxed);
}

/// Returns `true` if the running phases were asked to end.
pub fn is_interrupted() -> bool {
    STOP.load(Ordering::Relaxed) != GO_ON
}

/// Returns `true` if the user asked the running phases to end.
pub fn is_interrupted_by_user() -> bool {
    STOP.load(Ordering::Relaxed) == INTERRUPTED
}

/// Returns the error for a phase that was asked to end. Where a run can be resumed, its caller has
/// a better hint.
pub fn interrupted() -> Error {
    if STOP.load(Ordering::Relaxed) == ANOTHER_WRITER {
        let what = WHAT.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let hint = "find the other program with `fuser -v` and `losetup -a`; results up to that \
                    moment are kept";
        return Error::environment("target-taken", what, hint);
    }
    Error {
        kind: ErrorKind::Interrupted,
        ..Error::usage("interrupted", "interrupted", "run the command again")
    }
}

/// Returns the time since a phase first saw the request to end; `None` without such a request.
pub(crate) fn waited() -> Option<Duration> {
    static SEEN: OnceLock<Instant> = OnceLock::new();
    is_interrupted().then(|| SEEN.get_or_init(Instant::now).elapsed())
}

/// Runs `work`, which may wait for a device for ever, in a thread of its own, or in this one if
/// there is no other.
///
/// # Errors
/// If the running phases are to end and the work does not: it gets [`PATIENCE`] from the time when
/// the first phase saw the request, and at least [`LEAST_PATIENCE`]. Then the thread stays behind.
pub(crate) fn unless_interrupted<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let shared = Arc::new(Mutex::new(Some(work)));
    let take = |work: &Mutex<Option<_>>| work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (ended, end) = mpsc::channel();
    let taken = Arc::clone(&shared);
    let run = move || {
        let done = take(&taken).map(|work| work());
        // Nobody receives it after an interrupt.
        let _ = ended.send(());
        done
    };
    let Ok(thread) = std::thread::Builder::new().name("wait".into()).spawn(run) else {
        return Ok(take(&shared).expect("no thread has taken it")());
    };
    let mut seen = None;
    while end.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        let is_over = |waited| {
            let here = seen.get_or_insert_with(Instant::now).elapsed();
            waited > PATIENCE && here > LEAST_PATIENCE
        };
        if waited().is_some_and(is_over) {
            return Err(interrupted());
        }
    }
    let done = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    Ok(done.expect("the thread has taken it"))
}
