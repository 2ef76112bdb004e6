//! Physical superblocks. Each is linked from a free block on each of its planes when it is taken,
//! and unlinked when it is erased. So a plane can lose blocks, or recover after a power cut,
//! without the others.

use super::shape::{PagePlace, SuperblockShape};
use crate::nand::Ppa;
use std::collections::VecDeque;

/// The physical superblocks, and the free blocks of each plane.
#[derive(Clone, Debug)]
pub(super) struct Superblocks {
    shape: SuperblockShape,
    /// By superblock and plane of its group: the block, by its index in the plane.
    blocks: Vec<u32>,
    /// The numbers that no superblock has.
    numbers: Vec<u32>,
    /// By plane: its free blocks, the longest free first.
    free: Vec<VecDeque<u32>>,
}

impl Superblocks {
    /// Returns a state without superblocks: all blocks are free.
    pub(super) fn new(shape: SuperblockShape) -> Superblocks {
        let all = shape.groups * shape.blocks_per_plane;
        let planes = shape.groups * shape.width;
        Superblocks {
            shape,
            blocks: vec![0; (all * shape.width) as usize],
            numbers: (0..all).rev().collect(),
            free: vec![(0..shape.blocks_per_plane).collect(); planes as usize],
        }
    }

    /// Removes all free blocks.
    pub(super) fn clear(&mut self) {
        self.free.iter_mut().for_each(VecDeque::clear);
    }

    /// Returns the planes on which logical superblock `logical` lies.
    pub(super) fn planes(&self, logical: u32) -> std::ops::Range<u32> {
        let first = logical % self.shape.groups * self.shape.width;
        first..first + self.shape.width
    }

    /// Links a superblock of free blocks for logical superblock `logical`, and returns its number.
    pub(super) fn take(&mut self, logical: u32) -> u32 {
        let blocks = self.planes(logical).map(|plane| self.take_block(plane)).collect();
        self.link(blocks)
    }

    /// Takes a free block of `plane`. Panics if there is none.
    pub(super) fn take_block(&mut self, plane: u32) -> u32 {
        self.free[plane as usize].pop_front().expect("the declaration leaves enough superblocks")
    }

    /// Links `blocks`, one on each plane of a group, to a superblock, and returns its number.
    pub(super) fn link(&mut self, blocks: Vec<u32>) -> u32 {
        let number = self.numbers.pop().expect("there are no more superblocks than blocks");
        let first = (number * self.shape.width) as usize;
        self.blocks[first..first + blocks.len()].copy_from_slice(&blocks);
        number
    }

    /// Unlinks superblock `number`. Its blocks are left to the caller.
    pub(super) fn unlink(&mut self, number: u32) {
        self.numbers.push(number);
    }

    /// Adds `block` of `plane` to the free blocks, as the last.
    pub(super) fn put_free(&mut self, plane: u32, block: u32) {
        self.free[plane as usize].push_back(block);
    }

    /// Returns the block of superblock `number` on plane `plane` of its group.
    pub(super) fn block(&self, number: u32, plane: u32) -> u32 {
        self.blocks[(number * self.shape.width + plane) as usize]
    }

    /// Returns page `index` of the block that superblock `number` has on the plane of `place`.
    pub(super) fn ppa(&self, place: PagePlace, number: u32, index: u32) -> Ppa {
        let offset = place.offset % self.shape.width;
        let plane = self.planes(place.superblock).start + offset;
        let block = self.block(number, offset);
        Ppa { plane, page: self.shape.first_page(plane, block) + index }
    }

    /// Returns the free blocks of each plane.
    pub(super) fn free(&self) -> impl Iterator<Item = &VecDeque<u32>> {
        self.free.iter()
    }
}
