//! `--plan`: what a command would take and write, and nothing done.

use super::{DONE, Outcome, data, json};
use crate::cli::Common;
use assay_engine::run::{Needs, Run};
use assay_spec::units::human_size;
use assay_spec::{Bytes, Nanos};
use std::path::{Path, PathBuf};

/// What a command would need.
#[derive(Debug, Default)]
pub struct Plan {
    /// Cells that it would measure.
    cells: usize,
    /// Time that is known beforehand.
    time: Nanos,
    /// Whether it takes longer than that: what ends by an amount, and models.
    takes_longer: bool,
    /// Memory, at most.
    memory: Bytes,
    /// Memory that there is, where that is known.
    available: Option<Bytes>,
    /// What would be written where; `None`: nobody knows how much.
    writes: Vec<(PathBuf, Option<Bytes>)>,
}

/// What every command takes for itself.
const PROGRAM: Bytes = Bytes(16 << 20);
/// A record in memory takes so many times its text.
const TEXT: u64 = 12;

impl Plan {
    /// Of a command that reads `files` and writes nothing.
    pub fn reading<P: AsRef<Path>>(files: &[P]) -> Plan {
        let length = |path: &P| std::fs::metadata(path).map_or(0, |m| m.len());
        let read: u64 = files.iter().map(length).sum();
        Plan { memory: Bytes(PROGRAM.0 + read * TEXT), ..Plan::default() }
    }

    /// Of one that reads a run directory, and mostly its cells.
    pub fn reading_run(directory: &Path) -> Plan {
        Plan::reading(&[directory.join("run.json"), directory.join("cells.json")])
    }

    /// The same, and it writes to `path`, so much if that is known.
    #[must_use]
    pub fn writing(mut self, path: impl Into<PathBuf>, bytes: Option<Bytes>) -> Plan {
        self.writes.push((path.into(), bytes));
        self
    }

    /// The same, and it takes more time than is known and `memory` at least.
    #[must_use]
    pub fn taking(self, memory: Bytes) -> Plan {
        Plan { takes_longer: true, memory: Bytes(self.memory.0.max(memory.0)), ..self }
    }

    /// Of a run in `directory`.
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

    /// Prints it.
    pub fn show(&self, common: &Common) -> Outcome {
        if common.json {
            let writes = self
                .writes
                .iter()
                .map(|(path, bytes)| serde_json::json!({ "path": path, "bytes": bytes }));
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
            (time, true) => format!("time    {time}, and what is not known beforehand"),
        });
        let of = self.available.map_or(String::new(), |there| format!(" of {}", human_size(there)));
        lines.push(format!("memory  up to {}{of}", human_size(self.memory)));
        for (path, bytes) in &self.writes {
            let path = path.display();
            lines.push(match bytes {
                Some(bytes) => format!("writes  {path}: {}", human_size(*bytes)),
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
