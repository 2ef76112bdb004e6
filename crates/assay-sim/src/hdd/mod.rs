//! A disk: commands wait, the arm serves them one at a time, the cache answers what it can.
//!
//! The platter turns for ever; a request waits until its first sector passes under the head. Reads
//! fill a segment of the cache, which goes on filling until the arm is needed (read-ahead). Writes
//! are answered from the cache. The drive destages them, writes them to the platter, when it has no
//! command to serve or the cache has no room: of the oldest, the one that the arm reaches first.
//! Mechanisms and names are those of DiskSim (Bucy, Schindler, Schlosser, Ganger, CMU-PDL-08-101),
//! with commands queued in the drive and chosen when the arm gets free.
//!
//! *Invariants.* The arm does one thing at a time. The results depend on the requests and their
//! times, not on how often the drive is called: everything due by `now` happens before a request
//! of `now` is handled, and nothing that is due later. A drive that holds one command at a time
//! serves it at once, with the same results.

mod arm;
mod bands;
mod cache;
mod cache_admission;
mod command_queue;
mod controller;
mod geometry;
mod link;
mod media;
mod order;
mod persistent;
mod read_ahead;
mod seek;
mod serve;
mod shingled;
mod tracer;

use crate::completions::Completions;
use crate::drive::{Accept, Counters, Drive, Inspect, PowerCut, Prefetch};
use crate::nand::Observer;
use assay_spec::device::{HddSpec, LinkSpec};
use assay_spec::{Bytes, Completion, Nanos, Op, Request};
use command_queue::{Command, CommandKind, CommandQueue, Flush};
use controller::DiskController;
use link::DiskLink;
use media::{DiskCounts, Media};
use order::order;
use std::collections::VecDeque;

/// A disk.
pub(crate) struct Hdd {
    media: Media,
    controller: DiskController,
    link: DiskLink,
    queue: CommandQueue,
    flushes: VecDeque<Flush>,
    /// The segment that a command last read into, and when its data was all there.
    filled: (usize, Nanos),
    completions: Completions,
    /// 1 if the last command was a write, else 0: the index into overheads.
    last: usize,
    /// When the drive last got or ended a request.
    idle_since: Nanos,
    clock: Nanos,
}

impl Hdd {
    pub(crate) fn new(spec: &HddSpec, link: LinkSpec, capacity: Bytes) -> Hdd {
        Hdd {
            media: Media::new(spec, link, capacity),
            controller: DiskController::new(spec, link, capacity),
            link: DiskLink::new(link),
            queue: CommandQueue::new(order(spec.order)),
            flushes: VecDeque::new(),
            filled: (0, Nanos::ZERO),
            completions: Completions::default(),
            last: 0,
            idle_since: Nanos::ZERO,
            clock: Nanos::ZERO,
        }
    }

    fn in_flight(&self) -> usize {
        let waiting = self.queue.waiting() + self.flushes.len();
        self.completions.len() + waiting + self.link.waiting()
    }

    fn complete(&mut self, at: Nanos, number: u64, tag: u32) {
        self.idle_since = self.idle_since.max(at);
        self.completions.push(at, number, tag);
    }

    /// Returns when the arm gets its next task, as far as that is known.
    fn next_task(&self) -> Option<Nanos> {
        let flush = self.flushes.front().map(|f| f.ready);
        let ready = match (flush, self.queue.next_ready()) {
            (Some(a), Some(b)) => a.min(b),
            (Some(a), None) | (None, Some(a)) => a,
            (None, None) => match &self.media.shingled {
                Some(shingled) => self.media.next_of_its_own(shingled, self.idle_since)?,
                None => {
                    let left = self.idle_since + self.controller.destage_after;
                    let dirty = self.media.cache.dirty.front().map(|d| d.ready)?;
                    if self.controller.destage_after == Nanos::ZERO {
                        dirty
                    } else {
                        dirty.max(left)
                    }
                }
            },
        };
        Some(ready.max(self.media.arm.free))
    }

