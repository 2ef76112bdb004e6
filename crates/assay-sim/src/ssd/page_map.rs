//! Page-level mapping with greedy garbage collection, plane by plane.
//!
//! Host pages go to the planes in turn, each plane with one open block for the host and one for
//! collected pages. When a plane runs down to its reserve of free blocks, the full block with the
//! fewest valid pages is copied within the plane and erased, in the foreground. Invariants: the
//! maps are inverse of each other on valid pages; a block's count is its number of valid pages;
//! pages of a block are programmed in order.

use super::nand::Nand;
use super::{Ftl, Written};
use assay_spec::Nanos;
use assay_spec::device::NandSpec;

const NONE: u32 = u32::MAX;

pub(crate) struct PageMap {
    planes: u32,
    blocks_per_plane: u32,
    pages_per_block: u32,
    reserve: usize,
    /// Logical to physical page, and back. A physical page is block · pages_per_block + page; a
    /// block is plane · blocks_per_plane + block.
    forward: Vec<u32>,
    backward: Vec<u32>,
    valid: Vec<u16>,
    /// Free blocks of each plane; the last is taken first.
    free: Vec<Vec<u32>>,
    host_open: Vec<Open>,
    collect_open: Vec<Open>,
    next_plane: u32,
}

/// An open block and its next page.
#[derive(Clone, Copy, Debug)]
struct Open {
    block: u32,
    next: u32,
}

impl PageMap {
    pub(crate) fn new(spec: &NandSpec, logical: u32, reserve: u32, filled: bool) -> PageMap {
        let planes = spec.planes();
        let blocks = planes * spec.blocks_per_plane;
        let closed = Open { block: NONE, next: spec.pages_per_block };
        let free_of = |plane: u32| {
            let first = plane * spec.blocks_per_plane;
            (first..first + spec.blocks_per_plane).rev().collect::<Vec<u32>>()
        };
        let mut map = PageMap {
            planes,
            blocks_per_plane: spec.blocks_per_plane,
            pages_per_block: spec.pages_per_block,
            reserve: reserve as usize,
            forward: vec![NONE; logical as usize],
            backward: vec![NONE; spec.pages() as usize],
            valid: vec![0; blocks as usize],
            free: (0..planes).map(free_of).collect(),
            host_open: vec![closed; planes as usize],
            collect_open: vec![closed; planes as usize],
            next_plane: 0,
        };
        if filled {
            // The same placement as writing every page once in order; a test holds it to that.
            (0..logical).for_each(|page| {
                let plane = map.turn();
                let slot = map.allocate_host(plane);
                map.place(page, slot);
            });
        }
        map
    }

    fn turn(&mut self) -> u32 {
        let plane = self.next_plane;
        self.next_plane = if plane + 1 == self.planes { 0 } else { plane + 1 };
        plane
    }

    fn allocate(open: &mut Open, free: &mut Vec<u32>, pages_per_block: u32) -> u32 {
        if open.next == pages_per_block {
            let block = free.pop().expect("the reserve keeps a free block");
            *open = Open { block, next: 0 };
        }
        let slot = open.block * pages_per_block + open.next;
        open.next += 1;
        slot
    }

    fn allocate_host(&mut self, plane: u32) -> u32 {
        let p = plane as usize;
        Self::allocate(&mut self.host_open[p], &mut self.free[p], self.pages_per_block)
    }

    /// Maps `page` to the physical `slot`; what it was mapped to before becomes stale.
    fn place(&mut self, page: u32, slot: u32) {
        self.forget(page);
        debug_assert_eq!(self.backward[slot as usize], NONE, "a page is programmed once");
        self.forward[page as usize] = slot;
        self.backward[slot as usize] = page;
        self.valid[(slot / self.pages_per_block) as usize] += 1;
    }

    fn forget(&mut self, page: u32) {
        let old = std::mem::replace(&mut self.forward[page as usize], NONE);
        if old != NONE {
            debug_assert_eq!(self.backward[old as usize], page, "the maps are inverse");
            self.backward[old as usize] = NONE;
            self.valid[(old / self.pages_per_block) as usize] -= 1;
        }
    }

    fn plane_of(&self, slot: u32) -> usize {
        (slot / self.pages_per_block / self.blocks_per_plane) as usize
    }

    /// Frees blocks of `plane` until its reserve is there again.
    fn collect(&mut self, nand: &mut Nand, plane: u32, at: Nanos) {
        let p = plane as usize;
        while self.free[p].len() < self.reserve {
            let Some(victim) = self.victim(plane) else { return };
            let first = victim * self.pages_per_block;
            let moved = u32::from(self.valid[victim as usize]);
            for slot in first..first + self.pages_per_block {
                let page = self.backward[slot as usize];
                if page != NONE {
                    let to = Self::allocate(
                        &mut self.collect_open[p],
                        &mut self.free[p],
                        self.pages_per_block,
                    );
                    self.place(page, to);
                }
            }
            assert_eq!(self.valid[victim as usize], 0, "a victim is empty before it is erased");
            nand.copy_back(p, at, moved);
            nand.erase(p, at);
            self.free[p].insert(0, victim);
        }
    }

