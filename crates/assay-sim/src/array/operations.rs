//! The way of jobs through an array: from the host over the cards to the members, and back.
//!
//! A job locks its row if it must, plans, reads, computes, writes, and delivers to the host. If a
//! member fails that it was reading from, it begins again once its other reads have ended: it has
//! written nothing by then. A write to a member that fails counts as done, because the chunks on
//! the other members determine the row without it.

use super::agenda::Event;
use super::job::{Job, MemberOperation, REBUILD};
use super::plan::{Lost, MemberRequest, Range};
use super::port::Asked;
use super::state::Array;
use assay_spec::{Bytes, Completion, Nanos, Op};
use std::collections::VecDeque;

/// The errno of lost data.
const EIO: i32 = 5;

impl Array {
    /// Makes and begins the jobs of a request, one for each row.
    pub(super) fn start(&mut self, now: Nanos, host: u32) {
        let request = self.hosts[host].request;
        if !matches!(request.op, Op::Read | Op::Write) {
            return self.start_other(now, host, request.op);
        }
        let width = self.layout.width();
        let (mut at, end) = (request.offset, request.end());
        // One more than the jobs, so that the request does not end before all are made.
        self.hosts[host].jobs_left = 1;
        while at < end {
            let row = at.0 / width.0;
            let to = (width * (row + 1)).min(end);
            let range = Range { row, from: Bytes(at.0 % width.0), length: to - at };
            let job = self.jobs.renew(host, Some(range), request.op);
            self.hosts[host].jobs_left += 1;
            self.begin(now, job);
            at = to;
        }
        self.job_left(now, host);
    }

    /// Serves a flush or a trim. Flushes go to every member; trims end here: no card of the time
    /// passed them on, and the parity would have to be updated.
    fn start_other(&mut self, now: Nanos, host: u32, op: Op) {
        let job = self.jobs.renew(host, None, op);
        self.hosts[host].jobs_left = 1;
        let alive = (0..self.ports.len()).filter(|i| !self.ports[*i].dead);
        let (offset, length) = (Bytes::ZERO, Bytes::ZERO);
        let parts = alive.map(|member| MemberRequest { member, op, offset, length });
        let parts: Vec<MemberRequest> = parts.filter(|_| op == Op::Flush).collect();
        self.jobs[job].plan.reads = parts;
        self.issue_all(now, job);
    }

    /// Makes and begins the job that fills the spares' chunks of `row`.
    pub(super) fn start_rebuild(&mut self, now: Nanos, row: u64) {
        let range = Range { row, from: Bytes::ZERO, length: self.layout.width() };
        let job = self.jobs.renew(REBUILD, Some(range), Op::Write);
        self.begin(now, job);
    }

    /// Plans a job and issues its reads. If it needs the lock of its row and another job has it, it
    /// waits, and is begun again when it has the lock.
    fn begin(&mut self, now: Nanos, index: u32) {
        let range = self.jobs[index].range.expect("a job with a row");
        let missing = self.missing_in(range.row);
        let op = self.jobs[index].op.expect("a job does something");
        let redundant = self.layout.columns() < self.layout.members;
        let alone = redundant && (op == Op::Write || missing != 0);
        if alone && !self.jobs[index].has_lock {
            if let Some(waiting) = self.locks.get_mut(&range.row) {
                waiting.push_back(index);
                return;
            }
            self.locks.insert(range.row, VecDeque::new());
            self.jobs[index].has_lock = true;
        }
        let mut plan = std::mem::take(&mut self.jobs[index].plan);
        let planned = if self.jobs[index].host == REBUILD {
            let targets = self.rebuild_targets();
            plan.rebuild(&self.layout, range.row, targets, missing)
        } else if op == Op::Read {
            let ports = &self.ports;
            let cheapest = |members, place| {
                let members = super::layout::each(members);
                members.min_by_key(|i| ports[*i].cost(place)).expect("one is there")
            };
            plan.read(&self.layout, range, missing, &cheapest)
        } else {
            plan.write(&self.layout, range, missing)
        };
        let job = &mut self.jobs[index];
        job.plan = plan;
        (job.is_writing, job.is_stale) = (false, false);
        if planned == Err(Lost) {
            job.plan.clear();
            if job.host != REBUILD {
                let host = job.host;
                self.hosts[host].error = EIO;
            }
        }
        #[cfg(test)]
        self.trace_plan(index);
        self.issue_all(now, index);
    }

    /// Issues the operations of the job's present phase.
    fn issue_all(&mut self, now: Nanos, index: u32) {
        let job = &mut self.jobs[index];
        let writing = job.is_writing;
        let count = if writing { job.plan.writes.len() } else { job.plan.reads.len() };
        // One more than the operations, so that the phase does not end before all are issued.
        job.left = count as u32 + 1;
        for i in 0..count {
            let plan = &self.jobs[index].plan;
            let part = if writing { plan.writes[i] } else { plan.reads[i] };
            let generation = self.ports[part.member].generation;
            let operation =
                self.operations.insert(MemberOperation { job: index, part, generation });
            match self.cards.front {
                Some(card) => {
                    let at = self.cards.controllers[card].stripe(now);
                    self.after(at, Event::SetUp(operation));
                }
                None => self.set_up(now, operation),
            }
        }
        self.one_left(now, index);
    }

