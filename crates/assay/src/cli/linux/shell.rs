//! `assay linux run --shell`: lends the user's terminal to the guest.

use crate::cli::signals::before_death;
use crate::output::Failure;
use assay_linux::console::Console;
use assay_linux::guest::Terminal;
use rustix::fd::AsFd;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::fs::File;
use std::sync::OnceLock;

/// The numbers of rows and columns if the size of the terminal is not known, or there is none.
const DEFAULT_SIZE: (u16, u16) = (24, 80);

/// The settings of the terminal when it was lent, for the handler of signals.
static BEFORE: OnceLock<Termios> = OnceLock::new();

/// The stdin and stdout of this program, lent to the guest's shell.
pub(super) struct LentTerminal {
    /// The terminal's settings before it was lent; `None` if stdin is no terminal.
    before: Option<Termios>,
}

impl LentTerminal {
    /// Puts the terminal into raw mode, so that the guest gets the keys as they are pressed. The
    /// terminal gets its old settings back when the value is dropped, or a signal ends the program.
    ///
    /// # Errors
    /// If the terminal cannot be put into raw mode.
    pub(super) fn take() -> Result<LentTerminal, Failure> {
        let stdin = std::io::stdin();
        let Ok(before) = tcgetattr(stdin.as_fd()) else { return Ok(LentTerminal { before: None }) };
        BEFORE.get_or_init(|| before.clone());
        before_death(|| {
            BEFORE.get().inspect(|before| give_back(before, OptionalActions::Now));
        });
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin.as_fd(), OptionalActions::Flush, &raw).map_err(|e| refused(e.into()))?;
        Ok(LentTerminal { before: Some(before) })
    }

    /// Returns a console of duplicates of stdin and stdout.
    ///
    /// # Errors
    /// If the system has no more descriptors.
    pub(super) fn console(&self) -> Result<Console, Failure> {
        let input = std::io::stdin().as_fd().try_clone_to_owned().map_err(refused)?;
        let output = std::io::stdout().as_fd().try_clone_to_owned().map_err(refused)?;
        Ok(Console::new(File::from(input), File::from(output)))
    }

    /// Returns the type and the size of the terminal. The type is `dumb` if stdin is no terminal.
    pub(super) fn terminal(&self) -> Terminal {
        let size = tcgetwinsize(std::io::stdin().as_fd()).map(|size| (size.ws_row, size.ws_col));
        let size = size.ok().filter(|size| size.0 > 0 && size.1 > 0).unwrap_or(DEFAULT_SIZE);
        let kind = std::env::var("TERM").ok().filter(|_| self.before.is_some());
        Terminal { kind: kind.unwrap_or_else(|| "dumb".to_owned()), size }
    }
}

impl Drop for LentTerminal {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            give_back(before, OptionalActions::Flush);
        }
    }
}

/// Gives the terminal its old settings back. Async-signal-safe: it makes a system call.
fn give_back(before: &Termios, when: OptionalActions) {
    // An error here could not be returned, and there is no one left to report it to.
    let _ = tcsetattr(rustix::stdio::stdin(), when, before);
}

fn refused(e: std::io::Error) -> Failure {
    let hint = "give the commands in a file if there is no terminal: `--shell < FILE`";
    let error = assay_engine::Error::environment(
        "linux-system",
        "the terminal cannot be given to the guest",
        hint,
    );
    error.caused_by(e).into()
}
