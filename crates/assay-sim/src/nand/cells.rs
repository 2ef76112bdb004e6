//! The contents of the cells over time, derived from the commands and steps of a drive: all that is
//! left when the power fails.
//!
//! The out-of-band area of each page says which logical page it holds and in which version, as
//! firmware writes it. A program or an erase under way when the power fails leaves pages that
//! cannot be read.

use super::observe::{Operation, Step};
use super::record::Record;
use crate::lpn::Lpn;
use assay_spec::Nanos;
use assay_spec::device::NandSpec;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The content of a page's out-of-band area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfBand {
    /// The logical page.
    pub logical: u32,
    /// A number that each write of a page gets, higher than any before. Copies keep it.
    pub version: u64,
}

impl OutOfBand {
    /// Returns the logical page.
    pub(crate) fn lpn(self) -> Lpn {
        Lpn(self.logical)
    }
}

/// The state of a physical page as found after a power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The page can be programmed.
    Erased,
    /// The page cannot be read.
    Torn,
    /// The page holds a version of a logical page.
    Holds(OutOfBand),
}

/// The state of a block as found after a power failure, besides its pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockFound {
    /// A number that each block gets when its first page is programmed, higher than any before.
    pub opened: u64,
    /// Whether the block was opened for pages that the drive itself moves.
    pub by_collector: bool,
    /// Whether the block has one bit a cell.
    pub is_slc: bool,
    /// The number of erases of the block.
    pub erases: u32,
}

/// All that a controller with empty memory finds in the flash.
#[derive(Clone, Debug, Default)]
pub struct Flash {
    /// The pages, by physical page number.
    pub pages: Vec<Found>,
    /// The blocks, by number.
    pub blocks: Vec<BlockFound>,
    /// The contents of those pages that record trimmed pages, by version.
    pub records: HashMap<u64, Arc<Record>>,
}

/// A program that has been requested: the page, its out-of-band area, and the state of its block
/// then.
type PendingProgram = (u32, OutOfBand, BlockFound);

/// The contents of all cells, now and as requested.
pub(super) struct Cells {
    pages_per_block: u32,
    /// By physical page: its content, and when the program of it begins and ends.
    pages: Vec<Option<(OutOfBand, Nanos, Nanos)>>,
    /// By block: the programs requested that have not begun; `None` is an erase.
    pending: Vec<VecDeque<Option<PendingProgram>>>,
    blocks: Vec<BlockFound>,
    /// By block: when its last erase ends.
    erased: Vec<Nanos>,
    /// The number of the block opened last.
    opened: u64,
    /// By logical page: the physical pages that hold, or are getting, a version of it.
    copies: HashMap<Lpn, Vec<u32>>,
    /// By version: the records of trimmed pages.
    records: HashMap<u64, Arc<Record>>,
    /// By trimmed logical page: the newest version when it was trimmed last.
    trimmed: HashMap<Lpn, u64>,
}

impl Cells {
    /// Creates the cells of a new drive: all erased.
    pub(super) fn new(spec: &NandSpec) -> Cells {
        let blocks = (spec.pages() / u64::from(spec.pages_per_block)) as usize;
        Cells {
            pages_per_block: spec.pages_per_block,
            pages: vec![None; spec.pages() as usize],
            pending: vec![VecDeque::new(); blocks],
            blocks: vec![BlockFound::default(); blocks],
            erased: vec![Nanos::ZERO; blocks],
            opened: 0,
            copies: HashMap::new(),
            records: HashMap::new(),
            trimmed: HashMap::new(),
        }
    }

    /// Creates the cells of a drive that finds `flash` after a power failure.
    pub(super) fn found(spec: &NandSpec, flash: &Flash) -> Cells {
        let mut cells = Cells::new(spec);
        for (page, found) in (0..).zip(&flash.pages) {
            let oob = match found {
                Found::Erased => continue,
                // No one looks for such a page, but it is not free either.
                Found::Torn => OutOfBand { logical: u32::MAX, version: 0 },
                Found::Holds(oob) => *oob,
            };
            cells.pages[page as usize] = Some((oob, Nanos::ZERO, Nanos::ZERO));
            cells.copies.entry(oob.lpn()).or_default().push(page);
        }
        cells.blocks.clone_from(&flash.blocks);
        cells.opened = flash.blocks.iter().map(|b| b.opened).max().unwrap_or_default();
        cells.records.clone_from(&flash.records);
        cells
    }

