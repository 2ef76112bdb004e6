//! Run directories on disk: reading them, and finding the latest.

use crate::output::{ENVIRONMENT, Failure};
use assay_analysis::load::Run;
use std::path::{Path, PathBuf};

/// Reads a run directory.
pub fn read(directory: &Path) -> Result<Run, Failure> {
    let text = |name: &str| {
        let path = directory.join(name);
        std::fs::read_to_string(&path).map_err(|e| {
            let mut failure = Failure::usage(
                format!("{} cannot be read: {e}", path.display()),
                "a run directory holds `run.json` and `cells.json`; `assay run quick` makes one",
            );
            failure.code = ENVIRONMENT;
            failure
        })
    };
    let run = text("run.json")?;
    // Killed before its first cell: nothing measured is a valid state.
    let none = r#"{"schema":1,"cells":[]}"#.to_owned();
    let cells = if directory.join("cells.json").exists() { text("cells.json")? } else { none };
    Run::from_json(&run, &cells).map_err(|e| {
        Failure::usage(format!("{}: {e}", directory.display()), "is it a run directory of assay?")
    })
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
