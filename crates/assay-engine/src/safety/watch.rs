//! Looks, while a target is written to, whether somebody else has begun to use it: a loop device
//! that is attached to it or to what it lies on is kept away by no claim and no lease.
//!
//! What is attached is looked at four times a second, everything else as often as a hundredth of
//! the time allows. Whoever comes between two looks shares the target for so long.

use super::stack;
use crate::drive;
use crate::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often it is looked whether anything is attached or detached.
const TICK: Duration = Duration::from_millis(250);
/// One part in so many of the time is spent looking at everything.
const SHARE: u32 = 100;

/// A watch, which ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Begins to look; `refusal` says why the target is not written to any more, if so.
///
/// # Errors
/// If the system gives no thread.
pub(crate) fn begin(refusal: impl Fn() -> Option<Error> + Send + 'static) -> io::Result<Watch> {
    let over = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&over);
    let thread = std::thread::Builder::new().name("watch".into());
    let thread = thread.spawn(move || watch(refusal, &is_over))?;
    Ok(Watch { over, thread: Some(thread) })
}

fn watch(refusal: impl Fn() -> Option<Error>, over: &AtomicBool) {
    // Nothing yet, so that the first look is at everything: what came since the gate is seen.
    let mut attached = None;
    let mut due = Instant::now();
    while !over.load(Ordering::Relaxed) {
        let now = Some(stack::attached());
        if now != attached || Instant::now() >= due {
            let begun = Instant::now();
            if let Some(error) = refusal() {
                let what = format!("while it was measured, this came up: {}", error.message);
                return drive::stop_for_another_writer(&what);
            }
            attached = now;
            due = Instant::now() + begun.elapsed() * SHARE;
        }
        std::thread::park_timeout(TICK);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It does nothing that panics.
            let _ = thread.join();
        }
    }
}
