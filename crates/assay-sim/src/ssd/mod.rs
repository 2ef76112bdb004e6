//! A solid-state drive: link, firmware, buffer and read-ahead over a translation layer over flash.
//!
//! A request passes the firmware, which serves one at a time (`link.command`); then page by page
//! the buffer or the flash, and the link, which is half duplex and goes to whoever is ready first.
//! A written page is answered when it is safe from the host's point of view: in DRAM with a DRAM
//! buffer, in a page register with none.

mod buffer;
mod readahead;

use crate::drive::Media;
use crate::ftl::hybrid::Hybrid;
use crate::ftl::page::PageMap;
use crate::ftl::{Ftl, Written};
use crate::nand::{Cause, Nand, Observer};
use crate::timeline::Timeline;
use assay_spec::device::{BufferSpec, FtlSpec, LinkSpec, SsdSpec};
use assay_spec::{Bytes, Nanos, Op, Request};
use buffer::WriteBuffer;
use readahead::ReadAhead;

/// A solid-state drive with a translation layer.
pub(crate) struct Ssd<F> {
    ftl: F,
    nand: Nand,
    page: Bytes,
    /// log₂ of the page.
    page_bits: u32,
    command: Nanos,
    rate: Bytes,
    /// A page on the link.
    page_time: Nanos,
    firmware_free: Nanos,
    firmware_total: Nanos,
    link: Timeline,
    buffer: Option<WriteBuffer>,
    readahead: Option<ReadAhead>,
    logical: u32,
    host_pages: u64,
    /// When the request served now arrived.
    now: Nanos,
    /// The end of the last request.
    busy_until: Nanos,
}

/// Builds the drive of `spec`.
pub(crate) fn build(
    spec: &SsdSpec,
    link: LinkSpec,
    capacity: Bytes,
    filled: bool,
) -> Box<dyn Media + Send> {
    let logical = (capacity.0 / spec.nand.page.0) as u32;
    match spec.ftl {
        FtlSpec::Page(map) => Box::new(Ssd::new(
            PageMap::new(&spec.nand, map, logical, 0, filled),
            spec,
            link,
            logical,
        )),
        FtlSpec::Hybrid { log_superblocks, unit } => {
            let unit = (unit.0 / spec.nand.page.0) as u32;
            let map = Hybrid::new(&spec.nand, logical, log_superblocks, unit);
            Box::new(Ssd::new(map, spec, link, logical))
        }
    }
}

impl<F: Ftl> Ssd<F> {
    fn new(ftl: F, spec: &SsdSpec, link: LinkSpec, logical: u32) -> Ssd<F> {
        let slots = |size: Bytes| (size.0 / spec.nand.page.0).max(1) as usize;
        Ssd {
            ftl,
            nand: Nand::new(&spec.nand),
            page: spec.nand.page,
            page_bits: spec.nand.page.0.trailing_zeros(),
            page_time: spec.nand.page.time_at(link.rate),
            command: link.command,
            rate: link.rate,
            firmware_free: Nanos::ZERO,
            firmware_total: Nanos::ZERO,
            link: Timeline::default(),
            buffer: match spec.buffer {
                BufferSpec::Registers => None,
                BufferSpec::Dram { size } => {
                    Some(WriteBuffer::new(slots(size), spec.nand.planes()))
                }
            },
            readahead: spec.readahead.map(|r| ReadAhead::new(r, spec.nand.page)),
            logical,
            host_pages: 0,
            now: Nanos::ZERO,
            busy_until: Nanos::ZERO,
        }
    }

    fn pages(&self, request: &Request) -> std::ops::Range<u32> {
        let end = request.end().0 + self.page.0 - 1;
        (request.offset.0 >> self.page_bits) as u32..(end >> self.page_bits) as u32
    }

    /// The part of `page` that `request` covers.
    fn share(&self, request: &Request, page: u32) -> Bytes {
        let start = Bytes(u64::from(page) * self.page.0);
        (start + self.page).min(request.end()) - start.max(request.offset)
    }

    /// Moves data over the link, not before `at`; returns when it is through.
    #[inline]
    fn transfer(&mut self, at: Nanos, amount: Bytes) -> Nanos {
        let duration = if amount == self.page { self.page_time } else { amount.time_at(self.rate) };
        self.link.reserve(self.now, at, duration) + duration
    }

