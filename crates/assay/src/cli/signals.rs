//! Handlers of the signals that end the program, so that its work ends in order.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The signals that ask the program to end. `SIGQUIT` is not among them: a user who wants a core
/// dump wants it unchanged, and the next run removes what is left.
const ENDS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// The time after the first signal from which another one ends the program at once, in ms.
/// `timeout` signals its program and then its process group, within microseconds.
const APART_MS: u64 = 500;

/// The message of a second signal.
const AT_ONCE: &str = "\nassay: ended before it had cleaned up\n";

/// Makes Ctrl-C, `kill` or the end of the terminal end the cell in progress, keeping finished cells
/// and removing what was made. A second Ctrl-C or `kill`, half a second later or more, ends the
/// program at once. (The end of a terminal is signalled twice, by the shell and by the terminal
/// itself, so it counts neither as the first nor as a second.)
pub(super) fn watch_for_interrupt() {
    /// The time of the first signal; 0 before it.
    static FIRST: AtomicU64 = AtomicU64::new(0);
    extern "C" fn on_interrupt(signal: libc::c_int) {
        assay_engine::stop::interrupt();
        if signal == libc::SIGHUP {
            return;
        }
        let now = milliseconds();
        let first = FIRST.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        if first.is_err_and(|first| is_apart(first, now)) {
            end_at_once(signal);
        }
    }
    watch(on_interrupt as *const () as libc::sighandler_t);
    // Without the thread, which a limit may forbid, only such waits last until their end.
    let _ = std::thread::Builder::new().name("signals".into()).spawn(take_waiting_signals);
}

/// Handles signals that wait because another thread, which the kernel has chosen for them, is in a
/// call that only death ends: an `open` that a virus scanner has not yet allowed (fanotify).
///
/// Only a signal that already waited at the look before is handled here: otherwise the other thread
/// takes it, and its sleep ends early.
fn take_waiting_signals() {
    const LOOK_AGAIN: Duration = Duration::from_millis(250);
    let waiting = || {
        // SAFETY: both sets live during the calls; zeros are a valid value of them.
        unsafe {
            let mut pending: libc::sigset_t = std::mem::zeroed();
            libc::sigpending(&mut pending);
            ENDS.map(|signal| libc::sigismember(&pending, signal) == 1)
        }
    };
    let change = |how| {
        // SAFETY: the set lives during the calls; zeros are a valid value of it.
        unsafe {
            let mut ends: libc::sigset_t = std::mem::zeroed();
            ENDS.iter().for_each(|signal| _ = libc::sigaddset(&mut ends, *signal));
            libc::pthread_sigmask(how, &ends, std::ptr::null_mut());
        }
    };
    change(libc::SIG_BLOCK);
    let mut before = waiting();
    loop {
        std::thread::sleep(LOOK_AGAIN);
        let now = waiting();
        if before.iter().zip(now).any(|(before, now)| *before && now) {
            // What waits is handled in this thread before the call returns.
            change(libc::SIG_UNBLOCK);
            change(libc::SIG_BLOCK);
        }
        before = now;
    }
}

/// Returns `true` if a signal at `now` is long enough after the `first`. Two threads may handle two
/// signals, so `now` may also be before it.
fn is_apart(first: u64, now: u64) -> bool {
    now.saturating_sub(first) >= APART_MS
}

/// Says so, and ends the program by `signal`. Async-signal-safe.
fn end_at_once(signal: libc::c_int) {
    let mut stderr = libc::pollfd { fd: libc::STDERR_FILENO, events: libc::POLLOUT, revents: 0 };
    // SAFETY: all calls are async-signal-safe; the structure and the text live during the calls.
    // The signal, which has its default again, is delivered when the handler returns.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        // A terminal that is halted, or a full pipe, would keep the program from ending.
        if libc::poll(&mut stderr, 1, 0) == 1 && stderr.revents & libc::POLLOUT != 0 {
            libc::write(libc::STDERR_FILENO, AT_ONCE.as_ptr().cast(), AT_ONCE.len());
        }
        libc::raise(signal);
    }
}

/// Returns the time since the machine started, in ms and never 0. Async-signal-safe.
fn milliseconds() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` lives during the call, which writes to it.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000 + 1
}

/// Makes every signal that [`watch`] handles end the cell in progress, as often as it comes,
/// because a terminal that was lent must get its settings back before the program ends.
pub(super) fn watch_for_every_end() {
    extern "C" fn on_end(_signal: libc::c_int) {
        assay_engine::stop::interrupt();
    }
    watch(on_end as *const () as libc::sighandler_t);
}

/// Makes the signals in [`ENDS`] end the program at once. Called when nothing is left to be
/// removed.
pub(super) fn end_on_signals() {
    watch(libc::SIG_DFL);
}

/// Installs `handler` for the signals in [`ENDS`]. An ignored `SIGHUP` stays ignored.
fn watch(handler: libc::sighandler_t) {
    for signal in ENDS {
        // SAFETY: the handlers only store to atomics and make calls that are async-signal-safe.
        let before = unsafe { libc::signal(signal, handler) };
        // `nohup` ignores `SIGHUP`, so that the program outlives its terminal.
        if signal == libc::SIGHUP && before == libc::SIG_IGN {
            // SAFETY: ignoring a signal takes no pointer.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
    }
}

/// The other signals whose default is to end the program, at once.
const DEATHS: [libc::c_int; 17] = [
    libc::SIGQUIT,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGUSR1,
    libc::SIGSEGV,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGSTKFLT,
    libc::SIGXCPU,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSYS,
];

/// Calls `handler`, which may do only what is async-signal-safe, before a signal ends the program
/// at once. An ignored signal stays ignored.
pub(super) fn before_death(handler: fn()) {
    static HANDLER: OnceLock<fn()> = OnceLock::new();
    extern "C" fn on_death(signal: libc::c_int) {
        HANDLER.get().inspect(|handler| handler());
        // SAFETY: `raise` is async-signal-safe. The signal, which has its default again, is
        // delivered when this handler returns.
        unsafe { libc::raise(signal) };
    }
    HANDLER.get_or_init(|| handler);
    for signal in DEATHS.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX()) {
        // SAFETY: both structures are plain data that lives during the calls, and zeros are a valid
        // value. All signals are blocked while the handler runs, SIGTTOU, too, which would halt a
        // program in the background that changes its terminal.
        unsafe {
            let [mut action, mut before]: [libc::sigaction; 2] = std::mem::zeroed();
            action.sa_sigaction = on_death as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_RESETHAND | libc::SA_ONSTACK;
            libc::sigfillset(&mut action.sa_mask);
            libc::sigaction(signal, &action, &mut before);
            if before.sa_sigaction == libc::SIG_IGN {
                libc::sigaction(signal, &before, std::ptr::null_mut());
            }
        }
    }
}

/// Makes a write that grows a file beyond the user's limit (`ulimit -f`) an error. By default it
/// ends the program, which leaves behind what it has begun.
pub(super) fn take_limits_as_errors() {
    extern "C" fn on_limit(_signal: libc::c_int) {}
    // A handler, because `SIG_IGN` would be inherited by programs that are started.
    // SAFETY: the handler does nothing.
    unsafe { libc::signal(libc::SIGXFSZ, on_limit as *const () as libc::sighandler_t) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_signal_comes_half_a_second_later() {
        let now = milliseconds();
        assert!(now > 0);
        assert!(!is_apart(now, now + APART_MS - 1) && is_apart(now, now + APART_MS));
        assert!(!is_apart(now + 1, now), "the clock was read before the first was noted");
    }
}
