//! Notices times in which this process did not run: it was stopped, its control group was frozen,
//! the machine was suspended, or had no processor to give. A request that was in flight then seems
//! to have taken that long.
//!
//! A thread sleeps for a moment again and again, and looks how late it wakes up. The kernel counts
//! shorter halts, which a quota of processor time makes.

use crate::available::throttles;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The time for which the thread sleeps.
const NAP: Duration = Duration::from_millis(50);
/// A thread that wakes up later than this was halted; a busy machine makes it less late.
const LATE: Duration = Duration::from_millis(500);

/// A watch for times in which this process does not run.
pub(super) struct Halts {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// The throttles of the control groups when the watch began.
    throttles: u64,
}

/// What the thread and its owner share.
#[derive(Default)]
struct Shared {
    over: AtomicBool,
    /// The total of the halts, in milliseconds.
    halted: AtomicU64,
}

impl Halts {
    /// Begins to watch. Returns `None` if the system gives no thread.
    pub(super) fn watch() -> Option<Halts> {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("halts".into());
        let thread = thread.spawn(move || watch(&of_thread)).ok()?;
        Some(Halts { shared, thread: Some(thread), throttles: throttles() })
    }

    /// Ends the watch; returns warnings if there were halts.
    pub(super) fn warnings(mut self) -> Vec<String> {
        self.end();
        let mut warnings = Vec::new();
        let halted = Duration::from_millis(self.shared.halted.load(Ordering::Relaxed));
        if !halted.is_zero() {
            warnings.push(format!(
                "assay did not run for {:.1} s (it was stopped or frozen, or the machine was \
                 suspended or overloaded): latencies and rates include that time",
                halted.as_secs_f64()
            ));
        }
        let throttles = throttles().saturating_sub(self.throttles);
        if throttles > 0 {
            warnings.push(format!(
                "the quota of processor time of assay's control group (`cpu.max`) stopped its \
                 processes {throttles} times: latencies and rates include that time"
            ));
        }
        warnings
    }

    /// Ends the thread, which has counted all halts by then.
    fn end(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread does nothing that panics.
            let _ = thread.join();
        }
    }
}

impl Drop for Halts {
    fn drop(&mut self) {
        self.end();
    }
}

fn watch(shared: &Shared) {
    while !shared.over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        std::thread::park_timeout(NAP);
        let late = begun.elapsed().saturating_sub(NAP);
        if late >= LATE {
            shared.halted.fetch_add(late.as_millis() as u64, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_runs_is_not_warned_of() {
        let halts = Halts::watch().unwrap();
        std::thread::sleep(NAP * 3);
        assert_eq!(halts.warnings(), [""; 0]);
    }
}
