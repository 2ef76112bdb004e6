//! Logs that all superblocks of a group share (FAST: Lee et al., ACM TECS 2007). A page goes to the
//! next place on its plane in the log that is being filled, whichever superblock it belongs to.
//! When a group has as many logs as it may have, its oldest is emptied: each superblock with a
//! valid page in it is merged.
//!
//! A log may hold old copies of a page that has been merged since. If that page is trimmed, merges
//! copy its content along as long as logs hold such copies: otherwise a recovery scan would find
//! one of them as the newest version.

use crate::ftl::NONE;
use crate::lpn::Lpn;
use std::collections::VecDeque;

/// The shared logs of all groups.
pub(super) struct Shared {
    /// By group: its logs, the oldest first.
    logs: Vec<VecDeque<SharedLog>>,
    /// By logical page: the physical page of its valid copy in a log, or `NONE`.
    newest: Vec<u32>,
    /// By logical page: the number of its copies in logs, old ones included.
    copies: Vec<u32>,
}

/// A shared log.
pub(super) struct SharedLog {
    /// The group whose superblocks share the log.
    pub(super) group: u32,
    /// The number of logs opened so far when this one was opened, including itself.
    pub(super) opened: u64,
    /// The physical superblock.
    pub(super) number: u32,
    /// By plane of the group: the next page to program.
    pub(super) next: Vec<u32>,
    /// The pages written, as (logical page, physical page).
    pub(super) wrote: Vec<(Lpn, u32)>,
}

impl Shared {
    /// Returns the state of `pages` logical pages in `groups` groups, without logs.
    pub(super) fn new(pages: usize, groups: u32) -> Shared {
        let logs = (0..groups).map(|_| VecDeque::new()).collect();
        Shared { logs, newest: vec![NONE; pages], copies: vec![0; pages] }
    }

    /// Returns the number of logs.
    pub(super) fn len(&self) -> usize {
        self.logs.iter().map(VecDeque::len).sum()
    }

    fn all(&self) -> impl Iterator<Item = &SharedLog> {
        self.logs.iter().flatten()
    }

    /// Returns the physical page of the valid copy of `page` in a log, if there is one.
    pub(super) fn newest(&self, page: Lpn) -> Option<u32> {
        Some(self.newest[page.index()]).filter(|physical| *physical != NONE)
    }

    /// Adds `log`, which is the newest of its group.
    pub(super) fn open(&mut self, log: SharedLog) {
        self.logs[log.group as usize].push_back(log);
    }

    /// Returns `true` if a log holds a copy of `page`, valid or not.
    pub(super) fn has_copy(&self, page: Lpn) -> bool {
        self.copies[page.index()] > 0
    }

    /// Invalidates the copies of `page` in logs.
    pub(super) fn supersede(&mut self, page: Lpn) {
        self.newest[page.index()] = NONE;
    }

    /// Returns the physical superblocks of all logs, each behind a logical one of its group.
    pub(super) fn superblocks(&self) -> impl Iterator<Item = (u32, u32)> {
        self.all().map(|log| (log.group, log.number))
    }

    /// Returns the number of logs that had been opened when the oldest was, including itself.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.all().map(|log| log.opened).min()
    }

    /// Returns the next valid page in the oldest log of `group`, from its write number `from` on:
    /// the number of the write, and the logical page.
    pub(super) fn counting_in_oldest(&self, group: u32, from: usize) -> Option<(usize, Lpn)> {
        let counts = |(_, (page, at)): &(usize, &(Lpn, u32))| self.newest[page.index()] == *at;
        let mut wrote = self.logs[group as usize].front()?.wrote.iter().enumerate().skip(from);
        wrote.find(counts).map(|(number, (page, _))| (number, *page))
    }

    /// Returns the index of the log of `group` that takes the next page of a plane. Older logs are
    /// full there. Returns `None` if all are.
    pub(super) fn room(&self, group: u32, offset: usize, pages: u32) -> Option<usize> {
        let logs = &self.logs[group as usize];
        let index = logs.partition_point(|log| log.next[offset] == pages);
        (index < logs.len()).then_some(index)
    }

    /// Panics unless the copies of each page are counted and all valid ones are in a log.
    pub(super) fn check(&self) {
        let mut copies = vec![0; self.copies.len()];
        let mut found = 0;
        for (page, at) in self.all().flat_map(|log| &log.wrote) {
            copies[page.index()] += 1;
            found += usize::from(self.newest[page.index()] == *at);
        }
        assert_eq!(copies, self.copies, "copies in logs");
        let counting = self.newest.iter().filter(|at| **at != NONE).count();
        assert_eq!(found, counting, "what counts is in a log");
    }

    /// Returns the number of logs in `group`.
    pub(super) fn logs_in(&self, group: u32) -> usize {
        self.logs[group as usize].len()
    }

    /// Takes the next place on the plane of `offset` in log `index` of `group`. Returns the log's
    /// superblock and the row.
    pub(super) fn take_place(&mut self, group: u32, index: usize, offset: usize) -> (u32, u32) {
        let log = &mut self.logs[group as usize][index];
        log.next[offset] += 1;
        (log.number, log.next[offset] - 1)
    }

    /// Notes that log `index` of `group` has the newest copy of `page`, at `physical`.
    pub(super) fn note_copy(&mut self, group: u32, index: usize, page: Lpn, physical: u32) {
        self.logs[group as usize][index].wrote.push((page, physical));
        self.newest[page.index()] = physical;
        self.copies[page.index()] += 1;
    }

    /// Removes the oldest log of `group`; returns its superblock.
    pub(super) fn remove_oldest(&mut self, group: u32) -> Option<u32> {
        let log = self.logs[group as usize].pop_front()?;
        for (page, _) in log.wrote {
            self.copies[page.index()] -= 1;
        }
        Some(log.number)
    }
}
