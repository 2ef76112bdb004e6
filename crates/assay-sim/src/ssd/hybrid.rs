//! Hybrid log-block mapping with superblocks (Kang et al., EMSOFT 2006; block-associative as BAST).
//!
//! A superblock is one block of every plane; logical superblocks map to physical ones as a whole,
//! pages at fixed places. What does not continue a sequential stream goes to a log superblock of
//! its own logical superblock, in units of `unit` pages: the rest of a unit is read first. When no
//! log superblock is left, the one longest unused is merged: every plane copies its block, then
//! erases the old ones. A superblock rewritten from its first page to its last is switched, at the
//! cost of an erase. Pages of one stripe (one page on each plane) loaded in sequence are programmed
//! together.
//!
//! Not modelled here: partial merges, and logs shared by several superblocks (FAST).

use super::nand::Nand;
use super::{Ftl, Written};
use assay_spec::Nanos;
use assay_spec::device::NandSpec;
use std::collections::VecDeque;

pub(crate) struct Hybrid {
    planes: u32,
    pages_per_block: u32,
    unit: u32,
    log_limit: usize,
    /// Log superblocks in use, the longest unused first.
    logs: VecDeque<Log>,
    /// The sequential stream being written straight into a new superblock.
    stream: Option<Stream>,
    trimmed: Vec<bool>,
}

/// A log superblock.
#[derive(Clone, Copy, Debug)]
struct Log {
    superblock: u32,
    units_used: u32,
}

/// A superblock being rewritten in order.
#[derive(Clone, Copy, Debug)]
struct Stream {
    next: u32,
    /// Pages of the current stripe that are loaded and not yet programmed.
    loaded: u32,
    /// When the last of them was loaded.
    loaded_at: Nanos,
}

impl Hybrid {
    pub(crate) fn new(spec: &NandSpec, logical: u32, log_limit: u32, unit: u32) -> Hybrid {
        Hybrid {
            planes: spec.planes(),
            pages_per_block: spec.pages_per_block,
            unit,
            log_limit: log_limit as usize,
            logs: VecDeque::new(),
            stream: None,
            trimmed: vec![false; logical as usize],
        }
    }

    fn superblock_pages(&self) -> u32 {
        self.planes * self.pages_per_block
    }

    fn plane_of(&self, page: u32) -> usize {
        (page % self.planes) as usize
    }

    /// Programs the pages of the current stripe that are loaded; returns when they are in the
    /// cells.
    fn close_stripe(&mut self, nand: &mut Nand) -> Option<Nanos> {
        let planes = self.planes;
        let stream = self.stream.as_mut().filter(|s| s.loaded > 0)?;
        let (first, at) = (stream.next - stream.loaded, stream.loaded_at);
        stream.loaded = 0;
        let ends = (first..first + (stream.next - first))
            .map(|page| nand.confirm((page % planes) as usize, at));
        ends.max()
    }

    /// The next page of the sequential stream: loaded into its register, programmed with its
    /// stripe.
    fn write_in_sequence(&mut self, nand: &mut Nand, page: u32, at: Nanos) -> Written {
        if page.is_multiple_of(self.superblock_pages()) {
            // The superblock before is complete and takes the place of its old one.
            (0..nand.planes()).for_each(|plane| {
                nand.erase(plane, at);
            });
            self.logs.retain(|log| log.superblock != page / (self.planes * self.pages_per_block));
        }
        let in_register = nand.load(self.plane_of(page), at);
        let stream = self.stream.get_or_insert(Stream { next: page, loaded: 0, loaded_at: at });
        stream.next = page + 1;
        stream.loaded += 1;
        stream.loaded_at = stream.loaded_at.max(in_register);
        let full = stream.next.is_multiple_of(self.planes);
        let in_cells = if full { self.close_stripe(nand) } else { None };
        Written { in_register, in_cells: in_cells.unwrap_or(in_register) }
    }

    /// A page out of sequence: its unit is read, and written to the log of its superblock.
    fn write_to_log(&mut self, nand: &mut Nand, page: u32, at: Nanos) -> Written {
        let ready = self.log_for(nand, page / self.superblock_pages(), at);
        let first = page - page % self.unit;
        let mut gathered = ready;
        for partner in (first..first + self.unit).filter(|p| *p != page) {
            gathered = gathered.max(nand.read(self.plane_of(partner), ready));
        }
        let mut in_cells = gathered;
        for part in first..first + self.unit {
            let plane = self.plane_of(part);
            let loaded = nand.load(plane, gathered);
            in_cells = in_cells.max(nand.confirm(plane, loaded));
        }
        // There is no register to leave the data in: the unit is answered when it is programmed.
        Written { in_register: in_cells, in_cells }
    }

