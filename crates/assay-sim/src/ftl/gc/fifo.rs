//! First in, first out (FIFO): the block closed longest ago. Wear is even, but more pages are
//! copied (Desnoyers, SYSTOR 2012, gives the write amplification in closed form).

use super::victim::{Candidates, Victim};

pub(super) struct Fifo;

impl Victim for Fifo {
    fn choose(&self, blocks: Candidates<'_>) -> Option<usize> {
        blocks.eligible().min_by_key(|b| blocks.closed[*b])
    }
}
