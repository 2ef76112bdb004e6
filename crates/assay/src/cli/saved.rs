//! Reads run directories, finds the latest, and says how to go on with one.

use crate::output::{ENVIRONMENT, Failure, talk};
use assay_analysis::load::{LoadError, Run};
use assay_engine::read::{self, Unread};
use assay_engine::run::RunDirectory;
use assay_engine::{Error, ErrorKind};
use std::io;
use std::path::{Path, PathBuf};

/// Opens the directory of a run with `open`.
///
/// # Errors
/// If `run.json` cannot be read, since a directory without it is no run directory, or if `open`
/// fails.
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

/// Reads the run directory that `place` leads to. Messages call it `directory`, as its user does.
pub fn read_at(place: &Path, directory: &Path) -> Result<Run, Failure> {
    let text = |name: &str, most: u64| -> Result<String, Failure> {
        let text =
            read::text(&place.join(name), most).map_err(|e| unreadable(directory, name, &e))?;
        read::check_json_memory(&directory.join(name), &text)?;
        Ok(text)
    };
    let run = text("run.json", read::RUN_MAX)?;
    // A run that was killed before its first cell has no `cells.json`, which is a valid state.
    let none = r#"{"schema":1,"cells":[]}"#.to_owned();
    let found = place.join("cells.json").symlink_metadata();
    let cells = match found.is_err_and(|e| e.kind() == io::ErrorKind::NotFound) {
        true => none,
        false => text("cells.json", read::CELLS_MAX)?,
    };
    Run::from_json(&run, &cells).map_err(|e| match e {
        LoadError::Json { file, message, .. } => damaged(directory, file, &message),
        LoadError::Prices(what) => {
            let text = format!(
                "the prices in {} cannot be used: {what}",
                directory.join("run.json").display()
            );
            Failure::usage(
                text,
                "remove the key `prices` from the file, and give the prices with `--prices`",
            )
        }
        LoadError::Inconsistent { file: "run.json", what } => {
            let text =
                format!("{} contradicts itself: {what}", directory.join("run.json").display());
            Failure::usage(
                text,
                "restore the file as `assay run` wrote it, or measure again with another `--out`",
            )
        }
        LoadError::Inconsistent { file, what } => damaged(directory, file, &what),
        other => {
            let hint = "use the version of assay that the key `assay` of the file names; `assay \
                        --version` shows the version of this one";
            Failure::usage(format!("{}: {other}", directory.display()), hint)
        }
    })
}

/// Returns the failure for the file `name` of a run directory. A missing file is a usage error,
/// since the user gave a wrong name; what the system refuses is an error of the environment.
fn unreadable(directory: &Path, name: &str, e: &Unread) -> Failure {
    if e.is_no_text() {
        return damaged(directory, name, &e.to_string());
    }
    let hint = match e.is_forbidden() {
        true => "ask the file's owner for permission to read it",
        false => {
            "name a run directory: it holds `run.json` and `cells.json`, and `assay run quick` \
             makes one"
        }
    };
    let hint = e.hint(hint);
    let path = directory.join(name);
    let mut failure = Failure::usage(format!("{} cannot be read: {e}", path.display()), hint);
    if !e.is_wrong_name() {
        failure.code = ENVIRONMENT;
    }
    failure
}

/// Returns the failure for the damaged file `name` of a run directory. Without `cells.json` a run
/// can be resumed from the start; without `run.json` it is not known what the run was.
fn damaged(directory: &Path, name: &str, what: &str) -> Failure {
    let (path, directory) = (directory.join(name), directory.display());
    let hint = match name {
        "cells.json" => {
            format!("move the file away; `assay resume {directory}` then measures all cells again")
        }
        _ => format!(
            "measure again into another directory: without this file assay does not know what the \
             run was; {directory}/cells.csv may still hold the numbers"
        ),
    };
    Failure::usage(format!("{} is damaged: {what}", path.display()), hint)
}

/// Returns the directory of the run below `runs` that began last, by the modification time of its
/// `run.json`.
pub fn latest() -> Option<PathBuf> {
    let directories = std::fs::read_dir("runs").ok()?.filter_map(Result::ok);
    let begun = |path: PathBuf| {
        let modified = path.join("run.json").metadata().ok()?.modified().ok()?;
        Some((modified, path))
    };
    directories.filter_map(|entry| begun(entry.path())).max().map(|(_, path)| path)
}

/// Returns `directory` if it is given, otherwise the directory of the latest run.
///
/// # Errors
/// If there is neither.
pub fn or_latest(directory: Option<PathBuf>) -> Result<PathBuf, Failure> {
    directory.or_else(latest).ok_or_else(|| {
        Failure::usage(
            "there is no run below `runs`",
            "make a run with `assay run quick`, or name the directory of a run",
        )
    })
}

/// Returns the error of a run with the way to go on with it.
pub fn pointing_to_resume(directory: &RunDirectory, mut error: Error) -> Error {
    let mut kept = format!(
        "finished cells are kept; `assay resume {}` measures the others",
        directory.path().display()
    );
    if let Err(e) = directory.check_results() {
        kept = format!("{e}: {}", e.hint);
    }
    if error.kind == ErrorKind::Interrupted {
        error.hint = kept;
    } else {
        talk(&kept);
    }
    error
}
