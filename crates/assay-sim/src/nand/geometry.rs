//! Which array, channel and die a plane belongs to.
//!
//! Planes are numbered so that neighbours lie on neighbouring channels, then on the next die of
//! each channel, then on the next plane of each die: pages striped over planes in turn use every
//! bus first, then every die.

use super::Ppa;
use assay_spec::device::{NandSpec, PlaneMode};

/// The arrangement of the planes.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    planes: u32,
    pages_per_block: u32,
    pages_per_plane: u32,
    dies: u32,
    arrays: u32,
    planes_per_die: u32,
    planes_per_array: u32,
    /// Per plane: its array and its channel.
    array: Vec<u32>,
    channel: Vec<u32>,
}

/// Planes `first`, `first + step` and so on, `count` of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlaneSet {
    first: u32,
    step: u32,
    count: u32,
}

impl PlaneSet {
    #[inline]
    pub(crate) fn len(self) -> u32 {
        self.count
    }

    #[inline]
    pub(crate) fn get(self, index: u32) -> u32 {
        self.first + self.step * index
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = u32> {
        (0..self.count).map(move |index| self.get(index))
    }
}

impl Geometry {
    pub(crate) fn new(spec: &NandSpec) -> Geometry {
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
        }
    }

    /// A physical page with its plane.
    pub(super) fn ppa(&self, page: u32) -> Ppa {
        Ppa { plane: page / self.pages_per_plane, page }
    }

    pub(crate) fn arrays(&self) -> usize {
        self.arrays as usize
    }

    #[inline]
    pub(crate) fn array(&self, plane: u32) -> usize {
        self.array[plane as usize] as usize
    }

    #[inline]
    pub(crate) fn channel(&self, plane: u32) -> usize {
        self.channel[plane as usize] as usize
    }

    /// The planes of the die of `plane`.
    pub(crate) fn planes_of_die(&self, plane: u32) -> PlaneSet {
        PlaneSet { first: plane % self.dies, step: self.dies, count: self.planes_per_die }
    }

    /// The planes that share an array.
    #[inline]
    pub(crate) fn planes_of_array(&self, array: usize) -> PlaneSet {
        PlaneSet { first: array as u32, step: self.arrays, count: self.planes_per_array }
    }

    /// Whether `ppa` is where data striped over the planes goes on behind `before`: on the next
    /// plane, at the same place of a block; or on the first, one further.
    pub(crate) fn follows(&self, before: Ppa, ppa: Ppa) -> bool {
        let (place, next) = (self.page_in_block(before.page), self.page_in_block(ppa.page));
        match before.plane + 1 == self.planes {
            true => ppa.plane == 0 && next == (place + 1) % self.pages_per_block,
            false => ppa.plane == before.plane + 1 && next == place,
        }
    }

    pub(crate) fn block(&self, page: u32) -> u32 {
        page / self.pages_per_block
    }

    #[inline]
    pub(crate) fn page_in_block(&self, page: u32) -> u32 {
        page % self.pages_per_block
    }
}
