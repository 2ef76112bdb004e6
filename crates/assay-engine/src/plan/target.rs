//! Opened targets.

use crate::error::{Error, Result};
use crate::linux::setup::LinuxSetup;
use crate::safety::disks::DiskReads;
use crate::safety::memory;
use crate::target::block::Opened;
use assay_sim::ArraySetup;
use assay_spec::device::DeviceSpec;
use assay_spec::experiment::WorkloadSpec;
use assay_spec::record::TargetRecord;
use assay_spec::{Bytes, Diagnostic};
use std::path::PathBuf;

/// An opened target and its description.
pub struct PlannedTarget {
    /// The description in `run.json`.
    pub record: TargetRecord,
    /// The device, file, directory or model behind it.
    pub kind: TargetKind,
    /// Whether workloads that write may run.
    pub may_write: bool,
}

/// The device, file, directory or model behind a target.
pub enum TargetKind {
    /// No device: requests are answered at once.
    Null,
    /// A modelled drive.
    Model(Box<DeviceSpec>),
    /// An array of modelled drives.
    Array(Box<ArraySetup>),
    /// Linux in virtual time on modelled drives.
    Linux(Box<LinuxSetup>),
    /// A file or block device, held open for the whole run.
    Real(Box<Opened>),
    /// A directory, for workloads of files.
    Directory(PathBuf),
}

impl PlannedTarget {
    /// Returns the unit of requests: their offsets and lengths are multiples of it.
    pub fn granularity(&self) -> Bytes {
        match &self.kind {
            TargetKind::Real(opened) => opened.granularity,
            _ => Bytes(512),
        }
    }

    /// Returns a message for the user about failed requests, which says so if the file has been cut
    /// short.
    pub(crate) fn why_failed(&self, error: &Error) -> String {
        let length = match &self.kind {
            TargetKind::Real(opened) => opened.length_now(),
            _ => None,
        };
        match length.filter(|length| *length < self.record.capacity) {
            Some(length) => format!(
                "{error}; {} was cut short while it was measured: it had {}, and now has \
                 {length}",
                self.record.written, self.record.capacity
            ),
            None => error.to_string(),
        }
    }

    /// Checks that reads of a file have reached the drive: nobody has freed its blocks meanwhile.
    pub(crate) fn check_measured(&self) -> Result<()> {
        match &self.kind {
            // A lease keeps others from a file that is written to, and the workload may trim it.
            TargetKind::Real(opened) if !self.may_write => opened.check_blocks(),
            _ => Ok(()),
        }
    }

    /// Returns a warning for readers of results of `workload` on this target, if one is due.
    pub(crate) fn caution(&self, workload: &WorkloadSpec) -> Option<String> {
        let reads = workload.streams.iter().any(|stream| stream.read_share > 0.0);
        memory::caution(&self.place()?, reads)
    }

    /// Returns a warning if requests to this target go through the page cache of a loop device.
    pub(crate) fn page_cache(&self) -> Option<String> {
        memory::page_cache(&self.place()?)
    }

    /// Returns the path of the file, device or directory, if the target is one.
    fn place(&self) -> Option<PathBuf> {
        match &self.kind {
            TargetKind::Real(opened) => Some(opened.link()),
            TargetKind::Directory(path) => Some(path.clone()),
            _ => None,
        }
    }

    /// Returns what the disks below a file or device have read, if that is known.
    pub(crate) fn disk_reads(&self) -> Option<DiskReads> {
        match &self.kind {
            TargetKind::Real(opened) => DiskReads::below(&opened.link()),
            _ => None,
        }
    }

    /// Returns the opened file or device, if the target is one.
    pub(crate) fn real_mut(&mut self) -> Option<&mut Opened> {
        match &mut self.kind {
            TargetKind::Real(opened) => Some(opened),
            _ => None,
        }
    }
}

/// The reason why a target cannot be opened.
#[derive(Debug)]
pub enum PlanError {
    /// A mistake in a device file, or in the words of an array or of Linux.
    Spec(Box<Diagnostic>),
    /// Any other error.
    Engine(Error),
}

impl From<Error> for PlanError {
    fn from(e: Error) -> Self {
        PlanError::Engine(e)
    }
}

/// Converts a file name to a target's name: `-` replaces characters that a cell's name cannot have.
pub(super) fn cell_name(text: &str) -> String {
    let fine = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    text.chars().map(fine).collect()
}
