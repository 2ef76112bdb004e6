//! `--plan`: shows what a command would need and write, and does nothing.

use super::{DONE, Outcome, data, json, one_line, shown};
use crate::cli::options::Common;
use assay_engine::run::{Needs, Run};
use assay_spec::units::human_size;
use assay_spec::{Bytes, Nanos};
use std::path::{Path, PathBuf};

/// The needs of a command.
#[derive(Debug, Default)]
pub struct Plan {
    /// The number of cells that the command would measure.
    cells: usize,
    /// The time that is known beforehand.
    time: Nanos,
    /// Whether the command takes longer than `time`, because of models, or of phases that do not
    /// end by time.
    takes_longer: bool,
    /// The most memory in use.
    memory: Bytes,
    /// The memory that is available, where known.
    available: Option<Bytes>,
    /// The paths that would be written to, with the number of bytes where known.
    writes: Vec<(PathBuf, Option<Bytes>)>,
}

/// The memory that every command takes for itself.
const PROGRAM: Bytes = Bytes(16 << 20);
/// The size of a record in memory, as a multiple of its text.
const TEXT: u64 = 12;

impl Plan {
    /// Returns the plan of a command that reads `files` and writes nothing.
    pub fn reading<P: AsRef<Path>>(files: &[P]) -> Plan {
        let length = |path: &P| std::fs::metadata(path).map_or(0, |m| m.len());
        let read: u64 = files.iter().map(length).sum();
        Plan { memory: Bytes(PROGRAM.0 + read * TEXT), ..Plan::default() }
    }

    /// Returns the plan of a command that reads a run directory, mainly its cells.
    pub fn reading_run(directory: &Path) -> Plan {
        Plan::reading(&[directory.join("run.json"), directory.join("cells.json")])
    }

    /// Adds a write to `path`, of `bytes` if that is known.
    #[must_use]
    pub fn writing(mut self, path: impl Into<PathBuf>, bytes: Option<Bytes>) -> Plan {
        self.writes.push((path.into(), bytes));
        self
    }

    /// Raises the memory to at least `memory`, and notes that the command takes longer than the
    /// time that is known beforehand.
    #[must_use]
    pub fn taking(self, memory: Bytes) -> Plan {
        Plan { takes_longer: true, memory: Bytes(self.memory.0.max(memory.0)), ..self }
    }

    /// Returns the plan of a run in `directory`.
    pub fn of_run(run: &Run, directory: &Path) -> Plan {
        let Needs { cells, memory, available, wall, writes, is_open_ended } = run.needs();
        let models = run.targets.iter().any(|t| t.record.virtual_time);
        let known = |bytes: Bytes| Some(bytes).filter(|_| !is_open_ended || bytes > Bytes::ZERO);
        let writes = writes.into_iter().map(|(name, bytes)| (PathBuf::from(name), known(bytes)));
        Plan {
            cells,
            time: wall,
            takes_longer: is_open_ended || models,
            memory,
            available: Some(available),
            writes: writes.collect(),
        }
        .writing(directory, None)
    }

    /// Prints the plan.
    pub fn show(&self, common: &Common) -> Outcome {
        if common.json {
            let writes = self
                .writes
                .iter()
                .map(|(path, bytes)| serde_json::json!({ "path": shown(path), "bytes": bytes }));
            json(&serde_json::json!({ "plan": {
                "cells": self.cells,
                "seconds": self.time.as_secs_f64(),
                "takes_longer": self.takes_longer,
                "memory": self.memory,
                "available": self.available,
                "writes": writes.collect::<Vec<_>>(),
            }}));
            return Ok(DONE);
        }
        let mut lines = Vec::new();
        if self.cells > 0 {
            lines.push(format!("cells   {}", self.cells));
        }
        lines.push(match (self.time, self.takes_longer) {
            (Nanos::ZERO, false) => "time    moments".to_owned(),
            (Nanos::ZERO, true) => "time    not known beforehand".to_owned(),
            (time, false) => format!("time    {time}"),
            (time, true) => {
                format!("time    {time}, and some work whose time is not known beforehand")
            }
        });
        let of = self.available.map_or(String::new(), |there| format!(" of {}", human_size(there)));
        lines.push(format!("memory  up to {}{of}", human_size(self.memory)));
        for (path, bytes) in &self.writes {
            let path = path.display().to_string();
            let path = one_line(&path);
            lines.push(match bytes {
                Some(bytes) => format!("writes  {path}: up to {}", human_size(*bytes)),
                None => format!("writes  {path}"),
            });
        }
        if self.writes.is_empty() {
            lines.push("writes  nothing".to_owned());
        }
        data(&lines.join("\n"));
        Ok(DONE)
    }
}
