//! What can go wrong while running, as the user sees it.
//!
//! Every error says what happened and what to do next; `kind` is what code matches on and decides
//! the exit code, `id` is what `assay explain` takes.

use std::fmt;

/// What code matches on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request makes no sense: exit code 2.
    Usage,
    /// The machine does not allow it, or refuses for safety: exit code 3.
    Environment,
    /// Interrupted by the user: exit code 130.
    Interrupted,
}

/// An error of the engine.
#[derive(Debug)]
pub struct Error {
    /// What code matches on.
    pub kind: ErrorKind,
    /// A stable name, e.g. `device-mounted`, for `assay explain`.
    pub id: &'static str,
    /// What happened, to what.
    pub message: String,
    /// What to do next.
    pub hint: String,
    /// The cause, where the system gave one.
    pub source: Option<std::io::Error>,
}

impl Error {
    /// An error of the environment.
    pub fn environment(
        id: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Error {
        Error {
            kind: ErrorKind::Environment,
            id,
            message: message.into(),
            hint: hint.into(),
            source: None,
        }
    }

    /// An error of usage.
    pub fn usage(id: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Error {
        Error { kind: ErrorKind::Usage, ..Error::environment(id, message, hint) }
    }

    /// The same error with the system's own cause.
    pub fn caused_by(mut self, source: std::io::Error) -> Error {
        if let Some(hint) = limit_hint(&source) {
            hint.clone_into(&mut self.hint);
        }
        self.source = Some(source);
        self
    }
}

/// Returns the hint for an error that a limit of the process caused, whatever was being done.
fn limit_hint(e: &std::io::Error) -> Option<&'static str> {
    match rustix::io::Errno::from_io_error(e)? {
        rustix::io::Errno::MFILE => Some("raise the limit of open files: `ulimit -n 1024`"),
        rustix::io::Errno::NFILE => {
            Some("the system has too many files open: see `sysctl fs.file-nr`")
        }
        rustix::io::Errno::FBIG => {
            Some("`ulimit -f` shows the limit of a file's size; the file system has one, too")
        }
        _ => None,
    }
}

impl From<assay_linux::Error> for Error {
    fn from(e: assay_linux::Error) -> Error {
        let kind = match e.id {
            "linux-stopped" => ErrorKind::Interrupted,
            _ => ErrorKind::Environment,
        };
        let hint = e.source.as_ref().and_then(limit_hint).map_or(e.hint, str::to_owned);
        Error { kind, id: e.id, message: e.message, hint, source: e.source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        match &self.source {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|e| e as _)
    }
}

/// The engine's result.
pub type Result<T> = std::result::Result<T, Error>;
