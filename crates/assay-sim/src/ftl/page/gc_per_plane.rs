//! Garbage collection of one plane: empties a block, page by page, and erases it. Its pages stay
//! in the plane; `gc_global.rs` spreads them over all.
//!
//! With `pace = "spread"` a block whose v of n pages are valid is emptied while the host writes the
//! n − v pages that this frees: v moves for n − v host pages, evenly. With `"whole-block"` the
//! plane stops for it. Whatever the pace, before the host may take the last free block a plane
//! collects at once: that block is the collector's.

use super::{Frontier, LINE, Plane, Tables};
use crate::ftl::wear::cold_block;
use crate::nand::{Cause, NOBODY, Nand, Ppa};
use assay_mem::prefetch;
use assay_spec::device::{BackgroundSpec, CopyPath, EraseTime, Pace};

/// A block that is being emptied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Collecting {
    pub(super) block: u32,
    cause: Cause,
    /// The next page to look at.
    cursor: u32,
    /// Pages moved so far.
    pub(super) moved: u32,
    /// Valid pages at the start, and what emptying the block gains.
    valid: u32,
    gain: u32,
    /// Host pages × valid pages not yet answered by moves.
    credit: u32,
    /// Whether it is counted among the urgent ones.
    pub(super) is_urgent: bool,
}

/// A page that leaves the block that is being emptied.
pub(super) struct Move {
    pub(super) from: Ppa,
    pub(super) page: u32,
    pub(super) cause: Cause,
}

impl Collecting {
    /// The moves that are due with one host page.
    pub(super) fn due(&mut self) -> u32 {
        // A block without anything stale (emptied for its wear) gains nothing: a page a page.
        let price = self.gain.max(1);
        let due = (self.credit + self.valid) / price;
        self.credit = (self.credit + self.valid) % price;
        due
    }

    /// Pages it may still have to move.
    pub(super) fn left(&self) -> u32 {
        self.valid - self.moved
    }
}

/// Map entries are asked for so many pages before they are needed.
const AHEAD: u32 = 16;
/// Lines of the back-map are asked for so many lines before.
const LINES_AHEAD: u32 = 4;

impl Tables {
    /// Does the collection that is due with a page to `plane`, so that there is room for it. A page
    /// of the map takes from the reserve as long as it lasts: everything waits for the map.
    #[inline]
    pub(super) fn make_room(&mut self, plane: &mut Plane, nand: &mut Nand, cause: Cause) {
        let reserve = match cause {
            Cause::Map => self.collection.reserve_blocks.min(2),
            _ => self.collection.reserve_blocks,
        };
        let wanted =
            plane.free.len() < (reserve + plane.kept_for_cache) as usize + self.kept_free();
        if plane.collecting.is_some() || (wanted && self.start(plane)) {
            match self.collection.pace {
                Pace::Spread => self.advance(plane, nand),
                Pace::WholeBlock => self.finish(plane, nand),
            }
        }
    }

    /// Whether the host's next page would need the collector's free block.
    #[inline]
    pub(super) fn lacks_room(&self, plane: &Plane) -> bool {
        plane.host.next == plane.host.end && plane.free.len() < 2 + self.kept_free()
    }

    /// Empties a block at once.
    pub(super) fn collect_at_once(&mut self, plane: &mut Plane, nand: &mut Nand) {
        self.urgent += 1;
        let started = plane.collecting.is_some() || self.start(plane);
        assert!(started, "plane {} is full, though it holds less than its limit", plane.index);
        self.finish(plane, nand);
        self.free_emptied(plane, nand);
    }

    /// Chooses a block of `plane` to empty; false if no block has anything stale.
    pub(super) fn start(&mut self, plane: &mut Plane) -> bool {
        self.start_worth(plane, 1)
    }

    /// The same of blocks with so many stale pages.
    fn start_worth(&mut self, plane: &mut Plane, least: u16) -> bool {
        let blocks = self.blocks.candidates(plane.index, least);
        let erases = &self.blocks.erases[self.blocks.range(plane.index)];
        let chosen = match cold_block(self.wear, blocks.closed, erases) {
            Some(block) => Some((block, Cause::Wear)),
            None => self.victim.choose(blocks).map(|block| (block, Cause::Collect)),
        };
        let Some((index, cause)) = chosen else { return false };
        self.start_with(plane, index, cause);
        true
    }

