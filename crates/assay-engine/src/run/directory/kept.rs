//! Checks that the results of a run are on the disk, and where their user looks for them.

use super::{RunDirectory, SUBS};
use crate::error::{Error, Result};
use crate::run::text::results_lost;
use assay_fs::Directory;
use std::io;
use std::path::Path;

impl RunDirectory {
    /// Checks that everything written into the directory is kept, and that its user finds it there.
    ///
    /// # Errors
    /// If a device below it has lost writes, or does not answer before the user interrupts. If the
    /// path leads to nothing or elsewhere.
    pub fn check_results(&self) -> Result<()> {
        self.below.flush(|cause| results_lost(&self.path, cause)).map_err(|error| {
            let path = self.path.display();
            let message = format!("{}: not all of {path} is flushed to the disk", error.message);
            let hint =
                format!("flush it with `assay report {path}`, which says if something is lost");
            if error.id == "interrupted" { Error { message, hint, ..error } } else { error }
        })?;
        self.check_path()
    }

    /// Checks that the path still leads to the directory, so that a user finds the results there.
    ///
    /// # Errors
    /// If it leads to nothing or elsewhere.
    pub fn check_path(&self) -> Result<()> {
        let leads_here = |path: &Path| is_one(&self.whole, Directory::open(path));
        if leads_here(&self.path) {
            return self.check_subdirectories();
        }
        let message = format!("the results are no longer in {}", self.path.display());
        let now = std::fs::read_link(self.place()).ok().filter(|now| leads_here(now));
        let hint = match now {
            Some(now) => {
                format!("look in {}: the directory with the results was moved there", now.display())
            }
            None => "check whether the directory was removed, its file system was unmounted, or \
                     another file system was mounted over it; mount or unmount as needed"
                .to_owned(),
        };
        Err(Error::environment("run-moved", message, hint))
    }

    /// Checks that the directories of logs and series are still in the directory.
    fn check_subdirectories(&self) -> Result<()> {
        for (name, held) in SUBS.into_iter().zip([&self.log, &self.series]) {
            let Some(held) = held else { continue };
            if is_one(held, self.whole.below(name)) {
                continue;
            }
            let place = self.path.join(name);
            let message =
                format!("the directory {} was moved, removed or replaced", place.display());
            let now = std::fs::read_link(held.path()).ok().filter(|now| now.is_dir());
            let hint = match now {
                Some(now) => format!("look in {}: the files were written there", now.display()),
                None => "measure again, and leave the run directory alone meanwhile".to_owned(),
            };
            return Err(Error::environment("run-moved", message, hint));
        }
        Ok(())
    }
}

/// Returns `true` if `found` is the directory `held`.
fn is_one(held: &Directory, found: io::Result<Directory>) -> bool {
    let found = found.and_then(|found| found.id()).ok();
    held.id().ok().zip(found).is_some_and(|(held, found)| held.is(&found))
}
