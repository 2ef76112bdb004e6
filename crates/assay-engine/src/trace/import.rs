//! A trace as a directory: `trace.json` and the log of its requests.

use super::{follow, open};
use crate::error::{Error, Result};
use crate::measure::log::LogWriter;
use crate::run::RunDirectory;
use assay_spec::trace::{Device, TraceRecord, TraceRow};
use std::path::Path;

/// The log of the requests.
const LOG: &str = "trace.parquet";

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
    let directory = RunDirectory::create(directory, &["log"])?;
    let written = || -> Result<TraceRecord> {
        let mut log: LogWriter<TraceRow> = LogWriter::create(directory.log()?, LOG)?;
        let record = follow(inputs, what.device, &mut |row| log.push(row))?;
        if record.requests.iter().all(|count| count.requests == 0) {
            let message = "the trace has no request that is whole";
            let hint = "a request is whole if the trace has it queued or sent, and completed";
            return Err(Error::usage("trace-no-requests", message, hint));
        }
        let record = TraceRecord { command: what.command.clone(), ..record };
        log.finish()?;
        directory.write_json("trace.json", &record)?;
        Ok(record)
    };
    match written() {
        Ok(record) => Ok(record),
        Err(e) => {
            // Only what this call made is there: the directory was empty and is locked.
            let _ = directory.log().map(|log| log.remove_file(LOG));
            directory.abandon();
            Err(e)
        }
    }
}
