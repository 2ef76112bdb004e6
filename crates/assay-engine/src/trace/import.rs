//! Imports a trace into a directory: `trace.json`, and the log of its requests.

use super::follow::follow;
use super::inputs::open;
use crate::error::{Error, Result};
use crate::measure::log::LogWriter;
use crate::read::SPEC_MAX;
use crate::run::RunDirectory;
use assay_spec::trace::{Device, TraceRecord, TraceRow};
use std::path::Path;

/// The name of the log of the requests.
const LOG: &str = "trace.parquet";

/// The arguments of an import.
pub struct Import<'a> {
    /// The files, names of traces, or `-`.
    pub names: &'a [String],
    /// The device whose requests are imported. It may be left out if the trace has only one.
    pub device: Option<Device>,
    /// The command line, word by word.
    pub command: Vec<String>,
}

/// Reads a trace into `directory`, which must not exist or be empty. Writes `trace.json` last, so
/// that a directory that has it is complete.
///
/// # Errors
/// If the trace cannot be read, has no complete request, or the directory cannot be written. Then
/// new files and directories are removed.
pub fn import(what: &Import<'_>, directory: &Path) -> Result<TraceRecord> {
    // The inputs are opened first, so that a wrong name leaves no directory.
    let inputs = open(what.names)?;
    let directory = RunDirectory::create(directory, &["log"])?;
    let written = || -> Result<TraceRecord> {
        let mut log: LogWriter<TraceRow> = LogWriter::create(directory.log()?, LOG)?;
        let record = follow(inputs, what.device, &mut |row| log.push(row))?;
        if record.requests.iter().all(|count| count.requests == 0) {
            let message = "the trace has no complete request";
            let hint = "import a trace that has both the start (queued or dispatched) and the \
                        completion of requests";
            return Err(Error::usage("trace-no-requests", message, hint));
        }
        let record = TraceRecord { command: what.command.clone(), ..record };
        log.finish()?;
        directory.write_json("trace.json", &record, SPEC_MAX)?;
        Ok(record)
    };
    match written() {
        Ok(record) => directory.check_results().map(|()| record),
        Err(e) => {
            // The directory was empty and is locked, so it contains only files of this call.
            let _ = directory.log().map(|log| log.remove_file(LOG));
            directory.abandon();
            Err(e)
        }
    }
}
