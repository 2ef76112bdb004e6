//! Mapping by superblock (Kang et al., EMSOFT 2006), with logs for what is not sequential: a log
//! for each superblock (BAST: Kim et al., IEEE TCE 2002), or logs shared by all, with one
//! sequential log (FAST: Lee et al., ACM TECS 2007).
//!
//! A superblock is one block on each of `width` planes. Logical superblocks map to physical ones as
//! a whole, and every page keeps its plane. So merges need no bus, and a recovery scan finds what a
//! plane holds of a superblock from that plane alone. One *stream* at a time, a superblock written
//! in order from its first page on, goes to a new superblock, which replaces the old one when it is
//! complete. Its pages wait in the registers and are programmed a stripe at a time, when all of it
//! is loaded. Other pages go to the *log* of their superblock, in units of `unit` pages; the rest
//! of a unit is read first. A log may open with copies of the pages before the one written, as a
//! stream does, and go on in further superblocks when it is full. When no log is left, the least
//! recently used ones are *merged*, one or some at a time; so is a log that is full for good. The
//! newest copy of each page is copied to a new superblock, then the old ones are erased. A log with
//! all pages in their places can be *switched* for the data instead (BAST). Without logs (`mapping
//! = "block"`) every write begins a stream at its place, after the pages before it have been
//! copied: block mapping with replacement blocks.
//!
//! *Invariants.* A block is data, log, stream, free or bad. The pages of a block are programmed in
//! order; a log or stream may end before its block does.

mod logs;
mod policy;
mod recovery;
mod sequence;
mod shape;
mod shared;
pub(crate) mod steady;
#[cfg(test)]
mod steady_tests;
mod superblocks;
#[cfg(test)]
mod tests;

use super::wear::Endurance;
use super::{Ftl, Lpn, NONE};
use crate::ftl::{Census, Deferred, MapCache, MapWrites, Recover, Trim};
use crate::nand::{Cause, Flash, Nand, Ppa, Token};
use assay_spec::device::{EnduranceSpec, HybridSpec, Logs, NandSpec};
use policy::Policy;
use sequence::SequenceDetector;
use shape::{PagePlace, SuperblockShape};
use shared::Shared;
use std::collections::VecDeque;
use std::ops::Range;
use superblocks::Superblocks;

/// A translation layer that maps superblocks, with logs.
pub(crate) struct Hybrid {
    shape: SuperblockShape,
    superblocks: Superblocks,
    policy: Policy,
    sequence: SequenceDetector,
    /// By logical superblock: the physical one, or `NONE`.
    data: Vec<u32>,
    /// By logical page: whether it holds data.
    written: Vec<bool>,
    /// The logs in use, the least recently used first.
    logs: VecDeque<SuperblockLog>,
    /// The logs that belong to no superblock, if logs are shared.
    shared: Option<Shared>,
    stream: Option<OpenStream>,
    /// The stream's programs that are or will be loaded, and wait for the rest of their stripe.
    held: Vec<u32>,
    /// By block: the number of its erases.
    erases: Vec<u32>,
    endurance: Option<Endurance>,
    merges: [u64; 3],
    /// The number of logs opened so far.
    opened: u64,
    /// Whether merges copy pages. That makes no difference to where pages are.
    copies: bool,
}

/// The log of a superblock.
#[derive(Clone, Debug)]
struct SuperblockLog {
    superblock: u32,
    /// The number of logs opened so far when this one was opened, including itself.
    opened: u64,
    /// The physical superblocks, the oldest first.
    blocks: Vec<u32>,
    /// By plane: the next page to program, counted through all `blocks`.
    next: Vec<u16>,
    /// By page: where on its plane its newest copy is, counted likewise, or `NOT_HERE`.
    index: Vec<u16>,
}

impl SuperblockLog {
    fn ppa(&self, map: &Hybrid, place: PagePlace, index: u16) -> Ppa {
        let pages = map.shape.pages_per_block;
        let (block, page) = (u32::from(index) / pages, u32::from(index) % pages);
        map.superblocks.ppa(place, self.blocks[block as usize], page)
    }
}