    /// The full block with the fewest valid pages, if any page of it is stale.
    fn victim(&self, plane: u32) -> Option<u32> {
        let p = plane as usize;
        let first = plane * self.blocks_per_plane;
        let candidate = |b: &u32| {
            *b != self.host_open[p].block
                && *b != self.collect_open[p].block
                && !self.free[p].contains(b)
        };
        let blocks = (first..first + self.blocks_per_plane).filter(candidate);
        let best = blocks.min_by_key(|b| self.valid[*b as usize])?;
        (u32::from(self.valid[best as usize]) < self.pages_per_block).then_some(best)
    }
}

impl Ftl for PageMap {
    fn read(&mut self, nand: &mut Nand, page: u32, at: Nanos) -> Nanos {
        match self.forward[page as usize] {
            // Nothing was ever written there: the controller answers from its map.
            NONE => at,
            slot => nand.read(self.plane_of(slot), at),
        }
    }

    fn write(&mut self, nand: &mut Nand, page: u32, at: Nanos) -> Written {
        let plane = self.turn();
        // The old copy is stale before the collector looks, so that it is not moved for nothing.
        self.forget(page);
        self.collect(nand, plane, at);
        let slot = self.allocate_host(plane);
        self.place(page, slot);
        let in_register = nand.load(plane as usize, at);
        let in_cells = nand.confirm(plane as usize, in_register);
        Written { in_register, in_cells }
    }

    fn trim(&mut self, page: u32) {
        self.forget(page);
    }

    fn flush(&mut self, nand: &mut Nand, at: Nanos) -> Nanos {
        nand.idle().max(at)
    }
}

#[cfg(test)]
impl PageMap {
    /// Walks everything: the maps are inverse, counts and free lists right.
    pub(crate) fn check(&self) {
        let mut valid = vec![0_u16; self.valid.len()];
        for (slot, page) in self.backward.iter().enumerate().filter(|(_, p)| **p != NONE) {
            assert_eq!(self.forward[*page as usize], slot as u32);
            valid[slot / self.pages_per_block as usize] += 1;
        }
        for (page, slot) in self.forward.iter().enumerate().filter(|(_, s)| **s != NONE) {
            assert_eq!(self.backward[*slot as usize], page as u32);
        }
        assert_eq!(valid, self.valid);
        for (plane, free) in self.free.iter().enumerate() {
            for block in free {
                assert_eq!(*block / self.blocks_per_plane, plane as u32);
                assert_eq!(self.valid[*block as usize], 0);
            }
            let unique: std::collections::BTreeSet<_> = free.iter().collect();
            assert_eq!(unique.len(), free.len(), "a block is free once");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::{Bytes, seed::mix};

    fn small() -> NandSpec {
        NandSpec {
            channels: 2,
            dies_per_channel: 2,
            planes_per_die: 1,
            blocks_per_plane: 24,
            pages_per_block: 8,
            page: Bytes(4096),
            read: Nanos(50),
            program: Nanos(900),
            erase: Nanos(3000),
            bus: Bytes(40_960_000),
        }
    }

    #[test]
    fn random_work_keeps_every_invariant() {
        let spec = small();
        for seed in 0..40_u64 {
            let logical = 300 + (mix(seed) % 250) as u32;
            let mut map = PageMap::new(&spec, logical, 2, seed % 2 == 0);
            let mut nand = Nand::new(&spec);
            let mut last = vec![seed % 2 == 0; logical as usize];
            for step in 0..1500_u64 {
                let r = mix(seed << 32 | step);
                let page = (r >> 8) as u32 % logical;
                if r & 7 == 0 {
                    map.trim(page);
                    last[page as usize] = false;
                } else {
                    map.write(&mut nand, page, Nanos(step));
                    last[page as usize] = true;
                }
                if step % 50 == 0 {
                    map.check();
                }
            }
            map.check();
            for (page, written) in last.iter().enumerate() {
                assert_eq!(map.forward[page] != NONE, *written);
            }
        }
    }

    #[test]
    fn filled_by_construction_is_filled_by_writing() {
        let spec = small();
        let built = PageMap::new(&spec, 500, 2, true);
        let mut written = PageMap::new(&spec, 500, 2, false);
        let mut nand = Nand::new(&spec);
        (0..500).for_each(|page| {
            written.write(&mut nand, page, Nanos::ZERO);
        });
        assert_eq!(built.forward, written.forward);
        assert_eq!(built.valid, written.valid);
        assert_eq!(built.free, written.free);
    }

    #[test]
    fn sequential_overwriting_moves_nothing() {
        let spec = small();
        let mut map = PageMap::new(&spec, 500, 2, true);
        let mut nand = Nand::new(&spec);
        (0..5000).for_each(|i| {
            map.write(&mut nand, i % 500, Nanos::ZERO);
        });
        assert_eq!(nand.counts.programs, 5000, "write amplification 1");
        map.check();
    }
}