    /// Begins to empty a block of `plane`.
    pub(super) fn start_with(&mut self, plane: &mut Plane, index: usize, cause: Cause) {
        let block = (self.blocks.range(plane.index).start + index) as u32;
        let cause = self.cause_of(block, cause);
        let gain = u32::from(self.blocks.stale[block as usize]);
        let cursor = block * self.pages_per_block;
        for line in 0..LINES_AHEAD {
            prefetch(&self.p2l, (cursor + line * LINE) as usize);
        }
        prefetch(&self.valid_bitmap, cursor as usize / 64);
        let valid = self.pages_per_block - gain;
        let (moved, credit, is_urgent) = (0, 0, false);
        plane.collecting =
            Some(Collecting { block, cause, cursor, moved, valid, gain, credit, is_urgent });
    }

    /// The moves that are due with one host page.
    fn advance(&mut self, plane: &mut Plane, nand: &mut Nand) {
        let Some(job) = &mut plane.collecting else { return };
        for _ in 0..job.due() {
            if !self.move_next(plane, nand) {
                break;
            }
        }
        if self.is_empty(plane) {
            self.erase(plane, nand);
        }
    }

    /// Whether nothing in the block that is being emptied is current any more.
    pub(super) fn is_empty(&self, plane: &Plane) -> bool {
        plane.collecting.as_ref().is_some_and(|job| {
            job.moved + u32::from(self.blocks.stale[job.block as usize]) == self.pages_per_block
        })
    }

    /// All moves that are left, and the erase.
    fn finish(&mut self, plane: &mut Plane, nand: &mut Nand) {
        while self.move_next(plane, nand) {}
        self.erase(plane, nand);
    }

    /// Takes the next valid page out of the block; `None` if there is none.
    #[inline(always)]
    pub(super) fn take_next(&mut self, plane: &mut Plane) -> Option<Move> {
        let job = plane.collecting.as_mut()?;
        let end = (job.block + 1) * self.pages_per_block;
        let Some(from) = next_bit(&self.valid_bitmap, job.cursor, end) else {
            job.cursor = end;
            return None;
        };
        job.cursor = from + 1;
        job.moved += 1;
        let cause = job.cause;
        prefetch(&self.p2l, (from + LINES_AHEAD * LINE) as usize);
        if let Some(page) = self.p2l.get((from + AHEAD) as usize) {
            prefetch(&self.l2p, *page as usize);
        }
        let page = self.p2l[from as usize];
        debug_assert_eq!(self.l2p[page as usize], from, "a valid_bitmap page is mapped");
        plane.live -= 1;
        self.change_entry(page);
        Some(Move { from: Ppa { plane: plane.index, page: from }, page, cause })
    }

    /// Moves the next valid page within its plane; false if there is none.
    #[inline(always)]
    fn move_next(&mut self, plane: &mut Plane, nand: &mut Nand) -> bool {
        let Some(Move { from, page, cause }) = self.take_next(plane) else { return false };
        if plane.free.len() == 0 {
            // A block that is full has no program that lacks pages.
            self.free_emptied(plane, nand);
        }
        let to = self.place(plane, page, Frontier::Collect);
        match self.collection.copy {
            CopyPath::CopyBack => nand.copy_back(from, to, cause),
            CopyPath::Controller => {
                let read = nand.read(from, cause, NOBODY);
                nand.program_from(to, cause, from, &[read]);
            }
        }
        true
    }

    /// Erases the emptied block; false if it waits for pages that are gathered.
    pub(super) fn erase(&mut self, plane: &mut Plane, nand: &mut Nand) -> bool {
        assert!(self.is_empty(plane), "a block is erased that holds something");
        let Some(job) = plane.collecting.take() else { return false };
        let block = job.block as usize;
        self.blocks.closed[block] = 0;
        self.blocks.stale[block] = 0;
        if self.cache.is_some() {
            self.leaves_cache(plane, job.block);
            nand.use_as_slc(job.block, false);
        }
        let waits = nand.is_buffered_from(job.block);
        match waits {
            true => plane.emptied.push((job.block, job.cause)),
            false => self.free(plane, nand, job.block, job.cause),
        }
        !waits
    }