    /// Passes an operation to the processor of its member's card, if the member is on one.
    pub(super) fn set_up(&mut self, now: Nanos, operation: u32) {
        match self.ports[self.operations[operation].part.member].controller {
            Some(card) => {
                let at = self.cards.controllers[card].command(now);
                self.after(at, Event::Commanded(operation));
            }
            None => self.hand(now, operation),
        }
    }

    /// Handles that the member's card has processed an operation: the data of a write comes next.
    pub(super) fn commanded(&mut self, now: Nanos, operation: u32) {
        let part = self.operations[operation].part;
        match self.ports[part.member].controller.filter(|_| part.op == Op::Write) {
            Some(card) => {
                let at = self.cards.controllers[card].transfer(now, part.length);
                self.after(at, Event::Handed(operation));
            }
            None => self.hand(now, operation),
        }
    }

    /// Hands an operation to its member, unless that has failed since it was issued.
    pub(super) fn hand(&mut self, now: Nanos, operation: u32) {
        let MemberOperation { part, generation, job, .. } = self.operations[operation];
        // Parity is forced, too: without it, the data of a failed member could not be computed.
        let fua = part.op == Op::Write
            && match self.jobs[job].host {
                REBUILD => false,
                host => self.hosts[host].request.fua,
            };
        let port = &mut self.ports[part.member];
        if port.dead || port.generation != generation {
            return self.came_to_nothing(now, operation);
        }
        let MemberRequest { op, offset, length, .. } = part;
        port.ask(now, Asked { tag: operation, op, offset, length, fua });
    }

    /// Handles the completion of an operation by its member. Data that was read passes the
    /// member's card.
    pub(super) fn left_drive(&mut self, now: Nanos, completion: Completion) {
        let operation = completion.tag;
        let part = self.operations[operation].part;
        if completion.error != 0 {
            let host = self.jobs[self.operations[operation].job].host;
            match host {
                // A spare that refuses writes cannot be filled: rebuilding stops.
                REBUILD => self.recovery.rebuilding = None,
                host => self.hosts[host].error = completion.error,
            }
        }
        match self.ports[part.member].controller.filter(|_| part.op == Op::Read) {
            Some(card) => {
                let at = self.cards.controllers[card].transfer(now, part.length);
                self.after(at, Event::Ended(operation));
            }
            None => self.ended(now, operation),
        }
    }

    /// Handles the end of an operation.
    pub(super) fn ended(&mut self, now: Nanos, operation: u32) {
        #[cfg(test)]
        self.trace_ended(operation);
        let job = self.operations[operation].job;
        self.operations.remove(operation);
        self.one_left(now, job);
    }

    /// Handles the failure of the member of an operation that has not ended.
    pub(super) fn came_to_nothing(&mut self, now: Nanos, operation: u32) {
        let MemberOperation { job, part, .. } = self.operations[operation];
        self.jobs[job].is_stale |= part.op == Op::Read;
        self.operations.remove(operation);
        self.one_left(now, job);
    }

    /// Counts one operation less; after the last one, begins the next phase of the job or ends it.
    fn one_left(&mut self, now: Nanos, index: u32) {
        let job = &mut self.jobs[index];
        assert!(job.left > 0, "an operation ends twice");
        job.left -= 1;
        if job.left > 0 {
            return;
        }
        if job.is_stale {
            return self.begin(now, index);
        }
        if job.is_writing || job.plan.writes.is_empty() {
            return self.job_done(now, index);
        }
        let length: u64 = job.plan.writes.iter().map(|p| p.length.0).sum();
        match self.cards.front.filter(|_| self.layout.has_parity()) {
            Some(card) => {
                let at = self.cards.controllers[card].parity(now, Bytes(length));
                self.after(at, Event::Computed(index));
            }
            None => self.computed(now, index),
        }
    }

    /// Handles that the data to write has been computed: issues the writes.
    pub(super) fn computed(&mut self, now: Nanos, index: u32) {
        self.jobs[index].is_writing = true;
        self.issue_all(now, index);
    }

    /// Handles the end of all operations of a job: unlocks its row, sends read data to the host.
    fn job_done(&mut self, now: Nanos, index: u32) {
        let Job { host, range, op, has_lock, .. } = self.jobs[index];
        if host == REBUILD {
            self.rebuilt(now);
        }
        #[cfg(test)]
        self.trace_done(index);
        if let Some(range) = range.filter(|_| has_lock) {
            self.unlock(now, range.row);
        }
        match self.cards.front.filter(|_| op == Some(Op::Read) && host != REBUILD) {
            Some(card) => {
                let length = range.expect("a read has a range").length;
                let at = self.cards.controllers[card].transfer(now, length);
                self.after(at, Event::Delivered(index));
            }
            None => self.delivered(now, index),
        }
    }

    /// Gives the lock of `row` to the next job that waits for it.
    fn unlock(&mut self, now: Nanos, row: u64) {
        let waiting = self.locks.get_mut(&row).expect("a job that had it");
        let Some(next) = waiting.pop_front() else {
            self.locks.remove(&row);
            return;
        };
        self.jobs[next].has_lock = true;
        self.begin(now, next);
    }

    pub(super) fn delivered(&mut self, now: Nanos, index: u32) {
        let host = self.jobs[index].host;
        self.jobs.remove(index);
        if host != REBUILD {
            self.job_left(now, host);
        }
    }

    /// Counts one job less of a request; completes the request after the last one.
    fn job_left(&mut self, now: Nanos, host: u32) {
        self.hosts[host].jobs_left -= 1;
        if self.hosts[host].jobs_left == 0 {
            self.complete(now, host);
        }
    }
}
