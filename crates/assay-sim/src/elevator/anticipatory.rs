//! Anticipatory: after a read, it waits a moment for the same process's next one.
//!
//! After Iyer and Druschel, SOSP 2001, and Documentation/block/as-iosched.txt. Batches of reads and
//! of writes take turns by time. Within a batch of reads, the nearest request goes; but if that is
//! another process's and far, nothing goes for [`ANTIC_EXPIRE`] after the last process's read has
//! ended, unless that process thinks longer as a rule. A batch begins when the one before has ended
//! on the drive.
//!
//! *Invariants.* Nothing is anticipated for longer than `ANTIC_EXPIRE`, nor while a read has
//! waited longer than [`READ_EXPIRE`]; only reads are anticipated.

use super::io_context::{self, IoContext};
use super::{Elevator, Next, Waiting, nearest, oldest};
use assay_spec::{Bytes, Nanos, Op};

/// The longest wait for a read that may come: `antic_expire`, HZ / 150 in whole milliseconds.
pub(super) const ANTIC_EXPIRE: Nanos = Nanos::from_millis(6);
/// How long a read may wait: `read_expire`.
pub(super) const READ_EXPIRE: Nanos = Nanos::from_millis(125);
/// How long a write may wait: `write_expire`.
const WRITE_EXPIRE: Nanos = Nanos::from_millis(250);
/// Length of a batch of reads while a write waits: `read_batch_expire`.
const READ_BATCH: Nanos = Nanos::from_millis(500);
/// Length of a batch of writes while a read waits: `write_batch_expire`.
const WRITE_BATCH: Nanos = Nanos::from_millis(125);
/// Writes of the first batch; then as many as `WRITE_BATCH` is found to take.
const WRITES_FIRST: u32 = 12;
/// How far behind the head a request may lie and still be taken before those ahead.
const BACK_MAX: Bytes = Bytes(512 << 20);
/// A request so near is as good as the one waited for; twice that with each millisecond of waiting.
const CLOSE: Bytes = Bytes(4 << 20);
/// From here on everything is near.
const CLOSE_TIME: Nanos = Nanos::from_millis(20);
/// A pause that counts: `MAX_THINKTIME`.
const THINK_MAX: Nanos = Nanos::from_millis(20);

/// The elevator that waits for the next read.
#[derive(Debug)]
pub(super) struct Anticipatory {
    batch: Op,
    /// When the batch may end for the other direction; `None` until its first read has ended.
    batch_end: Option<Nanos>,
    batch_start: Nanos,
    /// The batch has changed and waits for the one before to end on the drive.
    changed: bool,
    writes_left: u32,
    writes_of_batch: u32,
    in_flight: u32,
    /// Where the last request of each direction ended.
    heads: [Bytes; 2],
    /// Who the last request was for, if it was a read.
    process: Option<u32>,
    /// When that ended, if it has.
    ended: Option<Nanos>,
    /// When the oldest request of each direction was last looked at.
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
    /// Until when it pays to wait rather than to serve `candidate`.
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

    /// True if `request` is as near as the one waited for may be expected to be.
    fn is_close(&self, waited: Nanos, io_context: &IoContext, request: &Waiting) -> bool {
        let (head, start) = (self.heads[0].0, request.offset.0);
        if waited > CLOSE_TIME {
            return true;
        }
        let near = CLOSE.0 << (waited.0 / 1_000_000);
        let within = head <= start + near / 2 && start <= head + near;
        within || io_context.seek().is_some_and(|mean| mean.0 > head.abs_diff(start))
    }

    /// The oldest request of `op` if it has waited too long; looked at now and then only.
    fn expired(&mut self, now: Nanos, queue: &[Waiting], op: Op) -> Option<usize> {
        let expire = if op == Op::Read { READ_EXPIRE } else { WRITE_EXPIRE };
        if now - self.looked[op as usize] < expire {
            return None;
        }
        self.looked[op as usize] = now;
        oldest(queue, |w| w.op == op).filter(|i| now > queue[*i].arrived + expire)
    }

    fn batch_is_over(&self, now: Nanos) -> bool {
        let late = self.batch_end.is_some_and(|end| now > end);
        !self.changed && (late || (self.batch == Op::Write && self.writes_left == 0))
    }

    /// Begins a batch of the other direction, or of the same one anew.
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

    /// Fits the number of writes to the time that a batch of them shall take.
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

    /// The batch's first request goes: it begins.
    fn begin(&mut self, now: Nanos) {
        self.changed = false;
        if self.batch == Op::Write {
            self.batch_start = now;
            self.batch_end = Some(now + WRITE_BATCH);
        } else {
            self.batch_end = None;
        }
    }

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
            // The batch is decided; it only waits for the drive.
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
