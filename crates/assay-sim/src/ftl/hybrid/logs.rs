//! Writes to the stream, if they come in order, or else to logs; and the merges of logs. Of a
//! mapping unit that is written only in part, the rest is read before and written behind.

use super::shape::PagePlace;
use super::shared::SharedLog;
use super::*;
use super::{Hybrid, OpenStream, SuperblockLog};
use assay_spec::device::{LogOpens, UnitReads};

impl Hybrid {
    /// Lets the held programs of an incomplete stripe begin.
    pub(super) fn close_stripe(&mut self, nand: &mut Nand) {
        nand.release(&self.held);
        self.held.clear();
    }

    /// Ends the stream: copies the missing pages, and replaces the old superblock.
    pub(super) fn close_stream(&mut self, nand: &mut Nand) {
        self.close_stripe(nand);
        let Some(stream) = self.stream.take() else { return };
        let missing = stream.fill..self.shape.pages();
        self.merges[if missing.is_empty() { SWITCH } else { PARTIAL }] += 1;
        self.copy(nand, stream.superblock, stream.block, missing);
        self.replace(nand, stream.superblock, stream.block);
    }

    /// Opens a stream at `place`, after ending the one before. Copies the pages before `place`.
    pub(super) fn open_stream(&mut self, nand: &mut Nand, place: PagePlace) {
        self.close_stream(nand);
        let block = self.superblocks.take(place.superblock);
        self.copy(nand, place.superblock, block, 0..place.offset);
        let superblock = place.superblock;
        self.stream = Some(OpenStream { superblock, block, fill: place.offset });
    }

    /// Writes the next page of the stream, at `place`. Returns its plane.
    pub(super) fn write_in_order(
        &mut self,
        nand: &mut Nand,
        place: PagePlace,
        token: Token,
    ) -> u32 {
        let Some(stream) = &mut self.stream else { return 0 };
        let ppa = self.superblocks.ppa(place, stream.block, place.offset / self.shape.width);
        stream.fill += 1;
        let complete = stream.fill == self.shape.pages();
        let program = nand.program_held(ppa, Cause::Host, token);
        self.held.push(program);
        if (place.offset + 1).is_multiple_of(self.shape.width) || complete {
            nand.release_together(std::mem::take(&mut self.held));
        }
        if complete {
            self.close_stream(nand);
        }
        ppa.plane
    }

    /// Returns the index of the log of the superblock of `place`, which has room for a unit. Merges
    /// logs and opens one if needed.
    pub(super) fn log_for(&mut self, nand: &mut Nand, place: PagePlace) -> usize {
        let superblock = place.superblock;
        let found = self.logs.iter().position(|log| log.superblock == superblock);
        if let Some(index) = found {
            // A unit may have more pages than there are planes.
            let most = self.policy.unit.div_ceil(self.shape.width);
            let pages = self.shape.pages_per_block * self.policy.blocks_per_log;
            let room = |next: &u16| u32::from(*next) + most <= pages;
            let own = (place.offset % self.shape.width) as usize;
            let full = match self.policy.switches_logs {
                // The last row is yet to be filled when its first page is there.
                true => !room(&self.logs[index].next[own]),
                false => !self.logs[index].next.iter().all(room),
            };
            if !full {
                // The log is now the most recently used.
                if let Some(log) = self.logs.remove(index) {
                    self.logs.push_back(log);
                }
                return self.logs.len() - 1;
            }
            self.merge(nand, superblock);
        } else if self.logs.len() >= self.policy.log_limit {
            let oldest = self.logs.iter().take(self.policy.merge_together);
            for superblock in oldest.map(|log| log.superblock).collect::<Vec<u32>>() {
                self.merge(nand, superblock);
            }
        }
        self.open_log(nand, place);
        self.logs.len() - 1
    }

