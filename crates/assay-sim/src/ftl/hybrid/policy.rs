//! The policies of a superblock map.

use assay_spec::device::{HybridSpec, LogOpens, Logs, NandSpec, UnitReads};

/// The policies: how many logs there are, what goes to them, and when they are merged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy {
    /// The number of pages of a mapping unit.
    pub(super) unit: u32,
    /// How the rest of a unit is read.
    pub(super) unit_reads: UnitReads,
    /// The most logs at a time; of each group if logs are shared.
    pub(super) log_limit: usize,
    /// The most superblocks of a log.
    pub(super) blocks_per_log: u32,
    /// When a log is opened.
    pub(super) log_opens: LogOpens,
    /// The number of logs merged at once when none is left.
    pub(super) merge_together: usize,
    /// Whether sequential writes go to logs, too, which can be switched for the data.
    pub(super) switches_logs: bool,
}

impl Policy {
    /// Takes the policies of `spec`, for the chips of `nand`.
    pub(super) fn new(nand: &NandSpec, spec: &HybridSpec) -> Policy {
        Policy {
            unit: (spec.unit.0 / nand.page.0).max(1) as u32,
            unit_reads: spec.unit_reads,
            log_limit: spec.log_superblocks as usize,
            blocks_per_log: spec.blocks_per_log,
            log_opens: spec.log_opens,
            merge_together: spec.merge_together as usize,
            switches_logs: spec.logs == Logs::Switched,
        }
    }
}
