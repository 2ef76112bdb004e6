//! The reasons why a run directory cannot be read.

use assay_spec::record::SCHEMA;

/// The reason why a run directory cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file is not JSON, or does not follow the schema.
    #[error("{file}, line {line}: {message}")]
    Json {
        /// The file: `run.json` or `cells.json`.
        file: &'static str,
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A file has the schema of another version.
    #[error("{file} has schema {found}, but this version of assay reads only schema {SCHEMA}")]
    Schema {
        /// The file: `run.json` or `cells.json`.
        file: &'static str,
        /// The schema of the file.
        found: u64,
    },
    /// The prices cannot be used.
    #[error("run.json has prices that cannot be used: {0}")]
    Prices(String),
    /// A file contradicts itself or the other file: the files were mixed, edited or damaged.
    #[error("{file}: {what}")]
    Inconsistent {
        /// The file: `run.json` or `cells.json`.
        file: &'static str,
        /// What is inconsistent, and where.
        what: String,
    },
}

/// Returns the error for a file that contradicts itself.
pub(super) fn wrong(file: &'static str, what: String) -> LoadError {
    LoadError::Inconsistent { file, what }
}
