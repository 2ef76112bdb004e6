//! Logs that belong to nobody (Lee et al., ACM TECS 2007, FAST): a page goes to the next place of
//! its plane in the log that is being filled, whatever superblock of its group it is of. When the
//! group has as many as it may have, its oldest is emptied: each superblock with a page in it that
//! counts is merged.
//!
//! A log may hold old copies of a page that has been merged since. If that page is trimmed, merges
//! take its content along as long as there are such: else one of them would be the newest that is
//! found after a power cut.

use super::{Hybrid, NONE};
use crate::nand::{Nand, Ppa};
use std::collections::VecDeque;

pub(super) struct Shared {
    /// By group, the oldest first.
    logs: Vec<VecDeque<SharedLog>>,
    /// By logical page: the physical page in a log that counts, or `NONE`.
    newest: Vec<u32>,
    /// By logical page: copies in logs, old ones among them.
    copies: Vec<u32>,
}

pub(super) struct SharedLog {
    pub(super) group: u32,
    /// How many had been opened when it was, itself among them.
    pub(super) opened: u64,
    pub(super) number: u32,
    /// Next page on each plane.
    pub(super) next: Vec<u32>,
    /// Logical pages with their physical ones.
    pub(super) wrote: Vec<(u32, u32)>,
}

impl Shared {
    pub(super) fn new(pages: usize, groups: u32) -> Shared {
        let logs = (0..groups).map(|_| VecDeque::new()).collect();
        Shared { logs, newest: vec![NONE; pages], copies: vec![0; pages] }
    }

    pub(super) fn len(&self) -> usize {
        self.logs.iter().map(VecDeque::len).sum()
    }

    fn all(&self) -> impl Iterator<Item = &SharedLog> {
        self.logs.iter().flatten()
    }

    /// The physical page of `page` in a log, if it counts.
    pub(super) fn newest(&self, page: u32) -> Option<u32> {
        Some(self.newest[page as usize]).filter(|physical| *physical != NONE)
    }

    /// There is another log.
    pub(super) fn open(&mut self, log: SharedLog) {
        self.logs[log.group as usize].push_back(log);
    }

    /// Whether a log holds a copy of `page`.
    pub(super) fn has_copy(&self, page: u32) -> bool {
        self.copies[page as usize] > 0
    }

    /// What logs hold of `page` does not count any longer.
    pub(super) fn supersede(&mut self, page: u32) {
        self.newest[page as usize] = NONE;
    }

    /// The physical superblocks of all logs, with a logical one of their group.
    pub(super) fn superblocks(&self) -> impl Iterator<Item = (u32, u32)> {
        self.all().map(|log| (log.group, log.number))
    }

    /// How many logs had been opened when the oldest was.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.all().map(|log| log.opened).min()
    }

    /// Of the pages written to the oldest log of `group` the next from number `from` on that
    /// counts: its number, and the logical page.
    fn counting_in_oldest(&self, group: u32, from: usize) -> Option<(usize, u32)> {
        let counts = |(_, (page, at)): &(usize, &(u32, u32))| self.newest[*page as usize] == *at;
        let mut wrote = self.logs[group as usize].front()?.wrote.iter().enumerate().skip(from);
        wrote.find(counts).map(|(number, (page, _))| (number, *page))
    }

    /// The log of `group` that has the next page of a plane: older ones are full there.
    fn room(&self, group: u32, offset: usize, pages: u32) -> Option<usize> {
        let logs = &self.logs[group as usize];
        let index = logs.partition_point(|log| log.next[offset] == pages);
        (index < logs.len()).then_some(index)
    }

    /// Panics unless the copies of each page are counted and those that count are there.
    pub(super) fn check(&self) {
        let mut copies = vec![0; self.copies.len()];
        let mut found = 0;
        for (page, at) in self.all().flat_map(|log| &log.wrote) {
            copies[*page as usize] += 1;
            found += usize::from(self.newest[*page as usize] == *at);
        }
        assert_eq!(copies, self.copies, "copies in logs");
        let counting = self.newest.iter().filter(|at| **at != NONE).count();
        assert_eq!(found, counting, "what counts is in a log");
    }
}

impl Hybrid {
    /// The next place of `page` in the logs that all share.
    pub(super) fn append_to_shared(&mut self, nand: &mut Nand, page: u32) -> Ppa {
        let place = self.shape.place(page);
        let group = place.superblock % self.shape.groups;
        let offset = (place.offset % self.shape.width) as usize;
        let pages = self.shape.pages_per_block;
        let found = self.shared().room(group, offset, pages);
        let index = found.unwrap_or_else(|| self.open_shared(nand, group));
        let log = &mut self.shared().logs[group as usize][index];
        let (number, row) = (log.number, log.next[offset]);
        log.next[offset] += 1;
        let ppa = self.superblocks.ppa(place, number, row);
        let shared = self.shared();
        shared.logs[group as usize][index].wrote.push((page, ppa.page));
        shared.newest[page as usize] = ppa.page;
        shared.copies[page as usize] += 1;
        ppa
    }

    fn shared(&mut self) -> &mut Shared {
        self.shared.as_mut().expect("its logs are shared")
    }

    /// Opens a log in `group`; its number among those of the group.
    fn open_shared(&mut self, nand: &mut Nand, group: u32) -> usize {
        if self.shared().logs[group as usize].len() >= self.log_limit {
            self.empty_oldest(nand, group);
        }
        let number = self.superblocks.take(group);
        let next = vec![0; self.shape.width as usize];
        self.opened += 1;
        let log = SharedLog { group, opened: self.opened, number, next, wrote: Vec::new() };
        self.shared().open(log);
        self.shared().logs[group as usize].len() - 1
    }

    /// Merges every superblock with a page in the oldest log of `group`, and erases that.
    fn empty_oldest(&mut self, nand: &mut Nand, group: u32) {
        let mut from = 0;
        while let Some((number, page)) = self.shared().counting_in_oldest(group, from) {
            self.merge(nand, self.shape.place(page).superblock);
            from = number + 1;
        }
        let Some(log) = self.shared().logs[group as usize].pop_front() else { return };
        for (page, _) in log.wrote {
            self.shared().copies[page as usize] -= 1;
        }
        self.erase(nand, group, log.number);
        self.give_back(group, log.number);
    }
}
