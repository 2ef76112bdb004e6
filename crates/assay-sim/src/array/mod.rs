//! Arrays: several drives that appear as one, combined by a card or by the host (RAID, JBOD).
//!
//! An array is a drive over drives. A request is split at the borders of rows (`layout.rs`); for
//! each row a job (`job.rs`) follows a plan of reads, then writes (`plan.rs`). Its operations go
//! (`operations.rs`) through shared controllers (`controller.rs`) to the members (`port.rs`).
//! Members may fail before the start or at a set time, and spares are filled while requests go on
//! (`rebuild.rs`). After Patterson, Gibson, Katz, SIGMOD 1988, and the rules of Linux md. Not
//! modelled: a cache on the card, media errors, and that a worn member, which refuses writes, is
//! dropped: the host gets its error.
//!
//! *Invariants.* A request ends once, after all its operations. Jobs that need a row's parities or
//! copies to agree (writes, reads of missing data, rebuilding) work on the row one at a time. No
//! data of a failed member is used. A row that has lost too many members answers with an
//! input/output error, never with wrong data.

mod agenda;
mod build;
mod controller;
mod job;
mod layout;
mod operations;
mod plan;
mod port;
mod rebuild;
mod setup;
mod slab;
mod spares;
mod state;
#[cfg(test)]
mod tests;

pub use setup::{ArraySetup, MemberDrive, MemberSetup};
pub use state::Array;

use crate::drive::{Accept, Counters, Drive, Inspect, PowerCut, Prefetch};
use crate::ssd::stall::Snapshot;
use agenda::Event;
use assay_spec::{Bytes, Completion, Nanos, Op, Request};
use controller::Controller;
use layout::Members;
use port::Port;
use spares::Rebuilding;
use state::HostRequest;

impl Array {
    /// Schedules `event` at `at`.
    fn after(&mut self, at: Nanos, event: Event) {
        assert!(at >= self.clock, "an event in the past");
        self.agenda.add(at, event);
    }

    fn happen(&mut self, now: Nanos, event: Event) {
        match event {
            Event::Taken(host) => self.taken(now, host),
            Event::Started(host) => self.start(now, host),
            Event::SetUp(operation) => self.set_up(now, operation),
            Event::Commanded(operation) => self.commanded(now, operation),
            Event::Handed(operation) => self.hand(now, operation),
            Event::Ended(operation) => self.ended(now, operation),
            Event::Computed(job) => self.computed(now, job),
            Event::Delivered(job) => self.delivered(now, job),
            Event::Fail(count) => self.fail(now, count as usize),
            Event::Rebuild => self.rebuild_next(now),
        }
    }

    /// Returns when the next event happens, and in which port, or `None` for the array's own.
    fn next_inside(&self) -> Option<(Nanos, Option<usize>)> {
        let own = self.agenda.next().map(|at| (at, None));
        let ports = self.ports.iter().enumerate();
        let ports = ports.filter_map(|(i, p)| p.next_event().map(|at| (at, Some(i))));
        own.into_iter().chain(ports).min_by_key(|(at, _)| *at)
    }

    /// Executes all events up to `to`, in order. With `stops_at_end`, stops and returns `false`
    /// when requests have ended and all other events of that time have happened.
    fn run_to(&mut self, to: Nanos, stops_at_end: bool) -> bool {
        assert!(to >= self.clock, "time runs back: {to} after {}", self.clock);
        while let Some((at, port)) = self.next_inside().filter(|(at, _)| *at <= to) {
            self.clock = self.clock.max(at);
            match port {
                Some(port) => self.run_port(port),
                None => {
                    let event = self.agenda.take().expect("it was seen");
                    self.happen(self.clock, event);
                }
            }
            let is_next_later = || self.next_inside().is_none_or(|(at, _)| at > self.clock);
            if stops_at_end && !self.done.is_empty() && is_next_later() {
                return false;
            }
        }
        if to < Nanos::NEVER {
            self.clock = to;
        }
        true
    }

    fn run_port(&mut self, port: usize) {
        let mut ended = std::mem::take(&mut self.buffer);
        self.ports[port].advance(self.clock, &mut ended);
        for completion in ended.drain(..) {
            self.left_drive(self.clock, completion);
        }
        self.buffer = ended;
    }

    /// Continues a request that the card has processed: its data comes over the link if it is a
    /// write.
    fn taken(&mut self, now: Nanos, host: u32) {
        let Request { op, length, .. } = self.hosts[host].request;
        match self.cards.front.filter(|_| op == Op::Write) {
            Some(card) => {
                let at = self.cards.controllers[card].transfer(now, length);
                self.after(at, Event::Started(host));
            }
            None => self.start(now, host),
        }
    }

