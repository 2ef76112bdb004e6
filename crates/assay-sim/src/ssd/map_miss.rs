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

/// Waiting accesses by the map page that is being read.
pub(super) type MapMisses = BTreeMap<u32, Vec<EntryUse>>;

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
        if !self.map_misses.contains_key(&map_page) {
            let token = Token::new(Waiter::MapMiss, map_page);
            if !self.ftl.read(&mut self.nand, map_page, Cause::Map, token) {
                // The map page was never written, or is in the controller.
                self.ftl.cache_entry(page);
                return false;
            }
        }
        self.map_misses.entry(map_page).or_default().push(entry_use);
        if entry_use.is_read() {
            self.waits_for_saving();
        }
        true
    }

    /// Returns the number of host reads that wait for a map page.
    pub(super) fn reads_waiting_for_map(&self) -> usize {
        self.map_misses.values().flatten().filter(|entry_use| entry_use.is_read()).count()
    }

    /// Continues the accesses that waited for `map_page`, which has been read.
    pub(super) fn on_map_page_read(&mut self, map_page: u32) {
        for entry_use in self.map_misses.remove(&map_page).unwrap_or_default() {
            let page = entry_use.page();
            self.ftl.cache_entry(page);
            match entry_use {
                EntryUse::Read(transfer) => {
                    self.waited_for_saving();
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

    /// Returns `true` if any write waits for its mapping entry.
    pub(super) fn has_waiting_writes(&self) -> bool {
        self.map_misses.values().flatten().any(|entry_use| matches!(entry_use, EntryUse::Write(_)))
    }

    /// Returns `true` if a write of `page` waits for its mapping entry.
    pub(super) fn has_waiting_write(&self, page: u32) -> bool {
        let is_it =
            |entry_use: &EntryUse| matches!(entry_use, EntryUse::Write(s) if s.page == page);
        let map_page = self.ftl.map_page(page);
        let waiting = map_page.and_then(|map_page| self.map_misses.get(&map_page));
        waiting.is_some_and(|all| all.iter().any(is_it))
    }

    /// Returns the staged page to keep for later: without its request if that is answered early.
    pub(super) fn waiting_write(&self, staged: StagedPage) -> StagedPage {
        let request = staged.request.filter(|_| !self.answers_early(staged.request));
        StagedPage { request, ..staged }
    }
}