/// The index of a page without a copy in the log.
const NOT_HERE: u16 = u16::MAX;

/// A superblock that is written in order: all pages before `fill` are there.
#[derive(Clone, Copy, Debug)]
struct OpenStream {
    superblock: u32,
    block: u32,
    fill: u32,
}

/// The kinds of merges, as indices of `Hybrid::merges`.
const SWITCH: usize = 0;
const PARTIAL: usize = 1;
const FULL: usize = 2;

impl Hybrid {
    /// Returns the map of `logical` pages: all unwritten, or all written once in order if `filled`.
    pub(crate) fn new(nand: &NandSpec, spec: HybridSpec, logical: u32, filled: bool) -> Hybrid {
        let width = spec.width.unwrap_or(nand.planes());
        let shape = SuperblockShape {
            width,
            groups: nand.planes() / width,
            blocks_per_plane: nand.blocks_per_plane,
            pages_per_block: nand.pages_per_block,
        };
        let mut superblocks = Superblocks::new(shape);
        let all = 0..logical.div_ceil(shape.pages());
        let data = all.map(|superblock| if filled { superblocks.take(superblock) } else { NONE });
        Hybrid {
            data: data.collect(),
            shape,
            superblocks,
            policy: Policy::new(nand, &spec),
            sequence: SequenceDetector::new(spec.stream_after),
            written: vec![filled; logical as usize],
            logs: VecDeque::new(),
            shared: (spec.logs == Logs::Shared)
                .then(|| Shared::new(logical as usize, shape.groups)),
            stream: None,
            held: Vec::new(),
            erases: vec![0; (nand.planes() * nand.blocks_per_plane) as usize],
            endurance: None,
            merges: [0; 3],
            opened: 0,
            copies: true,
        }
    }

    /// Makes the blocks wear out as `spec` says.
    pub(crate) fn wearing_out(mut self, spec: Option<EnduranceSpec>) -> Hybrid {
        self.endurance =
            spec.map(|spec| Endurance::new(spec, (self.shape.groups * self.shape.width) as usize));
        self.erases.fill(spec.map_or(0, |spec| spec.erased()));
        self
    }

    /// Queues the erases of physical superblock `number` on the planes of `superblock`.
    fn erase(&mut self, nand: &mut Nand, superblock: u32, number: u32) {
        for (index, plane) in (0..).zip(self.superblocks.planes(superblock)) {
            self.erase_block(nand, plane, self.superblocks.block(number, index));
        }
    }

    fn erase_block(&mut self, nand: &mut Nand, plane: u32, block: u32) {
        nand.erase(Ppa { plane, page: self.shape.first_page(plane, block) }, Cause::Collect);
        self.erases[(plane * self.shape.blocks_per_plane + block) as usize] += 1;
    }

    /// Unlinks an erased superblock and frees its blocks.
    fn give_back(&mut self, superblock: u32, number: u32) {
        for (index, plane) in (0..).zip(self.superblocks.planes(superblock)) {
            self.give_back_block(plane, self.superblocks.block(number, index));
        }
        self.superblocks.unlink(number);
    }

    /// Frees an erased block, unless it is worn and can be retired.
    fn give_back_block(&mut self, plane: u32, block: u32) {
        let is_bad = self.is_worn(plane, block)
            && self.endurance.as_mut().is_some_and(|e| e.retire(plane as usize, block));
        if !is_bad {
            self.superblocks.put_free(plane, block);
        }
    }

    fn is_worn(&self, plane: u32, block: u32) -> bool {
        let own = plane * self.shape.blocks_per_plane + block;
        self.endurance.as_ref().is_some_and(|e| e.is_worn(own, self.erases[own as usize]))
    }

    fn open_logs(&self) -> usize {
        self.shared.as_ref().map_or(self.logs.len(), Shared::len)
    }

    fn log(&self, superblock: u32) -> Option<&SuperblockLog> {
        self.logs.iter().find(|log| log.superblock == superblock)
    }

