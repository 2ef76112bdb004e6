//! Run directories on disk: reading them, and finding the latest.

use crate::output::{ENVIRONMENT, Failure};
use assay_analysis::load::{LoadError, Run};
use assay_engine::read::{self, Unread};
use assay_engine::run::RunDirectory;
use std::path::{Path, PathBuf};

/// Opens the directory of a run as `open` does; without a record to read it is none.
pub fn open(
    path: &Path,
    open: fn(&Path) -> assay_engine::Result<RunDirectory>,
) -> Result<RunDirectory, Failure> {
    read::file(&path.join("run.json")).map_err(|e| unreadable(path, "run.json", &e))?;
    Ok(open(path)?)
}

/// Reads a run directory.
pub fn read(directory: &Path) -> Result<Run, Failure> {
    read_at(directory, directory)
}

/// Reads the run directory that `place` leads to and its user calls `directory`.
pub fn read_at(place: &Path, directory: &Path) -> Result<Run, Failure> {
    let text = |name: &str, most: u64| {
        read::text(&place.join(name), most).map_err(|e| unreadable(directory, name, &e))
    };
    let run = text("run.json", read::RUN_MAX)?;
    // Killed before its first cell: nothing measured is a valid state.
    let none = r#"{"schema":1,"cells":[]}"#.to_owned();
    let cells =
        if place.join("cells.json").exists() { text("cells.json", read::CELLS_MAX)? } else { none };
    Run::from_json(&run, &cells).map_err(|e| match e {
        LoadError::Json { file, message, .. } => damaged(directory, file, &message),
        LoadError::Prices(what) => {
            let text = format!("{} has no prices: {what}", directory.join("run.json").display());
            Failure::usage(text, "take the key `prices` out of it, and give them with `--prices`")
        }
        LoadError::Inconsistent { file: "run.json", what } => {
            let text =
                format!("{} contradicts itself: {what}", directory.join("run.json").display());
            Failure::usage(text, "bring back what `assay run` wrote, or run it again elsewhere")
        }
        LoadError::Inconsistent { file, what } => damaged(directory, file, &what),
        other => {
            let hint = "the file says in `assay` which version wrote it; `assay --version` is this";
            Failure::usage(format!("{}: {other}", directory.display()), hint)
        }
    })
}

/// A file that is not there is a wrong name; one that must not be read is the machine's doing.
fn unreadable(directory: &Path, name: &str, e: &Unread) -> Failure {
    if e.is_no_text() {
        return damaged(directory, name, &e.to_string());
    }
    let hint = match e.is_forbidden() {
        true => "ask its owner for permission to read it",
        false => "a run directory holds `run.json` and `cells.json`; `assay run quick` makes one",
    };
    let hint = e.hint(hint);
    let path = directory.join(name);
    let mut failure = Failure::usage(format!("{} cannot be read: {e}", path.display()), hint);
    if e.is_forbidden() {
        failure.code = ENVIRONMENT;
    }
    failure
}

/// Without its cells a run can be resumed from the start; without `run.json` nobody knows what it
/// was.
fn damaged(directory: &Path, name: &str, what: &str) -> Failure {
    let (path, directory) = (directory.join(name), directory.display());
    let hint = match name {
        "cells.json" => {
            format!("move it away: `assay resume {directory}` then measures all cells again")
        }
        _ => format!(
            "what was asked is lost with it: run it again into another directory; \
                      {directory}/cells.csv may still hold the numbers"
        ),
    };
    Failure::usage(format!("{} is damaged: {what}", path.display()), hint)
}

/// The run directory below `runs` that began last.
pub fn latest() -> Option<PathBuf> {
    let directories = std::fs::read_dir("runs").ok()?.filter_map(Result::ok);
    let begun = |path: PathBuf| {
        let modified = path.join("run.json").metadata().ok()?.modified().ok()?;
        Some((modified, path))
    };
    directories.filter_map(|entry| begun(entry.path())).max().map(|(_, path)| path)
}

/// `directory`, or the latest run.
pub fn or_latest(directory: Option<PathBuf>) -> Result<PathBuf, Failure> {
    directory.or_else(latest).ok_or_else(|| {
        Failure::usage("there is no run below `runs`", "`assay run quick` makes one; or name a DIR")
    })
}
