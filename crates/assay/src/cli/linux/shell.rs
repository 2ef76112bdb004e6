//! `assay linux run --shell`: the terminal of whoever sits here, lent to the guest.

use crate::output::Failure;
use assay_linux::console::Console;
use assay_linux::guest::Terminal;
use rustix::fd::AsFd;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::fs::File;

/// What a terminal is that nobody sees.
const UNSEEN: (u16, u16) = (24, 80);

/// What the guest's shell talks to.
pub(super) struct Lent {
    /// How the terminal was, if there is one.
    before: Option<Termios>,
}

impl Lent {
    /// Hands keys over as they are pressed, until the value is gone.
    ///
    /// # Errors
    /// If the terminal does not do that.
    pub(super) fn take() -> Result<Lent, Failure> {
        let stdin = std::io::stdin();
        let Ok(before) = tcgetattr(stdin.as_fd()) else { return Ok(Lent { before: None }) };
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin.as_fd(), OptionalActions::Flush, &raw).map_err(|e| refused(e.into()))?;
        Ok(Lent { before: Some(before) })
    }

    /// Both ends of the talk.
    ///
    /// # Errors
    /// If the system has no more descriptors.
    pub(super) fn console(&self) -> Result<Console, Failure> {
        let input = std::io::stdin().as_fd().try_clone_to_owned().map_err(refused)?;
        let output = std::io::stdout().as_fd().try_clone_to_owned().map_err(refused)?;
        Ok(Console::new(File::from(input), File::from(output)))
    }

    /// What it is.
    pub(super) fn terminal(&self) -> Terminal {
        let size = tcgetwinsize(std::io::stdin().as_fd()).map(|size| (size.ws_row, size.ws_col));
        let size = size.ok().filter(|size| size.0 > 0 && size.1 > 0).unwrap_or(UNSEEN);
        let kind = std::env::var("TERM").ok().filter(|_| self.before.is_some());
        Terminal { kind: kind.unwrap_or_else(|| "dumb".to_owned()), size }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // Nobody is left to tell if this fails.
            let _ = tcsetattr(std::io::stdin().as_fd(), OptionalActions::Flush, before);
        }
    }
}

fn refused(e: std::io::Error) -> Failure {
    let hint = "without a terminal, `--shell < FILE` takes commands from a file";
    let error =
        assay_engine::Error::environment("linux-system", "the terminal cannot be lent", hint);
    error.caused_by(e).into()
}