    /// Opens a log for a write at `place`.
    pub(super) fn open_log(&mut self, nand: &mut Nand, place: PagePlace) {
        let PagePlace { superblock, offset } = place;
        let block = self.superblocks.take(superblock);
        let before = match self.policy.log_opens {
            LogOpens::Empty => 0,
            LogOpens::InPlace => offset - offset % self.policy.unit,
        };
        self.copy(nand, superblock, block, 0..before);
        let width = self.shape.width;
        let first = Lpn(superblock * self.shape.pages());
        let copied = |offset: u32| offset < before && self.written[(first + offset).index()];
        let index = |offset: u32| if copied(offset) { (offset / width) as u16 } else { NOT_HERE };
        let next = (0..width).map(|plane| (before + width - 1 - plane) / width);
        self.opened += 1;
        self.logs.push_back(SuperblockLog {
            superblock,
            opened: self.opened,
            blocks: vec![block],
            next: next.map(|page| page as u16).collect(),
            index: (0..self.shape.pages()).map(index).collect(),
        });
    }

    /// Merges a superblock in full: copies the newest version of each page to a new superblock.
    /// Ends its stream or switches its log instead, if it can.
    pub(super) fn merge(&mut self, nand: &mut Nand, superblock: u32) {
        if self.stream.is_some_and(|stream| stream.superblock == superblock) {
            // The stream has the newest pages. With the rest copied it replaces data and log.
            return self.close_stream(nand);
        }
        if self.policy.switches_logs && self.switch(nand, superblock) {
            return;
        }
        self.merges[FULL] += 1;
        let block = self.superblocks.take(superblock);
        self.copy(nand, superblock, block, 0..self.shape.pages());
        self.replace(nand, superblock, block);
    }

    /// Switches the log of a superblock for its data if all pages in it are in their places: copies
    /// the missing pages behind them first. Returns `false` if it cannot.
    pub(super) fn switch(&mut self, nand: &mut Nand, superblock: u32) -> bool {
        let Some(at) = self.logs.iter().position(|log| log.superblock == superblock) else {
            return false;
        };
        let (log, width) = (&self.logs[at], self.shape.width);
        let row = |offset: u32| (offset / width) as u16;
        let is_in = |offset: &u32| row(*offset) < log.next[(offset % width) as usize];
        if (0..self.shape.pages()).filter(is_in).any(|o| log.index[o as usize] != row(o)) {
            return false;
        }
        let missing: Vec<u32> = (0..self.shape.pages()).filter(|o| !is_in(o)).collect();
        self.merges[if missing.is_empty() { SWITCH } else { PARTIAL }] += 1;
        let block = log.blocks[0];
        missing.into_iter().for_each(|o| self.copy(nand, superblock, block, o..o + 1));
        self.logs.remove(at);
        self.replace(nand, superblock, block);
        true
    }

    /// Takes the next place of a page in log `number`, and returns it.
    pub(super) fn append(&mut self, number: usize, place: PagePlace) -> Ppa {
        let index = self.logs[number].next[(place.offset % self.shape.width) as usize];
        if u32::from(index) == self.logs[number].blocks.len() as u32 * self.shape.pages_per_block {
            let block = self.superblocks.take(place.superblock);
            self.logs[number].blocks.push(block);
        }
        let log = &mut self.logs[number];
        log.next[(place.offset % self.shape.width) as usize] += 1;
        log.index[place.offset as usize] = index;
        self.logs[number].ppa(self, place, index)
    }

    /// Writes a page that is out of order to its log. The pages of its unit that `run` leaves out
    /// are read first and programmed behind it; the host does not wait for those programs.
    pub(super) fn write_to_log(
        &mut self,
        nand: &mut Nand,
        page: Lpn,
        run: &Range<Lpn>,
        token: Token,
    ) -> u32 {
        let place = self.shape.place(page);
        if self.shared.is_some() {
            let ppa = self.append_to_shared(nand, page);
            self.written[page.index()] = true;
            nand.program_after(ppa, Cause::Host, token, &[]);
            return ppa.plane;
        }
        let log = self.log_for(nand, place);
        let rest = match page == self.unit_of(page).start.max(run.start) {
            true => self.rest_of_unit(page, run),
            false => Vec::new(),
        };
        let reads = self.read_unit(nand, &rest);
        let ppa = self.append(log, place);
        self.written[page.index()] = true;
        // No register is free to hold the data while the unit is read.
        let token = if reads.is_empty() { token } else { token.in_cells() };
        let program = nand.program_after(ppa, Cause::Host, token, &reads);
        for (other, from) in rest {
            let to = self.append(log, self.shape.place(other));
            nand.program_from(to, Cause::Partial, from, &[program]);
        }
        ppa.plane
    }

