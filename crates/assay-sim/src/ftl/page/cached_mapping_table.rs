//! A map of which only a part is in memory: entries are read from flash when they are asked for,
//! and pages of the map are written when too many entries have changed (DFTL: Gupta, Kim and
//! Urgaonkar, ASPLOS 2009).
//!
//! The pages of the map are logical pages beyond the host's, so they are placed, collected and
//! counted like any other. Where they are is kept in memory. Whatever changes an entry, a write, a
//! trim or a move, has it in the cache from then on, and it stays until its page has been written.
//! When half of the cache has changed, a page of the map with no fewer such entries than the mean
//! is written, and so all of them at once. What has not changed leaves the cache in the order in
//! which it came, but what was asked for since then has a second chance.
//!
//! *Invariants.* Every changed entry is in the cache. More are there than there is room for only
//! while all of them are changed.

use super::PageMap;
use super::bits::Bits;
use crate::ftl::Ftl;
use crate::ftl::history::RandomWrites;
use crate::nand::{Cause, NOBODY, Nand};
use crate::ssd::TABLE;
use assay_spec::Bytes;
use assay_spec::device::PageMapSpec;
use assay_spec::seed::mix;
use std::collections::VecDeque;

/// What of a map has changed: the share of the entries of each of its pages, and the page that was
/// written last.
#[derive(Default)]
pub(super) struct Changed {
    shares: Vec<f64>,
    turn: usize,
}

/// Pages of the map that are written with one page of the host, at most.
pub(super) const AT_A_TIME: u32 = 4;

/// What is in memory of a map.
pub(super) struct Demand {
    /// Entries in a page of the map, and the first such page, as a logical page.
    entries: u32,
    first: u32,
    /// Entries that the cache has room for.
    room: u64,
    /// In the cache; of them changed; of them asked for since they stood first.
    cached: Bits,
    changed: Bits,
    used: Bits,
    /// Those that have not changed, and may leave, from first to last. What has changed since is
    /// passed over; `queued` has whatever stands here.
    clean: VecDeque<u32>,
    queued: Bits,
    /// By page of the map: its changed entries; and the one that was written last.
    of_page: Vec<u32>,
    turn: usize,
    /// Entries asked for, those of them that were not there, and pages of the map written.
    pub(super) counts: [u64; 3],
}

impl Demand {
    /// Of a map of `host` pages; nothing is in memory.
    pub(super) fn new(room: u64, page: Bytes, host: u32) -> Demand {
        let entries = (page.0 / PageMapSpec::ENTRY) as u32;
        Demand {
            entries,
            first: host,
            room: room.clamp(1, u64::from(host)),
            cached: Bits::default(),
            changed: Bits::default(),
            used: Bits::default(),
            clean: VecDeque::new(),
            queued: Bits::default(),
            of_page: vec![0; host.div_ceil(entries) as usize],
            turn: 0,
            counts: [0; 3],
        }
    }

    /// The page of the map with the entry of `page`, as a logical page.
    pub(super) fn map_page(&self, page: u32) -> u32 {
        self.first + page / self.entries
    }

    /// Whether the entry of `page`, which is asked for, is in the cache.
    pub(super) fn knows(&mut self, page: u32) -> bool {
        let is_there = self.cached.has(page);
        self.counts[0] += 1;
        self.counts[1] += u64::from(!is_there);
        if is_there {
            self.used.set(page);
        }
        is_there
    }

    /// The entry of `page`, which was asked for, comes into the cache.
    pub(super) fn learn(&mut self, page: u32) {
        self.used.set(page);
        self.put(page);
    }

    /// The entry of `page`, if it is one of the host's, changes.
    #[inline(never)]
    pub(super) fn change(&mut self, page: u32) {
        if page >= self.first {
            return;
        }
        if !self.changed.has(page) {
            self.changed.set(page);
            self.of_page[(page / self.entries) as usize] += 1;
        }
        self.put(page);
    }

    #[cfg(test)]
    pub(super) fn has_changed(&self, page: u32) -> bool {
        self.changed.has(page)
    }

