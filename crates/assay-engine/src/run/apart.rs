//! Keeps what a run measures out of the directory that it writes its results to.

use super::directory::RunDirectory;
use crate::error::{Error, Result};
use std::path::Path;

impl RunDirectory {
    /// Checks that `file`, which need not exist yet, would not lie in the directory, whose names
    /// belong to the results.
    ///
    /// # Errors
    /// If it would.
    pub fn check_apart(&self, file: &Path) -> Result<()> {
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new(".")).canonicalize();
        let whole = self.place().canonicalize();
        if !whole.is_ok_and(|whole| parent.is_ok_and(|parent| parent.starts_with(whole))) {
            return Ok(());
        }
        let (file, directory) = (file.display(), self.path().display());
        let message = format!("{file} would lie in the run directory {directory}");
        let hint = "name a file in another directory, or give another `--out`";
        Err(Error::usage("in-run-directory", message, hint))
    }
}
