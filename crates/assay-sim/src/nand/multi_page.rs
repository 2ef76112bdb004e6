//! Programs of several pages: the controller gathers the pages that are programmed together.
//!
//! A physical page may hold several pages that are mapped on their own, and cells with several bits
//! have as many physical pages programmed in one go. Pages of a block that belong together are
//! programs one after the other; with the last of them, all are loaded and programmed as one.
//! Until then they are on no chip, and reads of them are served from the controller.

use super::geometry::Ppa;
use super::ops::NO_OP;
use super::token::Token;
use assay_spec::device::NandSpec;

/// Pages that are programmed together.
pub(super) struct MultiPageProgram {
    /// The operation that programs them.
    op: u32,
    /// The first of the pages.
    first: u32,
    /// The number of pages gathered.
    pub(super) count: u32,
    /// The tokens of the pages, without `Token::NONE`.
    pub(super) tokens: Vec<Token>,
    /// The pages that they replace.
    pub(super) replaced: Vec<Replaced>,
}

impl MultiPageProgram {
    /// Returns the page that the program lacks next.
    fn next(&self) -> u32 {
        self.first + self.count
    }
}

/// The old copy of a page: its block, and the group of programs that replace pages of the block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replaced {
    pub(super) block: u32,
    pub(super) group: u32,
}

/// The programs of several pages that are being gathered or are queued.
pub(super) struct MultiPage {
    /// The pages of a program with all bits of its cells.
    pages: u32,
    /// By plane: the programs that lack pages.
    open: Vec<Vec<MultiPageProgram>>,
    /// By block: the number of its pages whose only newer copies are in `open`.
    replaced: Vec<u16>,
    /// The number of programs queued since the beginning.
    programs: u64,
    /// The programs that are queued or under way, by the number in `Op::multi_page`.
    closed: Vec<Option<MultiPageProgram>>,
    /// The free numbers in `closed`.
    free: Vec<u32>,
    /// The pages of a program with one bit a cell.
    slc_pages: u32,
    /// By block: whether it is used with one bit a cell. Empty if the chips do not allow that.
    in_slc: Vec<bool>,
    /// The mapped pages of a physical page; 1 if the bits of a cell are not known.
    part: u32,
    /// By plane: the physical page in its register, or `NO_OP`.
    sensed_page: Vec<u32>,
}

impl MultiPage {
    /// Returns the state for the chips of `spec`, or `None` if a program has one page.
    pub(super) fn new(spec: &NandSpec) -> Option<MultiPage> {
        let blocks = u64::from(spec.planes()) * u64::from(spec.blocks_per_plane);
        (spec.pages_per_program > 1).then(|| MultiPage {
            pages: spec.pages_per_program,
            open: (0..spec.planes()).map(|_| Vec::new()).collect(),
            replaced: vec![0; blocks as usize],
            programs: 0,
            closed: Vec::new(),
            free: Vec::new(),
            slc_pages: spec.pages_per_program / spec.slc.map_or(1, |slc| slc.bits),
            part: spec.slc.map_or(1, |slc| spec.pages_per_program / slc.bits),
            sensed_page: vec![NO_OP; spec.planes() as usize],
            in_slc: vec![false; if spec.slc.is_some() { blocks as usize } else { 0 }],
        })
    }

    /// Uses `block` with one bit a cell from now on, or with all bits.
    pub(super) fn use_as_slc(&mut self, block: u32, is_slc: bool) {
        if let Some(mode) = self.in_slc.get_mut(block as usize) {
            *mode = is_slc;
        }
    }

    /// Returns `true` if `block` is used with one bit a cell.
    pub(super) fn is_slc(&self, block: u32) -> bool {
        self.in_slc.get(block as usize) == Some(&true)
    }

    /// Returns the number of pages of a program.
    pub(super) fn unit(&self, is_slc: bool) -> u32 {
        if is_slc { self.slc_pages } else { self.pages }
    }

    /// Returns the number of programs queued since the beginning.
    pub(super) fn programs(&self) -> u64 {
        self.programs
    }

    /// Returns `true` if `ppa` is a page of an open program.
    pub(super) fn is_open(&self, ppa: Ppa) -> bool {
        let open = &self.open[ppa.plane as usize];
        open.iter().any(|program| (program.first..program.next()).contains(&ppa.page))
    }

    /// Returns the number of pages of `block` whose only newer copies are in open programs.
    pub(super) fn replaced(&self, block: u32) -> u16 {
        self.replaced[block as usize]
    }

    /// Returns the number of pages of `block` whose newer copies are in the open program whose next
    /// page is `next`.
    pub(super) fn replaced_by(&self, block: u32, next: Ppa) -> u16 {
        let Some(index) = self.find_open(next.plane, next.page) else { return 0 };
        let replaced = &self.open[next.plane as usize][index].replaced;
        replaced.iter().filter(|page| page.block == block).count() as u16
    }

    /// Returns the index of the open program of `plane` whose next page is `page`.
    pub(super) fn find_open(&self, plane: u32, page: u32) -> Option<usize> {
        self.open[plane as usize].iter().position(|program| program.next() == page)
    }

    /// Opens a program of operation `op` that begins with page `ppa`, and returns its index among
    /// those of the plane.
    pub(super) fn open(&mut self, ppa: Ppa, op: u32) -> usize {
        let open = &mut self.open[ppa.plane as usize];
        open.push(MultiPageProgram {
            op,
            first: ppa.page,
            count: 0,
            tokens: Vec::new(),
            replaced: Vec::new(),
        });
        open.len() - 1
    }

    /// Adds a page to the open program `index` of `plane`, and returns the operation.
    pub(super) fn add(
        &mut self,
        plane: u32,
        index: usize,
        token: Token,
        replaced: Option<Replaced>,
    ) -> u32 {
        let program = &mut self.open[plane as usize][index];
        program.count += 1;
        if token != Token::NONE {
            program.tokens.push(token);
        }
        if let Some(page) = replaced {
            program.replaced.push(page);
            self.replaced[page.block as usize] += 1;
        }
        program.op
    }

    /// Closes the open program `index` of `plane`; returns its operation and its number.
    pub(super) fn close(&mut self, plane: u32, index: usize) -> (u32, u32) {
        let program = self.open[plane as usize].swap_remove(index);
        self.programs += 1;
        for page in &program.replaced {
            self.replaced[page.block as usize] -= 1;
        }
        let op = program.op;
        let number = self.free.pop().unwrap_or(self.closed.len() as u32);
        if number as usize == self.closed.len() {
            self.closed.push(None);
        }
        self.closed[number as usize] = Some(program);
        (op, number)
    }

    /// Returns the closed program `number`; `None` for the number of no program.
    pub(super) fn closed(&self, number: u32) -> Option<&MultiPageProgram> {
        self.closed.get(number as usize)?.as_ref()
    }

    /// Takes the closed program `number` and frees the number.
    pub(super) fn take(&mut self, number: u32) -> Option<MultiPageProgram> {
        let program = self.closed.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(program)
    }

    /// Puts the physical page of `page` into `latch`, or into the register of `plane` if there is
    /// none. Returns `true` if it was there already.
    pub(super) fn sense(&mut self, plane: u32, page: u32, latch: Option<&mut u32>) -> bool {
        let physical = page / self.part;
        let held = latch.unwrap_or(&mut self.sensed_page[plane as usize]);
        std::mem::replace(held, physical) == physical
    }

    /// Notes that a program overwrites the register of `plane`.
    pub(super) fn overwrite_register(&mut self, plane: u32) {
        self.sensed_page[plane as usize] = NO_OP;
    }
}
