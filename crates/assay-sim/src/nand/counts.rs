//! The numbers of flash operations.

use super::Cause;

/// The numbers of operations since the last mark, by [`Cause`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Pages read, including the sources of copies.
    pub reads: [u64; Cause::COUNT],
    /// Pages programmed; for `Cause::Pad`, pages left empty.
    pub programs: [u64; Cause::COUNT],
    /// Blocks erased.
    pub erases: [u64; Cause::COUNT],
}

impl Counts {
    /// Returns the number of pages programmed for all causes.
    pub(crate) fn programmed(&self) -> u64 {
        self.programs.iter().sum()
    }
}
