//! A page of the record of trimmed logical pages.

use crate::lpn::Lpn;

/// A page of the record of trimmed logical pages: one bit for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The logical page of the first bit.
    pub first: u32,
    /// The bits, lowest first; set for trimmed pages.
    pub trimmed: Vec<u64>,
}

impl Record {
    /// Returns `true` if the record says that logical page `page` is trimmed.
    pub fn has(&self, page: u32) -> bool {
        let bit = page.wrapping_sub(self.first);
        self.trimmed.get(bit as usize / 64).is_some_and(|word| word >> (bit % 64) & 1 != 0)
    }

    /// Returns the logical pages that the record says are trimmed.
    pub(crate) fn pages(&self) -> impl Iterator<Item = Lpn> + '_ {
        let all = self.first..self.first + self.trimmed.len() as u32 * 64;
        all.filter(|page| self.has(*page)).map(Lpn)
    }
}
