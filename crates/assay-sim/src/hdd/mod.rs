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
mod cache;
mod cache_admission;
mod destage;
mod geometry;
mod persistent;
mod read_ahead;
mod schedule;
mod seek;
mod serve;
mod shingled;
mod trace_events;

use crate::drive::{Accept, Drive};
use crate::nand::Observer;
use arm::Arm;
use assay_spec::device::{HddSpec, LinkSpec, OverheadSpec};
use assay_spec::{Bytes, Completion, Nanos, Op, Request};
use cache::Cache;
use read_ahead::Ahead;
use schedule::{Order, PendingSeek, order};
use serve::{Command, Kind, Policy, Transfer};
use shingled::Shingled;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A disk.
pub(crate) struct Hdd {
    arm: Arm,
    cache: Cache,
    order: Box<dyn Order + Send>,
    policy: Policy,
    overhead: OverheadSpec,
    command: Nanos,
    capacity: Bytes,
    depth: usize,
    /// The time that the link takes for a sector.
    per_sector: Nanos,
    /// When the link has moved everything so far.
    link_free: Nanos,
    /// Commands that wait for the arm; `wishes[i]` is what the order sees of `waiting[i]`.
    waiting: Vec<Command>,
    wishes: Vec<PendingSeek>,
    /// Writes behind the first one that waits for room in the cache, and when each may have it.
    room: VecDeque<(Command, Nanos)>,
    flushes: VecDeque<Flush>,
    /// The read-ahead under way.
    ahead: Option<Ahead>,
    /// The state of a shingled disk.
    shingled: Option<Box<Shingled>>,
    /// Data that the link takes when it has come off the platter.
    transfers: Vec<Transfer>,
    /// The segment that a command last read into, and when its data was all there.
    filled: (usize, Nanos),
    /// The completions to come: (time, order of submission, tag).
    done: BinaryHeap<Reverse<(Nanos, u64, u32)>>,
    /// 1 if the last command was a write, else 0: the index into overheads.
    last: usize,
    /// When the drive last got or ended a request.
    idle_since: Nanos,
    submitted: u64,
    clock: Nanos,
    counts: Counts,
    observer: Option<Box<dyn Observer>>,
}

/// A flush, or a forced write in the cache. It waits for the writes that the cache held when it
/// arrived, and for none that come later.
#[derive(Clone, Copy, Debug)]
struct Flush {
    tag: u32,
    /// The order of submission.
    number: u64,
    /// The earliest time at which it can end.
    ready: Nanos,
    /// The number of the last use of the cache that it covers.
    until: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    read_hits: u64,
    media_reads: u64,
    destaged: u64,
}

impl Hdd {
    pub(crate) fn new(spec: &HddSpec, link: LinkSpec, capacity: Bytes) -> Hdd {
        let (arm, mut cache) = (Arm::new(spec), Cache::new(&spec.cache));
        let last = capacity.0 / 512;
        if let Some(shingled) = &spec.shingled {
            cache.part_at(shingled.band.0 / 512);
        }
        Hdd {
            arm,
            cache,
            shingled: spec.shingled.as_ref().map(|s| Box::new(Shingled::new(s, last))),
            order: order(spec.order),
            policy: Policy::new(&spec.cache, capacity),
            overhead: spec.overhead,
            command: link.command,
            capacity,
            depth: link.queue_depth as usize,
            per_sector: Bytes(512).time_at(link.rate),
            link_free: Nanos::ZERO,
            waiting: Vec::new(),
            wishes: Vec::new(),
            room: VecDeque::new(),
            flushes: VecDeque::new(),
            ahead: None,
            transfers: Vec::new(),
            filled: (0, Nanos::ZERO),
            done: BinaryHeap::new(),
            last: 0,
            idle_since: Nanos::ZERO,
            submitted: 0,
            clock: Nanos::ZERO,
            counts: Counts::default(),
            observer: None,
        }
    }

    fn in_flight(&self) -> usize {
        let waiting = self.waiting.len() + self.room.len() + self.flushes.len();
        self.done.len() + waiting + self.transfers.len()
    }

    fn complete(&mut self, at: Nanos, number: u64, tag: u32) {
        self.idle_since = self.idle_since.max(at);
        self.done.push(Reverse((at, number, tag)));
    }

    /// Returns when the arm gets its next task, as far as that is known.
    fn next_task(&self) -> Option<Nanos> {
        let flush = self.flushes.front().map(|f| f.ready);
        let seek_request =
            if self.wishes.is_empty() { None } else { self.order.ready(&self.wishes) };
        let ready = match (flush, seek_request) {
            (Some(a), Some(b)) => a.min(b),
            (Some(a), None) | (None, Some(a)) => a,
            (None, None) => match &self.shingled {
                Some(shingled) => self.next_of_its_own(shingled)?,
                None => {
                    let left = self.idle_since + self.policy.destage_after;
                    let dirty = self.cache.dirty.front().map(|d| d.ready)?;
                    if self.policy.destage_after == Nanos::ZERO { dirty } else { dirty.max(left) }
                }
            },
        };
        Some(ready.max(self.arm.free))
    }