    /// Makes sure the superblock has a log with room; returns when.
    fn log_for(&mut self, nand: &mut Nand, superblock: u32, at: Nanos) -> Nanos {
        let units = self.superblock_pages() / self.unit;
        let found = self.logs.iter().position(|log| log.superblock == superblock);
        let log = found.and_then(|index| self.logs.remove(index));
        let mut ready = at;
        let log = match log {
            Some(log) if log.units_used < units => log,
            full => {
                let victim = match full {
                    None if self.logs.len() >= self.log_limit => self.logs.pop_front(),
                    other => other,
                };
                if victim.is_some() {
                    ready = self.merge(nand, at);
                }
                Log { superblock, units_used: 0 }
            }
        };
        self.logs.push_back(Log { units_used: log.units_used + 1, ..log });
        assert!(self.logs.len() <= self.log_limit, "more logs than there are");
        ready
    }

    /// Full merge: every plane copies its block of the superblock and erases the old block and the
    /// log's.
    fn merge(&mut self, nand: &mut Nand, at: Nanos) -> Nanos {
        let pages = self.pages_per_block;
        let merge_plane = |plane| {
            nand.copy_back(plane, at, pages);
            nand.erase(plane, at);
            nand.erase(plane, at)
        };
        (0..self.planes as usize).map(merge_plane).max().unwrap_or(at)
    }
}

impl Ftl for Hybrid {
    fn read(&mut self, nand: &mut Nand, page: u32, at: Nanos) -> Nanos {
        if self.trimmed[page as usize] {
            return at;
        }
        // The registers hold what is not programmed yet: a read makes them let go of it first.
        self.close_stripe(nand);
        nand.read(self.plane_of(page), at)
    }

    fn write(&mut self, nand: &mut Nand, page: u32, at: Nanos) -> Written {
        self.trimmed[page as usize] = false;
        let continues = self.stream.is_some_and(|s| s.next == page);
        if continues || page.is_multiple_of(self.superblock_pages()) {
            if !continues {
                self.close_stripe(nand);
                self.stream = None;
            }
            return self.write_in_sequence(nand, page, at);
        }
        self.close_stripe(nand);
        self.stream = None;
        self.write_to_log(nand, page, at)
    }

    fn trim(&mut self, page: u32) {
        self.trimmed[page as usize] = true;
    }

    fn flush(&mut self, nand: &mut Nand, at: Nanos) -> Nanos {
        self.close_stripe(nand);
        nand.idle().max(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::Bytes;

    fn drive(logs: u32) -> (Hybrid, Nand) {
        let spec = NandSpec {
            channels: 2,
            dies_per_channel: 2,
            planes_per_die: 1,
            blocks_per_plane: 64,
            pages_per_block: 8,
            page: Bytes(4096),
            read: Nanos::from_micros(60),
            program: Nanos::from_micros(800),
            erase: Nanos::from_micros(1500),
            bus: Bytes(40_960_000),
        };
        (Hybrid::new(&spec, 1024, logs, 4), Nand::new(&spec))
    }

    #[test]
    fn a_sequential_page_is_answered_from_its_register() {
        let (mut ftl, mut nand) = drive(2);
        ftl.write(&mut nand, 0, Nanos::ZERO);
        let at = Nanos::from_millis(10);
        let second = ftl.write(&mut nand, 1, at);
        assert_eq!(second.in_register, at + Nanos::from_micros(100));
    }

    #[test]
    fn every_stripe_waits_for_the_one_before() {
        let (mut ftl, mut nand) = drive(2);
        let mut at = Nanos::from_millis(5);
        let mut slow = Vec::new();
        for page in 0..16 {
            let written = ftl.write(&mut nand, page, at);
            if written.in_register - at > Nanos::from_micros(500) {
                slow.push(page);
            }
            at = written.in_register;
        }
        assert_eq!(slow, [0, 4, 8, 12], "the first waits for the erase, then one a stripe");
    }

    #[test]
    fn a_random_page_reads_its_unit_and_programs_it() {
        let (mut ftl, mut nand) = drive(2);
        let written = ftl.write(&mut nand, 5, Nanos::ZERO);
        assert!(written.in_register > Nanos::from_micros(800 + 160), "{written:?}");
        assert_eq!((nand.counts.reads, nand.counts.programs), (3, 4));
    }

    #[test]
    fn the_log_after_the_last_costs_a_merge() {
        let (mut ftl, mut nand) = drive(2);
        let mut at = Nanos::ZERO;
        let mut latencies = Vec::new();
        for superblock in 1..=3 {
            let end = ftl.write(&mut nand, superblock * 32 + 5, at).in_register;
            latencies.push(end - at);
            at = end;
        }
        let merge = Nanos::from_micros(8 * 860 + 2 * 1500);
        assert_eq!(latencies[1], latencies[0]);
        assert_eq!(latencies[2], latencies[0] + merge);
    }
}
