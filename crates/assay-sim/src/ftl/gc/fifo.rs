//! First in, first out: the block closed longest ago. Even wear, more copying (Desnoyers, SYSTOR
//! 2012, gives its write amplification in closed form).

use super::{Candidates, Victim};

pub(super) struct Fifo;

impl Victim for Fifo {
    fn choose(&self, blocks: Candidates<'_>) -> Option<usize> {
        blocks.eligible().min_by_key(|b| blocks.closed[*b])
    }
}
