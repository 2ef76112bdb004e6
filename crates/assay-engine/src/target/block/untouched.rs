//! Notices that somebody else has written to a device while assay did not.
//!
//! assay examines the contents before a run begins, but the first write of the run may come hours
//! later, after cells that only read. A program that opens the device, writes and closes it at once
//! appears in no table of open files, but the kernel counts its writes.

use super::opened::Opened;
use crate::error::{Error, Result};
use crate::safety::loops::{AFTER_WRITES, BEFORE_WRITES, check_answers};
use crate::safety::sysfs::Device;
use crate::safety::watch::Watch;
use crate::safety::writes::{Ways, WriteCount};
use crate::stop;
use assay_spec::Bytes;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

impl Opened {
    /// Checks that nobody else uses the target, and that nobody has written to it since assay last
    /// looked.
    pub(crate) fn check_before_writes(&self) -> Result<()> {
        check_answers(BEFORE_WRITES)?;
        let changed = self.watch.as_ref().and_then(Watch::change);
        match changed {
            // After an interrupt, questions that had no answer prove nothing.
            _ if stop::is_interrupted() => Err(stop::interrupted()),
            Some(what) => Err(taken(what)),
            None => self.check_untouched(),
        }
    }

    /// Notes the kernel's counts of writes to `device`, to compare later counts with.
    ///
    /// # Errors
    /// If a file behind a loop device does not answer and the user interrupts.
    pub(super) fn with_writes_counted(self, device: &Device) -> Result<Opened> {
        let device = device.clone();
        let ways = Arc::new(stop::unless_interrupted(move || Ways::to(&device))?);
        let count = count(&ways)?;
        Ok(Opened { written: Mutex::new(Some((ways, count))), ..self })
    }

    /// Returns the paths of the devices and the file below the device.
    pub(super) fn below(&self) -> Vec<PathBuf> {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.as_ref().map(|(ways, _)| ways.below()).unwrap_or_default()
    }

    /// Checks that nobody has written to the device since assay last looked.
    pub(crate) fn check_untouched(&self) -> Result<()> {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((ways, before)) = &*written else { return Ok(()) };
        if count(ways)?.is_as(before) {
            return Ok(());
        }
        let message = format!(
            "another program changed {}, its partitions, the file or disk that it lies on, or the \
             counting of its writes, after assay had checked it and before assay wrote",
            self.identity.path.display()
        );
        Err(taken(message))
    }

    /// Checks that nobody but assay, which wrote or discarded `own` bytes, has written to the
    /// device since assay last looked. `None` stands for an unknown number, as after errors.
    pub(crate) fn check_own_writes(&self, own: Option<Bytes>) -> Result<()> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((ways, before)) = &mut *written else { return Ok(()) };
        let now = count(ways)?;
        let is_own = ways.are_own(before, &now, own);
        *before = now;
        if is_own {
            return Ok(());
        }
        let message = format!(
            "another program wrote to {}, its partitions or its disk while assay wrote to it, or \
             switched off the counting of writes",
            self.identity.path.display()
        );
        Err(taken(message))
    }
}

/// Counts the writes by all ways, one of which may be a file whose file system does not answer.
fn count(ways: &Arc<Ways>) -> Result<WriteCount> {
    check_answers(AFTER_WRITES)?;
    let ways = Arc::clone(ways);
    stop::unless_interrupted(move || ways.count())
}

fn taken(message: String) -> Error {
    let hint = "end that use, then start again; data that assay has not overwritten is still there";
    Error::environment("target-taken", message, hint)
}
