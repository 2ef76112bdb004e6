//! Physical superblocks: each is linked of a free block of each of its planes when it is taken, and
//! falls apart when it is erased. So a plane can lose blocks, or put itself in order after a power
//! cut, without the others.

use super::shape::{Place, Shape};
use crate::nand::Ppa;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(super) struct Superblocks {
    shape: Shape,
    /// By superblock and plane of its group: the block, by its place in the plane.
    blocks: Vec<u32>,
    /// Numbers that no superblock has.
    numbers: Vec<u32>,
    /// By plane: its free blocks, the longest free first.
    free: Vec<VecDeque<u32>>,
}

impl Superblocks {
    /// None is taken, and all blocks are free.
    pub(super) fn new(shape: Shape) -> Superblocks {
        let all = shape.groups * shape.blocks_per_plane;
        let planes = shape.groups * shape.width;
        Superblocks {
            shape,
            blocks: vec![0; (all * shape.width) as usize],
            numbers: (0..all).rev().collect(),
            free: vec![(0..shape.blocks_per_plane).collect(); planes as usize],
        }
    }

    /// No block is free.
    pub(super) fn clear(&mut self) {
        self.free.iter_mut().for_each(VecDeque::clear);
    }

    /// The planes on which logical superblock `logical` lies.
    pub(super) fn planes(&self, logical: u32) -> std::ops::Range<u32> {
        let first = logical % self.shape.groups * self.shape.width;
        first..first + self.shape.width
    }

    /// Links a superblock for logical superblock `logical`; its number.
    pub(super) fn take(&mut self, logical: u32) -> u32 {
        let blocks = self.planes(logical).map(|plane| self.take_block(plane)).collect();
        self.link(blocks)
    }

    /// A free block of `plane`.
    pub(super) fn take_block(&mut self, plane: u32) -> u32 {
        self.free[plane as usize].pop_front().expect("the declaration leaves enough superblocks")
    }

    /// Links a superblock of `blocks`, one on each plane of its group; its number.
    pub(super) fn link(&mut self, blocks: Vec<u32>) -> u32 {
        let number = self.numbers.pop().expect("there are no more superblocks than blocks");
        let first = (number * self.shape.width) as usize;
        self.blocks[first..first + blocks.len()].copy_from_slice(&blocks);
        number
    }

    /// Superblock `number` is none any longer; its blocks are somebody else's affair.
    pub(super) fn unlink(&mut self, number: u32) {
        self.numbers.push(number);
    }

    /// Block `block` of `plane` is free.
    pub(super) fn put_free(&mut self, plane: u32, block: u32) {
        self.free[plane as usize].push_back(block);
    }

    /// The block that superblock `number` has on the so many-th plane of its group.
    pub(super) fn block(&self, number: u32, plane: u32) -> u32 {
        self.blocks[(number * self.shape.width + plane) as usize]
    }

    /// Page `index` of the block that superblock `number` has on the plane of `place`.
    pub(super) fn ppa(&self, place: Place, number: u32, index: u32) -> Ppa {
        let offset = place.offset % self.shape.width;
        let plane = self.planes(place.superblock).start + offset;
        let block = self.block(number, offset);
        Ppa { plane, page: self.shape.first_page(plane, block) + index }
    }

    /// By plane: the free blocks.
    pub(super) fn free(&self) -> impl Iterator<Item = &VecDeque<u32>> {
        self.free.iter()
    }
}