    fn put(&mut self, page: u32) {
        if self.cached.has(page) {
            return;
        }
        self.cached.set(page);
        self.may_leave(page);
        self.make_room();
    }

    /// The entry of `page`, unless it has changed, stands last of those that may leave.
    fn may_leave(&mut self, page: u32) {
        if !self.changed.has(page) && !self.queued.has(page) {
            self.queued.set(page);
            self.clean.push_back(page);
        }
    }

    /// What was not asked for since it stood first last leaves. There are too many as long as all
    /// have changed.
    fn make_room(&mut self) {
        while self.cached.len() > self.room
            && let Some(page) = self.clean.pop_front()
        {
            self.queued.clear(page);
            if self.changed.has(page) {
                continue;
            }
            match self.used.has(page) {
                true => {
                    self.used.clear(page);
                    self.may_leave(page);
                }
                false => self.cached.clear(page),
            }
        }
    }

    /// The number of a page of the map that is to be written, if one is.
    fn due(&mut self) -> Option<usize> {
        let (changed, pages) = (self.changed.len(), self.of_page.len());
        if changed <= self.room / 2 {
            return None;
        }
        // One of them has as many as the mean.
        let has_enough = |n: &usize| u64::from(self.of_page[*n]) * pages as u64 >= changed;
        let found = (self.turn + 1..=self.turn + pages).map(|n| n % pages).find(has_enough);
        self.turn = found.unwrap_or(self.turn);
        found
    }

    /// The page of the map with this number is written; whether that is all of its entries.
    fn written(&mut self, number: usize) -> bool {
        let first = number as u32 * self.entries;
        let end = (first + self.entries).min(self.first);
        for page in first..end {
            if self.changed.has(page) {
                self.changed.clear(page);
                self.may_leave(page);
            }
        }
        self.counts[2] += 1;
        self.make_room();
        std::mem::take(&mut self.of_page[number]) == end - first
    }

    /// What has changed of each page of the map, and which is written next.
    pub(super) fn look_at(&self) -> Changed {
        let share = |n: &u32| f64::from(*n) / f64::from(self.entries);
        Changed { shares: self.of_page.iter().map(share).collect(), turn: self.turn }
    }

    /// A cache, empty so far, like that of a smaller drive after the same history.
    pub(super) fn become_like(&mut self, like: &Changed, writes: RandomWrites) {
        let (own, its) = (self.of_page.len() as u64, like.shares.len() as u64);
        for page in 0..self.first {
            let number = u64::from(page / self.entries) * its / own;
            let draw = mix(writes.seed ^ u64::from(page)) as f64 / u64::MAX as f64;
            if draw < like.shares[number as usize] {
                self.change(page);
            }
        }
        self.turn = (like.turn as u64 * own / its) as usize;
        // The rest is what was asked for last. Few are hot: not all of it may be found.
        for step in 0..4 * self.room {
            if self.cached.len() < self.room {
                self.put(writes.page(step, self.first));
            }
        }
    }

    /// Panics unless what is known of the entries agrees.
    pub(super) fn check(&self) {
        let mut of_page = vec![0; self.of_page.len()];
        for page in (0..self.first).filter(|page| self.changed.has(*page)) {
            assert!(self.cached.has(page), "entry {page} has changed and is not there");
            of_page[(page / self.entries) as usize] += 1;
        }
        assert_eq!(of_page, self.of_page, "changed entries of each page of the map");
        let stands = |page: &u32| self.queued.has(*page);
        assert!(self.clean.len() as u64 == self.queued.len() && self.clean.iter().all(stands));
        let leaves = |page: u32| !self.cached.has(page) || self.changed.has(page) || stands(&page);
        assert!((0..self.first).all(leaves), "what has not changed may leave");
        let all_changed = self.changed.len() == self.cached.len();
        assert!(self.cached.len() <= self.room || all_changed, "more than there is room for");
    }
}