    /// Sets the erases of all blocks to `erases`.
    pub(super) fn used(&mut self, erases: u32) {
        self.blocks.iter_mut().for_each(|block| block.erases = erases);
    }

    /// Returns the block of physical page `page`.
    fn block(&self, page: u32) -> usize {
        (page / self.pages_per_block) as usize
    }

    /// Notes a requested program of `page` with `oob`, in a block for moved pages if
    /// `by_collector`.
    pub(super) fn on_program_requested(
        &mut self,
        page: u32,
        oob: OutOfBand,
        by_collector: bool,
        is_slc: bool,
    ) {
        let block = self.block(page);
        let of = BlockFound { by_collector, is_slc, ..self.blocks[block] };
        self.pending[block].push_back(Some((page, oob, of)));
    }

    /// Notes a requested erase of the block that begins with page `first`.
    pub(super) fn ask_erase(&mut self, first: u32) {
        let block = self.block(first);
        self.pending[block].push_back(None);
    }

    /// Notes that `logical` is trimmed and that its newest version is `version`.
    pub(super) fn trim(&mut self, logical: Lpn, version: u64) {
        self.trimmed.insert(logical, version);
    }

    /// Notes that the page with `version` holds `record`.
    pub(super) fn record(&mut self, version: u64, record: Record) {
        self.records.insert(version, Arc::new(record));
    }

    /// Returns what physical page `page` holds or is getting, by the steps that have begun.
    pub(super) fn holds(&self, page: u32) -> Option<OutOfBand> {
        self.pages[page as usize].map(|(oob, ..)| oob)
    }

    /// Follows the begin of a program or an erase. Panics if an erase comes before a program
    /// requested earlier or, if `is_safe`, if it removes data that a power failure would need.
    pub(super) fn step(&mut self, operation: &Operation, is_safe: bool) {
        let block = self.block(operation.page);
        match operation.step {
            Step::Program => {
                // The pages before it that were gathered with it are programmed, too.
                while let Some(Some((page, oob, of))) = self.pending[block].front().copied()
                    && page <= operation.page
                {
                    self.pending[block].pop_front();
                    self.program(block, page, oob, of, operation);
                }
            }
            Step::Erase => {
                let pending = self.pending[block].pop_front();
                assert_eq!(pending, Some(None), "block {block} is erased before it is programmed");
                if is_safe {
                    self.check_erase(block, operation);
                }
                self.erase(block, operation);
            }
            _ => {}
        }
    }

    /// Follows a suspension: the end of the program or erase is unknown.
    pub(super) fn suspended(&mut self, operation: &Operation) {
        let now = operation.start;
        self.ends_of(operation).filter(|end| **end > now).for_each(|end| *end = Nanos::NEVER);
    }

    /// Follows a resumption: the end of the program or erase is known again. Panics if it was not
    /// suspended.
    pub(super) fn resumed(&mut self, operation: &Operation) {
        let left = self.ends_of(operation).filter(|end| **end == Nanos::NEVER);
        assert!(left.map(|end| *end = operation.end).count() > 0, "{operation:?} was not left");
    }

