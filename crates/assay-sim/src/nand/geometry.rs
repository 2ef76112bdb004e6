//! The array, channel and die of each plane.
//!
//! Consecutive planes lie on consecutive channels, then on the next die of each channel, then on
//! the next plane of each die: pages striped over the planes use every bus first, then every die.

use assay_spec::device::{NandSpec, PlaneMode};

/// A physical page address and the plane of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ppa {
    /// The number of the plane within the drive.
    pub plane: u32,
    /// (plane · blocks + block) · pages + page.
    pub page: u32,
}

/// The arrangement of planes, arrays, dies and channels.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    planes: u32,
    pages_per_block: u32,
    pages_per_plane: u32,
    /// The number of dies of the drive.
    dies: u32,
    arrays: u32,
    planes_per_die: u32,
    planes_per_array: u32,
    /// By plane: its array.
    array: Vec<u32>,
    /// By plane: its channel.
    channel: Vec<u32>,
    /// The event slot of the first channel. On the fast path: of the planes as they send a page.
    first_slot: usize,
    /// The event slot of the first array, behind those of the channels.
    first_array: usize,
}

/// A set of planes: `count` planes, namely `first`, `first + step` and so on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlaneSet {
    first: u32,
    step: u32,
    count: u32,
}

impl PlaneSet {
    /// Returns the number of planes.
    #[inline]
    pub(crate) fn len(self) -> u32 {
        self.count
    }

    /// Returns plane number `index` of the set.
    #[inline]
    pub(crate) fn get(self, index: u32) -> u32 {
        self.first + self.step * index
    }

    /// Returns the planes in ascending order.
    pub(crate) fn iter(self) -> impl Iterator<Item = u32> {
        (0..self.count).map(move |index| self.get(index))
    }
}

impl Geometry {
    /// Computes the arrangement of the chips of `spec`, whose first event slot is `first_slot`.
    pub(crate) fn new(spec: &NandSpec, first_slot: usize) -> Geometry {
        let planes = spec.planes();
        let dies = spec.channels * spec.dies_per_channel;
        let arrays = if spec.plane_mode == PlaneMode::Independent { planes } else { dies };
        Geometry {
            planes,
            pages_per_block: spec.pages_per_block,
            pages_per_plane: spec.pages_per_plane() as u32,
            dies,
            arrays,
            planes_per_die: planes / dies,
            planes_per_array: planes / arrays,
            array: (0..planes).map(|p| p % arrays).collect(),
            channel: (0..planes).map(|p| p % spec.channels).collect(),
            first_slot,
            first_array: first_slot + spec.channels as usize,
        }
    }

    /// Returns the number of planes.
    pub(super) fn planes(&self) -> u32 {
        self.planes
    }

    /// Returns the address of physical page `page` with its plane.
    pub(super) fn ppa(&self, page: u32) -> Ppa {
        Ppa { plane: page / self.pages_per_plane, page }
    }

    /// Returns the number of arrays.
    pub(crate) fn arrays(&self) -> usize {
        self.arrays as usize
    }

    /// Returns the array of `plane`.
    #[inline]
    pub(crate) fn array(&self, plane: u32) -> usize {
        self.array[plane as usize] as usize
    }

    /// Returns the channel of `plane`.
    #[inline]
    pub(crate) fn channel(&self, plane: u32) -> usize {
        self.channel[plane as usize] as usize
    }

    /// Returns the event slot of `channel`.
    #[inline]
    pub(super) fn channel_slot(&self, channel: usize) -> usize {
        self.first_slot + channel
    }

    /// Returns the event slot of `array`.
    #[inline]
    pub(super) fn array_slot(&self, array: usize) -> usize {
        self.first_array + array
    }

    /// Returns the channel of event `slot`.
    #[inline]
    pub(super) fn channel_of_slot(&self, slot: usize) -> usize {
        slot - self.first_slot
    }

    /// Returns the array of event `slot`.
    #[inline]
    pub(super) fn array_of_slot(&self, slot: usize) -> usize {
        slot - self.first_array
    }

    /// Returns `true` if event `slot` is one of a channel, not of an array.
    #[inline]
    pub(super) fn is_channel_slot(&self, slot: usize) -> bool {
        slot < self.first_array
    }

    /// Returns the planes of the die of `plane`.
    pub(crate) fn planes_of_die(&self, plane: u32) -> PlaneSet {
        PlaneSet { first: plane % self.dies, step: self.dies, count: self.planes_per_die }
    }

    /// Returns the planes that share `array`.
    #[inline]
    pub(crate) fn planes_of_array(&self, array: usize) -> PlaneSet {
        PlaneSet { first: array as u32, step: self.arrays, count: self.planes_per_array }
    }

    /// Returns `true` if data striped over the planes continues at `ppa` behind `before`: on the
    /// next plane at the same page of a block, or from the last plane on the first one at the next
    /// page.
    pub(crate) fn follows(&self, before: Ppa, ppa: Ppa) -> bool {
        let (place, next) = (self.page_in_block(before.page), self.page_in_block(ppa.page));
        match before.plane + 1 == self.planes {
            true => ppa.plane == 0 && next == (place + 1) % self.pages_per_block,
            false => ppa.plane == before.plane + 1 && next == place,
        }
    }

    /// Returns the block of physical page `page`.
    pub(crate) fn block(&self, page: u32) -> u32 {
        page / self.pages_per_block
    }

    /// Returns the number of physical page `page` within its block.
    #[inline]
    pub(crate) fn page_in_block(&self, page: u32) -> u32 {
        page % self.pages_per_block
    }
}