    /// Returns where the newest copy of a page is that holds data and is not in the stream.
    fn at_rest(&self, page: Lpn) -> Option<Ppa> {
        if !self.written[page.index()] {
            return None;
        }
        self.at_rest_or_trimmed(page)
    }

    /// Does as [`Hybrid::at_rest`], but also for a trimmed page, which is copied along.
    fn at_rest_or_trimmed(&self, page: Lpn) -> Option<Ppa> {
        let place = self.shape.place(page);
        if let Some(physical) = self.shared.as_ref().and_then(|shared| shared.newest(page)) {
            return Some(self.shape.ppa(physical));
        }
        let logged = self.log(place.superblock).map(|log| (log, log.index[place.offset as usize]));
        match logged.filter(|(_, index)| *index != NOT_HERE) {
            Some((log, index)) => Some(log.ppa(self, place, index)),
            None => {
                let block = Some(self.data[place.superblock as usize]).filter(|b| *b != NONE)?;
                Some(self.superblocks.ppa(place, block, place.offset / self.shape.width))
            }
        }
    }

    /// Copies the pages of `offsets` from where they rest to their places in `block`.
    fn copy(&self, nand: &mut Nand, superblock: u32, block: u32, offsets: Range<u32>) {
        if !self.copies {
            return;
        }
        let first = Lpn(superblock * self.shape.pages());
        let end = Lpn(self.written.len() as u32);
        for offset in offsets.filter(|offset| first + *offset < end) {
            let place = PagePlace { superblock, offset };
            let page = first + offset;
            let is_kept = self.shared.as_ref().is_some_and(|shared| shared.has_copy(page));
            let from = if is_kept { self.at_rest_or_trimmed(page) } else { self.at_rest(page) };
            if let Some(from) = from {
                let to = self.superblocks.ppa(place, block, offset / self.shape.width);
                nand.copy_back(from, to, Cause::Collect);
            }
        }
    }

    /// Replaces the data and log of a superblock by `block`. The oldest are erased first: if the
    /// power fails in between, no trimmed page comes back in an older version than it had.
    fn replace(&mut self, nand: &mut Nand, superblock: u32, block: u32) {
        let old = std::mem::replace(&mut self.data[superblock as usize], block);
        let old = Some(old).filter(|old| *old != NONE);
        old.iter().for_each(|old| self.erase(nand, superblock, *old));
        if let Some(index) = self.logs.iter().position(|log| log.superblock == superblock)
            && let Some(log) = self.logs.remove(index)
        {
            for block in log.blocks {
                self.erase(nand, superblock, block);
                self.give_back(superblock, block);
            }
        }
        old.iter().for_each(|old| self.give_back(superblock, *old));
        if let Some(shared) = &mut self.shared {
            let first = Lpn(superblock * self.shape.pages());
            let end = (first + self.shape.pages()).min(Lpn(self.written.len() as u32));
            Lpn::iter(first..end).for_each(|page| shared.supersede(page));
        }
    }
}

impl Ftl for Hybrid {
    fn read(&mut self, nand: &mut Nand, page: Lpn, cause: Cause, token: Token) -> bool {
        let Some(ppa) = self.locate(page) else { return false };
        // The read needs the registers, which hold pages that are not programmed yet: it releases
        // them and waits until they are in the cells.
        let held = std::mem::take(&mut self.held);
        nand.release(&held);
        match held.is_empty() {
            true => nand.read(ppa, cause, token),
            false => nand.read_after(ppa, cause, token, &held),
        };
        true
    }