    fn read(&mut self, at: Nanos, request: &Request) -> Nanos {
        let pages = self.pages(request);
        let streaming = self.readahead.as_mut().is_some_and(|r| r.note(&pages));
        let mut done = at;
        for page in pages.clone() {
            let fetched = self.readahead.as_mut().and_then(|r| r.take(page));
            let ready = match fetched {
                Some(ready) => ready.max(at),
                None if self.is_buffered(page, at) => at,
                None => self.ftl.read(&mut self.nand, page, at),
            };
            let share = self.share(request, page);
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

    /// Whether the write buffer still holds `page` at `at`.
    #[inline]
    fn is_buffered(&self, page: u32, at: Nanos) -> bool {
        let Some(buffer) = &self.buffer else { return false };
        buffer.drained() > at
            && self.ftl.plane_of(page).is_some_and(|plane| buffer.holds(plane, page, at))
    }

    fn write(&mut self, at: Nanos, request: &Request) -> Nanos {
        let mut done = at;
        for page in self.pages(request) {
            if let Some(ahead) = &mut self.readahead {
                ahead.drop_page(page);
            }
            self.host_pages += 1;
            // The link takes the next page only when there is room for it.
            let room = self.buffer.as_mut().map_or(at, |b| b.room(at));
            let share = self.share(request, page);
            let arrived = self.transfer(room, share);
            let whole = if share < self.page { self.complete(page, arrived) } else { arrived };
            let written = self.ftl.write(&mut self.nand, page, whole);
            done = done.max(self.safe(page, arrived, written));
        }
        done
    }

    /// The rest of a page that is written in part; returns when the page is whole.
    fn complete(&mut self, page: u32, at: Nanos) -> Nanos {
        if self.is_buffered(page, at) || self.ftl.locate(page).is_none() {
            return at;
        }
        self.ftl.read(&mut self.nand, page, at)
    }

    /// When the host may be told that a page which arrived at `arrived` is safe.
    #[inline]
    fn safe(&mut self, page: u32, arrived: Nanos, written: Written) -> Nanos {
        match &mut self.buffer {
            Some(buffer) => {
                buffer.fill(written.plane, page, written.in_cells);
                arrived
            }
            None => written.in_register,
        }
    }

    fn trim(&mut self, request: &Request) {
        // Only pages covered as a whole lose their content.
        let first = request.offset.0.div_ceil(self.page.0) as u32;
        let end = (request.end().0 / self.page.0) as u32;
        (first..end).for_each(|page| self.ftl.trim(page));
    }

    fn flush(&mut self, at: Nanos) -> Nanos {
        let programmed = self.ftl.flush(&mut self.nand, at);
        self.buffer.as_ref().map_or(programmed, |b| programmed.max(b.drained()))
    }
}

impl<F: Ftl> Media for Ssd<F> {
    fn serve(&mut self, at: Nanos, request: &Request) -> Nanos {
        if at > self.busy_until {
            self.ftl.idle(&mut self.nand, self.busy_until, at);
        }
        self.now = at;
        self.nand.pass(at);
        let started = at.max(self.firmware_free) + self.command;
        self.firmware_free = started;
        self.firmware_total += self.command;
        let done = match request.op {
            Op::Read => self.read(started, request),
            Op::Write => self.write(started, request),
            Op::Trim => {
                self.trim(request);
                started
            }
            Op::Flush => self.flush(started),
        };
        self.busy_until = self.busy_until.max(done);
        done
    }

    fn expect(&mut self, later: &Request, sooner: &Request) {
        let page = |request: &Request| (request.offset.0 >> self.page_bits) as u32;
        self.ftl.expect_later(page(later));
        self.ftl.expect_sooner(page(sooner), sooner.op);
    }

    fn observe(&mut self, observer: Box<dyn Observer>) {
        self.nand.observe(observer);
    }

    fn check(&self) {
        self.ftl.check();
    }

    fn counters(&self) -> Vec<(String, f64)> {
        let counts = &self.nand.counts;
        let sum = |per_cause: &[u64]| per_cause.iter().sum::<u64>() as f64;
        let (array, channels) = self.nand.busy();
        let mut counters: Vec<(String, f64)> = vec![
            ("pages_read".to_owned(), sum(&counts.reads)),
            ("pages_programmed".to_owned(), sum(&counts.programs)),
            ("blocks_erased".to_owned(), sum(&counts.erases)),
            ("array_busy_ns".to_owned(), array.0 as f64),
            ("channel_busy_ns".to_owned(), channels.0 as f64),
            ("link_busy_ns".to_owned(), self.link.total().0 as f64),
            ("firmware_busy_ns".to_owned(), self.firmware_total.0 as f64),
        ];
        if self.host_pages > 0 {
            let host = self.host_pages as f64;
            counters.push(("wa".to_owned(), counts.programmed() as f64 / host));
            for (cause, word) in Cause::ALL {
                let programs = counts.programs[cause as usize];
                if programs > 0 {
                    counters.push((format!("wa_{word}"), programs as f64 / host));
                }
            }
        }
        counters.extend(self.ftl.counters());
        counters
    }

    fn mark(&mut self) {
        self.nand.mark();
        self.ftl.mark();
        self.link.mark();
        self.firmware_total = Nanos::ZERO;
        self.host_pages = 0;
    }
}
