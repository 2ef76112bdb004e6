//! The counts of flash operations, and the times of chips and channels.

use super::observe::Cause;
use crate::waits::Waits;
use assay_spec::Nanos;

/// The extra time of a host page behind collection, compared with an idle plane: until the page is
/// in the controller, or in its register.
#[derive(Clone, Copy, Debug)]
pub(super) enum CollectionWait {
    Read,
    Program,
}

/// The numbers of operations since the last mark by [`Cause`], and the times.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Pages read, including the sources of copies.
    pub reads: [u64; Cause::COUNT],
    /// Pages programmed; for `Cause::Pad`, pages left empty.
    pub programs: [u64; Cause::COUNT],
    /// Blocks erased.
    pub erases: [u64; Cause::COUNT],
    /// Blocks erased before the last mark, for all causes.
    erased_before: u64,
    /// Array time since the last mark. A step counts as a whole when it begins, on the fast path
    /// when it ends.
    pub(super) array_busy: Nanos,
    /// Bus time since the last mark, counted in the same way.
    pub(super) channel_busy: Nanos,
    /// The waits behind collection, by [`CollectionWait`].
    waits: [Waits; 2],
    /// The numbers of waits behind collection under way.
    open_waits: [usize; 2],
}

impl Counts {
    /// Creates counts of zero, which time the waits behind collection.
    pub(super) fn new() -> Counts {
        Counts { waits: [Waits::timed(); 2], ..Counts::default() }
    }

    /// Sets the number of blocks erased before the last mark, since the drive was made.
    pub(crate) fn set_erased_before(&mut self, erased: u64) {
        self.erased_before = erased;
    }

    /// Returns the number of blocks erased since the drive was made.
    pub(crate) fn erased_ever(&self) -> u64 {
        self.erased_before + self.erases.iter().sum::<u64>()
    }

    /// Counts a wait behind collection that begins at `now`, which may be a time to come.
    pub(super) fn begin_collection_wait(&mut self, wait: CollectionWait, now: Nanos) {
        self.open_waits[wait as usize] += 1;
        self.waits[wait as usize].begin(now);
    }

    /// Ends a wait behind collection.
    #[cold]
    pub(super) fn end_collection_wait(&mut self, wait: CollectionWait, now: Nanos) {
        self.open_waits[wait as usize] -= 1;
        self.waits[wait as usize].end(now);
    }

    /// Returns the number and the time of the waits behind collection until `now`.
    pub(super) fn waited(&self, wait: CollectionWait, now: Nanos) -> (u64, Nanos) {
        self.waits[wait as usize].since_mark(now, self.open_waits[wait as usize])
    }

    /// Sets a mark: counts begin at zero from `now` on. The busy times begin with the rest of the
    /// steps under way, `array_busy` and `channel_busy`.
    pub(super) fn mark(&mut self, now: Nanos, [array_busy, channel_busy]: [Nanos; 2]) {
        let (mut waits, open_waits) = (self.waits, self.open_waits);
        waits.iter_mut().zip(open_waits).for_each(|(waits, open)| waits.mark(now, open));
        let erased_before = self.erased_ever();
        *self = Counts {
            erased_before,
            array_busy,
            channel_busy,
            waits,
            open_waits,
            ..Counts::default()
        };
    }

    /// Returns the number of pages programmed for all causes.
    pub(crate) fn programmed(&self) -> u64 {
        self.programs.iter().sum()
    }
}
