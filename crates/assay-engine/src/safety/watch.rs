//! Watches a target that is written to for other users, because no claim and no lease keeps a loop
//! device from being attached to it or to what it lies on. Watches a loop device that is only read
//! for other bytes behind it.
//!
//! Attached loop devices, file systems that are mounted from files, and writers that came and went
//! ([`super::closed`]) are checked four times a second, all other uses as often as 1 % of a
//! processor's time allows. A user who comes between two checks shares the target until the second.

use super::closed::ClosedWriters;
use super::{loops, mounts};
use crate::error::Error;
use crate::stop;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The interval between checks for what was attached or detached.
const TICK: Duration = Duration::from_millis(250);
/// The time between full checks, as a multiple of the processor time of a check. Processor time,
/// because on a busy machine a check takes longer, but the next one should not come later.
const SHARE: u32 = 100;
/// The longest that the end of a watch waits for a check. A check may hang, e.g. on a file server
/// that does not answer; a run, and the lease that it holds, must end nevertheless.
const PATIENCE: Duration = Duration::from_secs(5);

/// Returns why the target must not be written to any more, or `None`.
type Refusal = dyn Fn() -> Option<Error> + Send + Sync;

/// A watch, which ends when the value is dropped.
pub(crate) struct Watch {
    refusal: Arc<Refusal>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Starts a watch, which makes the full check by `refusal`. Nobody else should open anything at
/// `paths` for writing.
///
/// # Errors
/// If no thread can be started, or the kernel gives no watch.
pub(crate) fn begin(
    paths: &[PathBuf],
    refusal: impl Fn() -> Option<Error> + Send + Sync + 'static,
) -> io::Result<Watch> {
    let refusal: Arc<Refusal> = Arc::new(refusal);
    let closed = ClosedWriters::watch(paths)?;
    let over = Arc::new(AtomicBool::new(false));
    let (is_over, check) = (Arc::clone(&over), Arc::clone(&refusal));
    let thread = std::thread::Builder::new().name("watch".into());
    let thread = thread.spawn(move || watch(&*check, closed, &is_over))?;
    Ok(Watch { refusal, over, thread: Some(thread) })
}

impl Watch {
    /// Makes a full check now. Returns the change that forbids writing, if there is one.
    pub(crate) fn change(&self) -> Option<String> {
        changed((self.refusal)())
    }
}

/// Describes a change of use, from the error of a full check.
fn changed(refused: Option<Error>) -> Option<String> {
    let error = refused?;
    Some(format!("the use of a target changed while it was measured: {}", error.message))
}

fn watch(refusal: &Refusal, closed: ClosedWriters, over: &AtomicBool) {
    // With `None`, the first check is a full one, which sees users who came since the first checks.
    let mut known = None;
    let mut due = Instant::now();
    while !over.load(Ordering::Relaxed) {
        if let Some(path) = closed.next() {
            let what = format!(
                "another program had {} open for writing while it was measured",
                path.display()
            );
            return stop::stop_for_another_writer(&what);
        }
        let now = Some((loops::attached(), mounts::files()));
        if now != known || Instant::now() >= due {
            let begun = processor_time();
            if let Some(what) = changed(refusal()) {
                return stop::stop_for_another_writer(&what);
            }
            known = now;
            due = Instant::now() + (processor_time() - begun) * SHARE;
        }
        std::thread::park_timeout(TICK);
    }
}

/// Returns the processor time that this thread has used.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("thread", &self.thread).finish_non_exhaustive()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let until = Instant::now() + PATIENCE;
            // After Ctrl-C, the phase has already used a part of the time.
            let is_late = || stop::waited().is_some_and(|waited| waited > 2 * stop::PATIENCE);
            while !thread.is_finished() && Instant::now() < until && !is_late() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_whose_check_hangs_ends() {
        let hangs = || {
            std::thread::sleep(Duration::from_secs(60));
            None
        };
        let watch = begin(&[], hangs).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        let begun = Instant::now();
        drop(watch);
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}
