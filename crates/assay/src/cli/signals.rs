//! Signals that end the program: what it has begun ends in order.

/// Ctrl-C, `kill` or the end of the terminal ends the cell in progress, keeps what is done and
/// removes what was made; a second Ctrl-C or `kill` ends the program. (A terminal that ends tells
/// so once through its shell and once by itself.)
pub(super) fn watch_for_interrupt() {
    extern "C" fn on_interrupt(signal: libc::c_int) {
        assay_engine::drive::interrupt();
        if signal != libc::SIGHUP {
            // SAFETY: `signal` is async-signal-safe, and restoring the default takes no pointer.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
    watch(on_interrupt);
}

/// Whatever ends the program by its own leave ends the cell in progress, as often as it comes: a
/// terminal that was lent must be given back.
pub(super) fn watch_for_every_end() {
    extern "C" fn on_end(_signal: libc::c_int) {
        assay_engine::drive::interrupt();
    }
    watch(on_end);
}

/// Has `handler` called at what ends a program that could go on. A quit is not among it: who wants
/// the program's core wants it as it is, and what is left then is removed by the next one.
fn watch(handler: extern "C" fn(libc::c_int)) {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handlers only store to an atomic and call `signal`.
        let before = unsafe { libc::signal(signal, handler as libc::sighandler_t) };
        // `nohup` has it outlive its terminal.
        if signal == libc::SIGHUP && before == libc::SIG_IGN {
            // SAFETY: to ignore a signal takes no pointer.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
    }
}

/// A file that grows beyond what this user may have (`ulimit -f`) is an error of the write, and not
/// the end of the program with what it has begun left behind.
pub(super) fn take_limits_as_errors() {
    extern "C" fn on_limit(_signal: libc::c_int) {}
    // A handler and not `SIG_IGN`, which would go on to programs that are started.
    // SAFETY: the handler does nothing.
    unsafe { libc::signal(libc::SIGXFSZ, on_limit as *const () as libc::sighandler_t) };
}
