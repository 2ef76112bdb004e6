//! Misses of the cached mapping table (DFTL): accesses that wait for a map page.
//!
//! An access whose mapping entry is not in memory waits until its map page has been read. Accesses
//! that wait for the same map page continue in arrival order. An access to a page with a waiting
//! write waits behind that write.

use super::buffer::StagedPage;
use super::link::LinkTransfer;
use crate::lpn::Lpn;
use crate::nand::Token;
use crate::waits::Waits;
use assay_spec::Nanos;
use std::collections::BTreeMap;

/// An access that waits for a mapping entry.
#[derive(Clone, Copy, Debug)]
pub(super) enum EntryUse {
    /// A read for the host.
    Read(LinkTransfer),
    /// A read-ahead.
    Ahead(Token),
    /// A write.
    Write(StagedPage),
    /// A trim of a page whose write waits.
    Trim(Lpn),
}

impl EntryUse {
    /// Returns the page that is accessed.
    pub(super) fn page(self) -> Lpn {
        match self {
            EntryUse::Read(transfer) => transfer.page,
            EntryUse::Write(staged) => staged.page,
            EntryUse::Ahead(token) => token.page(),
            EntryUse::Trim(page) => page,
        }
    }

    /// Returns `true` for a host read whose transfer satisfies `is_so`.
    pub(super) fn reads(self, is_so: impl Fn(LinkTransfer) -> bool) -> bool {
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
    waiting: BTreeMap<Lpn, Vec<EntryUse>>,
    /// The waits of host reads.
    waits: Waits,
}

impl MapMisses {
    /// Creates the state of a drive without waiting accesses. `may_miss` says whether mapping
    /// entries can be missing from memory.
    pub(super) fn new(may_miss: bool) -> MapMisses {
        MapMisses { may_miss, waiting: BTreeMap::new(), waits: Waits::default() }
    }

    /// Returns `true` if mapping entries can be missing from memory.
    #[inline]
    pub(super) fn may_miss(&self) -> bool {
        self.may_miss
    }

    /// Returns `true` if an access waits for `map_page`, which is being read then.
    pub(super) fn is_being_read(&self, map_page: Lpn) -> bool {
        self.waiting.contains_key(&map_page)
    }

    /// Adds an access that waits for `map_page`.
    pub(super) fn push(&mut self, map_page: Lpn, entry_use: EntryUse, now: Nanos) {
        self.waiting.entry(map_page).or_default().push(entry_use);
        if entry_use.is_read() {
            self.waits.begin(now);
        }
    }

    /// Returns `true` if any write waits for its mapping entry.
    pub(super) fn has_writes(&self) -> bool {
        let is_write = |entry_use: &EntryUse| matches!(entry_use, EntryUse::Write(_));
        self.waiting.values().flatten().any(is_write)
    }

    /// Removes and returns the accesses that waited for `map_page`, in order of arrival.
    pub(super) fn take(&mut self, map_page: Lpn, now: Nanos) -> Vec<EntryUse> {
        let all = self.waiting.remove(&map_page).unwrap_or_default();
        all.iter().filter(|entry_use| entry_use.is_read()).for_each(|_| self.waits.end(now));
        all
    }

    /// Returns `true` if no access waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns `true` if a write of `page` waits for `map_page`, which has its mapping entry.
    pub(super) fn has_write(&self, map_page: Lpn, page: Lpn) -> bool {
        let is_it =
            |entry_use: &EntryUse| matches!(entry_use, EntryUse::Write(s) if s.page == page);
        self.waiting.get(&map_page).is_some_and(|all| all.iter().any(is_it))
    }

    /// Returns the number of host reads that wait for a map page.
    fn reads(&self) -> usize {
        self.waiting.values().flatten().filter(|entry_use| entry_use.is_read()).count()
    }

    /// Times waits from the next mark on.
    pub(super) fn time_waits(&mut self) {
        self.waits.time();
    }

    /// Returns the number and the time of waits since the last mark.
    pub(super) fn waited(&self, now: Nanos) -> (u64, Nanos) {
        self.waits.since_mark(now, self.reads())
    }

    /// Sets a mark for the waits: they count from `now` on.
    pub(super) fn mark_waits(&mut self, now: Nanos) {
        let open = self.reads();
        self.waits.mark(now, open);
    }
}
