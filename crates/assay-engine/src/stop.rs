//! Ends every running phase early: for the user, or because another program wants a target.

use crate::error::{Error, ErrorKind};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The longest wait for requests in flight when a phase is asked to end.
pub const PATIENCE: Duration = Duration::from_secs(2);

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
