//! Misses of the cached mapping table (DFTL): accesses that wait for a map page.
//!
//! An access whose mapping entry is not in memory waits until its map page has been read. Accesses
//! that wait for the same map page continue in arrival order. An access to a page with a waiting
//! write waits behind that write.

use super::Ssd;
use super::flow::StagedPage;
use super::link::Transfer;
use crate::ftl::Ftl;
use crate::nand::{Cause, Token, Waiter};
use crate::waits::Waits;
use assay_spec::Nanos;
use std::collections::BTreeMap;

/// An access that waits for a mapping entry.
#[derive(Clone, Copy, Debug)]
pub(super) enum EntryUse {
    /// A read for the host.
    Read(Transfer),
    /// A read-ahead.
    Ahead(Token),
    /// A write.
    Write(StagedPage),
    /// A trim of a page whose write waits.
    Trim(u32),
}

impl EntryUse {
    fn page(self) -> u32 {
        match self {
            EntryUse::Read(transfer) => transfer.page,
            EntryUse::Write(staged) => staged.page,
            EntryUse::Ahead(token) => token.page(),
            EntryUse::Trim(page) => page,
        }
    }

    /// Returns `true` for a host read whose transfer satisfies `is_so`.
    fn reads(self, is_so: impl Fn(Transfer) -> bool) -> bool {
        matches!(self, EntryUse::Read(transfer) if is_so(transfer))
    }

    fn is_read(&self) -> bool {
        self.reads(|_| true)
    }
}

/// The accesses that wait for a mapping entry.
pub(super) struct MapMisses {
    /// Whether mapping entries can be missing from memory.
    may_miss: bool,
    /// The accesses by the map page that is being read.
    waiting: BTreeMap<u32, Vec<EntryUse>>,
    /// The waits of host reads, if they are timed.
    waits: Option<Waits>,
}

impl MapMisses {
    /// Creates the state of a drive without waiting accesses. `may_miss` says whether mapping
    /// entries can be missing from memory.
    pub(super) fn new(may_miss: bool) -> MapMisses {
        MapMisses { may_miss, waiting: BTreeMap::new(), waits: None }
    }

    /// Returns `true` if mapping entries can be missing from memory.
    #[inline]
    pub(super) fn may_miss(&self) -> bool {
        self.may_miss
    }

    /// Adds an access that waits for `map_page`.
    fn push(&mut self, map_page: u32, entry_use: EntryUse, now: Nanos) {
        self.waiting.entry(map_page).or_default().push(entry_use);
        if entry_use.is_read() {
            self.waits.iter_mut().for_each(|waits| waits.begin(now));
        }
    }

    /// Returns `true` if any write waits for its mapping entry.
    pub(super) fn has_writes(&self) -> bool {
        let is_write = |entry_use: &EntryUse| matches!(entry_use, EntryUse::Write(_));
        self.waiting.values().flatten().any(is_write)
    }

    /// Returns the number of host reads that wait for a map page.
    fn reads(&self) -> usize {
        self.waiting.values().flatten().filter(|entry_use| entry_use.is_read()).count()
    }

    /// Times waits from the next mark on.
    pub(super) fn time_waits(&mut self) {
        self.waits = Some(Waits::default());
    }

    /// Returns the number and the time of waits since the last mark.
    pub(super) fn waited(&self, now: Nanos) -> (u64, Nanos) {
        let of = |waits: &Waits| (waits.count(), waits.total(now, self.reads()));
        self.waits.as_ref().map(of).unwrap_or_default()
    }

    /// Sets a mark for the waits, if they are timed: they count from `now` on.
    pub(super) fn mark_waits(&mut self, now: Nanos) {
        let open = self.reads();
        self.waits.iter_mut().for_each(|waits| waits.mark(now, open));
    }
}

impl<F: Ftl> Ssd<F> {
    /// Returns `true` if the mapping entry must be read first. `on_map_page_read` then continues
    /// the access.
    #[inline(never)]
    pub(super) fn must_read_entry(&mut self, entry_use: EntryUse) -> bool {
        let page = entry_use.page();
        let Some(map_page) = self.ftl.map_page(page) else { return false };
        // The cache has the newest data of a page; otherwise a waiting write has, and goes first.
        let is_kept = |t: Transfer| self.is_read_in_cache(t);
        let is_buffered = |t: Transfer| self.is_buffered(t.page);
        let is_behind = self.has_waiting_write(page);
        if entry_use.reads(is_kept)
            || !is_behind && (entry_use.reads(is_buffered) || self.ftl.has_entry(page))
        {
            return false;
        }
        if !self.map_misses.waiting.contains_key(&map_page) {
            let token = Token::new(Waiter::MapMiss, map_page);
            if !self.ftl.read(&mut self.nand, map_page, Cause::Map, token) {
                // The map page was never written, or is in the controller.
                self.ftl.cache_entry(page);
                return false;
            }
        }
        self.map_misses.push(map_page, entry_use, self.nand.events.now());
        true
    }

    /// Continues the accesses that waited for `map_page`, which has been read.
    pub(super) fn on_map_page_read(&mut self, map_page: u32) {
        for entry_use in self.map_misses.waiting.remove(&map_page).unwrap_or_default() {
            let page = entry_use.page();
            self.ftl.cache_entry(page);
            match entry_use {
                EntryUse::Read(transfer) => {
                    let now = self.nand.events.now();
                    self.map_misses.waits.iter_mut().for_each(|waits| waits.end(now));
                    self.fetch_known(transfer);
                }
                EntryUse::Ahead(token) => self.read_known_ahead(token),
                EntryUse::Write(staged) => {
                    self.report_origin(Some(page));
                    self.stage_known(staged);
                }
                EntryUse::Trim(page) => self.trim_when_written(page),
            }
        }
    }

    /// Returns `true` if a write of `page` waits for its mapping entry.
    pub(super) fn has_waiting_write(&self, page: u32) -> bool {
        if self.map_misses.waiting.is_empty() {
            return false;
        }
        let is_it =
            |entry_use: &EntryUse| matches!(entry_use, EntryUse::Write(s) if s.page == page);
        let map_page = self.ftl.map_page(page);
        let waiting = map_page.and_then(|map_page| self.map_misses.waiting.get(&map_page));
        waiting.is_some_and(|all| all.iter().any(is_it))
    }

    /// Returns the staged page to keep for later: without its request if that is answered early.
    pub(super) fn waiting_write(&self, staged: StagedPage) -> StagedPage {
        let request = staged.request.filter(|_| !self.answers_early(staged.request));
        StagedPage { request, ..staged }
    }
}
