//! The wall clock of real targets: `CLOCK_MONOTONIC`, counted from the start of the clock.
//!
//! *Invariants.* It never goes back and does not depend on the date. One reading is a vDSO call of
//! about 20 ns, so the measuring loop reads it once for a batch, not once for a request. Copies of
//! a clock share its start, so the times of several targets can be compared.
//!
//! Modelled drives do not use it: they have virtual times of their own. In a guest, where each
//! reading is a system call of some ten microseconds, the kernel also has its time in a page.

use assay_linux::guest::CLOCK;
use assay_spec::Nanos;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A monotonic clock that began at zero when it was started.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// The time of `CLOCK_MONOTONIC` at the start.
    start: Nanos,
    /// In a guest: the kernel's page, and its content at the start.
    page: Option<(&'static AtomicU64, u64)>,
}

impl Clock {
    /// Starts a clock, which shows zero now.
    pub fn start() -> Clock {
        // Reading the clock also moves the time in the page, so the page is read after it.
        let start = monotonic();
        let page = page().map(|[time, ..]| (time, time.load(Ordering::Relaxed)));
        Clock { start, page }
    }

    /// Returns the time since the start.
    #[inline]
    pub fn now(&self) -> Nanos {
        monotonic().saturating_sub(self.start)
    }

    /// Returns the time since the start without a system call. In a guest this is the time when the
    /// guest last waited or read the clock: this call does not move it, so a loop must not wait for
    /// a time by calling it. It may be ahead of [`Clock::now`] by as much as a reading takes.
    /// Outside of a guest it is the same as [`Clock::now`].
    #[inline]
    pub fn cached_now(&self) -> Nanos {
        match self.page {
            Some((page, start)) => Nanos(page.load(Ordering::Relaxed).saturating_sub(start)),
            None => self.now(),
        }
    }

    /// Sleeps until the clock shows `until`, or until a signal arrives; returns the time then.
    ///
    /// A signal ends the sleep early so that Ctrl-C is seen at once: callers compare the result.
    pub fn sleep_until(&self, until: Nanos) -> Nanos {
        let now = self.now();
        if until <= now {
            return now;
        }
        let absolute = self.start.0.saturating_add(until.0);
        let deadline = libc::timespec {
            tv_sec: (absolute / 1_000_000_000) as libc::time_t,
            tv_nsec: (absolute % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: `deadline` outlives the call; with an absolute time no remainder is written, so
        // the last pointer may be null.
        unsafe {
            libc::clock_nanosleep(
                libc::CLOCK_MONOTONIC,
                libc::TIMER_ABSTIME,
                &deadline,
                std::ptr::null_mut(),
            );
        }
        self.now()
    }
}

/// Measures how long the processor of this guest works in a phase.
#[derive(Debug, Default)]
pub(crate) struct BusyTime(Nanos);

impl BusyTime {
    /// Notes the begin of the phase.
    pub(crate) fn start() -> BusyTime {
        BusyTime(processor_time())
    }

    /// Returns a cell's counter with the time since the begin. There is none outside of guests, nor
    /// where neither the kernel's work nor a program's takes time.
    pub(crate) fn end(self) -> Option<(String, f64)> {
        let busy = processor_time() - self.0;
        (busy > Nanos::ZERO).then(|| ("processor_busy_s".to_owned(), busy.as_secs_f64()))
    }
}

/// Returns the time that the processor of this guest has worked. It is zero outside of guests, and
/// where the kernel's work takes no time.
fn processor_time() -> Nanos {
    page().map_or(Nanos::ZERO, |[_, worked, ..]| Nanos(worked.load(Ordering::Relaxed)))
}

/// Counts what programs in this guest do in a phase that tells how long they compute.
#[derive(Debug)]
pub(crate) struct ProgramCounts([u64; 3]);

impl ProgramCounts {
    /// Notes the begin of the phase.
    pub(crate) fn start() -> ProgramCounts {
        ProgramCounts(program_counts())
    }

    /// Returns the counters of a cell since the begin.
    pub(crate) fn end(self) -> impl Iterator<Item = (String, f64)> {
        let names = ["program_calls", "program_moved_bytes", "program_faults"];
        let counts = names.into_iter().zip(program_counts()).zip(self.0);
        counts.map(|((name, now), before)| (name.to_owned(), (now - before) as f64))
    }
}

/// Returns the system calls of all programs in this guest, the bytes that these have moved, and the
/// programs' page faults. They are zero outside of guests.
fn program_counts() -> [u64; 3] {
    page()
        .map_or([0; 3], |[_, _, counts @ ..]| counts.each_ref().map(|c| c.load(Ordering::Relaxed)))
}

/// Returns the page of the kernel's clock, if this is a guest that has one. Maps it once, for the
/// life of the process.
fn page() -> Option<&'static [AtomicU64; 5]> {
    static MAPPED: OnceLock<Option<&'static [AtomicU64; 5]>> = OnceLock::new();
    *MAPPED.get_or_init(|| {
        let file = File::open(CLOCK).ok()?;
        let (size, read, shared) = (4096, libc::PROT_READ, libc::MAP_SHARED);
        // SAFETY: a mapping at a place of the kernel's choice touches no memory of ours.
        let at =
            unsafe { libc::mmap(std::ptr::null_mut(), size, read, shared, file.as_raw_fd(), 0) };
        // SAFETY: the page begins with five numbers: the time and the time that the processor has
        // worked, in nanoseconds, and three counts. Only the kernel writes them, each as a whole;
        // they are aligned, as pages are, and nobody unmaps them.
        (at != libc::MAP_FAILED).then(|| unsafe { &*at.cast::<[AtomicU64; 5]>() })
    })
}

#[inline]
fn monotonic() -> Nanos {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec for the kernel to fill. CLOCK_MONOTONIC exists on every
    // Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    Nanos(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_at_zero_and_never_goes_back() {
        let clock = Clock::start();
        let mut last = clock.now();
        assert!(last < Nanos::from_secs(60), "a fresh clock shows {last}");
        for _ in 0..10_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn sleep_reaches_its_time_and_does_not_wait_for_the_past() {
        let clock = Clock::start();
        let until = clock.now() + Nanos::from_millis(3);
        assert!(clock.sleep_until(until) >= until);
        let before = clock.now();
        assert!(clock.sleep_until(Nanos::ZERO) >= before);
    }
}