    fn write(&mut self, nand: &mut Nand, page: Lpn, run: &Range<Lpn>, token: Token) -> u32 {
        let place = self.shape.place(page);
        let stream = self.stream.filter(|s| s.superblock == place.superblock);
        let continues = stream.is_some_and(|s| s.fill == place.offset);
        let found = self.sequence.note(page);
        let begins = place.offset == 0 && !self.policy.switches_logs;
        if continues || found || begins || self.policy.log_limit == 0 {
            if !continues {
                self.open_stream(nand, place);
            }
            self.written[page.index()] = true;
            if let Some(shared) = &mut self.shared {
                shared.supersede(page);
            }
            return self.write_in_order(nand, place, token);
        }
        self.close_stripe(nand);
        if stream.is_some() {
            self.close_stream(nand);
        }
        self.write_to_log(nand, page, run, token)
    }

    fn locate(&self, page: Lpn) -> Option<Ppa> {
        let place = self.shape.place(page);
        let in_stream = |s: &OpenStream| s.superblock == place.superblock && place.offset < s.fill;
        match self.stream.filter(in_stream) {
            Some(stream) if self.written[page.index()] => {
                Some(self.superblocks.ppa(place, stream.block, place.offset / self.shape.width))
            }
            _ => self.at_rest(page),
        }
    }

    fn check(&self) {
        let mut used = vec![false; self.erases.len()];
        let mut claim = |plane: u32, block: u32| {
            let own = plane * self.shape.blocks_per_plane + block;
            let was = std::mem::replace(&mut used[own as usize], true);
            assert!(!was, "block {block} of plane {plane} is used twice");
        };
        let data = (0..).zip(&self.data).filter(|(_, number)| **number != NONE);
        let data = data.map(|(superblock, number)| (superblock, *number));
        let logs = self.logs.iter().flat_map(|l| l.blocks.iter().map(|b| (l.superblock, *b)));
        let stream = self.stream.iter().map(|stream| (stream.superblock, stream.block));
        let shared = self.shared.iter().flat_map(Shared::superblocks);
        for (superblock, number) in data.chain(logs).chain(stream).chain(shared) {
            for (index, plane) in (0..).zip(self.superblocks.planes(superblock)) {
                claim(plane, self.superblocks.block(number, index));
            }
        }
        for (plane, free) in (0..).zip(self.superblocks.free()) {
            free.iter().for_each(|block| claim(plane, *block));
            let bad = self.endurance.as_ref().map_or(&[][..], |e| e.bad(plane as usize));
            bad.iter().for_each(|block| claim(plane, *block));
        }
        assert!(used.iter().all(|u| *u), "a block is lost");
        self.shared.iter().for_each(Shared::check);
        let groups = if self.shared.is_some() { self.shape.groups as usize } else { 1 };
        assert!(self.open_logs() <= self.policy.log_limit * groups, "more logs than there are");
    }
}

impl MapCache for Hybrid {}

impl MapWrites for Hybrid {}

impl Trim for Hybrid {
    fn trim(&mut self, page: Lpn) {
        self.written[page.index()] = false;
    }
}

impl Deferred for Hybrid {
    fn release_stripe(&mut self, nand: &mut Nand) {
        self.close_stripe(nand);
    }
}

impl Recover for Hybrid {
    fn recover(&mut self, nand: &mut Nand, flash: &Flash) -> bool {
        self.find(nand, flash);
        true
    }
}

impl Census for Hybrid {
    fn erases(&self) -> &[u32] {
        &self.erases
    }

    fn is_worn_out(&self) -> bool {
        self.endurance.as_ref().is_some_and(|e| e.is_over)
    }

    fn free_blocks(&self) -> u64 {
        self.superblocks.free().map(|free| free.len() as u64).sum()
    }

    fn counters(&self) -> Vec<(String, f64)> {
        let merges =
            [("merges_switch", SWITCH), ("merges_partial", PARTIAL), ("merges_full", FULL)];
        let count = |(name, kind): (&str, usize)| (name.to_owned(), self.merges[kind] as f64);
        let mut counters: Vec<(String, f64)> = merges.map(count).to_vec();
        counters.push(("logs".to_owned(), self.open_logs() as f64));
        counters.extend(self.endurance.iter().flat_map(|e| e.counters(&self.erases)));
        counters
    }

    fn mark(&mut self) {
        self.merges = [0; 3];
    }
}
