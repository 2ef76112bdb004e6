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
    /// Blocks erased before the last mark, for all causes.
    erased_before: u64,
}

impl Counts {
    /// Sets the number of blocks erased before the last mark, since the drive was made.
    pub(crate) fn set_erased_before(&mut self, erased: u64) {
        self.erased_before = erased;
    }

    /// Returns the number of blocks erased since the drive was made.
    pub(crate) fn erased_ever(&self) -> u64 {
        self.erased_before + self.erases.iter().sum::<u64>()
    }

    /// Sets a mark: counts begin at zero from now on.
    pub(super) fn mark(&mut self) {
        *self = Counts { erased_before: self.erased_ever(), ..Counts::default() };
    }

    /// Returns the number of pages programmed for all causes.
    pub(crate) fn programmed(&self) -> u64 {
        self.programs.iter().sum()
    }
}
