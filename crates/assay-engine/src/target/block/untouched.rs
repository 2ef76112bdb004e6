//! Notices that somebody else has written to a device while assay did not.
//!
//! assay examines the contents before a run begins, but the first write of the run may come hours
//! later, after cells that only read. A program that opens the device, writes and closes it at once
//! appears in no table of open files, but the kernel counts its writes.

use super::opened::Opened;
use crate::error::{Error, Result};
use crate::safety::sysfs::Device;
use crate::safety::writes::Ways;
use std::sync::{Mutex, PoisonError};

impl Opened {
    /// Notes the kernel's counts of writes to `device`, to compare later counts with.
    pub(super) fn with_writes_counted(self, device: &Device) -> Opened {
        let ways = Ways::to(device);
        let count = ways.count();
        Opened { written: Mutex::new(Some((ways, count))), ..self }
    }

    /// Checks that nobody has written to the device since assay last looked.
    pub(crate) fn check_untouched(&self) -> Result<()> {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((ways, before)) = &*written else { return Ok(()) };
        if ways.count().is_as(before) {
            return Ok(());
        }
        let message = format!(
            "something else changed {}, its partitions, or the file or disk that it lies on, after \
             assay had looked at it and before assay wrote",
            self.identity.path.display()
        );
        let hint = "whatever was written is still there; end that use, and begin anew";
        Err(Error::environment("target-taken", message, hint))
    }

    /// Takes all writes to the device until now as assay's own.
    pub(crate) fn note_written(&self) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((ways, before)) = &mut *written {
            *before = ways.count();
        }
    }
}
