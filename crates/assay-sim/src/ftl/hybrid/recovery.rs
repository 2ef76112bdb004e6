//! Recovery after a power cut: rebuilds the map from what is found on the flash, as
//! [`crate::ftl::page`] does. The newest version of each page is valid.
//!
//! A plane does its operations in order, so it holds what it held at some moment of its own past,
//! whatever the other planes had done by then: each plane is recovered by itself. If one block has
//! the newest version of all pages that the plane has of a superblock, each in its place, the other
//! blocks are erased; if none has, they are merged. Shared logs are erased when that is done for
//! each superblock in them. Then superblocks are linked anew. A plane never lacks the free block
//! that this takes: a block that a merge was filling holds only copies, and a stream leaves the
//! block that its merge would take.
//!
//! Trims are not recorded: a trimmed page may come back as it was when it was trimmed.

use super::{Hybrid, Lpn, NONE};
use crate::nand::{Cause, Flash, Found, Nand, OutOfBand, Ppa};
use std::collections::{BTreeMap, BTreeSet};

impl Hybrid {
    /// Takes over what the recovery scan has found. Queues the merges and erases that must come
    /// first. The map must be empty.
    pub(super) fn find(&mut self, nand: &mut Nand, flash: &Flash) {
        assert!(self.data.iter().all(|number| *number == NONE), "it knows nothing yet");
        self.erases = flash.blocks.iter().map(|block| block.erases).collect();
        self.superblocks.clear();
        let newest = self.find_newest(flash);
        self.written = newest.iter().map(|version| *version > 0).collect();
        let planes = 0..self.shape.groups * self.shape.width;
        let mut found: Vec<BTreeMap<u32, u32>> =
            planes.map(|plane| self.find_blocks(nand, flash, &newest, plane)).collect();
        for superblock in 0..self.data.len() as u32 {
            let planes = self.superblocks.planes(superblock);
            if !planes.clone().any(|plane| found[plane as usize].contains_key(&superblock)) {
                continue;
            }
            let mut own = |plane: u32| found[plane as usize].remove(&superblock);
            let blocks = planes.map(|p| own(p).unwrap_or_else(|| self.superblocks.take_block(p)));
            let blocks = blocks.collect();
            self.data[superblock as usize] = self.superblocks.link(blocks);
        }
    }

    /// Returns the newest version of each logical page, 0 if there is none.
    fn find_newest(&self, flash: &Flash) -> Vec<u64> {
        let mut newest = vec![0; self.written.len()];
        for found in &flash.pages {
            let Found::Holds(spare) = found else { continue };
            let best: &mut u64 = &mut newest[spare.lpn().index()];
            *best = spare.version.max(*best);
        }
        newest
    }

    /// Recovers a plane. Returns, by superblock, the block that the plane has of it.
    fn find_blocks(
        &mut self,
        nand: &mut Nand,
        flash: &Flash,
        newest: &[u64],
        plane: u32,
    ) -> BTreeMap<u32, u32> {
        // By superblock: the blocks with pages of it, and those of them with no other pages.
        let mut of: BTreeMap<u32, (Vec<u32>, Vec<u32>)> = BTreeMap::new();
        let mut shared: Vec<u32> = Vec::new();
        // The blocks without pages, and whether they must be erased first.
        let mut empty: Vec<(u32, bool)> = Vec::new();
        for block in 0..self.shape.blocks_per_plane {
            let pages = self.pages_of(flash, plane, block);
            let holds = pages.iter().filter_map(|page| match page {
                Found::Holds(spare) => Some(self.shape.place(spare.lpn()).superblock),
                _ => None,
            });
            let superblocks: BTreeSet<u32> = holds.collect();
            match superblocks.len() {
                0 => empty.push((block, pages.iter().any(|page| *page != Found::Erased))),
                1 => (),
                _ => shared.push(block),
            }
            for superblock in &superblocks {
                let (all, own) = of.entry(*superblock).or_default();
                all.push(block);
                own.extend(Some(block).filter(|_| superblocks.len() == 1));
            }
        }
        empty.sort_by_key(|(_, is_dirty)| *is_dirty);
        for (block, is_dirty) in empty {
            match is_dirty {
                true => self.free_found(nand, plane, block),
                false => self.give_back_block(plane, block),
            }
        }
        let found = of.into_iter().map(|(superblock, (all, mut own))| {
            let first = plane * self.shape.blocks_per_plane;
            own.sort_by_key(|block| flash.blocks[(first + block) as usize].opened);
            let block = self.one_of(nand, flash, newest, (plane, superblock), (all, own));
            (superblock, block)
        });
        let found = found.collect();
        shared.into_iter().for_each(|block| self.free_found(nand, plane, block));
        self.find_worn(plane);
        found
    }

