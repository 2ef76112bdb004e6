//! Anticipatory: after a read, the elevator waits a moment for the next read of the same process.
//!
//! After Iyer and Druschel, SOSP 2001, and Documentation/block/as-iosched.txt. Batches of reads and
//! of writes take turns by time. Within a batch of reads, the nearest request goes; but if that is
//! another process's and far, no request goes for [`ANTIC_EXPIRE`] after the last process's read
//! has ended, unless the mean think time of that process is longer. A batch begins when all
//! requests of the batch before have ended on the drive.
//!
//! *Invariants.* The elevator waits no longer than `ANTIC_EXPIRE` for a read, and only for reads;
//! it does not wait if a check, made once in [`READ_EXPIRE`], finds a read that waits longer.

use super::interface::{Elevator, Next, Waiting, nearest, oldest};
use super::io_context::{self, IoContext};
use assay_spec::{Bytes, Nanos, Op};

/// The longest wait for a read that may come: `antic_expire`, HZ / 150 in whole milliseconds.
pub(super) const ANTIC_EXPIRE: Nanos = Nanos::from_millis(6);
/// The time that a read may wait: `read_expire`.
pub(super) const READ_EXPIRE: Nanos = Nanos::from_millis(125);
/// The time that a write may wait: `write_expire`.
const WRITE_EXPIRE: Nanos = Nanos::from_millis(250);
/// The length of a batch of reads while a write waits: `read_batch_expire`.
const READ_BATCH: Nanos = Nanos::from_millis(500);
/// The length of a batch of writes while a read waits: `write_batch_expire`.
const WRITE_BATCH: Nanos = Nanos::from_millis(125);
/// The number of writes in the first batch; later, it is adjusted to fill `WRITE_BATCH`.
const WRITES_FIRST: u32 = 12;
/// The distance behind the head up to which a request can go before those ahead.
const BACK_MAX: Bytes = Bytes(512 << 20);
/// The distance at which a request is as good as the awaited one; doubled with each millisecond.
const CLOSE: Bytes = Bytes(4 << 20);
/// The wait after which every request is close.
const CLOSE_TIME: Nanos = Nanos::from_millis(20);
/// The longest think time that counts: `MAX_THINKTIME`.
const THINK_MAX: Nanos = Nanos::from_millis(20);

/// The elevator that waits for the next read.
#[derive(Debug)]
pub(super) struct Anticipatory {
    /// The direction of the batch.
    batch: Op,
    /// When the batch may end for the other direction; `None` until a read of it has ended.
    batch_end: Option<Nanos>,
    batch_start: Nanos,
    /// Whether the direction has changed and the batch before must still end on the drive.
    changed: bool,
    /// The number of writes that the batch may still send.
    writes_left: u32,
    /// The number of writes in a batch.
    writes_of_batch: u32,
    in_flight: u32,
    /// By direction: the first byte after the last request.
    heads: [Bytes; 2],
    /// The process of the last request, if that was a read.
    process: Option<u32>,
    /// When that read ended, if it has.
    ended: Option<Nanos>,
    /// By direction: when the oldest request was last checked for its expiry.
    looked: [Nanos; 2],
    io_contexts: Vec<IoContext>,
}

impl Default for Anticipatory {
    fn default() -> Self {
        Anticipatory {
            batch: Op::Read,
            batch_end: Some(Nanos::ZERO),
            batch_start: Nanos::ZERO,
            changed: false,
            writes_left: 0,
            writes_of_batch: WRITES_FIRST,
            in_flight: 0,
            heads: [Bytes::ZERO; 2],
            process: None,
            ended: None,
            looked: [Nanos::ZERO; 2],
            io_contexts: Vec::new(),
        }
    }
}

impl Anticipatory {
    /// Returns until when to wait for the last process rather than serve `candidate`, or `None`.
    fn anticipates(
        &self,
        now: Nanos,
        queue: &[Waiting],
        candidate: Option<&Waiting>,
    ) -> Option<Nanos> {
        let (process, ended) = (self.process?, self.ended?);
        let until = ended + ANTIC_EXPIRE;
        let asks_already = queue.iter().any(|w| w.is_sync() && w.process == process);
        let io_context = &self.io_contexts[process as usize];
        let thinks_long = io_context.think().is_some_and(|t| t > ANTIC_EXPIRE);
        if now >= until || asks_already || thinks_long {
            return None;
        }
        let good_enough = candidate.is_some_and(|w| self.is_close(now - ended, io_context, w));
        (!good_enough).then_some(until)
    }

    /// Returns `true` if `request` is as near to the head as the awaited one is likely to be,
    /// `waited` after the last read has ended.
    fn is_close(&self, waited: Nanos, io_context: &IoContext, request: &Waiting) -> bool {
        let (head, start) = (self.heads[0].0, request.offset.0);
        if waited > CLOSE_TIME {
            return true;
        }
        let near = CLOSE.0 << (waited.0 / 1_000_000);
        let within = head <= start + near / 2 && start <= head + near;
        within || io_context.seek().is_some_and(|mean| mean.0 > head.abs_diff(start))
    }

