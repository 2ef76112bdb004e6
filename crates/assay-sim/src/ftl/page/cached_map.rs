//! A cached mapping table: only a part of the map is in memory. Entries are read from flash when
//! they are needed, and map pages are written when too many entries have changed (DFTL: Gupta, Kim
//! and Urgaonkar, ASPLOS 2009).
//!
//! Map pages are logical pages beyond the host's, so they are placed, collected and counted like
//! any other. Their places are kept in memory. An entry that a write, a trim or a move changes
//! enters the cache and stays until its map page has been written. When more than half of the cache
//! has changed, a map page with no fewer changed entries than the mean is written, with all of them
//! at once. Unchanged entries leave the cache in the order in which they came; an entry used since
//! then has a second chance.
//!
//! *Invariants.* Every changed entry is in the cache. The cache holds more entries than it has room
//! for only while all of them are changed.

use super::bits::Bits;
use crate::ftl::history::RandomWrites;
use crate::lpn::Lpn;
use assay_spec::Bytes;
use assay_spec::device::PageMapSpec;
use assay_spec::seed::mix;
use std::collections::VecDeque;

/// The changed entries of a map, as seen in a snapshot.
#[derive(Default)]
pub(super) struct Changed {
    /// By map page: the share of its entries that have changed.
    shares: Vec<f64>,
    /// The number of the map page written last.
    turn: usize,
}

/// The most map pages that are written with one host page.
pub(super) const AT_A_TIME: u32 = 4;

/// The part of a map that is in memory.
pub(super) struct CachedMap {
    /// The number of entries in a map page.
    entries: u32,
    /// The first map page, as a logical page.
    first: Lpn,
    /// The number of entries that the cache has room for.
    room: u64,
    /// The entries in the cache, by logical page.
    cached: Bits,
    /// The cached entries that have changed.
    changed: Bits,
    /// The entries used since they were last first in `clean`.
    used: Bits,
    /// The unchanged entries, which may leave, from first to last. Entries changed since are
    /// skipped.
    clean: VecDeque<Lpn>,
    /// The entries in `clean`.
    queued: Bits,
    /// By map page: the number of its changed entries.
    of_page: Vec<u32>,
    /// The number of the map page written last.
    turn: usize,
    /// The numbers of lookups, of misses, and of map pages written.
    pub(super) counts: [u64; 3],
}

