//! A solid-state drive: controller, buffer, read-ahead and translation layer over flash time-lines.
//!
//! One request passes: firmware (`link.command`), then page by page the buffer or the flash, and
//! the link. The link is half duplex and in order. A written page is answered when it is safe from
//! the host's point of view: in DRAM with a DRAM buffer, in a page register with none.

mod hybrid;
mod nand;
mod page_map;

use crate::drive::Media;
use assay_spec::device::{BufferSpec, FtlSpec, LinkSpec, ReadAheadSpec, SsdSpec};
use assay_spec::{Bytes, Nanos, Op, Request};
use nand::Nand;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Maps logical pages to flash; puts reads and programs on the time-lines.
pub(crate) trait Ftl {
    /// Reads a logical page at `at`; returns when its data is in the controller.
    fn read(&mut self, nand: &mut Nand, page: u32, at: Nanos) -> Nanos;
    /// Writes `pages` consecutive logical pages from `first`, the data of the i-th being at the
    /// controller at `arrival(i)`; reports each page's time in the register and its end.
    fn write(&mut self, nand: &mut Nand, page: u32, at: Nanos) -> Written;
    /// Forgets a logical page.
    fn trim(&mut self, page: u32);
    /// Everything still half done is finished; returns when.
    fn flush(&mut self, nand: &mut Nand, at: Nanos) -> Nanos;
}

/// The times of a written page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// Its data has left the controller for a page register.
    pub in_register: Nanos,
    /// Its data is in the cells.
    pub in_cells: Nanos,
}

/// A solid-state drive.
pub(crate) struct Ssd {
    ftl: Box<dyn Ftl + Send>,
    nand: Nand,
    page: Bytes,
    link: LinkSpec,
    link_free: Nanos,
    buffer: Option<DramBuffer>,
    readahead: Option<ReadAhead>,
    logical: u32,
    host_pages: u64,
}

impl Ssd {
    pub(crate) fn new(spec: &SsdSpec, link: LinkSpec, capacity: Bytes, filled: bool) -> Ssd {
        let logical = (capacity.0 / spec.nand.page.0) as u32;
        let ftl: Box<dyn Ftl + Send> = match spec.ftl {
            FtlSpec::Page { reserve_blocks } => {
                Box::new(page_map::PageMap::new(&spec.nand, logical, reserve_blocks, filled))
            }
            FtlSpec::Hybrid { log_superblocks, unit } => {
                let unit = (unit.0 / spec.nand.page.0) as u32;
                Box::new(hybrid::Hybrid::new(&spec.nand, logical, log_superblocks, unit))
            }
        };
        Ssd {
            ftl,
            nand: Nand::new(&spec.nand),
            page: spec.nand.page,
            link,
            link_free: Nanos::ZERO,
            buffer: match spec.buffer {
                BufferSpec::Registers => None,
                BufferSpec::Dram { size } => Some(DramBuffer::new(size, spec.nand.page)),
            },
            readahead: spec.readahead.map(|r| ReadAhead::new(r, spec.nand.page)),
            logical,
            host_pages: 0,
        }
    }

    fn pages(&self, request: &Request) -> std::ops::Range<u32> {
        let first = request.offset.0 / self.page.0;
        let end = request.end().0.div_ceil(self.page.0);
        first as u32..end as u32
    }

    /// Moves one page's share of the request over the link, not before `at`.
    fn transfer(&mut self, at: Nanos, amount: Bytes) -> Nanos {
        self.link_free = at.max(self.link_free) + amount.time_at(self.link.rate);
        self.link_free
    }

    fn read(&mut self, at: Nanos, request: &Request) -> Nanos {
        let share = self.page.min(request.length);
        let pages = self.pages(request);
        let streaming = self.readahead.as_mut().is_some_and(|r| r.note(&pages));
        let mut done = at;
        for page in pages.clone() {
            let fetched = self.readahead.as_mut().and_then(|r| r.take(page));
            let ready = match fetched {
                Some(ready) => ready.max(at),
                None => self.ftl.read(&mut self.nand, page, at),
            };
            done = done.max(self.transfer(ready, share));
        }
        if streaming && let Some(ahead) = &mut self.readahead {
            for page in ahead.missing(pages.end, self.logical) {
                let ready = self.ftl.read(&mut self.nand, page, at);
                ahead.put(page, ready);
            }
        }
        done
    }

    fn write(&mut self, at: Nanos, request: &Request) -> Nanos {
        let share = self.page.min(request.length);
        let mut done = at;
        for page in self.pages(request) {
            if let Some(ahead) = &mut self.readahead {
                ahead.drop_page(page);
            }
            self.host_pages += 1;
            // The link takes the next page only when there is room for it.
            let room = self.buffer.as_mut().map_or(at, |b| b.room(at));
            let arrived = self.transfer(room, share);
            let written = self.ftl.write(&mut self.nand, page, arrived);
            let safe = match &mut self.buffer {
                Some(buffer) => {
                    buffer.fill(written.in_cells);
                    arrived
                }
                None => written.in_register,
            };
            done = done.max(safe);
        }
        done
    }
}

