//! First in, first out (FIFO): the block closed longest ago. Wear is even, but more pages are
//! copied (Desnoyers, SYSTOR 2012, gives the write amplification in closed form).

use super::victim::{Candidates, Victim};

pub(super) struct Fifo;

/// The number of blocks searched at a time.
const GROUP: usize = 256;

impl Victim for Fifo {
    fn choose(&self, blocks: Candidates<'_>) -> Option<usize> {
        let rank = |(closed, stale): (&u32, &u16)| match *stale >= blocks.least {
            // A block that is not closed has 0 there, which becomes the largest number.
            true => closed.wrapping_sub(1),
            false => u32::MAX,
        };
        let ranks = |group: usize| {
            let end = (group + GROUP).min(blocks.closed.len());
            blocks.closed[group..end].iter().zip(&blocks.stale[group..end]).map(rank)
        };
        // Finds the group of the minimum first: the compiler turns the minimum of a group into
        // vector code, but not the search for its place.
        let groups = (0..blocks.closed.len()).step_by(GROUP);
        let least = groups.map(|group| (ranks(group).fold(u32::MAX, u32::min), group));
        let (first, group) = least.min().filter(|(first, _)| *first != u32::MAX)?;
        ranks(group).position(|rank| rank == first).map(|place| group + place)
    }
}
