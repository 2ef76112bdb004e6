//! The state of priority reads and suspended operations (`suspension.rs`).

use super::geometry::Geometry;
use super::ops::NO_OP;
use assay_spec::Nanos;
use assay_spec::device::{NandSpec, SuspendSpec};
use std::collections::{HashMap, VecDeque};

/// The state of priority reads and suspended operations.
pub(super) struct Suspension {
    pub(super) spec: SuspendSpec,
    pub(super) arrays: Vec<PriorityReads>,
    /// By plane: its latch for priority reads.
    pub(super) latches: Vec<Latch>,
    /// Page contents whose program is requested and has not ended; of a move, with the old copy.
    pub(super) pending_programs: HashMap<PageVersion, Option<PageVersion>>,
    /// By block: the numbers of erases requested, and begun.
    pub(super) erases: [Vec<u32>; 2],
    /// The number of suspensions since the last mark.
    pub(super) count: u64,
}

/// The priority reads of an array, and the operation that it suspended for them.
#[derive(Clone, Debug, Default)]
pub(super) struct PriorityReads {
    /// Reads that have not begun.
    pub(super) waiting: VecDeque<u32>,
    /// The number of admitted reads: the first of `waiting`, before all other operations.
    pub(super) admitted: usize,
    /// Whether the operation under way is a priority read.
    pub(super) is_reading: bool,
    /// The suspended operation, and the time that it has left to run.
    pub(super) suspended: Option<(u32, Nanos)>,
    /// Whether the array is suspending its operation and cannot sense yet.
    pub(super) is_suspending: bool,
    /// How often the operation has been suspended, or kept suspended, for reads.
    pub(super) admissions: u32,
    /// When the operation under way ends.
    pub(super) ends_at: Nanos,
}

/// A page content between two erases of its block: the page, and the number of erases before.
pub(super) type PageVersion = (u32, u32);

/// The latch of a plane, where the page of a priority read waits for the bus.
#[derive(Clone, Debug)]
pub(super) struct Latch {
    /// The read whose page it holds, or `NO_OP`.
    pub(super) op: u32,
    /// The physical page that it holds, or `NO_OP` if that is not known.
    pub(super) page: u32,
}

impl Suspension {
    /// Creates the state for the chips of `nand`: no reads, nothing suspended.
    pub(super) fn new(spec: SuspendSpec, nand: &NandSpec, geometry: &Geometry) -> Suspension {
        let blocks = nand.planes() as usize * nand.blocks_per_plane as usize;
        Suspension {
            spec,
            arrays: vec![PriorityReads::default(); geometry.arrays()],
            latches: vec![Latch { op: NO_OP, page: NO_OP }; nand.planes() as usize],
            pending_programs: HashMap::new(),
            erases: [vec![0; blocks], vec![0; blocks]],
            count: 0,
        }
    }

    /// Returns `true` if operations of the queues may begin on `array` when it is idle.
    #[inline]
    pub(super) fn lets_others(&self, array: usize) -> bool {
        self.arrays[array].admitted == 0 && self.arrays[array].suspended.is_none()
    }

    /// Returns `true` if priority reads wait for `array`.
    pub(super) fn has_waiting(&self, array: usize) -> bool {
        !self.arrays[array].waiting.is_empty()
    }

    /// Returns `true` if `array` is suspending its operation.
    #[inline]
    pub(super) fn is_suspending(&self, array: usize) -> bool {
        self.arrays[array].is_suspending
    }

    /// Returns `true` if the operation under way on `array` is a priority read.
    #[inline]
    pub(super) fn is_in(&self, array: usize) -> bool {
        self.arrays[array].is_reading
    }

    /// Notes that the operation that `array` begins ends at `end`.
    #[inline]
    pub(super) fn note_end(&mut self, array: usize, end: Nanos) {
        self.arrays[array].ends_at = end;
    }

    /// Notes that the operation of `array` has ended.
    pub(super) fn done(&mut self, array: usize) {
        self.arrays[array].admissions = 0;
    }

    /// Returns the sum of the times that all suspended operations have left to run.
    pub(super) fn left(&self) -> Nanos {
        self.arrays
            .iter()
            .filter_map(|r| r.suspended)
            .fold(Nanos::ZERO, |sum, (_, left)| sum + left)
    }

    /// Notes that the latch of `plane` may not hold what is in the cells any more.
    pub(super) fn invalidate_latch(&mut self, plane: u32) {
        self.latches[plane as usize].page = NO_OP;
    }

    /// Puts physical page `page` into the latch of `plane`; returns `true` if it was there already.
    pub(super) fn latch_page(&mut self, plane: u32, page: u32) -> bool {
        std::mem::replace(&mut self.latches[plane as usize].page, page) == page
    }
}