    pub(super) fn free(&mut self, plane: &mut Plane, nand: &mut Nand, block: u32, cause: Cause) {
        self.blocks.erases[block as usize] += 1;
        self.put_free(plane, block);
        let first = Ppa { plane: plane.index, page: block * self.pages_per_block };
        match self.collection.erase {
            EraseTime::AtOnce => nand.erase(first, cause),
            EraseTime::WhenIdle => nand.erase_when_idle(first, cause),
        }
    }

    /// An erased block can be used, unless it is worn.
    pub(super) fn put_free(&mut self, plane: &mut Plane, block: u32) {
        match self.goes_bad(plane, block) {
            true => self.note_due(plane),
            false => plane.free.put(block, self.blocks.erases[block as usize]),
        }
    }

    /// Whether `block`, which is erased, is not used again. If no other is free, the collector
    /// needs it: it is used once more.
    #[inline]
    fn goes_bad(&mut self, plane: &Plane, block: u32) -> bool {
        let Some(endurance) = &mut self.endurance else { return false };
        let erases = self.blocks.erases[block as usize];
        plane.free.len() > 0
            && endurance.is_worn(block, erases)
            && endurance.retire(plane.index as usize, block)
    }

    /// Whether `plane` is idle and has, or now gets, a block to empty though nobody waits for it.
    pub(super) fn may_collect_in_background(&mut self, plane: &mut Plane, nand: &Nand) -> bool {
        let background = self.collection.background;
        if (background.is_none() && self.cache.is_none()) || !nand.is_plane_idle(plane.index) {
            return false;
        }
        if plane.collecting.is_some() {
            return true;
        }
        if let Some(block) = self.to_fold(plane).filter(|_| !plane.wants_emptied()) {
            self.start_with(plane, block, Cause::Fold);
            return true;
        }
        let lacks = |b: BackgroundSpec| plane.empty_blocks() < b.blocks as usize;
        background.is_some_and(lacks)
            && !plane.wants_emptied()
            // For less than a program that lacks pages may waste it would never come to an end.
            && self.start_worth(plane, nand.pages_per_program())
    }

    /// Asks for the next move or erase on a plane that has nothing to do; false if none is due.
    pub(super) fn collect_in_background(&mut self, plane: &mut Plane, nand: &mut Nand) -> bool {
        while self.may_collect_in_background(plane, nand) {
            if self.move_next(plane, nand) || self.erase(plane, nand) {
                return true;
            }
        }
        false
    }
}

/// The first set bit from `from` to `end`, `end` excluded.
#[inline]
fn next_bit(words: &[u64], from: u32, end: u32) -> Option<u32> {
    let mut index = from;
    while index < end {
        let word = words[index as usize / 64] >> (index % 64);
        if word != 0 {
            let found = index + word.trailing_zeros();
            return (found < end).then_some(found);
        }
        index = (index / 64 + 1) * 64;
    }
    None
}

/// Clears `count` bits from `first` on.
pub(super) fn clear_bits(words: &mut [u64], first: u64, count: u64) {
    for index in first..first + count {
        words[(index / 64) as usize] &= !(1 << (index % 64));
    }
}

/// Sets `count` bits from `first` on.
pub(super) fn set_bits(words: &mut [u64], first: u64, count: u64) {
    let (mut index, end) = (first, first + count);
    while index < end {
        let (word, bit) = ((index / 64) as usize, index % 64);
        let run = (64 - bit).min(end - index);
        words[word] |= (u64::MAX >> (64 - run)) << bit;
        index += run;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_found_and_set_across_words() {
        let mut words = vec![0_u64; 4];
        set_bits(&mut words, 60, 70);
        let set: Vec<u32> =
            (0..256).filter(|b| words[*b as usize / 64] >> (b % 64) & 1 == 1).collect();
        assert_eq!(set, (60..130).collect::<Vec<_>>());
        assert_eq!(next_bit(&words, 0, 256), Some(60));
        assert_eq!(next_bit(&words, 0, 60), None);
        assert_eq!(next_bit(&words, 129, 256), Some(129));
        assert_eq!(next_bit(&words, 130, 256), None);
    }
}
