//! Watches a drive's flash and panics when something is wrong.
//!
//! It keeps its own idea of every page: whether it is erased, in which order its block is
//! programmed, and what it holds, as (logical page, version). So it knows that a read for the host
//! gets what was written last, that nothing is copied from a stale place, that pages of a block are
//! programmed in ascending order and once, that an array or a channel does one thing at a time, and
//! that, if it is to be so, nothing is erased that would be missed if the power failed.

use super::cells::{Cells, Flash, Found, OutOfBand, Record};
use super::geometry::Geometry;
use super::observe::{Cause, FlashCommand, Observer, Operation, Step};
use assay_spec::Nanos;
use assay_spec::device::{NandSpec, PlaneMode};

/// What a physical page holds: a logical page and a number that grows with every write.
type Content = (u32, u64);

/// An observer that panics when a rule of the flash is broken.
pub struct Checker {
    geometry: Geometry,
    pages_per_block: u32,
    multi_plane: bool,
    /// Per physical page, by what was asked.
    contents: Vec<Option<Content>>,
    /// Per logical page: the number of its last write, and of any.
    versions: Vec<u64>,
    writes: u64,
    cells: Cells,
    /// Blocks with one bit a cell.
    slc: Vec<bool>,
    /// Nothing may be erased that would be missed.
    is_safe: bool,
    /// What the page that is programmed next records.
    record: Option<Record>,
    /// Per block: the first page that may be programmed, by what was done. Pages may be skipped.
    programmed: Vec<u32>,
    arrays: Vec<Busy>,
    channels: Vec<Busy>,
    /// Reads of old copies of pages that are being moved, which have not begun: the physical page,
    /// and what it must hold then.
    old: Vec<(u32, Content)>,
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
            writes: 0,
            cells: Cells::new(spec),
            slc: vec![false; blocks as usize],
            is_safe: false,
            record: None,
            programmed: vec![0; blocks as usize],
            arrays: vec![idle; geometry.arrays()],
            channels: vec![idle; spec.channels as usize],
            old: Vec::new(),
            geometry,
        }
    }

    /// Watches a drive that finds `flash`.
    pub fn found(spec: &NandSpec, logical: u32, flash: &Flash) -> Checker {
        let mut checker = Checker::new(spec, logical);
        checker.cells = Cells::found(spec, flash);
        for (page, found) in (0..).zip(&flash.pages) {
            let block = (page / spec.pages_per_block) as usize;
            if *found != Found::Erased {
                checker.programmed[block] = page % spec.pages_per_block + 1;
            }
            let Found::Holds(spare) = *found else { continue };
            checker.contents[page as usize] = Some((spare.logical, spare.version));
            let version = checker.version(spare.logical);
            *version = spare.version.max(*version);
            checker.writes = checker.writes.max(spare.version);
        }
        checker.slc = flash.blocks.iter().map(|block| block.is_slc).collect();
        checker
    }

    /// What a physical page holds when all that has been asked for is done: a logical page, and the
    /// number of its write.
    pub fn holds(&self, page: u32) -> Option<(u32, u64)> {
        self.contents[page as usize]
    }

    /// The number of the last write of a logical page.
    pub fn newest(&self, logical: u32) -> u64 {
        self.versions[logical as usize]
    }

    /// The number of the last write of any page.
    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// The same, of a drive whose blocks have been erased so often before.
    pub fn used(mut self, erases: u32) -> Checker {
        self.cells.used(erases);
        self
    }

    /// The same, of a drive that nothing may be erased on that would be missed if the power failed.
    pub fn power_fail_safe(self, is_safe: bool) -> Checker {
        Checker { is_safe, ..self }
    }

    /// What is found when the power fails at `time`, to which the drive has been advanced.
    pub fn cut(&self, time: Nanos) -> Flash {
        self.cells.cut(time)
    }

    fn version(&mut self, logical: u32) -> &mut u64 {
        // The drive's own pages, e.g. of its map, lie beyond the host's.
        if logical as usize >= self.versions.len() {
            self.versions.resize(logical as usize + 1, 0);
        }
        &mut self.versions[logical as usize]
    }

    fn program(&mut self, page: u32, content: Content, cause: Cause) {
        let was = self.contents[page as usize].replace(content);
        assert_eq!(was, None, "page {page} is programmed twice");
        let (logical, version) = content;
        let is_slc = self.slc[(page / self.pages_per_block) as usize];
        self.cells.ask(page, OutOfBand { logical, version }, cause.collects(), is_slc);
    }

    fn read(&self, page: u32) -> Content {
        self.contents[page as usize].unwrap_or_else(|| panic!("page {page} holds nothing"))
    }

    /// A read of `page` finds in the cells what is to be there, whatever has been asked since.
    fn check_old(&self, page: u32, content: Content, cause: Cause) {
        let there = self.cells.holds(page).map(|spare| (spare.logical, spare.version));
        assert_eq!(there, Some(content), "a read ({cause:?}) of page {page}");
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
        if step == Step::Sense
            && let Some(at) = self.old.iter().position(|(old, _)| *old == page)
        {
            let (_, content) = self.old.swap_remove(at);
            self.check_old(page, content, operation.cause);
        }
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
    fn command(&mut self, cause: Cause, command: &FlashCommand) {
        match *command {
            FlashCommand::Read { page, subject: Some(logical) } => {
                let latest = (logical, self.versions[logical as usize]);
                if self.contents[page as usize] != Some(latest) {
                    self.old.push((page, latest));
                    self.check_old(page, latest, cause);
                }
            }
            FlashCommand::Read { page, subject: None } => {
                self.read(page);
            }
            FlashCommand::Program { page, subject } => {
                let Some(logical) = subject else { return };
                self.writes += 1;
                let version = self.writes;
                *self.version(logical) = version;
                if let Some(record) = self.record.take() {
                    self.cells.record(version, record);
                }
                self.program(page, (logical, version), cause);
            }
            FlashCommand::Copy { from, to } => {
                let (logical, version) = self.read(from);
                let latest = self.versions[logical as usize];
                assert_eq!(version, latest, "page {from} is copied ({cause:?}) though it is stale");
                self.program(to, (logical, version), cause);
            }
            FlashCommand::Erase { page } => {
                self.cells.ask_erase(page);
                self.contents[page as usize..][..self.pages_per_block as usize].fill(None);
            }
        }
    }

    fn used_as(&mut self, block: u32, is_slc: bool) {
        self.slc[block as usize] = is_slc;
    }

    fn trimmed(&mut self, page: u32) {
        self.cells.trim(page, self.versions[page as usize]);
    }

    fn records(&mut self, record: Record) {
        self.record = Some(record);
    }

    fn suspended(&mut self, operation: &Operation) {
        let Operation { step, plane, end, .. } = *operation;
        let last = &mut self.arrays[self.geometry.array(plane)];
        assert!(matches!(step, Step::Program | Step::Erase), "{operation:?} is left");
        assert!(end < last.end || (last.step, last.end) == (step, end), "{operation:?}, {last:?}");
        last.end = end;
        self.cells.suspended(operation);
    }

    fn resumed(&mut self, operation: &Operation) {
        let array = self.geometry.array(operation.plane);
        let Operation { step, plane, start, end, .. } = *operation;
        let last = self.arrays[array];
        let joins = (last.step, last.start, last.end) == (step, start, end) && last.plane != plane;
        assert!(start >= last.end || joins, "array {array}: {operation:?} during {last:?}");
        self.arrays[array] = Busy { step, plane, start, end };
        self.cells.resumed(operation);
    }

    fn operation(&mut self, operation: &Operation) {
        self.cells.step(operation, self.is_safe);
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
