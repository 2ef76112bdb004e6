//! Handlers of the signals that end the program, so that its work ends in order.

use std::sync::OnceLock;

/// The signals that ask the program to end. `SIGQUIT` is not among them: a user who wants a core
/// dump wants it unchanged, and the next run removes what is left.
const ENDS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Makes Ctrl-C, `kill` or the end of the terminal end the cell in progress, keeping finished cells
/// and removing what was made; a second Ctrl-C or `kill` ends the program. (The end of a terminal
/// is signalled twice, by the shell and by the terminal itself, so it does not count as a second.)
pub(super) fn watch_for_interrupt() {
    extern "C" fn on_interrupt(signal: libc::c_int) {
        assay_engine::stop::interrupt();
        if signal != libc::SIGHUP {
            // SAFETY: `signal` is async-signal-safe, and restoring the default takes no pointer.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
    watch(on_interrupt as *const () as libc::sighandler_t);
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
        // SAFETY: the handlers only store to an atomic and call `signal`, which is
        // async-signal-safe.
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
