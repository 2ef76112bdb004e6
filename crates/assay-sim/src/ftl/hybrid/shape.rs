//! How planes and blocks make superblocks.

use crate::nand::Ppa;

/// How planes and blocks make superblocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub width: u32,
    pub groups: u32,
    pub blocks_per_plane: u32,
    pub pages_per_block: u32,
}

/// A page's place: its superblock and its number in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub superblock: u32,
    pub offset: u32,
}

impl Shape {
    pub(super) fn pages(&self) -> u32 {
        self.width * self.pages_per_block
    }

    pub(super) fn place(&self, page: u32) -> Place {
        Place { superblock: page / self.pages(), offset: page % self.pages() }
    }

    /// A physical page with its plane.
    pub(super) fn ppa(&self, page: u32) -> Ppa {
        Ppa { plane: page / self.pages_per_block / self.blocks_per_plane, page }
    }

    /// The first page of a plane's block.
    pub(super) fn first_page(&self, plane: u32, block: u32) -> u32 {
        (plane * self.blocks_per_plane + block) * self.pages_per_block
    }
}
