//! The errors of a run, as the user sees them.
//!
//! Every error says what happened and what to do next. Its `kind` decides the exit code; its `id`
//! is the argument of `assay explain`.

use std::fmt;

/// The kind of an error, which decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The user asked for something impossible: exit code 2.
    Usage,
    /// The machine does not allow it, or assay refuses for safety: exit code 3.
    Environment,
    /// The user interrupted the run: exit code 130.
    Interrupted,
}

/// An error of the engine.
#[derive(Debug)]
pub struct Error {
    /// The kind, which decides the exit code.
    pub kind: ErrorKind,
    /// A stable name, e.g. `device-mounted`, for `assay explain`.
    pub id: &'static str,
    /// A sentence that says what happened, with the value and the place.
    pub message: String,
    /// Advice on what to do next.
    pub hint: String,
    /// The error of the system, if one is the cause.
    pub source: Option<std::io::Error>,
}

impl Error {
    /// Creates an error of the environment.
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

    /// Creates an error of usage.
    pub fn usage(id: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Error {
        Error { kind: ErrorKind::Usage, ..Error::environment(id, message, hint) }
    }

    /// Returns the error with `source` as its cause. If that is a limit of the process, its hint
    /// replaces the error's.
    pub fn caused_by(mut self, source: std::io::Error) -> Error {
        if let Some(hint) = limit_hint(&source) {
            hint.clone_into(&mut self.hint);
        }
        self.source = Some(source);
        self
    }
}

/// Returns the hint for an error that a limit of the process or the system caused, if one did.
pub(crate) fn limit_hint(e: &std::io::Error) -> Option<&'static str> {
    match rustix::io::Errno::from_io_error(e)? {
        rustix::io::Errno::MFILE => Some("raise the limit of open files: `ulimit -n 1024`"),
        rustix::io::Errno::NFILE => Some(
            "close files or raise the system's limit: too many files are open (`sysctl \
             fs.file-nr`)",
        ),
        rustix::io::Errno::FBIG => Some(
            "check the limits of a file's size: that of `ulimit -f`, and that of the file system",
        ),
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

/// The result of the engine's functions.
pub type Result<T> = std::result::Result<T, Error>;