    /// Returns when the next event inside happens: a transfer or a task of the arm.
    fn next_inside(&self) -> Option<Nanos> {
        match (self.link.next(), self.next_task()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Executes all events inside up to `to`.
    fn settle(&mut self, to: Nanos) {
        while let Some(at) = self.next_inside().filter(|at| *at <= to) {
            self.act(at);
        }
    }

    /// Executes the event that is due at `at`, the time that `next_inside` has returned.
    fn act(&mut self, at: Nanos) {
        if let Some(transfer) = self.link.take_due(at) {
            self.deliver(transfer);
        } else if let Some(flush) = self.flushes.front().copied().filter(|f| f.ready <= at) {
            match self.media.cache.dirty.front().is_none_or(|oldest| oldest.came > flush.until) {
                true => {
                    self.flushes.pop_front();
                    self.complete(at, flush.number, flush.tag);
                }
                false => self.media.destage_nearest(at, flush.until),
            }
        } else if self.queue.is_empty() {
            match self.media.shingled {
                Some(_) => self.media.work_off(at),
                None => self.media.destage_nearest(at, u64::MAX),
            }
        } else if !self.serve_without_arm(at) {
            self.aim_for_room(at);
            let index = self.queue.next(at, &self.media.arm).expect("one is ready");
            self.serve(at, index);
        }
    }

    fn arrive(&mut self, now: Nanos, request: &Request) {
        let first = request.offset.0 / 512;
        let sectors = request.end().0.div_ceil(512) - first;
        let number = self.completions.number();
        let (tag, fua) = (request.tag, request.fua);
        let command =
            Command { tag, number, came: now, first, sectors, fua, kind: CommandKind::Read };
        let overhead = self.controller.overheads(request.op, self.last);
        match request.op {
            Op::Flush => self.flushes.push_back(Flush {
                tag: request.tag,
                number,
                ready: now + self.controller.command,
                until: self.media.cache.uses,
            }),
            _ if sectors == 0 => self.complete(now + self.controller.command, number, request.tag),
            Op::Read => self.read_arrives(now, command, overhead),
            Op::Write => {
                self.write_arrives(now, now + self.controller.command + overhead.1, command)
            }
            Op::Trim => self.complete(now + self.controller.command, number, request.tag),
        }
        self.last = usize::from(request.op == Op::Write);
    }
}

impl Drive for Hdd {
    fn capacity(&self) -> Bytes {
        self.controller.capacity
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Accept {
        assert!(now >= self.clock, "time runs back: {now} after {}", self.clock);
        assert!(request.end() <= self.controller.capacity, "request beyond the end of the drive");
        self.settle(now);
        if self.in_flight() >= self.controller.depth {
            return Accept::QueueFull;
        }
        self.clock = now;
        self.idle_since = self.idle_since.max(now);
        self.arrive(now, &request);
        if self.controller.depth == 1 {
            // No other command can arrive before this one has ended.
            while self.completions.next().is_none() {
                let at = self.next_inside().expect("a command is waiting");
                self.act(at);
            }
        }
        Accept::Accepted
    }

    fn next_event(&self) -> Option<Nanos> {
        match (self.completions.next(), self.next_inside()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn advance(&mut self, to: Nanos, completions: &mut Vec<Completion>) {
        assert!(to >= self.clock, "time runs back: {to} after {}", self.clock);
        self.settle(to);
        self.completions.hand_over(to, completions);
        self.clock = to;
    }

    fn run(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        // Does the same as `advance` to each event, but computes the next event only once for each.
        loop {
            let inside = self.next_inside();
            match inside.into_iter().chain(self.completions.next()).min() {
                Some(at) if at > until => break,
                Some(at) if inside == Some(at) => self.act(at),
                Some(at) => {
                    self.advance(at, completions);
                    return at;
                }
                None if until == Nanos::NEVER => return self.clock,
                None => break,
            }
        }
        self.advance(until, completions);
        until
    }
}

impl Counters for Hdd {
    fn counters(&self) -> Vec<(String, f64)> {
        let DiskCounts { read_hits, media_reads, destaged } = self.media.counts;
        let named =
            [("read_hits", read_hits), ("media_reads", media_reads), ("destaged", destaged)];
        let mut told: Vec<_> = named.map(|(name, n)| (name.to_owned(), n as f64)).into();
        if let Some(shingled) = &self.media.shingled {
            shingled.counters(&mut told);
        }
        told
    }

    fn mark(&mut self) {
        self.media.counts = DiskCounts::default();
        if let Some(shingled) = &mut self.media.shingled {
            shingled.counts = Default::default();
        }
    }
}

impl Inspect for Hdd {
    fn observe(&mut self, observer: Box<dyn Observer>) {
        self.media.tracer.set(observer);
        self.media.arm.spans = Some(Vec::new());
    }
}

impl PowerCut for Hdd {}

impl Prefetch for Hdd {}

#[cfg(test)]
#[path = "tests/small.rs"]
mod small;

#[cfg(test)]
#[path = "tests/disk.rs"]
mod tests;

#[cfg(test)]
#[path = "tests/waiting.rs"]
mod waiting;
