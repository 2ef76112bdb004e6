//! How many operations there were.

use super::Cause;

/// Operations since the last mark, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub reads: [u64; Cause::COUNT],
    pub programs: [u64; Cause::COUNT],
    pub erases: [u64; Cause::COUNT],
}

impl Counts {
    /// Programs of all causes.
    pub(crate) fn programmed(&self) -> u64 {
        self.programs.iter().sum()
    }
}
