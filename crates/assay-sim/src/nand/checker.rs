//! Watches a drive's flash and panics when something is wrong.
//!
//! It keeps its own idea of every page: whether it is erased, in which order its block is
//! programmed, and what it holds, as (logical page, version). So it knows that a read for the host
//! gets what was written last, that nothing is copied from a stale place, that pages of a block are
//! programmed in ascending order and once, and that an array or a channel does one thing at a time.

use super::geometry::Geometry;
use super::observe::{Asked, Cause, Observer, Operation, Step};
use assay_spec::Nanos;
use assay_spec::device::{NandSpec, PlaneMode};

/// What a physical page holds: a logical page and how often that had been written by then.
type Content = (u32, u64);

/// An observer that panics when a rule of the flash is broken.
pub struct Checker {
    geometry: Geometry,
    pages_per_block: u32,
    multi_plane: bool,
    /// Per physical page, by what was asked.
    contents: Vec<Option<Content>>,
    /// Per logical page: how often it was written.
    versions: Vec<u64>,
    /// Per block: the first page that may be programmed, by what was done. Pages may be skipped.
    programmed: Vec<u32>,
    arrays: Vec<Busy>,
    channels: Vec<Busy>,
}

/// The last thing a resource did.
#[derive(Clone, Copy, Debug)]
struct Busy {
    step: Step,
    plane: u32,
    start: Nanos,
    end: Nanos,
}

impl Checker {
    /// Watches a drive of `logical` pages on the flash of `spec`, from when nothing is written yet.
    pub fn new(spec: &NandSpec, logical: u32) -> Checker {
        let idle = Busy { step: Step::Erase, plane: 0, start: Nanos::ZERO, end: Nanos::ZERO };
        let geometry = Geometry::new(spec);
        let blocks = spec.pages() / u64::from(spec.pages_per_block);
        Checker {
            pages_per_block: spec.pages_per_block,
            multi_plane: spec.plane_mode == PlaneMode::MultiPlane,
            contents: vec![None; spec.pages() as usize],
            versions: vec![0; logical as usize],
            programmed: vec![0; blocks as usize],
            arrays: vec![idle; geometry.arrays()],
            channels: vec![idle; spec.channels as usize],
            geometry,
        }
    }

    fn program(&mut self, page: u32, content: Content) {
        let was = self.contents[page as usize].replace(content);
        assert_eq!(was, None, "page {page} is programmed twice");
    }

    fn read(&self, page: u32) -> Content {
        self.contents[page as usize].unwrap_or_else(|| panic!("page {page} holds nothing"))
    }

    fn step_on_array(&mut self, operation: &Operation) {
        let array = self.geometry.array(operation.plane);
        let Operation { step, plane, page, start, end, .. } = *operation;
        let last = self.arrays[array];
        let joins = self.multi_plane
            && step == Step::Program
            && (last.step, last.start, last.end) == (step, start, end)
            && last.plane != plane;
        assert!(start >= last.end || joins, "array {array}: {operation:?} during {last:?}");
        self.arrays[array] = Busy { step, plane, start, end };
        let block = (page / self.pages_per_block) as usize;
        let index = page % self.pages_per_block;
        match step {
            Step::Program => {
                assert!(self.programmed[block] <= index, "page {page} is programmed out of order");
                self.programmed[block] = index + 1;
            }
            Step::Erase => self.programmed[block] = 0,
            _ => assert!(index < self.programmed[block], "page {page} is read but not programmed"),
        }
    }
}

impl Observer for Checker {
    fn asked(&mut self, cause: Cause, asked: &Asked) {
        match *asked {
            Asked::Read { page, subject: Some(logical) } => {
                let latest = (logical, self.versions[logical as usize]);
                assert_eq!(self.read(page), latest, "a read ({cause:?}) of page {page}");
            }
            Asked::Read { page, subject: None } => {
                self.read(page);
            }
            Asked::Program { page, subject } => {
                let Some(logical) = subject else { return };
                // The drive's own pages, e.g. of its map, lie beyond the host's.
                if logical as usize >= self.versions.len() {
                    self.versions.resize(logical as usize + 1, 0);
                }
                self.versions[logical as usize] += 1;
                self.program(page, (logical, self.versions[logical as usize]));
            }
            Asked::Copy { from, to } => {
                let (logical, version) = self.read(from);
                let latest = self.versions[logical as usize];
                assert_eq!(version, latest, "page {from} is copied ({cause:?}) though it is stale");
                self.program(to, (logical, version));
            }
            Asked::Erase { page } => {
                self.contents[page as usize..][..self.pages_per_block as usize].fill(None);
            }
        }
    }

    fn operation(&mut self, operation: &Operation) {
        assert!(operation.end >= operation.start, "time runs back: {operation:?}");
        if matches!(operation.step, Step::Sense | Step::Program | Step::Erase) {
            return self.step_on_array(operation);
        }
        let channel = self.geometry.channel(operation.plane);
        let last = self.channels[channel];
        assert!(operation.start >= last.end, "channel {channel}: {operation:?} during {last:?}");
        let Operation { step, plane, start, end, .. } = *operation;
        self.channels[channel] = Busy { step, plane, start, end };
    }
}
