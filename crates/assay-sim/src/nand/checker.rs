//! An observer that follows a drive's flash and panics when a rule is broken.
//!
//! It keeps its own state of every page: whether it is erased, in which order its block is
//! programmed, and what it holds, as (logical page, version). So it checks that a read for the host
//! returns what was written last, that no stale page is copied, that the pages of a block are
//! programmed once and in ascending order, that an array or a channel serves one operation at a
//! time, and, on request, that nothing is erased that a power failure would need.

use super::cells::{Cells, Flash, Found, OutOfBand};
use super::geometry::Geometry;
use super::observe::{Cause, FlashCommand, Observed, Observer, Operation, Step};
use super::record::Record;
use crate::lpn::Lpn;
use assay_spec::Nanos;
use assay_spec::device::{NandSpec, PlaneMode};

/// The content of a physical page: a logical page and the number of its write, which grows.
type Content = (Lpn, u64);

/// An observer that panics when a rule of the flash is broken.
pub struct Checker {
    geometry: Geometry,
    pages_per_block: u32,
    multi_plane: bool,
    /// By physical page: its content once all commands so far have ended.
    contents: Vec<Option<Content>>,
    /// By logical page: the number of its last write.
    versions: Vec<u64>,
    /// The number of the last write of any page.
    writes: u64,
    /// The contents of the cells over time.
    cells: Cells,
    /// By block: whether it has one bit a cell.
    slc: Vec<bool>,
    /// Whether to check that nothing is erased that a power failure would need.
    is_safe: bool,
    /// The record of trimmed pages in the page that is programmed next.
    record: Option<Record>,
    /// By block: the first page that may be programmed, by the steps begun. Pages may be skipped.
    programmed: Vec<u32>,
    /// By array: its last step.
    arrays: Vec<Busy>,
    /// By channel: its last step.
    channels: Vec<Busy>,
    /// Reads of old copies of pages being moved that have not begun: the physical page, and the
    /// content that it must hold then.
    old: Vec<(u32, Content)>,
}

/// The last step of an array or a channel.
#[derive(Clone, Copy, Debug)]
struct Busy {
    step: Step,
    plane: u32,
    start: Nanos,
    end: Nanos,
}

impl Checker {
    /// Creates the checker of a new drive with `logical` pages on the flash of `spec`.
    pub fn new(spec: &NandSpec, logical: u32) -> Checker {
        let idle = Busy { step: Step::Erase, plane: 0, start: Nanos::ZERO, end: Nanos::ZERO };
        let geometry = Geometry::new(spec, 0);
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

    /// Creates the checker of a drive that finds `flash` after a power failure.
    pub fn found(spec: &NandSpec, logical: u32, flash: &Flash) -> Checker {
        let mut checker = Checker::new(spec, logical);
        checker.cells = Cells::found(spec, flash);
        for (page, found) in (0..).zip(&flash.pages) {
            let block = (page / spec.pages_per_block) as usize;
            if *found != Found::Erased {
                checker.programmed[block] = page % spec.pages_per_block + 1;
            }
            let Found::Holds(spare) = *found else { continue };
            checker.contents[page as usize] = Some((spare.lpn(), spare.version));
            let version = checker.version(spare.lpn());
            *version = spare.version.max(*version);
            checker.writes = checker.writes.max(spare.version);
        }
        checker.slc = flash.blocks.iter().map(|block| block.is_slc).collect();
        checker
    }

    /// Returns the content of a physical page once all commands so far have ended: a logical page,
    /// and the number of its write.
    pub fn holds(&self, page: u32) -> Option<(u32, u64)> {
        self.contents[page as usize].map(|(logical, version)| (logical.0, version))
    }

    /// Returns the number of the last write of a logical page.
    pub fn newest(&self, logical: u32) -> u64 {
        self.versions[logical as usize]
    }

    /// Returns the number of the last write of any page.
    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// Sets the erases that all blocks have had before to `erases`.
    pub fn used(mut self, erases: u32) -> Checker {
        self.cells.used(erases);
        self
    }

    /// Sets whether to check that nothing is erased that a power failure would need.
    pub fn power_fail_safe(self, is_safe: bool) -> Checker {
        Checker { is_safe, ..self }
    }

    /// Returns what is found when the power fails at `time`, to which the drive has been advanced.
    pub fn cut(&self, time: Nanos) -> Flash {
        self.cells.cut(time)
    }

    /// Returns the number of the last write of `logical`, to be changed.
    fn version(&mut self, logical: Lpn) -> &mut u64 {
        // The drive's own pages, e.g. of its map, lie beyond the host's.
        if logical.index() >= self.versions.len() {
            self.versions.resize(logical.index() + 1, 0);
        }
        &mut self.versions[logical.index()]
    }

    /// Follows a program of `page`; panics if the page is not erased.
    fn program(&mut self, page: u32, content: Content, cause: Cause) {
        let was = self.contents[page as usize].replace(content);
        assert_eq!(was, None, "page {page} is programmed twice");
        let (logical, version) = content;
        let is_slc = self.slc[(page / self.pages_per_block) as usize];
        self.cells.on_program_requested(
            page,
            OutOfBand { logical: logical.0, version },
            cause.collects(),
            is_slc,
        );
    }

    /// Returns the content of `page`; panics if it has none.
    fn read(&self, page: u32) -> Content {
        self.contents[page as usize].unwrap_or_else(|| panic!("page {page} holds nothing"))
    }

    /// Panics unless `page` holds `content` in the cells, whatever has been requested since.
    fn check_old(&self, page: u32, content: Content, cause: Cause) {
        let there = self.cells.holds(page).map(|spare| (spare.lpn(), spare.version));
        assert_eq!(there, Some(content), "a read ({cause:?}) of page {page}");
    }

    /// Checks a step of an array.
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
    fn observe(&mut self, observed: Observed) {
        match observed {
            Observed::Command(cause, command) => self.command(cause, &command),
            Observed::UsedAs { block, is_slc } => self.used_as(block, is_slc),
            Observed::Trimmed(page) => self.trimmed(Lpn(page)),
            Observed::Records(record) => self.records(record),
            Observed::Suspended(operation) => self.suspended(&operation),
            Observed::Resumed(operation) => self.resumed(&operation),
            Observed::Operation(operation) => self.operation(&operation),
            Observed::Work(_) | Observed::Resumes(_) => {}
        }
    }
}

impl Checker {
    fn command(&mut self, cause: Cause, command: &FlashCommand) {
        match *command {
            FlashCommand::Read { page, subject: Some(logical) } => {
                let logical = Lpn(logical);
                let latest = (logical, self.versions[logical.index()]);
                if self.contents[page as usize] != Some(latest) {
                    self.old.push((page, latest));
                    self.check_old(page, latest, cause);
                }
            }
            FlashCommand::Read { page, subject: None } => {
                self.read(page);
            }
            FlashCommand::Program { page, subject } => {
                let Some(logical) = subject.map(Lpn) else { return };
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
                let latest = self.versions[logical.index()];
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

    fn trimmed(&mut self, page: Lpn) {
        self.cells.trim(page, self.versions[page.index()]);
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
