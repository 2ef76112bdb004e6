//! The reason why a file of DiskSim's cannot be imported.

use std::fmt;

/// The reason why a file could not be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// The file with the error: `model`, `specs` or `seek`.
    pub file: &'static str,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DiskSim's {} file, line {}: {}", self.file, self.line, self.message)
    }
}

impl std::error::Error for ImportError {}
