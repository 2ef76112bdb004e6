//! The geometry of superblocks.

use crate::lpn::Lpn;
use crate::nand::Ppa;

/// The planes and blocks that make up superblocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct SuperblockShape {
    /// The number of planes of a superblock.
    pub width: u32,
    /// The number of groups of `width` planes. A superblock lies on one group.
    pub groups: u32,
    pub blocks_per_plane: u32,
    pub pages_per_block: u32,
}

/// The place of a logical page: its superblock and its number in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PagePlace {
    pub superblock: u32,
    pub offset: u32,
}

impl SuperblockShape {
    /// Returns the number of pages of a superblock.
    pub(super) fn pages(&self) -> u32 {
        self.width * self.pages_per_block
    }

    /// Returns the place of logical page `page`.
    pub(super) fn place(&self, page: Lpn) -> PagePlace {
        PagePlace { superblock: page.0 / self.pages(), offset: page.0 % self.pages() }
    }

    /// Returns physical page `page` with its plane.
    pub(super) fn ppa(&self, page: u32) -> Ppa {
        Ppa { plane: page / self.pages_per_block / self.blocks_per_plane, page }
    }

    /// Returns the first physical page of `block` of `plane`.
    pub(super) fn first_page(&self, plane: u32, block: u32) -> u32 {
        (plane * self.blocks_per_plane + block) * self.pages_per_block
    }
}