impl CachedMap {
    /// Returns the state of a map of `host` pages, with room for `room` entries. None is in memory.
    pub(super) fn new(room: u64, page: Bytes, host: u32) -> CachedMap {
        let entries = (page.0 / PageMapSpec::ENTRY) as u32;
        CachedMap {
            entries,
            first: Lpn(host),
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

    /// Returns the map page, as a logical page, with the entry of `page`.
    pub(super) fn map_page(&self, page: Lpn) -> Lpn {
        self.first + page.0 / self.entries
    }

    /// Returns `true` if the entry of `page` is in the cache. Counts a lookup, and a miss if it is
    /// not.
    pub(super) fn has_entry(&mut self, page: Lpn) -> bool {
        let is_there = self.cached.has(page.0);
        self.counts[0] += 1;
        self.counts[1] += u64::from(!is_there);
        if is_there {
            self.used.set(page.0);
        }
        is_there
    }

    /// Puts the entry of `page`, which was needed, into the cache.
    pub(super) fn cache_entry(&mut self, page: Lpn) {
        self.used.set(page.0);
        self.put(page);
    }

    /// Notes that the entry of `page` changes. Only pages of the host have entries.
    #[inline(never)]
    pub(super) fn change(&mut self, page: Lpn) {
        if page >= self.first {
            return;
        }
        if !self.changed.has(page.0) {
            self.changed.set(page.0);
            self.of_page[(page.0 / self.entries) as usize] += 1;
        }
        self.put(page);
    }

    #[cfg(test)]
    pub(super) fn has_changed(&self, page: Lpn) -> bool {
        self.changed.has(page.0)
    }

    /// Adds the entry of `page` to the cache, and makes room for it.
    fn put(&mut self, page: Lpn) {
        if self.cached.has(page.0) {
            return;
        }
        self.cached.set(page.0);
        self.may_leave(page);
        self.make_room();
    }

    /// Queues the entry of `page`, unless it has changed, as the last of those that may leave.
    fn may_leave(&mut self, page: Lpn) {
        if !self.changed.has(page.0) && !self.queued.has(page.0) {
            self.queued.set(page.0);
            self.clean.push_back(page);
        }
    }

    /// Removes entries until there is room, those used since they were last first only the next
    /// time. There are too many as long as all have changed.
    fn make_room(&mut self) {
        while self.cached.len() > self.room
            && let Some(page) = self.clean.pop_front()
        {
            self.queued.clear(page.0);
            if self.changed.has(page.0) {
                continue;
            }
            match self.used.has(page.0) {
                true => {
                    self.used.clear(page.0);
                    self.may_leave(page);
                }
                false => self.cached.clear(page.0),
            }
        }
    }

    /// Returns the number of a map page that must be written, if one must.
    pub(super) fn due(&mut self) -> Option<usize> {
        let (changed, pages) = (self.changed.len(), self.of_page.len());
        if changed <= self.room / 2 {
            return None;
        }
        // At least one map page has as many as the mean.
        let has_enough = |n: &usize| u64::from(self.of_page[*n]) * pages as u64 >= changed;
        let found = (self.turn + 1..=self.turn + pages).map(|n| n % pages).find(has_enough);
        self.turn = found.unwrap_or(self.turn);
        found
    }

    /// Returns the number of map pages.
    pub(super) fn pages(&self) -> u32 {
        self.of_page.len() as u32
    }

    /// Returns map page `number` as a logical page.
    pub(super) fn page(&self, number: usize) -> Lpn {
        self.first + number as u32
    }

    /// Notes that map page `number` is written. Returns `true` if all its entries had changed.
    pub(super) fn written(&mut self, number: usize) -> bool {
        let first = Lpn(number as u32 * self.entries);
        let end = (first + self.entries).min(self.first);
        for page in Lpn::iter(first..end) {
            if self.changed.has(page.0) {
                self.changed.clear(page.0);
                self.may_leave(page);
            }
        }
        self.counts[2] += 1;
        self.make_room();
        std::mem::take(&mut self.of_page[number]) == end - first
    }

    /// Returns a snapshot of the changed entries.
    pub(super) fn snapshot(&self) -> Changed {
        let share = |n: &u32| f64::from(*n) / f64::from(self.entries);
        Changed { shares: self.of_page.iter().map(share).collect(), turn: self.turn }
    }

    /// Fills the cache, empty so far, like that of a smaller drive after the same history.
    pub(super) fn become_like(&mut self, like: &Changed, writes: RandomWrites) {
        let (own, its) = (self.of_page.len() as u64, like.shares.len() as u64);
        for page in Lpn::iter(Lpn(0)..self.first) {
            let number = u64::from(page.0 / self.entries) * its / own;
            let draw = mix(writes.seed ^ u64::from(page)) as f64 / u64::MAX as f64;
            if draw < like.shares[number as usize] {
                self.change(page);
            }
        }
        self.turn = (like.turn as u64 * own / its) as usize;
        // The rest are pages written last. If few pages are hot, the cache may not become full.
        for step in 0..4 * self.room {
            if self.cached.len() < self.room {
                self.put(writes.page(step, self.first.0));
            }
        }
    }

    /// Panics unless the sets of entries agree.
    pub(super) fn check(&self) {
        let mut of_page = vec![0; self.of_page.len()];
        let pages = || Lpn::iter(Lpn(0)..self.first);
        for page in pages().filter(|page| self.changed.has(page.0)) {
            assert!(self.cached.has(page.0), "entry {} has changed and is not there", page.0);
            of_page[(page.0 / self.entries) as usize] += 1;
        }
        assert_eq!(of_page, self.of_page, "changed entries of each page of the map");
        let stands = |page: &Lpn| self.queued.has(page.0);
        assert!(self.clean.len() as u64 == self.queued.len() && self.clean.iter().all(stands));
        let leaves =
            |page: Lpn| !self.cached.has(page.0) || self.changed.has(page.0) || stands(&page);
        assert!(pages().all(leaves), "what has not changed may leave");
        let all_changed = self.changed.len() == self.cached.len();
        assert!(self.cached.len() <= self.room || all_changed, "more than there is room for");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 4096 / 4 entries a page of the map: 3000 pages have a map of three.
    fn map(room: u64) -> CachedMap {
        CachedMap::new(room, Bytes(4096), 3000)
    }

    #[test]
    fn what_is_asked_for_again_stays() {
        let mut map = map(3);
        for page in [10, 20, 30] {
            assert!(!map.has_entry(Lpn(page)));
            map.cache_entry(Lpn(page));
        }
        // A first round finds all of them used, so the first goes; after that 20 is asked for.
        map.cache_entry(Lpn(40));
        assert_eq!([10, 20, 30, 40].map(|page| map.cached.has(page)), [false, true, true, true]);
        assert!(map.has_entry(Lpn(20)));
        map.cache_entry(Lpn(50));
        assert_eq!([20, 30, 40, 50].map(|page| map.cached.has(page)), [true, false, true, true]);
        assert_eq!(map.counts, [4, 3, 0]);
        map.check();
    }

    #[test]
    fn the_page_with_the_most_changes_is_written_with_all_of_them() {
        let mut map = map(8);
        [1, 2, 1500, 2999].iter().for_each(|page| map.change(Lpn(*page)));
        assert_eq!(map.due(), None, "half of the cache");
        map.change(Lpn(3));
        // 5 over 3 pages: the mean is 1.7, and only the first has as many.
        assert_eq!(map.due(), Some(0));
        assert!(!map.written(0));
        assert_eq!((map.changed.len(), map.cached.len(), map.due()), (2, 5, None));
        map.check();
        // The host's own pages alone have entries.
        map.change(Lpn(3000));
        assert_eq!(map.changed.len(), 2);
        let map_pages = [0, 1023, 1024, 2999].map(|page| map.map_page(Lpn(page)));
        assert_eq!(map_pages, [3000, 3000, 3001, 3002].map(Lpn));
    }

    #[test]
    fn a_page_all_of_whose_entries_have_changed_needs_no_old_copy() {
        let mut map = map(2000);
        (2048..2999).for_each(|page| map.change(Lpn(page)));
        assert!(!map.written(2), "one of 952 is missing");
        (2048..3000).for_each(|page| map.change(Lpn(page)));
        assert!(map.written(2));
    }

    #[test]
    fn changed_entries_stay_though_there_is_no_room() {
        let mut map = map(4);
        (0..10).for_each(|page| map.change(Lpn(page)));
        assert_eq!(map.cached.len(), 10);
        map.check();
        assert_eq!(map.due(), Some(0));
        // One that has not goes at once.
        map.cache_entry(Lpn(1000));
        assert!(!map.has_entry(Lpn(1000)) && map.cached.len() == 10);
        map.written(0);
        assert_eq!(map.cached.len(), 4);
        map.check();
    }

    #[test]
    fn a_cache_is_made_like_that_of_a_smaller_drive() {
        let mut large = CachedMap::new(4000, Bytes(4096), 6 * 1024);
        let shares = vec![1.0, 0.0, 0.5];
        large.become_like(&Changed { shares, turn: 1 }, RandomWrites::UNIFORM);
        assert_eq!(large.of_page[..4], [1024, 1024, 0, 0]);
        assert!(large.of_page[4..].iter().all(|n| (450..570).contains(n)), "{:?}", large.of_page);
        assert_eq!((large.turn, large.cached.len()), (2, 4000));
        let snapshot = large.snapshot();
        assert_eq!((snapshot.shares[1], snapshot.turn), (1.0, 2));
        large.check();
    }
}
