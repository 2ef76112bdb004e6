//! A trace as a directory: `trace.json` and the log of its requests.

use super::{follow, open};
use crate::error::Result;
use crate::measure::log::LogWriter;
use crate::run::{create_directory, write_json};
use assay_spec::trace::{Device, TraceRecord, TraceRow};
use std::path::Path;

/// What is to be imported.
pub struct Import<'a> {
    /// Files, names of traces, or `-`.
    pub names: &'a [String],
    /// Of which device, if the trace has several.
    pub device: Option<Device>,
    /// The exact command.
    pub command: Vec<String>,
}

/// Reads a trace into `directory`, which must not be there or be empty. `trace.json` appears
/// last: a directory that has it is whole.
///
/// # Errors
/// If the trace cannot be read or the directory cannot be written; then nothing is left of it.
pub fn import(what: &Import<'_>, directory: &Path) -> Result<TraceRecord> {
    // A name that is wrong leaves no directory.
    let inputs = open(what.names)?;
    let created = create_directory(directory, &["log"])?;
    let path = directory.join("log").join("trace.parquet");
    let written = || -> Result<TraceRecord> {
        let mut log: LogWriter<TraceRow> = LogWriter::create(&path)?;
        let record = follow(inputs, what.device, &mut |row| log.push(row))?;
        let record = TraceRecord { command: what.command.clone(), ..record };
        log.finish()?;
        write_json(&directory.join("trace.json"), &record)?;
        Ok(record)
    };
    written().inspect_err(|_| {
        // Only what this call made is there: the directory was empty and is locked.
        let _ = std::fs::remove_file(&path);
        created.abandon();
    })
}
