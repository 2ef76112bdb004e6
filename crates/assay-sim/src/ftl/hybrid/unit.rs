//! Mapping units of which only a part is written: the rest is read before and written behind.

use super::Hybrid;
use crate::nand::{Cause, Nand, Ppa, Token};
use assay_spec::device::UnitReads;
use std::ops::Range;

impl Hybrid {
    /// Returns the pages of the unit of `page`.
    pub(super) fn unit_of(&self, page: u32) -> Range<u32> {
        let first = page - page % self.unit;
        first..(first + self.unit).min(self.written.len() as u32)
    }

    /// Returns the written pages of the unit of `page` outside `run`, with their places.
    pub(super) fn rest_of_unit(&self, page: u32, run: &Range<u32>) -> Vec<(u32, Ppa)> {
        let others = self.unit_of(page).filter(|p| !run.contains(p) && self.written[*p as usize]);
        others.filter_map(|p| Some((p, self.at_rest(p)?))).collect()
    }

    /// Queues the reads of the rest of a unit. Returns those to wait for: after them all of it is
    /// there.
    pub(super) fn read_unit(&self, nand: &mut Nand, rest: &[(u32, Ppa)]) -> Vec<u32> {
        let mut reads = Vec::new();
        for (_, from) in rest {
            reads = match (self.unit_reads, reads.as_slice()) {
                (UnitReads::OneByOne, before) => {
                    vec![nand.read_after(*from, Cause::Partial, Token::NONE, before)]
                }
                (UnitReads::Together, _) => {
                    reads.push(nand.read(*from, Cause::Partial, Token::NONE));
                    reads
                }
            };
        }
        reads
    }
}
