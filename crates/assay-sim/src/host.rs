//! The host model: what the machine adds between the workload and the drive.
//!
//! Requests wait in an elevator until the drive may have another. A dispatch comes no earlier than
//! `gap` after the last completion: the processor needs that long for interrupt, completion and
//! dispatch.
//! A machine of an experiment has one such model, the same for all drives.
//!
//! *Invariants.* Every request ends once, when its dispatch ends; at most `queue_depth` dispatches
//! are with the drive; a request for which the drive had no room goes before any other.

use crate::drive::{Accept, Counters, Drive, Inspect, PowerCut, Prefetch};
use crate::elevator::{self, Elevator, Next, RequestQueue, Waiting};
use crate::nand::Observer;
use crate::ssd::stall::Snapshot;
use assay_spec::experiment::{ElevatorKind, HostSpec};
use assay_spec::{Bytes, Completion, Nanos, Op, Request};
use std::collections::VecDeque;

/// A drive behind a host. Its queue is never full: requests that the drive cannot take wait.
pub struct Host<D> {
    drive: D,
    spec: HostSpec,
    depth: usize,
    elevator: Box<dyn Elevator + Send>,
    queue: RequestQueue,
    /// Waiting flushes and trims, which no elevator sorts.
    direct: VecDeque<Waiting>,
    /// The tag of a chosen request that the full drive has not taken yet.
    held: Option<u32>,
    /// Dispatches, by the tag that they have with the drive.
    sent: Vec<Waiting>,
    /// Unused tags of the drive.
    free: Vec<u32>,
    in_flight: usize,
    tags_per_process: u32,
    /// The earliest time of the next dispatch.
    ready: Nanos,
    /// The time until which the elevator waits for a better request.
    wake: Option<Nanos>,
    clock: Nanos,
    ended: Vec<Completion>,
}

impl<D: Drive> Host<D> {
    /// Puts the host of `spec` before `drive`, with the `elevator` that it uses for such a drive.
    /// Every tag is a process of its own until [`Host::set_processes`] is called.
    pub fn new(drive: D, spec: HostSpec, elevator: ElevatorKind) -> Self {
        Host {
            drive,
            spec,
            depth: spec.queue_depth.map_or(usize::MAX, |d| d as usize),
            elevator: elevator::build(elevator),
            queue: RequestQueue::default(),
            direct: VecDeque::new(),
            held: None,
            sent: Vec::new(),
            free: Vec::new(),
            in_flight: 0,
            tags_per_process: 1,
            ready: Nanos::ZERO,
            wake: None,
            clock: Nanos::ZERO,
            ended: Vec::new(),
        }
    }

    /// Gives each process `tags_per_process` tags in a row: process = tag / `tags_per_process`.
    pub fn set_processes(&mut self, tags_per_process: u32) {
        assert!(tags_per_process > 0, "a process has a tag");
        self.tags_per_process = tags_per_process;
    }

    /// Dispatches the requests that may go at `now`.
    fn dispatch(&mut self, now: Nanos) {
        self.wake = None;
        while self.in_flight < self.depth && self.ready <= now {
            let Some(tag) = self.held.take().or_else(|| self.choose(now)) else { return };
            let chosen = &self.sent[tag as usize];
            let (op, offset, length, fua) = (chosen.op, chosen.offset, chosen.length(), chosen.fua);
            if self.drive.submit(now, Request { tag, op, offset, length, fua }) == Accept::QueueFull
            {
                self.held = Some(tag);
                return;
            }
            self.in_flight += 1;
        }
    }

    /// Returns the request that goes next, by the tag that it will have with the drive.
    fn choose(&mut self, now: Nanos) -> Option<u32> {
        if let Some(direct) = self.direct.pop_front() {
            return Some(self.number(direct));
        }
        if self.queue.is_empty() {
            return None;
        }
        match self.elevator.next(now, self.queue.waiting()) {
            Next::Request(index) => {
                let chosen = self.queue.take(now, index, &mut *self.elevator);
                Some(self.number(chosen))
            }
            Next::WaitUntil(until) => {
                assert!(until > now, "an elevator waits for the past");
                self.wake = Some(until);
                None
            }
            Next::Idle => {
                assert!(self.in_flight > 0, "an elevator waits for nothing");
                None
            }
        }
    }

