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
pub(super) enum Wants {
    /// A page is to be read for the host.
    Read(Transfer),
    /// Or because it may be; this is told then.
    Ahead(u64, u32),
    /// A page, or a part of one, is to be written.
    Land(Transfer, bool),
    /// A page whose write waits is trimmed then.
    Trim(u32),
}

impl Wants {
    fn page(self) -> u32 {
        match self {
            Wants::Read(transfer) | Wants::Land(transfer, _) => transfer.page,
            Wants::Ahead(_, page) | Wants::Trim(page) => page,
        }
    }

    /// Whether a request waits for it that reads something which `is_so`.
    fn reads(self, is_so: impl Fn(Transfer) -> bool) -> bool {
        matches!(self, Wants::Read(transfer) if is_so(transfer))
    }

    fn is_read(&self) -> bool {
        self.reads(|_| true)
    }
}

/// By page of the map that is being read.
pub(super) type LookUps = BTreeMap<u32, Vec<Wants>>;

impl<F: Ftl> Ssd<F> {
    /// Whether an entry of the map must be read first; what wants it goes on then.
    #[inline(never)]
    pub(super) fn looks_up(&mut self, wants: Wants) -> bool {
        let page = wants.page();
        let Some(map_page) = self.ftl.map_page(page) else { return false };
        // The newest of a page is what is kept; else a write that waits is, and it comes first.
        let is_kept = |t: Transfer| self.reads_waiting(t);
        let is_buffered = |t: Transfer| self.is_buffered(t.page);
        let is_behind = self.is_landing(page);
        if wants.reads(is_kept) || !is_behind && (wants.reads(is_buffered) || self.ftl.knows(page))
        {
            return false;
        }
        if !self.look_ups.contains_key(&map_page) {
            let token = token(TABLE, map_page);
            if !self.ftl.read(&mut self.nand, map_page, Cause::Map, token) {
                // It was never written, or is in the controller.
                self.ftl.learn(page);
                return false;
            }
        }
        self.look_ups.entry(map_page).or_default().push(wants);
        if wants.is_read() {
            self.waits_for_saving();
        }
        true
    }

    /// Requests that wait for the map.
    pub(super) fn looking_up(&self) -> usize {
        self.look_ups.values().flatten().filter(|wants| wants.is_read()).count()
    }

    /// A page of the map has been read: whatever waited for it goes on.
    pub(super) fn looked_up(&mut self, map_page: u32) {
        for wants in self.look_ups.remove(&map_page).unwrap_or_default() {
            let page = wants.page();
            self.ftl.learn(page);
            match wants {
                Wants::Read(transfer) => {
                    self.waited_for_saving();
                    self.fetch_known(transfer);
                }
                Wants::Ahead(token, page) => self.read_known_ahead(token, page),
                Wants::Land(transfer, is_part) => {
                    self.tell_resumed(Some(page));
                    self.land_known(transfer, is_part);
                }
                Wants::Trim(page) => self.trim_when_written(page),
            }
        }
    }

    /// Whether a write waits for its entry.
    pub(super) fn is_any_landing(&self) -> bool {
        self.look_ups.values().flatten().any(|wants| matches!(wants, Wants::Land(..)))
    }

    /// Whether a write of `page` waits for its entry.
    pub(super) fn is_landing(&self, page: u32) -> bool {
        let is_it = |wants: &Wants| matches!(wants, Wants::Land(t, _) if t.page == page);
        let map_page = self.ftl.map_page(page);
        let waiting = map_page.and_then(|map_page| self.look_ups.get(&map_page));
        waiting.is_some_and(|all| all.iter().any(is_it))
    }

    /// A page that came from the host and waits for its entry, for whoever waits for it then: a
    /// request that is answered early has its number taken by another.
    pub(super) fn landing(&self, done: Transfer) -> Transfer {
        let number = if self.answers_early(done.number) { NO_REQUEST } else { done.number };
        Transfer { number, ..done }
    }
}