    /// Returns the ends of the programs of the block of `operation`, or of its erase if it is one.
    fn ends_of(&mut self, operation: &Operation) -> Box<dyn Iterator<Item = &mut Nanos> + '_> {
        let block = self.block(operation.page);
        if operation.step == Step::Erase {
            return Box::new(std::iter::once(&mut self.erased[block]));
        }
        let first = block * self.pages_per_block as usize;
        let pages = &mut self.pages[first..first + self.pages_per_block as usize];
        Box::new(pages.iter_mut().flatten().map(|(.., end)| end))
    }

    /// Begins the program of `page`, which opens its block if that is erased.
    fn program(&mut self, block: usize, page: u32, oob: OutOfBand, of: BlockFound, at: &Operation) {
        let first = block * self.pages_per_block as usize;
        let pages = &self.pages[first..first + self.pages_per_block as usize];
        if pages.iter().all(Option::is_none) {
            self.opened += 1;
            // The erase before the program need not have begun when the program was requested.
            let erases = self.blocks[block].erases;
            self.blocks[block] = BlockFound { opened: self.opened, erases, ..of };
        }
        self.pages[page as usize] = Some((oob, at.start, at.end));
        self.copies.entry(oob.lpn()).or_default().push(page);
    }

    /// Panics if the erase of `block` removes data that a power failure would need.
    fn check_erase(&self, block: usize, at: &Operation) {
        for page in at.page..at.page + self.pages_per_block {
            let Some((oob, ..)) = self.pages[page as usize] else { continue };
            let is_newer = |copy: &u32| self.outlives(*copy, block, oob.version, at.start);
            let copies = &self.copies[&oob.lpn()];
            let is_needed = !copies.iter().any(is_newer) && !self.may_go(oob, block, at.start);
            assert!(!is_needed, "page {page} is erased, and nothing newer is in the cells: {at:?}");
        }
    }

    /// Removes the contents of `block`.
    fn erase(&mut self, block: usize, at: &Operation) {
        let first = at.page;
        for page in first..first + self.pages_per_block {
            if let Some((oob, ..)) = self.pages[page as usize].take()
                && let Some(copies) = self.copies.get_mut(&oob.lpn())
            {
                copies.retain(|copy| *copy != page);
            }
        }
        self.blocks[block].erases += 1;
        self.erased[block] = at.end;
    }

    /// Returns `true` if `copy` lies in another block, is in the cells at `time`, and is as new as
    /// `version`.
    fn outlives(&self, copy: u32, block: usize, version: u64, time: Nanos) -> bool {
        let Some((oob, _, end)) = self.pages[copy as usize] else { return false };
        self.block(copy) != block && oob.version >= version && end <= time
    }

    /// Returns `true` if the newest version of a page may be erased: it is trimmed, and either a
    /// record in the cells says so or no older version remains that could come back.
    fn may_go(&self, oob: OutOfBand, block: usize, time: Nanos) -> bool {
        if oob.logical == u32::MAX {
            return true;
        }
        let is_older = |copy: &u32| {
            let of = self.pages[*copy as usize].map(|(of, ..)| of.version);
            self.block(*copy) != block && of.is_some_and(|version| version <= oob.version)
        };
        let is_oldest = !self.copies[&oob.lpn()].iter().any(is_older);
        let is_trimmed = self.trimmed.get(&oob.lpn()).is_some_and(|at| *at >= oob.version);
        (is_trimmed && is_oldest) || self.is_recorded(oob, time)
    }

    /// Returns `true` if a record in the cells at `time` says that this version, or a newer one, is
    /// trimmed.
    fn is_recorded(&self, oob: OutOfBand, time: Nanos) -> bool {
        let of =
            |version: &u64| self.records.get(version).is_some_and(|record| record.has(oob.logical));
        self.pages
            .iter()
            .flatten()
            .any(|(page, _, end)| page.version > oob.version && *end <= time && of(&page.version))
    }

    /// Returns what is found when the power fails at `time`. All steps before must have been
    /// reported.
    pub(super) fn cut(&self, time: Nanos) -> Flash {
        let found = |(page, cell): (usize, &Option<(OutOfBand, Nanos, Nanos)>)| {
            let is_torn = self.erased[page / self.pages_per_block as usize] > time;
            match cell {
                _ if is_torn => Found::Torn,
                Some((_, start, end)) if *start < time && time < *end => Found::Torn,
                Some((oob, _, end)) if *end <= time && oob.logical == u32::MAX => Found::Torn,
                Some((oob, _, end)) if *end <= time => Found::Holds(*oob),
                _ => Found::Erased,
            }
        };
        let pages: Vec<Found> = self.pages.iter().enumerate().map(found).collect();
        let is_there = |version: &u64| {
            pages.iter().any(|p| matches!(p, Found::Holds(oob) if oob.version == *version))
        };
        let mut records = self.records.clone();
        records.retain(|version, _| is_there(version));
        Flash { pages, blocks: self.blocks.clone(), records }
    }
}