    fn complete(&mut self, now: Nanos, host: u32) {
        let HostRequest { request, error, .. } = self.hosts[host];
        self.hosts.remove(host);
        self.requests -= 1;
        self.done.push_back(Completion { tag: request.tag, at: now, error });
        if self.requests == 0 {
            self.rebuild_when_idle(now);
        }
    }

    /// Returns the members that have no valid data of `row`.
    fn missing_in(&self, row: u64) -> Members {
        match &self.recovery.rebuilding {
            Some(rebuilding) if row < rebuilding.next_row => self.missing & !rebuilding.targets,
            _ => self.missing,
        }
    }
}

impl Drive for Array {
    fn capacity(&self) -> Bytes {
        self.layout.capacity()
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Accept {
        assert!(request.end() <= self.capacity(), "request beyond the end of the array");
        self.run_to(now, false);
        let depth =
            self.cards.front.map_or(usize::MAX, |card| self.cards.controllers[card].queue_depth());
        if self.requests >= depth {
            return Accept::QueueFull;
        }
        self.requests += 1;
        let host = self.hosts.insert(HostRequest { request, jobs_left: 0, error: 0 });
        match self.cards.front {
            Some(card) => {
                let at = self.cards.controllers[card].command(now);
                self.after(at, Event::Taken(host));
            }
            None => self.start(now, host),
        }
        Accept::Accepted
    }

    fn next_event(&self) -> Option<Nanos> {
        match self.done.front() {
            Some(done) => Some(done.at),
            None => self.next_inside().map(|(at, _)| at),
        }
    }

    fn advance(&mut self, to: Nanos, completions: &mut Vec<Completion>) {
        self.run_to(to, false);
        completions.extend(self.done.drain(..));
        // Members also work in the background, up to `to`.
        for port in &mut self.ports {
            port.advance(to, &mut self.buffer);
        }
        assert!(self.buffer.is_empty(), "members have no event before `to`");
    }

    fn run(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        if self.done.is_empty() && self.run_to(until, true) && until < Nanos::NEVER {
            self.advance(until, completions);
        }
        completions.extend(self.done.drain(..));
        self.clock
    }
}

impl Counters for Array {
    fn counters(&self) -> Vec<(String, f64)> {
        let counts = self.ports.iter().map(Port::counts);
        let (reads, writes) = counts.fold((0, 0), |(r, w), c| (r + c.reads, w + c.writes));
        let mut all = vec![
            ("member_reads".to_owned(), reads as f64),
            ("member_writes".to_owned(), writes as f64),
        ];
        if let Some(rebuilding) = &self.recovery.rebuilding {
            let share = rebuilding.next_row as f64 / self.layout.rows as f64;
            all.push(("rebuilt_share".to_owned(), share));
        }
        for (i, controller) in self.cards.controllers.iter().enumerate() {
            let (link, processor) = controller.busy();
            all.push((format!("controller_{}_link_busy_s", i + 1), link.as_secs_f64()));
            all.push((format!("controller_{}_processor_busy_s", i + 1), processor.as_secs_f64()));
        }
        for (i, port) in self.ports.iter().enumerate() {
            let own = port.counters().into_iter();
            all.extend(own.map(|(name, value)| (format!("member_{}_{name}", i + 1), value)));
        }
        all
    }

    fn time_waits(&mut self) {
        self.ports.iter_mut().for_each(Port::time_waits);
        let spares = self.recovery.spares.iter_mut().flat_map(|spares| &mut spares.drives);
        spares.for_each(|drive| drive.time_waits());
    }

    fn mark(&mut self) {
        self.ports.iter_mut().for_each(Port::mark);
        self.cards.controllers.iter_mut().for_each(Controller::mark);
    }
}

impl Inspect for Array {
    fn snapshots(&self, now: Nanos) -> Vec<Option<Snapshot>> {
        self.ports.iter().flat_map(|port| port.snapshots(now)).collect()
    }

    fn check(&self) {
        self.ports.iter().for_each(Port::check);
        assert!(self.requests > 0 || self.recovery.rebuilding.is_some() || self.locks.is_empty());
        let inside = |r: &Rebuilding| r.next_row < self.layout.rows && self.missing != 0;
        assert!(self.recovery.rebuilding.as_ref().is_none_or(inside), "rebuilding what is whole");
    }
}

impl PowerCut for Array {}

impl Prefetch for Array {}
