//! Spares, and the progress of filling them.

use super::layout::Members;
use crate::drive::Drive;
use assay_spec::Nanos;
use assay_spec::array::Rebuild;

/// The progress of rebuilding.
pub(super) struct Rebuilding {
    /// The members whose spares are being filled.
    pub(super) targets: Members,
    /// The next row to rebuild, or the one being rebuilt; those before it are done.
    pub(super) next_row: u64,
    /// Whether a row is being rebuilt, or the event that begins it is pending.
    pub(super) is_busy: bool,
    /// The earliest time at which the next row may begin.
    pub(super) earliest: Nanos,
}

/// Drives that replace failed members, and how they are filled.
pub(super) struct Spares {
    pub(super) rebuild: Rebuild,
    pub(super) drives: Vec<Box<dyn Drive + Send>>,
}