    /// Returns when the next event inside happens: a transfer or a task of the arm.
    fn next_inside(&self) -> Option<Nanos> {
        match (self.transfers.iter().map(|t| t.at).min(), self.next_task()) {
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
        if let Some(index) = self.transfers.iter().position(|t| t.at <= at) {
            let transfer = self.transfers.remove(index);
            self.deliver(transfer);
        } else if let Some(flush) = self.flushes.front().copied().filter(|f| f.ready <= at) {
            match self.cache.dirty.front().is_none_or(|oldest| oldest.came > flush.until) {
                true => {
                    self.flushes.pop_front();
                    self.complete(at, flush.number, flush.tag);
                }
                false => self.destage_nearest(at, flush.until),
            }
        } else if self.wishes.is_empty() {
            match self.shingled {
                Some(_) => self.work_off(at),
                None => self.destage_nearest(at, u64::MAX),
            }
        } else if !self.serve_without_arm(at) {
            self.aim_for_room(at);
            let index = self.order.next(at, &self.arm, &self.wishes).expect("one is ready");
            self.serve(at, index);
        }
    }

    fn arrive(&mut self, now: Nanos, request: &Request) {
        let first = request.offset.0 / 512;
        let sectors = request.end().0.div_ceil(512) - first;
        let number = self.submitted;
        let (tag, fua) = (request.tag, request.fua);
        let command = Command { tag, number, came: now, first, sectors, fua, kind: Kind::Read };
        let overhead = self.overhead.of(request.op, self.last);
        match request.op {
            Op::Flush => self.flushes.push_back(Flush {
                tag: request.tag,
                number,
                ready: now + self.command,
                until: self.cache.uses,
            }),
            _ if sectors == 0 => self.complete(now + self.command, number, request.tag),
            Op::Read => self.read_arrives(now, command, overhead),
            Op::Write => self.write_arrives(now, now + self.command + overhead.1, command),
            Op::Trim => self.complete(now + self.command, number, request.tag),
        }
        self.last = usize::from(request.op == Op::Write);
    }
}

/// The time that the controller takes for a command.
trait Overheads {
    /// Returns the times for a hit and for a miss, which are equal for a write. `last` is 1 if the
    /// command before was a write, else 0.
    fn of(&self, op: Op, last: usize) -> (Nanos, Nanos);
}

impl Overheads for OverheadSpec {
    fn of(&self, op: Op, last: usize) -> (Nanos, Nanos) {
        match op {
            Op::Read => (self.read_hit[last], self.read_miss[last]),
            _ => (self.write[last], self.write[last]),
        }
    }
}

impl Drive for Hdd {
    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Accept {
        assert!(now >= self.clock, "time runs back: {now} after {}", self.clock);
        assert!(request.end() <= self.capacity, "request beyond the end of the drive");
        self.settle(now);
        if self.in_flight() >= self.depth {
            return Accept::QueueFull;
        }
        self.clock = now;
        self.idle_since = self.idle_since.max(now);
        self.submitted += 1;
        self.arrive(now, &request);
        if self.depth == 1 {
            // No other command can arrive before this one has ended.
            while self.done.is_empty() {
                let at = self.next_inside().expect("a command is waiting");
                self.act(at);
            }
        }
        Accept::Accepted
    }

    fn next_event(&self) -> Option<Nanos> {
        let done = self.done.peek().map(|Reverse((at, ..))| *at);
        let inside = self.next_inside();
        match (done, inside) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn advance(&mut self, to: Nanos, completions: &mut Vec<Completion>) {
        assert!(to >= self.clock, "time runs back: {to} after {}", self.clock);
        self.settle(to);
        while let Some(Reverse((at, _, tag))) = self.done.peek().copied() {
            if at > to {
                break;
            }
            self.done.pop();
            completions.push(Completion { tag, at, error: 0 });
        }
        self.clock = to;
    }

    fn run(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        // Does the same as `advance` to each event, but computes the next event only once for each.
        loop {
            let inside = self.next_inside();
            let done = self.done.peek().map(|Reverse((at, ..))| *at);
            match inside.into_iter().chain(done).min() {
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

    fn counters(&self) -> Vec<(String, f64)> {
        let Counts { read_hits, media_reads, destaged } = self.counts;
        let named =
            [("read_hits", read_hits), ("media_reads", media_reads), ("destaged", destaged)];
        let mut told: Vec<_> = named.map(|(name, n)| (name.to_owned(), n as f64)).into();
        if let Some(shingled) = &self.shingled {
            shingled.counters(&mut told);
        }
        told
    }

    fn mark(&mut self) {
        self.counts = Counts::default();
        if let Some(shingled) = &mut self.shingled {
            shingled.counts = Default::default();
        }
    }

    fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observer = Some(observer);
        self.arm.spans = Some(Vec::new());
    }
}

#[cfg(test)]
#[path = "tests/small.rs"]
mod small;

#[cfg(test)]
#[path = "tests/disk.rs"]
mod tests;

#[cfg(test)]
#[path = "tests/waiting.rs"]
mod waiting;