    /// Returns a block with all valid pages that the plane has of a superblock, and merges if there
    /// is none. `all` are the blocks with such pages, `own` those of them with no other pages, the
    /// oldest first. Erases the others of `own`.
    fn one_of(
        &mut self,
        nand: &mut Nand,
        flash: &Flash,
        newest: &[u64],
        (plane, superblock): (u32, u32),
        (mut all, mut own): (Vec<u32>, Vec<u32>),
    ) -> u32 {
        let first = Lpn(superblock * self.shape.pages() + plane % self.shape.width);
        let rows = (0..self.shape.pages_per_block).map(|row| (row, first + row * self.shape.width));
        let there = |page: &Lpn| newest.get(page.index()).is_some_and(|version| *version > 0);
        let wanted: Vec<(u32, Lpn)> = rows.filter(|(_, page)| there(page)).collect();
        let is_newest = |found: &Found, page: Lpn| {
            let newest = OutOfBand { logical: page.0, version: newest[page.index()] };
            *found == Found::Holds(newest)
        };
        let has_all = |block: &u32| {
            let pages = self.pages_of(flash, plane, *block);
            wanted.iter().all(|(row, page)| is_newest(&pages[*row as usize], *page))
        };
        if let Some(at) = own.iter().position(has_all) {
            let block = own.remove(at);
            own.iter().for_each(|old| self.free_found(nand, plane, *old));
            return block;
        }
        let index_in = |map: &Hybrid, block: u32, page: Lpn| {
            let pages = map.pages_of(flash, plane, block);
            (0..).zip(pages).find(|(_, found)| is_newest(found, page)).map(|(index, _)| index)
        };
        // Erases blocks whose pages are all in other blocks, the newest first: a merge that was
        // under way begins anew. So it takes no more than one block, however often the power fails.
        for at in (0..own.len()).rev() {
            let block = own[at];
            let others = || all.iter().filter(|other| **other != block);
            let is_in = |page: Lpn| others().any(|b| index_in(self, *b, page).is_some());
            if wanted.iter().all(|(_, page)| is_in(*page)) {
                own.remove(at);
                all.retain(|other| *other != block);
                self.free_found(nand, plane, block);
            }
        }
        let block = self.superblocks.take_block(plane);
        for (row, page) in wanted {
            let place = |b: &u32| Some((*b, index_in(self, *b, page)?));
            let (old, index) = all.iter().find_map(place).expect("that is how it was found");
            let from = Ppa { plane, page: self.shape.first_page(plane, old) + index };
            let to = Ppa { plane, page: self.shape.first_page(plane, block) + row };
            nand.copy_back(from, to, Cause::Collect);
        }
        own.iter().for_each(|old| self.free_found(nand, plane, *old));
        block
    }

    /// Erases `block`, which has no valid page, and frees it.
    fn free_found(&mut self, nand: &mut Nand, plane: u32, block: u32) {
        self.erase_block(nand, plane, block);
        self.give_back_block(plane, block);
    }

    /// Returns what was found in the pages of `block`.
    fn pages_of<'a>(&self, flash: &'a Flash, plane: u32, block: u32) -> &'a [Found] {
        let first = self.shape.first_page(plane, block) as usize;
        &flash.pages[first..first + self.shape.pages_per_block as usize]
    }

    /// Notes how many blocks of `plane` are worn: if more than its spare ones, the drive takes no
    /// writes.
    fn find_worn(&mut self, plane: u32) {
        let worn = (0..self.shape.blocks_per_plane).filter(|b| self.is_worn(plane, *b)).count();
        if let Some(endurance) = &mut self.endurance {
            endurance.finds_worn(worn);
        }
    }
}
