//! What people and programs see: data on stdout, talk on stderr, failures with a hint.

pub mod progress;

use assay_engine::plan::PlanError;
use assay_engine::{Error, ErrorKind};
use assay_spec::Diagnostic;
use std::fmt;
use std::io::Write;

/// Done.
pub const DONE: u8 = 0;
/// An expectation of the user was not met.
pub const UNMET: u8 = 1;
/// Usage or spec error.
pub const USAGE: u8 = 2;
/// Permission, busy or refused device, missing tool.
pub const ENVIRONMENT: u8 = 3;
/// Not steady, too noisy.
pub const INCONCLUSIVE: u8 = 4;
/// Ctrl-C.
pub const INTERRUPTED: u8 = 130;

/// Why the command ended early, ready to be shown.
#[derive(Debug)]
pub struct Failure {
    /// Exit code.
    pub code: u8,
    text: String,
    hint: String,
}

/// The result of a verb: an exit code.
pub type Outcome = Result<u8, Failure>;

impl Failure {
    /// A usage error.
    pub fn usage(text: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure { code: USAGE, text: format!("error: {}", text.into()), hint: hint.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.text)?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, "\nhint: {}", self.hint) }
    }
}

impl From<Box<Diagnostic>> for Failure {
    fn from(d: Box<Diagnostic>) -> Failure {
        Failure { code: USAGE, text: d.to_string(), hint: String::new() }
    }
}

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        let code = match e.kind {
            ErrorKind::Usage => USAGE,
            ErrorKind::Environment => ENVIRONMENT,
            ErrorKind::Interrupted => INTERRUPTED,
        };
        Failure { code, text: format!("error[{}]: {e}", e.id), hint: e.hint }
    }
}

impl From<PlanError> for Failure {
    fn from(e: PlanError) -> Failure {
        match e {
            PlanError::Spec(d) => d.into(),
            PlanError::Engine(e) => e.into(),
        }
    }
}

/// Data, to stdout. A reader that has gone away ends the command quietly.
pub fn data(text: &str) {
    let mut out = std::io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let Err(error) = write!(out, "{text}{end}").and_then(|()| out.flush()) else { return };
    // `| head` has seen enough; a full disk has not.
    if error.kind() == std::io::ErrorKind::BrokenPipe {
        std::process::exit(i32::from(DONE));
    }
    talk(&format!("error: the output could not be written: {error}\nhint: is the disk full?"));
    std::process::exit(i32::from(ENVIRONMENT));
}

/// Data as JSON, to stdout.
pub fn json<T: serde::Serialize>(value: &T) {
    data(&serde_json::to_string_pretty(value).expect("records are plain data"));
}

/// Talk, to stderr.
pub fn talk(text: &str) {
    // Nobody listening is no reason to fail.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
