//! First in, first out (FIFO): the block closed longest ago. Wear is even, but more pages are
//! copied (Desnoyers, SYSTOR 2012, gives the write amplification in closed form).

use super::victim::{Candidates, Victim};

pub(super) struct Fifo;

impl Victim for Fifo {
    fn choose(&self, blocks: Candidates<'_>) -> Option<usize> {
        // Finds the minimum over all blocks first, which the compiler turns into vector code.
        let rank = |(closed, stale): (&u32, &u16)| match *stale >= blocks.least {
            // A block that is not closed has 0 there, which becomes the largest number.
            true => closed.wrapping_sub(1),
            false => u32::MAX,
        };
        let ranks = || blocks.closed.iter().zip(blocks.stale).map(rank);
        let first = ranks().fold(u32::MAX, u32::min);
        if first == u32::MAX { None } else { ranks().position(|rank| rank == first) }
    }
}
