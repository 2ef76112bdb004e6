//! What waits for a page of the map, if the map is not in memory as a whole.
//!
//! Whoever needs an entry that is not there waits until the page of the map with it has been read,
//! and with it all who need another of that page meanwhile. They go on in the order in which they
//! came; and what comes for a page of which a write waits waits behind that.

use super::Ssd;
use super::flow::{NO_REQUEST, TABLE, token};
use super::link::Transfer;
use crate::ftl::Ftl;
use crate::nand::Cause;
use std::collections::BTreeMap;

/// What waits for an entry of the map.
#[derive(Clone, Copy, Debug)]
pub(super) enum EntryUse {
    /// A page is to be read for the host.
    Read(Transfer),
    /// Or because it may be; this is told then.
    Ahead(u64, u32),
    /// A page, or a part of one, is to be written.
    Land(Transfer, bool),
    /// A page whose write waits is trimmed then.
    Trim(u32),
}

impl EntryUse {
    fn page(self) -> u32 {
        match self {
            EntryUse::Read(transfer) | EntryUse::Land(transfer, _) => transfer.page,
            EntryUse::Ahead(_, page) | EntryUse::Trim(page) => page,
        }
    }

    /// Whether a request waits for it that reads something which `is_so`.
    fn reads(self, is_so: impl Fn(Transfer) -> bool) -> bool {
        matches!(self, EntryUse::Read(transfer) if is_so(transfer))
    }

    fn is_read(&self) -> bool {
        self.reads(|_| true)
    }
}

/// By page of the map that is being read.
pub(super) type MapMisses = BTreeMap<u32, Vec<EntryUse>>;

impl<F: Ftl> Ssd<F> {
    /// Whether an entry of the map must be read first; what wants it goes on then.
    #[inline(never)]
    pub(super) fn must_read_entry(&mut self, entry_use: EntryUse) -> bool {
        let page = entry_use.page();
        let Some(map_page) = self.ftl.map_page(page) else { return false };
        // The newest of a page is what is kept; else a write that waits is, and it comes first.
        let is_kept = |t: Transfer| self.reads_waiting(t);
        let is_buffered = |t: Transfer| self.is_buffered(t.page);
        let is_behind = self.is_landing(page);
        if entry_use.reads(is_kept)
            || !is_behind && (entry_use.reads(is_buffered) || self.ftl.knows(page))
        {
            return false;
        }
        if !self.map_misses.contains_key(&map_page) {
            let token = token(TABLE, map_page);
            if !self.ftl.read(&mut self.nand, map_page, Cause::Map, token) {
                // It was never written, or is in the controller.
                self.ftl.learn(page);
                return false;
            }
        }
        self.map_misses.entry(map_page).or_default().push(entry_use);
        if entry_use.is_read() {
            self.waits_for_saving();
        }
        true
    }

    /// Requests that wait for the map.
    pub(super) fn looking_up(&self) -> usize {
        self.map_misses.values().flatten().filter(|entry_use| entry_use.is_read()).count()
    }

    /// A page of the map has been read: whatever waited for it goes on.
    pub(super) fn looked_up(&mut self, map_page: u32) {
        for entry_use in self.map_misses.remove(&map_page).unwrap_or_default() {
            let page = entry_use.page();
            self.ftl.learn(page);
            match entry_use {
                EntryUse::Read(transfer) => {
                    self.waited_for_saving();
                    self.fetch_known(transfer);
                }
                EntryUse::Ahead(token, page) => self.read_known_ahead(token, page),
                EntryUse::Land(transfer, is_part) => {
                    self.tell_resumed(Some(page));
                    self.land_known(transfer, is_part);
                }
                EntryUse::Trim(page) => self.trim_when_written(page),
            }
        }
    }

    /// Whether a write waits for its entry.
    pub(super) fn is_any_landing(&self) -> bool {
        self.map_misses.values().flatten().any(|entry_use| matches!(entry_use, EntryUse::Land(..)))
    }

    /// Whether a write of `page` waits for its entry.
    pub(super) fn is_landing(&self, page: u32) -> bool {
        let is_it =
            |entry_use: &EntryUse| matches!(entry_use, EntryUse::Land(t, _) if t.page == page);
        let map_page = self.ftl.map_page(page);
        let waiting = map_page.and_then(|map_page| self.map_misses.get(&map_page));
        waiting.is_some_and(|all| all.iter().any(is_it))
    }

    /// A page that came from the host and waits for its entry, for whoever waits for it then: a
    /// request that is answered early has its number taken by another.
    pub(super) fn landing(&self, done: Transfer) -> Transfer {
        let number = if self.answers_early(done.number) { NO_REQUEST } else { done.number };
        Transfer { number, ..done }
    }
}