    /// Returns the pages of the unit of `page`.
    fn unit_of(&self, page: Lpn) -> Range<Lpn> {
        let first = page - page.0 % self.policy.unit;
        first..(first + self.policy.unit).min(Lpn(self.written.len() as u32))
    }

    /// Returns the written pages of the unit of `page` outside `run`, with their places.
    fn rest_of_unit(&self, page: Lpn, run: &Range<Lpn>) -> Vec<(Lpn, Ppa)> {
        let is_left_out = |page: &Lpn| !run.contains(page) && self.written[page.index()];
        let others = Lpn::iter(self.unit_of(page)).filter(is_left_out);
        others.filter_map(|p| Some((p, self.at_rest(p)?))).collect()
    }

    /// Queues the reads of the rest of a unit. Returns those to wait for: after them all of it is
    /// there.
    fn read_unit(&self, nand: &mut Nand, rest: &[(Lpn, Ppa)]) -> Vec<u32> {
        let mut reads = Vec::new();
        for (_, from) in rest {
            reads = match (self.policy.unit_reads, reads.as_slice()) {
                (UnitReads::OneByOne, before) => {
                    vec![nand.read_after(*from, Cause::Partial, Token::NONE, before)]
                }
                (UnitReads::Together, _) => {
                    reads.push(nand.read(*from, Cause::Partial, Token::NONE));
                    reads
                }
            };
        }
        reads
    }

    /// Takes the next place of `page` in the shared logs, and returns it. Opens a log if all are
    /// full.
    fn append_to_shared(&mut self, nand: &mut Nand, page: Lpn) -> Ppa {
        let place = self.shape.place(page);
        let group = place.superblock % self.shape.groups;
        let offset = (place.offset % self.shape.width) as usize;
        let pages = self.shape.pages_per_block;
        let found = self.shared().room(group, offset, pages);
        let index = found.unwrap_or_else(|| self.open_shared(nand, group));
        let (number, row) = self.shared().take_place(group, index, offset);
        let ppa = self.superblocks.ppa(place, number, row);
        self.shared().note_copy(group, index, page, ppa.page);
        ppa
    }

    fn shared(&mut self) -> &mut Shared {
        self.shared.as_mut().expect("its logs are shared")
    }

    /// Opens a log in `group`, and empties the oldest first if there are as many as there may be.
    /// Returns the index of the log in the group.
    fn open_shared(&mut self, nand: &mut Nand, group: u32) -> usize {
        if self.shared().logs_in(group) >= self.policy.log_limit {
            self.empty_oldest(nand, group);
        }
        let number = self.superblocks.take(group);
        let next = vec![0; self.shape.width as usize];
        self.opened += 1;
        let log = SharedLog { group, opened: self.opened, number, next, wrote: Vec::new() };
        self.shared().open(log);
        self.shared().logs_in(group) - 1
    }

    /// Merges every superblock with a valid page in the oldest log of `group`, and erases the log.
    fn empty_oldest(&mut self, nand: &mut Nand, group: u32) {
        let mut from = 0;
        while let Some((number, page)) = self.shared().counting_in_oldest(group, from) {
            self.merge(nand, self.shape.place(page).superblock);
            from = number + 1;
        }
        let Some(number) = self.shared().remove_oldest(group) else { return };
        self.erase(nand, group, number);
        self.give_back(group, number);
    }
}