impl Media for Ssd {
    fn serve(&mut self, at: Nanos, request: &Request) -> Nanos {
        let started = at.max(self.link_free) + self.link.command;
        match request.op {
            Op::Read => self.read(started, request),
            Op::Write => self.write(started, request),
            Op::Trim => {
                // Only pages covered as a whole lose their content.
                let first = request.offset.0.div_ceil(self.page.0) as u32;
                let end = (request.end().0 / self.page.0) as u32;
                (first..end).for_each(|page| self.ftl.trim(page));
                started
            }
            Op::Flush => {
                let programmed = self.ftl.flush(&mut self.nand, started);
                let drained = self.buffer.as_ref().and_then(DramBuffer::drained);
                programmed.max(drained.unwrap_or(started))
            }
        }
    }

    fn counters(&self) -> Vec<(String, f64)> {
        let c = &self.nand.counts;
        let mut counters = vec![
            ("pages_read".to_owned(), c.reads as f64),
            ("pages_programmed".to_owned(), c.programs as f64),
            ("blocks_erased".to_owned(), c.erases as f64),
        ];
        if self.host_pages > 0 {
            counters.push(("wa".to_owned(), c.programs as f64 / self.host_pages as f64));
        }
        counters
    }

    fn mark(&mut self) {
        self.nand.counts = nand::Counts::default();
        self.host_pages = 0;
    }
}

/// DRAM that acknowledges writes and hands them to the flash at once; a page's slot is free again
/// when its data is in the cells.
struct DramBuffer {
    slots: usize,
    busy: BinaryHeap<Reverse<Nanos>>,
    latest: Nanos,
}

impl DramBuffer {
    fn new(size: Bytes, page: Bytes) -> Self {
        let slots = (size.0 / page.0).max(1) as usize;
        DramBuffer { slots, busy: BinaryHeap::with_capacity(slots + 1), latest: Nanos::ZERO }
    }

    /// When there is room for one more page, not before `at`.
    fn room(&mut self, at: Nanos) -> Nanos {
        while let Some(Reverse(free)) = self.busy.peek().copied() {
            if free > at && self.busy.len() < self.slots {
                return at;
            }
            self.busy.pop();
            if free > at {
                return free;
            }
        }
        at
    }

    /// Fills a slot until `until`.
    fn fill(&mut self, until: Nanos) {
        assert!(self.busy.len() < self.slots, "more pages than slots");
        self.busy.push(Reverse(until));
        self.latest = self.latest.max(until);
    }

    /// When everything written so far is in the cells.
    fn drained(&self) -> Option<Nanos> {
        (self.latest > Nanos::ZERO).then_some(self.latest)
    }
}

/// Sequential read-ahead of one stream: after `trigger` requests in sequence, a window of pages is
/// kept on its way.
struct ReadAhead {
    trigger: u32,
    window: u32,
    next: u32,
    run: u32,
    /// Pages on their way or there, in order, without gaps; `front` is the first.
    front: u32,
    ready: std::collections::VecDeque<Nanos>,
}

impl ReadAhead {
    fn new(spec: ReadAheadSpec, page: Bytes) -> Self {
        ReadAhead {
            trigger: spec.trigger,
            window: (spec.window.0 / page.0).clamp(1, 1 << 20) as u32,
            next: u32::MAX,
            run: 0,
            front: 0,
            ready: std::collections::VecDeque::new(),
        }
    }

    /// Notes a read request; true if the stream is sequential for long enough.
    fn note(&mut self, pages: &std::ops::Range<u32>) -> bool {
        if pages.start == self.next {
            self.run += 1;
        } else {
            self.run = 1;
            self.ready.clear();
        }
        self.next = pages.end;
        self.run >= self.trigger
    }

    /// When the page is there, if it was fetched; it and what lies before it are given up.
    fn take(&mut self, page: u32) -> Option<Nanos> {
        let index = page.checked_sub(self.front)? as usize;
        let ready = self.ready.get(index).copied()?;
        self.ready.drain(..=index);
        self.front = page + 1;
        Some(ready)
    }

    /// The pages to fetch so that the window from `from` on is on its way, up to the drive's end.
    fn missing(&mut self, from: u32, logical: u32) -> std::ops::Range<u32> {
        if self.ready.is_empty() {
            self.front = from;
        }
        let have = self.front + self.ready.len() as u32;
        have..from.saturating_add(self.window).min(logical).max(have)
    }

    fn put(&mut self, page: u32, ready: Nanos) {
        assert_eq!(page, self.front + self.ready.len() as u32, "read-ahead has a gap");
        self.ready.push_back(ready);
    }

    /// A written page makes fetched data stale, from there on.
    fn drop_page(&mut self, page: u32) {
        if let Some(index) = page.checked_sub(self.front)
            && (index as usize) < self.ready.len()
        {
            self.ready.truncate(index as usize);
        }
    }
}
