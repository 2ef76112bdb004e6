//! The constants of a chip: times and features.

use crate::events::Queue;
use assay_spec::Nanos;
use assay_spec::device::{NandSpec, PlaneMode};

/// The times that a chip takes, and what it can do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chip {
    /// The time to sense a page.
    pub(super) read: Nanos,
    /// The times to program a fast page and a slow page.
    pub(super) program: [Nanos; 2],
    /// The time to erase a block.
    pub(super) erase: Nanos,
    /// The times to sense and to program a page with one bit a cell.
    pub(super) slc: [Nanos; 2],
    /// The time to transfer a page over the bus.
    pub(super) page_transfer: Nanos,
    /// Whether planes have a cache register.
    pub(super) cache_register: bool,
    /// Whether the planes of a die program together.
    pub(super) multi_plane: bool,
}

impl Chip {
    /// Computes the constants of the chips of `spec`.
    pub(super) fn new(spec: &NandSpec) -> Chip {
        Chip {
            read: spec.read,
            program: [spec.program.fast, spec.program.slow],
            erase: spec.erase,
            slc: spec.slc.map_or([spec.read, spec.program.fast], |slc| [slc.read, slc.program]),
            page_transfer: spec.page.time_at(spec.bus),
            cache_register: spec.cache_register,
            multi_plane: spec.plane_mode == PlaneMode::MultiPlane,
        }
    }

    /// Returns the event queue and the time of a program of page number `page` of a block.
    #[inline]
    pub(super) fn program_step(&self, page: u32) -> (Queue, Nanos) {
        let [fast, slow] = self.program;
        match fast == slow || page & 1 == 0 {
            true => (Queue::Program, fast),
            false => (Queue::ProgramSlow, slow),
        }
    }
}