    /// Gives a chosen request its tag with the drive.
    fn number(&mut self, chosen: Waiting) -> u32 {
        match self.free.pop() {
            Some(tag) => {
                self.sent[tag as usize] = chosen;
                tag
            }
            None => {
                self.sent.push(chosen);
                self.sent.len() as u32 - 1
            }
        }
    }

    /// Returns when the next waiting request may go, if no completion lets it go before.
    fn next_dispatch(&self) -> Option<Nanos> {
        let waits = !self.queue.is_empty() || !self.direct.is_empty() || self.held.is_some();
        let held_back = waits && self.in_flight < self.depth;
        let gap = (held_back && self.ready > self.clock).then_some(self.ready);
        gap.or(self.wake.filter(|_| held_back))
    }

    /// Advances to the next completion or dispatch, `to` at the latest. Returns `false` if neither
    /// has happened by then.
    fn step(&mut self, to: Nanos, completions: &mut Vec<Completion>) -> bool {
        let dispatch = self.next_dispatch().filter(|at| *at <= to);
        let limit = dispatch.unwrap_or(to);
        let reached = self.drive.run(limit, &mut self.ended);
        let has_ended = !self.ended.is_empty();
        if !has_ended && limit == Nanos::NEVER {
            return false;
        }
        self.clock = self.clock.max(reached);
        if has_ended {
            self.complete(completions);
            self.ready = self.ready.max(self.clock + self.spec.gap);
        }
        if has_ended || dispatch.is_some() {
            self.dispatch(self.clock);
        }
        has_ended || dispatch.is_some()
    }

    /// Passes on the completions of the drive.
    fn complete(&mut self, completions: &mut Vec<Completion>) {
        for Completion { tag, at, error } in self.ended.drain(..) {
            let done = self.sent[tag as usize];
            if matches!(done.op, Op::Read | Op::Write) {
                self.elevator.completed(at, self.queue.waiting(), &done);
            }
            self.queue.finish(&done, |tag| completions.push(Completion { tag, at, error }));
            self.free.push(tag);
            self.in_flight -= 1;
        }
    }
}

impl<D: Drive> Drive for Host<D> {
    fn capacity(&self) -> Bytes {
        self.drive.capacity()
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Accept {
        self.clock = self.clock.max(now);
        let process = request.tag / self.tags_per_process;
        if matches!(request.op, Op::Read | Op::Write) {
            self.queue.add(now, request, process, &mut *self.elevator);
        } else {
            let direct = self.queue.single(now, request, process);
            self.direct.push_back(direct);
        }
        self.dispatch(now);
        Accept::Accepted
    }

    fn next_event(&self) -> Option<Nanos> {
        match (self.drive.next_event(), self.next_dispatch()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn advance(&mut self, to: Nanos, completions: &mut Vec<Completion>) {
        while self.step(to, completions) {}
    }

    fn run(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        let before = completions.len();
        while completions.len() == before && self.step(until, completions) {}
        self.clock
    }
}

impl<D: Drive> Counters for Host<D> {
    fn counters(&self) -> Vec<(String, f64)> {
        self.drive.counters()
    }

    fn time_waits(&mut self) {
        self.drive.time_waits();
    }

    fn mark(&mut self) {
        self.drive.mark();
    }
}

impl<D: Drive> Inspect for Host<D> {
    fn snapshots(&self, now: Nanos) -> Vec<Option<Snapshot>> {
        self.drive.snapshots(now)
    }

    fn observe(&mut self, observer: Box<dyn Observer>) {
        self.drive.observe(observer);
    }

    fn check(&self) {
        self.drive.check();
        let sent = self.in_flight + usize::from(self.held.is_some());
        assert_eq!(sent + self.free.len(), self.sent.len(), "a dispatch was lost");
    }
}

impl<D: Drive> PowerCut for Host<D> {}

impl<D: Drive> Prefetch for Host<D> {
    fn prefetch_hint(&mut self, offset: Bytes) {
        self.drive.prefetch_hint(offset);
    }
}
