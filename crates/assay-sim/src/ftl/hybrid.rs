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

use super::{Ftl, Written};
use crate::nand::{Cause, Nand, Spot};
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

    fn spot(&self, page: u32) -> Spot {
        Spot { plane: page % self.planes, page: 0 }
    }

    /// Programs the pages of the current stripe that are loaded; returns when they are in the
    /// cells.
    fn close_stripe(&mut self, nand: &mut Nand) -> Option<Nanos> {
        let planes = self.planes;
        let stream = self.stream.as_mut().filter(|s| s.loaded > 0)?;
        let (first, at) = (stream.next - stream.loaded, stream.loaded_at);
        stream.loaded = 0;
        let ends = (first..first + (stream.next - first))
            .map(|page| nand.confirm(Spot { plane: page % planes, page: 0 }, at, Cause::Host));
        ends.max()
    }

    /// The next page of the sequential stream: loaded into its register, programmed with its
    /// stripe.
    fn write_in_sequence(&mut self, nand: &mut Nand, page: u32, at: Nanos) -> Written {
        if page.is_multiple_of(self.superblock_pages()) {
            // The superblock before is complete and takes the place of its old one.
            (0..self.planes).for_each(|plane| {
                nand.erase(Spot { plane, page: 0 }, at, Cause::Collect);
            });
            self.logs.retain(|log| log.superblock != page / (self.planes * self.pages_per_block));
        }
        let in_register = nand.load(self.spot(page), at, Cause::Host);
        let stream = self.stream.get_or_insert(Stream { next: page, loaded: 0, loaded_at: at });
        stream.next = page + 1;
        stream.loaded += 1;
        stream.loaded_at = stream.loaded_at.max(in_register);
        let full = stream.next.is_multiple_of(self.planes);
        let in_cells = if full { self.close_stripe(nand) } else { None };
        Written {
            plane: page % self.planes,
            in_register,
            in_cells: in_cells.unwrap_or(in_register),
        }
    }

    /// A page out of sequence: its unit is read, and written to the log of its superblock.
    fn write_to_log(&mut self, nand: &mut Nand, page: u32, at: Nanos) -> Written {
        let ready = self.log_for(nand, page / self.superblock_pages(), at);
        let first = page - page % self.unit;
        let mut gathered = ready;
        for partner in (first..first + self.unit).filter(|p| *p != page) {
            gathered = gathered.max(nand.read(self.spot(partner), ready, Cause::Partial));
        }
        let mut in_cells = gathered;
        for part in first..first + self.unit {
            let cause = if part == page { Cause::Host } else { Cause::Partial };
            let loaded = nand.load(self.spot(part), gathered, cause);
            in_cells = in_cells.max(nand.confirm(self.spot(part), loaded, cause));
        }
        // There is no register to leave the data in: the unit is answered when it is programmed.
        Written { plane: page % self.planes, in_register: in_cells, in_cells }
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
            let spot = Spot { plane, page: 0 };
            for _ in 0..pages {
                nand.copy_back(spot, spot, at, Cause::Collect);
            }
            nand.erase(spot, at, Cause::Collect);
            nand.erase(spot, at, Cause::Collect)
        };
        (0..self.planes).map(merge_plane).max().unwrap_or(at)
    }
}

impl Ftl for Hybrid {
    fn read(&mut self, nand: &mut Nand, page: u32, at: Nanos) -> Nanos {
        if self.trimmed[page as usize] {
            return at;
        }
        // The registers hold what is not programmed yet: a read makes them let go of it first.
        self.close_stripe(nand);
        nand.read(self.spot(page), at, Cause::Host)
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
        nand.idle_at().max(at)
    }

    fn plane_of(&self, page: u32) -> Option<u32> {
        Some(page % self.planes)
    }

    fn locate(&self, page: u32) -> Option<u32> {
        Some(page)
    }

    fn check(&self) {}

    fn counters(&self) -> Vec<(String, f64)> {
        Vec::new()
    }
}