impl PageMap {
    /// Writes pages of the map, so many at most, if it is time: of what they hold beside, their old
    /// copies are read.
    pub(super) fn write_changed(&mut self, nand: &mut Nand, most: u32) {
        for _ in 0..most {
            let is_over = self.is_worn_out();
            let Some(demand) = self.tables.demand.as_mut().filter(|_| !is_over) else { return };
            let Some(number) = demand.due() else { return };
            let page = demand.first + number as u32;
            let is_whole = demand.written(number);
            let old = self.locate(page).filter(|ppa| !is_whole && !nand.is_buffered(*ppa));
            let read = old.map(|ppa| nand.read(ppa, Cause::Map, NOBODY));
            let token = u64::from(TABLE) << 32 | u64::from(page);
            self.put(nand, page, Cause::Map, token, read.as_slice());
        }
    }

    /// The same of all that are due, each once at most: much has changed at once.
    pub(super) fn write_all_changed(&mut self, nand: &mut Nand) {
        let pages = self.tables.demand.as_ref().map_or(0, |demand| demand.of_page.len());
        self.write_changed(nand, pages as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 4096 / 4 entries a page of the map: 3000 pages have a map of three.
    fn map(room: u64) -> Demand {
        Demand::new(room, Bytes(4096), 3000)
    }

    #[test]
    fn what_is_asked_for_again_stays() {
        let mut map = map(3);
        for page in [10, 20, 30] {
            assert!(!map.knows(page));
            map.learn(page);
        }
        // A first round finds all of them used, so the first goes; after that 20 is asked for.
        map.learn(40);
        assert_eq!([10, 20, 30, 40].map(|page| map.cached.has(page)), [false, true, true, true]);
        assert!(map.knows(20));
        map.learn(50);
        assert_eq!([20, 30, 40, 50].map(|page| map.cached.has(page)), [true, false, true, true]);
        assert_eq!(map.counts, [4, 3, 0]);
        map.check();
    }

    #[test]
    fn the_page_with_the_most_changes_is_written_with_all_of_them() {
        let mut map = map(8);
        [1, 2, 1500, 2999].iter().for_each(|page| map.change(*page));
        assert_eq!(map.due(), None, "half of the cache");
        map.change(3);
        // 5 over 3 pages: the mean is 1.7, and only the first has as many.
        assert_eq!(map.due(), Some(0));
        assert!(!map.written(0));
        assert_eq!((map.changed.len(), map.cached.len(), map.due()), (2, 5, None));
        map.check();
        // The host's own pages alone have entries.
        map.change(3000);
        assert_eq!(map.changed.len(), 2);
        assert_eq!([0, 1023, 1024, 2999].map(|page| map.map_page(page)), [3000, 3000, 3001, 3002]);
    }

    #[test]
    fn a_page_all_of_whose_entries_have_changed_needs_no_old_copy() {
        let mut map = map(2000);
        (2048..2999).for_each(|page| map.change(page));
        assert!(!map.written(2), "one of 952 is missing");
        (2048..3000).for_each(|page| map.change(page));
        assert!(map.written(2));
    }

    #[test]
    fn changed_entries_stay_though_there_is_no_room() {
        let mut map = map(4);
        (0..10).for_each(|page| map.change(page));
        assert_eq!(map.cached.len(), 10);
        map.check();
        assert_eq!(map.due(), Some(0));
        // One that has not goes at once.
        map.learn(1000);
        assert!(!map.knows(1000) && map.cached.len() == 10);
        map.written(0);
        assert_eq!(map.cached.len(), 4);
        map.check();
    }

    #[test]
    fn a_cache_is_made_like_that_of_a_smaller_drive() {
        let mut large = Demand::new(4000, Bytes(4096), 6 * 1024);
        let shares = vec![1.0, 0.0, 0.5];
        large.become_like(&Changed { shares, turn: 1 }, RandomWrites::UNIFORM);
        assert_eq!(large.of_page[..4], [1024, 1024, 0, 0]);
        assert!(large.of_page[4..].iter().all(|n| (450..570).contains(n)), "{:?}", large.of_page);
        assert_eq!((large.turn, large.cached.len()), (2, 4000));
        let look = large.look_at();
        assert_eq!((look.shares[1], look.turn), (1.0, 2));
        large.check();
    }
}
