//! The host model: what the machine adds between the workload and the drive.
//!
//! Requests wait in arrival order (as under Linux's noop elevator) until the drive may have
//! another, and each dispatch comes no earlier than `gap` after the last completion: interrupt,
//! completion and dispatch cost the processor that much. One host per machine of a document, the
//! same for all drives.

use crate::drive::{Accept, Drive};
use assay_spec::experiment::HostSpec;
use assay_spec::{Bytes, Completion, Nanos, Request};
use std::collections::VecDeque;

/// A drive seen through a host. Never full: what the drive cannot take waits.
pub struct Host<D> {
    drive: D,
    gap: Nanos,
    depth: usize,
    waiting: VecDeque<Request>,
    in_flight: usize,
    /// No dispatch before this time.
    ready: Nanos,
    clock: Nanos,
}

impl<D: Drive> Host<D> {
    /// Puts the host of `spec` before `drive`.
    pub fn new(drive: D, spec: HostSpec) -> Self {
        Host {
            drive,
            gap: spec.gap,
            depth: spec.queue_depth.map_or(usize::MAX, |d| d as usize),
            waiting: VecDeque::new(),
            in_flight: 0,
            ready: Nanos::ZERO,
            clock: Nanos::ZERO,
        }
    }

    /// Dispatches what may go at `now`.
    fn dispatch(&mut self, now: Nanos) {
        while self.in_flight < self.depth && self.ready <= now {
            let Some(request) = self.waiting.front() else { return };
            if self.drive.submit(now, *request) == Accept::QueueFull {
                return;
            }
            self.waiting.pop_front();
            self.in_flight += 1;
        }
    }

    /// When the next waiting request may go, if only the gap holds it back.
    fn next_dispatch(&self) -> Option<Nanos> {
        let held = !self.waiting.is_empty() && self.in_flight < self.depth;
        (held && self.ready > self.clock).then_some(self.ready)
    }
}

impl<D: Drive> Drive for Host<D> {
    fn capacity(&self) -> Bytes {
        self.drive.capacity()
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Accept {
        self.clock = self.clock.max(now);
        self.waiting.push_back(request);
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
        while let Some(at) = self.next_event().filter(|at| *at <= to) {
            self.clock = self.clock.max(at);
            let before = completions.len();
            self.drive.advance(self.clock, completions);
            let ended = completions.len() - before;
            self.in_flight -= ended;
            if ended > 0 {
                self.ready = self.clock + self.gap;
            }
            self.dispatch(self.clock);
        }
        self.clock = self.clock.max(to);
        self.drive.advance(self.clock, completions);
    }

    fn counters(&self) -> Vec<(String, f64)> {
        self.drive.counters()
    }

    fn mark(&mut self) {
        self.drive.mark();
    }
}