    /// Returns the oldest request of `op` if it has waited too long. Checks only once in the time
    /// that it may wait.
    fn expired(&mut self, now: Nanos, queue: &[Waiting], op: Op) -> Option<usize> {
        let expire = if op == Op::Read { READ_EXPIRE } else { WRITE_EXPIRE };
        if now - self.looked[op as usize] < expire {
            return None;
        }
        self.looked[op as usize] = now;
        oldest(queue, |w| w.op == op).filter(|i| now > queue[*i].arrived + expire)
    }

    /// Returns `true` if the batch has used its time or its writes.
    fn batch_is_over(&self, now: Nanos) -> bool {
        let late = self.batch_end.is_some_and(|end| now > end);
        !self.changed && (late || (self.batch == Op::Write && self.writes_left == 0))
    }

    /// Chooses the direction of the next batch: the other one if requests of it wait.
    fn turn(&mut self, now: Nanos, reads: bool, writes: bool) {
        let to = match self.batch {
            Op::Read if writes => Op::Write,
            _ if reads => Op::Read,
            _ => Op::Write,
        };
        if to != self.batch {
            self.changed = true;
        }
        if to == Op::Write {
            self.writes_left = self.writes_of_batch;
        }
        self.batch = to;
        self.looked[to as usize] = now;
    }

    /// Adjusts the number of writes in a batch, at the end of one, to the time it should take.
    fn learn(&mut self, now: Nanos) {
        let (took, wanted) = (now - self.batch_start, WRITE_BATCH);
        let count = self.writes_of_batch;
        let fitted = if took > wanted {
            if took > wanted * 3 { count / 2 } else { count - 1 }
        } else if self.writes_left == 0 {
            if took * 3 < wanted { count * 2 } else { count + 1 }
        } else {
            count
        };
        self.writes_of_batch = fitted.clamp(1, 1 << 16);
    }

    /// Begins the time of the batch. Called with its first request.
    fn begin(&mut self, now: Nanos) {
        self.changed = false;
        if self.batch == Op::Write {
            self.batch_start = now;
            self.batch_end = Some(now + WRITE_BATCH);
        } else {
            self.batch_end = None;
        }
    }

    /// Sends the request at `index`, unless a new batch must wait for the drive.
    fn send(&mut self, now: Nanos, queue: &[Waiting], index: usize) -> Next {
        let request = &queue[index];
        if self.changed {
            if self.in_flight > 0 {
                return Next::Idle;
            }
            self.begin(now);
        }
        self.in_flight += 1;
        self.heads[request.op as usize] = request.end;
        self.process = request.is_sync().then_some(request.process);
        self.ended = None;
        if request.is_sync() {
            io_context::of(&mut self.io_contexts, request.process).is_sent();
        } else {
            self.writes_left = self.writes_left.saturating_sub(1);
        }
        Next::Request(index)
    }
}

impl Elevator for Anticipatory {
    fn added(&mut self, now: Nanos, queue: &[Waiting], index: usize) {
        let request = &queue[index];
        let io_context = io_context::of(&mut self.io_contexts, request.process);
        if request.is_sync() {
            io_context.asks(now, queue, index, THINK_MAX);
        }
    }

    fn next(&mut self, now: Nanos, queue: &[Waiting]) -> Next {
        let waits = |op| queue.iter().any(|w| w.op == op);
        let (reads, writes) = (waits(Op::Read), waits(Op::Write));
        if !reads && !writes {
            return Next::Idle;
        }
        let mut chosen = None;
        if self.changed {
            // The direction is decided; the batch only waits for the drive.
            chosen = oldest(queue, |w| w.op == self.batch);
        } else if !(reads && writes && self.batch_is_over(now)) {
            let (op, head) = (self.batch, self.heads[self.batch as usize]);
            chosen = nearest(queue, head, BACK_MAX, |w| w.op == op);
            if let Some(late) = self.expired(now, queue, op) {
                chosen = Some(late);
            } else if op == Op::Read
                && let Some(until) = self.anticipates(now, queue, chosen.map(|i| &queue[i]))
            {
                return Next::WaitUntil(until);
            }
            if chosen.is_some() && op == Op::Read && !writes {
                self.batch_end = Some(now + READ_BATCH);
            }
        }
        let index = chosen.unwrap_or_else(|| {
            if self.batch == Op::Write && reads {
                self.learn(now);
            }
            self.turn(now, reads, writes);
            oldest(queue, |w| w.op == self.batch).expect("it turned to what waits")
        });
        self.send(now, queue, index)
    }

    fn completed(&mut self, now: Nanos, _queue: &[Waiting], ended: &Waiting) {
        self.in_flight -= 1;
        if !ended.is_sync() {
            return;
        }
        io_context::of(&mut self.io_contexts, ended.process).is_served(now);
        if self.batch == Op::Read && self.batch_end.is_none() {
            self.batch_end = Some(now + READ_BATCH);
        }
        if self.process == Some(ended.process) {
            self.ended = Some(now);
        }
    }
}
