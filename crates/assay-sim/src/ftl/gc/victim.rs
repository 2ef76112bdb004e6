//! The interface of victim policies.

/// The blocks of a plane, as a victim policy sees them.
#[derive(Clone, Copy)]
pub(crate) struct Candidates<'a> {
    /// By block: the number of stale pages.
    pub stale: &'a [u16],
    /// By block: the value of the clock `now` when the block was closed; 0 if it is not closed.
    pub closed: &'a [u32],
    /// The number of blocks closed so far, in the whole drive: the clock.
    pub now: u32,
    pub pages_per_block: u32,
    /// The plane, which policies with random draws use.
    pub plane: u32,
    /// The number of stale pages that a block must have to be worth emptying.
    pub least: u16,
}

impl Candidates<'_> {
    /// Returns the closed blocks with enough stale pages: only these are worth emptying.
    pub(super) fn eligible(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.stale.len()).filter(|b| self.is_eligible(*b))
    }

    /// Returns `true` if `block` is closed and has enough stale pages.
    pub(super) fn is_eligible(&self, block: usize) -> bool {
        self.closed[block] != 0 && self.stale[block] >= self.least
    }
}

/// A victim policy.
pub(crate) trait Victim: Send {
    /// Returns the index of a closed block that is worth emptying, or `None` if there is none.
    fn choose(&self, blocks: Candidates<'_>) -> Option<usize>;
}
