//! The reference's page map, as plainly as it can be said.

use assay_spec::device::{FtlSpec, SsdSpec};
use std::collections::VecDeque;

/// One step of collection.
#[derive(Clone, Copy, Debug)]
pub enum Move {
    Copy,
    Erase,
}

#[derive(Clone, Default)]
struct Block {
    /// Logical page by physical page, in the order of programming.
    pages: Vec<u32>,
    valid: usize,
}

struct Plane {
    blocks: Vec<Block>,
    free: VecDeque<usize>,
    open: usize,
    victim: Option<Victim>,
}

struct Victim {
    block: usize,
    next: usize,
    valid: usize,
    gain: usize,
    credit: usize,
}

/// Where every page is: (plane, block, index in the block).
pub struct Map {
    place: Vec<Option<(usize, usize, usize)>>,
    planes: Vec<Plane>,
    next_plane: usize,
    pages_per_block: usize,
    reserve: usize,
    programmed: u64,
    written: u64,
}

impl Map {
    /// Filled in order.
    pub fn new(spec: &SsdSpec, logical: u32) -> Map {
        let FtlSpec::Page(ftl) = &spec.ftl else { panic!("a page map") };
        let blocks = spec.nand.blocks_per_plane as usize;
        let plane = || Plane {
            blocks: vec![Block::default(); blocks],
            free: (1..blocks).collect(),
            open: 0,
            victim: None,
        };
        let mut map = Map {
            place: vec![None; logical as usize],
            planes: (0..spec.nand.planes()).map(|_| plane()).collect(),
            next_plane: 0,
            pages_per_block: spec.nand.pages_per_block as usize,
            reserve: ftl.collection.reserve_blocks as usize,
            programmed: 0,
            written: 0,
        };
        (0..logical).for_each(|page| {
            map.write(page, &mut Vec::new());
        });
        map
    }

    pub fn plane_of(&self, page: u32) -> Option<usize> {
        self.place[page as usize].map(|(plane, ..)| plane)
    }

    /// Writes a page; returns its plane, and what must be done there first.
    pub fn write(&mut self, page: u32, moves: &mut Vec<Move>) -> usize {
        self.written += 1;
        if let Some((plane, block, _)) = self.place[page as usize].take() {
            self.planes[plane].blocks[block].valid -= 1;
        }
        let plane = self.next_plane;
        self.next_plane = (plane + 1) % self.planes.len();
        self.collect(plane, moves);
        self.put(plane, page);
        plane
    }

    fn put(&mut self, plane: usize, page: u32) {
        self.programmed += 1;
        let p = &mut self.planes[plane];
        if p.blocks[p.open].pages.len() == self.pages_per_block {
            p.open = p.free.pop_front().expect("a free block");
        }
        let block = &mut p.blocks[p.open];
        self.place[page as usize] = Some((plane, p.open, block.pages.len()));
        block.pages.push(page);
        block.valid += 1;
    }

    fn collect(&mut self, plane: usize, moves: &mut Vec<Move>) {
        let p = &mut self.planes[plane];
        if p.victim.is_none() {
            if p.free.len() >= self.reserve {
                return;
            }
            let full = |b: &usize| p.blocks[*b].pages.len() == self.pages_per_block;
            let closed = (0..p.blocks.len()).filter(|b| *b != p.open || !full(b)).filter(full);
            let block = closed.min_by_key(|b| p.blocks[*b].valid).expect("a closed block");
            let valid = p.blocks[block].valid;
            let gain = self.pages_per_block - valid;
            assert!(gain > 0, "something is stale");
            p.victim = Some(Victim { block, next: 0, valid, gain, credit: 0 });
        }
        let victim = p.victim.as_mut().expect("chosen");
        let due = (victim.credit + victim.valid) / victim.gain;
        victim.credit = (victim.credit + victim.valid) % victim.gain;
        for _ in 0..due {
            if !self.move_one(plane) {
                break;
            }
            moves.push(Move::Copy);
        }
        let p = &mut self.planes[plane];
        let block = p.victim.as_ref().expect("there").block;
        if p.blocks[block].valid == 0 {
            p.victim = None;
            p.blocks[block].pages.clear();
            p.free.push_back(block);
            moves.push(Move::Erase);
        }
    }

    /// Moves the victim's next valid page; false if it has none.
    fn move_one(&mut self, plane: usize) -> bool {
        loop {
            let p = &mut self.planes[plane];
            let victim = p.victim.as_mut().expect("there");
            let (block, index) = (victim.block, victim.next);
            let Some(page) = p.blocks[block].pages.get(index).copied() else { return false };
            victim.next += 1;
            if self.place[page as usize] == Some((plane, block, index)) {
                self.planes[plane].blocks[block].valid -= 1;
                self.put(plane, page);
                return true;
            }
        }
    }

    /// Programs a host page, since the last call.
    pub fn take_amplification(&mut self) -> f64 {
        let wa = self.programmed as f64 / self.written as f64;
        (self.programmed, self.written) = (0, 0);
        wa
    }
}
