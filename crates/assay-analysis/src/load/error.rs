//! The reasons why a run directory cannot be read.

use assay_spec::record::SCHEMA;

/// The reason why a run directory cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Not JSON, or not of the schema.
    #[error("{file}, line {line}: {message}")]
    Json {
        /// `run.json` or `cells.json`.
        file: &'static str,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// Written by another version.
    #[error("{file} has schema {found}, this program reads {SCHEMA}; use the assay that wrote it")]
    Schema {
        /// `run.json` or `cells.json`.
        file: &'static str,
        /// The schema found.
        found: u64,
    },
    /// Prices that are none.
    #[error("run.json has prices that cannot be used: {0}")]
    Prices(String),
    /// It contradicts itself or the other file: they were mixed, edited or damaged.
    #[error("{file}: {what}")]
    Inconsistent {
        /// `run.json` or `cells.json`.
        file: &'static str,
        /// What does not hold together, and where.
        what: String,
    },
}

/// Returns the error for a file that contradicts itself.
pub(super) fn wrong(file: &'static str, what: String) -> LoadError {
    LoadError::Inconsistent { file, what }
}
