//! Deadline: sorted batches, reads before writes, and no request waits for ever.
//!
//! After Documentation/block/deadline-iosched.txt. Requests of one direction go in batches of
//! [`FIFO_BATCH`] in the order of their addresses. Between batches reads are preferred, at most
//! [`WRITES_STARVED`] times in a row while a write waits. A batch begins with the oldest request if
//! that has waited longer than its direction may, or if none lies ahead of the last one.
//!
//! *Invariant.* Only these batches go before an expired request: one for each request of its
//! direction that came before it and, for each batch of writes, `WRITES_STARVED` of reads.

use super::interface::{Elevator, Next, Waiting, nearest, oldest};
use assay_spec::{Bytes, Nanos, Op};

/// The time that a read may wait before it goes first: `read_expire`.
pub(super) const READ_EXPIRE: Nanos = Nanos::from_millis(500);
/// The time that a write may wait before it goes first: `write_expire`.
pub(super) const WRITE_EXPIRE: Nanos = Nanos::from_secs(5);
/// The number of batches of reads that may pass a waiting write: `writes_starved`.
pub(super) const WRITES_STARVED: u32 = 2;
/// The number of requests in a batch: `fifo_batch`.
pub(super) const FIFO_BATCH: u32 = 16;

/// The elevator of deadlines.
#[derive(Debug, Default)]
pub(super) struct Deadline {
    /// The direction and offset of the last request.
    last: Option<(Op, Bytes)>,
    /// The number of requests of the batch so far.
    batched: u32,
    /// The number of batches of reads chosen while writes waited, since the last batch of writes.
    starved: u32,
}

impl Deadline {
    /// Returns the next request in the order of addresses, if the last one had direction `op`.
    fn ahead(&self, queue: &[Waiting], op: Op) -> Option<usize> {
        let (_, start) = self.last.filter(|(last, _)| *last == op)?;
        nearest(queue, start, Bytes::ZERO, |w| w.op == op && w.offset >= start)
    }

    /// Chooses the direction of the next batch, or `None` if no request waits.
    fn direction(&mut self, queue: &[Waiting]) -> Option<Op> {
        let waits = |op| queue.iter().any(|w| w.op == op);
        let (reads, writes) = (waits(Op::Read), waits(Op::Write));
        if reads && writes && self.starved < WRITES_STARVED {
            self.starved += 1;
            return Some(Op::Read);
        }
        if writes {
            self.starved = 0;
            return Some(Op::Write);
        }
        reads.then_some(Op::Read)
    }
}

impl Elevator for Deadline {
    fn added(&mut self, _now: Nanos, _queue: &[Waiting], _index: usize) {}

    fn next(&mut self, now: Nanos, queue: &[Waiting]) -> Next {
        let running = self.last.filter(|_| self.batched < FIFO_BATCH);
        let mut chosen = running.and_then(|(op, _)| self.ahead(queue, op));
        if chosen.is_none() {
            let Some(op) = self.direction(queue) else { return Next::Idle };
            self.batched = 0;
            let first = oldest(queue, |w| w.op == op);
            let expire = if op == Op::Read { READ_EXPIRE } else { WRITE_EXPIRE };
            let expired = first.is_some_and(|i| now > queue[i].arrived + expire);
            chosen = self.ahead(queue, op).filter(|_| !expired).or(first);
        }
        let Some(index) = chosen else { return Next::Idle };
        self.batched += 1;
        self.last = Some((queue[index].op, queue[index].offset));
        Next::Request(index)
    }

    fn completed(&mut self, _now: Nanos, _queue: &[Waiting], _ended: &Waiting) {}
}
