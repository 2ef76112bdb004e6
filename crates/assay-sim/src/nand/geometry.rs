//! Which array, channel and die a plane belongs to.
//!
//! Planes are numbered so that neighbours lie on neighbouring channels, then on the next die of
//! each channel, then on the next plane of each die: pages striped over planes in turn use every
//! bus first, then every die.

use assay_spec::device::{NandSpec, PlaneMode};

/// The arrangement of the planes.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    pages_per_block: u32,
    dies: u32,
    /// Per plane: its array's index.
    array: Vec<u32>,
    channel: Vec<u32>,
}

impl Geometry {
    pub(crate) fn new(spec: &NandSpec) -> Geometry {
        let planes = spec.planes();
        let dies = spec.channels * spec.dies_per_channel;
        let own_array = spec.plane_mode == PlaneMode::Independent;
        Geometry {
            pages_per_block: spec.pages_per_block,
            dies,
            array: (0..planes).map(|p| if own_array { p } else { p % dies }).collect(),
            channel: (0..planes).map(|p| p % spec.channels).collect(),
        }
    }

    pub(crate) fn arrays(&self) -> usize {
        self.array.iter().max().map_or(0, |a| *a as usize + 1)
    }

    #[inline]
    pub(crate) fn array(&self, plane: u32) -> usize {
        self.array[plane as usize] as usize
    }

    #[inline]
    pub(crate) fn channel(&self, plane: u32) -> usize {
        self.channel[plane as usize] as usize
    }

    #[inline]
    pub(crate) fn plane_of_die(&self, plane: u32) -> u32 {
        plane / self.dies
    }

    #[inline]
    pub(crate) fn page_in_block(&self, page: u32) -> u32 {
        page % self.pages_per_block
    }
}
