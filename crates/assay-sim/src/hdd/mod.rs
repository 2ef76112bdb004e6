//! A disk: arm, rotation, zones, a read-ahead segment and a write-back cache.
//!
//! The platter turns for ever; a request waits until its first sector passes under the head. Reads
//! fill a segment that goes on filling at media rate while nothing else is asked (read-ahead), so
//! the next sequential read finds its data there or on its way. Writes are answered from the cache;
//! the drive destages them in idle time and when the cache is full, nearest in time first among the
//! oldest
//! `destage_window` (Jacobson and Wilkes, HPL-CSP-91-7, shortest access time first).

mod arm;

use crate::drive::Media;
use arm::Arm;
use assay_spec::device::{HddSpec, LinkSpec};
use assay_spec::{Bytes, Nanos, Op, Request};
use std::collections::VecDeque;

/// A disk.
pub(crate) struct Hdd {
    arm: Arm,
    link: LinkSpec,
    link_free: Nanos,
    cache: Bytes,
    write_cache: bool,
    destage_window: usize,
    segment: Option<Segment>,
    dirty: VecDeque<Extent>,
    dirty_bytes: Bytes,
    destaged: u64,
}

/// A range of sectors waiting in the cache.
#[derive(Clone, Copy, Debug)]
struct Extent {
    first: u64,
    sectors: u64,
}

/// What the arm has read and goes on reading while it is left alone.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// First sector in the cache.
    first: u64,
    /// The sector under the head at `at`; everything from `first` to here is in the cache by then,
    /// and what follows comes in at media rate.
    next: u64,
    at: Nanos,
}

impl Hdd {
    pub(crate) fn new(spec: &HddSpec, link: LinkSpec) -> Hdd {
        Hdd {
            arm: Arm::new(spec),
            link,
            link_free: Nanos::ZERO,
            cache: spec.cache,
            write_cache: spec.write_cache,
            destage_window: spec.destage_window as usize,
            segment: None,
            dirty: VecDeque::new(),
            dirty_bytes: Bytes::ZERO,
            destaged: 0,
        }
    }

    fn transfer(&mut self, at: Nanos, amount: Bytes) -> Nanos {
        self.link_free = at.max(self.link_free) + amount.time_at(self.link.rate);
        self.link_free
    }

    /// Writes extents that were begun before `now` while the disk was left alone.
    fn work_off(&mut self, now: Nanos) {
        while !self.dirty.is_empty() && self.arm.free_at() < now {
            self.destage_one();
        }
    }

    /// Writes the cached extent that can be reached first.
    fn destage_one(&mut self) -> Nanos {
        let from = self.arm.free_at();
        let reach = |(_, e): &(usize, &Extent)| self.arm.reach(from, e.first, true);
        let window = self.dirty.iter().enumerate().take(self.destage_window);
        let (index, _) = window.min_by_key(reach).expect("something is dirty");
        let extent = self.dirty.remove(index).expect("the index is inside");
        self.dirty_bytes = self.dirty_bytes - Bytes(extent.sectors * 512);
        self.destaged += 1;
        self.segment = None;
        self.arm.access(from, extent.first, extent.sectors, true)
    }

    fn flush(&mut self, at: Nanos) -> Nanos {
        self.arm.wait_until(at);
        while !self.dirty.is_empty() {
            self.destage_one();
        }
        self.arm.free_at().max(at)
    }

    fn read(&mut self, at: Nanos, first: u64, sectors: u64) -> Nanos {
        let held = (self.cache.0 / 512).max(1);
        let overlaps = |e: &Extent| e.first < first + sectors && first < e.first + e.sectors;
        if self.dirty.iter().any(overlaps) {
            // Rare: rather than piece the answer together the drive writes out what it holds.
            self.flush(at);
        }
        let reusable = self.segment.filter(|s| first >= s.first && first <= s.next + sectors);
        let done = match reusable {
            Some(segment) => self.arm.stream(segment.at, segment.next, first + sectors),
            None => {
                self.arm.wait_until(at);
                self.arm.access(self.arm.free_at(), first, sectors, false)
            }
        };
        let end = (first + sectors).max(reusable.map_or(0, |s| s.next));
        let start = reusable.map_or(first, |s| s.first).max(end.saturating_sub(held));
        self.segment = Some(Segment { first: start, next: end, at: done });
        done.max(at)
    }

    fn write(&mut self, at: Nanos, first: u64, sectors: u64) -> Nanos {
        self.segment = self.segment.filter(|s| first + sectors <= s.first || first >= s.next);
        if !self.write_cache {
            self.arm.wait_until(at);
            self.segment = None;
            return self.arm.access(self.arm.free_at(), first, sectors, true);
        }
        let size = Bytes(sectors * 512);
        let mut room = at;
        while !self.dirty.is_empty() && self.dirty_bytes + size > self.cache {
            self.arm.wait_until(at);
            room = room.max(self.destage_one());
        }
        match self.dirty.back_mut() {
            // A write that continues the last one goes to the platter with it.
            Some(last) if last.first + last.sectors == first && last.sectors < 4096 => {
                last.sectors += sectors;
            }
            _ => self.dirty.push_back(Extent { first, sectors }),
        }
        self.dirty_bytes += size;
        room
    }
}

impl Media for Hdd {
    fn serve(&mut self, at: Nanos, request: &Request) -> Nanos {
        let started = at.max(self.link_free) + self.link.command;
        self.work_off(started);
        let first = request.offset.0 / 512;
        let sectors = request.end().0.div_ceil(512) - first;
        match request.op {
            Op::Read => {
                let there = self.read(started, first, sectors);
                // The link runs beside the platter; only the last sector must wait for it.
                let behind = request.length.time_at(self.link.rate);
                self.transfer(there.saturating_sub(behind).max(started), request.length)
                    .max(there + Bytes(512).time_at(self.link.rate))
            }
            Op::Write => {
                let arrived = self.transfer(started, request.length);
                self.write(arrived, first, sectors).max(arrived)
            }
            Op::Trim => started,
            Op::Flush => self.flush(started),
        }
    }

    fn counters(&self) -> Vec<(String, f64)> {
        vec![("destaged".to_owned(), self.destaged as f64)]
    }

    fn mark(&mut self) {
        self.destaged = 0;
    }
}
