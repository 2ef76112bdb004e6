//! CFQ, completely fair queueing: a slice of the drive's time for each process.
//!
//! After Documentation/block/biodoc.txt and the tunables and rules of Linux 2.6.26 (before groups,
//! cooperating queues, and synchronous direct writes). Each process that reads has a queue of its
//! own; all writes share one. The active queue keeps the drive for its slice, which begins with
//! its first completion; when the queue runs empty, the drive idles a while for its next request.
//! Within a queue the request nearest to the head goes. Requests merge only within a queue.
//!
//! *Invariants.* One queue is active at a time; a slice is not longer than [`SLICE_SYNC`] plus the
//! request that it ends in; the drive idles at most [`SLICE_IDLE`] for one process.

use super::interface::{Elevator, Next, Waiting, nearest, oldest};
use super::io_context::IoContext;
use assay_spec::{Bytes, Nanos};
use std::collections::BTreeSet;

/// The slice of a process that reads: `slice_sync`, at the middle priority.
pub(super) const SLICE_SYNC: Nanos = Nanos::from_millis(100);
/// The slice of all writes: `slice_async`.
pub(super) const SLICE_ASYNC: Nanos = Nanos::from_millis(40);
/// The slice of a process of the highest priority; turns are spaced by the difference to it.
const SLICE_HIGHEST: Nanos = Nanos::from_millis(180);
/// The writes of a slice while other queues wait: 2 × (2 + 2 × 3), from `slice_async_rq` = 2.
const WRITES_OF_SLICE: u32 = 16;
/// The time that the drive idles for the next request of a process: `slice_idle`.
pub(super) const SLICE_IDLE: Nanos = Nanos::from_millis(8);
/// The same for a seeky process: `CFQ_MIN_TT`.
pub(super) const SEEKY_IDLE: Nanos = Nanos::from_millis(2);
/// The mean seek distance above which a process is seeky.
const SEEKY: Bytes = Bytes(4 << 20);
/// The most requests of a queue in flight while others wait: `quantum`; four times that alone.
const QUANTUM: u32 = 4;
/// The time after which a waiting read goes first, once in a slice: `fifo_expire_sync`.
const EXPIRE_SYNC: Nanos = Nanos::from_millis(125);
/// The time after which a waiting write goes first, once in a slice: `fifo_expire_async`.
const EXPIRE_ASYNC: Nanos = Nanos::from_millis(250);
/// The distance behind the head up to which a request can be the nearest: `back_seek_max`.
const BACK_MAX: Bytes = Bytes(16 << 20);
/// The number of requests at the drive from which on it is taken to order them itself.
const TAGGED: u32 = 5;
/// The number of completions between two checks of that.
const TAGGED_SAMPLES: u32 = 50;

/// The number of the queue of all writes; that of process p is p + 1.
const WRITES: usize = 0;

/// The state of a queue.
#[derive(Clone, Debug, Default)]
struct Slices {
    /// Its key in the order of turns, while a request of it waits.
    turn: Option<(i64, u64)>,
    /// The nanoseconds left of its last slice, negative if it overran; added to its next key.
    left: i64,
    in_flight: u32,
    /// Whether the drive idles for its next request.
    idles: bool,
    io_context: IoContext,
}

/// The active queue, which has the drive.
#[derive(Clone, Copy, Debug)]
struct Active {
    queue: usize,
    /// The end of its slice, once its first request has ended.
    end: Option<Nanos>,
    /// Until when the drive idles for its next request.
    idle_until: Option<Nanos>,
    /// The number of requests sent in this slice.
    sent: u32,
    /// Whether its oldest request has been checked for expiry in this slice.
    looked: bool,
}

/// The elevator of time slices.
#[derive(Debug)]
pub(super) struct Cfq {
    queues: Vec<Slices>,
    /// The order of turns: key, tie-breaker and number of each queue with waiting requests.
    turns: BTreeSet<(i64, u64, usize)>,
    /// The number of keys given so far: a tie-breaker.
    count: u64,
    active: Option<Active>,
    /// The first byte after the last request.
    head: Bytes,
    in_flight: u32,
    reads_in_flight: u32,
    /// Whether the drive orders requests itself.
    tagged: bool,
    /// The most requests in flight since the last check of `tagged`.
    peak: u32,
    /// The number of completions since the last check of `tagged`.
    samples: u32,
}

impl Default for Cfq {
    fn default() -> Self {
        Cfq {
            queues: vec![Slices::default()],
            turns: BTreeSet::new(),
            count: 0,
            active: None,
            head: Bytes::ZERO,
            in_flight: 0,
            reads_in_flight: 0,
            // This is assumed until the drive has shown otherwise.
            tagged: true,
            peak: 0,
            samples: 0,
        }
    }
}

fn queue_of(request: &Waiting) -> usize {
    if request.is_sync() { request.process as usize + 1 } else { WRITES }
}

/// Returns the length of the slice of a queue.
fn slice(queue: usize) -> Nanos {
    if queue == WRITES { SLICE_ASYNC } else { SLICE_SYNC }
}

impl Cfq {
    /// Gives `queue` its place in the order of turns: first, or by time, spaced by those waiting.
    fn line_up(&mut self, now: Nanos, queue: usize, first: bool) {
        self.leave(queue);
        let others = self.turns.len() as i64;
        let spacing = (SLICE_HIGHEST - slice(queue)).0 as i64;
        let left = std::mem::take(&mut self.queues[queue].left);
        let key = if first { 0 } else { now.0 as i64 + others * spacing + left };
        self.count += 1;
        self.turns.insert((key, self.count, queue));
        self.queues[queue].turn = Some((key, self.count));
    }

    /// Takes `queue` out of the order of turns.
    fn leave(&mut self, queue: usize) {
        if let Some((key, count)) = self.queues[queue].turn.take() {
            assert!(self.turns.remove(&(key, count, queue)), "it stood in the line");
        }
    }

    /// Ends the active slice. With `by_time`, the rest of it counts for the next turn.
    fn expire(&mut self, now: Nanos, by_time: bool) {
        let Some(active) = self.active.take() else { return };
        let queue = active.queue;
        if let Some(end) = active.end.filter(|_| by_time) {
            self.queues[queue].left = end.0 as i64 - now.0 as i64;
        }
        if self.queues[queue].turn.is_some() {
            self.line_up(now, queue, false);
        }
    }

    fn is_seeky(&self, queue: usize) -> bool {
        self.queues[queue].io_context.seek().is_some_and(|mean| mean > SEEKY)
    }

    /// Updates whether the drive idles for `queue`: if its think time is short, but not if it is
    /// seeky and the drive orders requests itself.
    fn update_idling(&mut self, queue: usize) {
        let seeky = self.is_seeky(queue);
        let slices = &mut self.queues[queue];
        if self.tagged && seeky {
            slices.idles = false;
        } else if let Some(think) = slices.io_context.think() {
            slices.idles = think <= SLICE_IDLE;
        }
    }

    /// Returns `true` if `request` takes the drive from the active queue.
    fn preempts(&self, now: Nanos, request: &Waiting) -> bool {
        let Some(active) = self.active.filter(|a| a.queue != queue_of(request)) else {
            return false;
        };
        if !request.is_sync() {
            return false;
        }
        if active.queue == WRITES {
            return true;
        }
        // While the drive idles for a process, a request as near as its own usually are may go.
        let slices = &self.queues[active.queue];
        let idling = slices.turn.is_none() && active.idle_until.is_some_and(|until| now < until);
        let usual = slices.io_context.seek().unwrap_or(Bytes::ZERO);
        idling && request.offset.0.abs_diff(self.head.0) <= usual.0
    }

    /// Returns the active queue, which has a waiting request, or else the decision to wait.
    /// Activates the next queue if the slice is over.
    fn select(&mut self, now: Nanos) -> Result<Active, Next> {
        if let Some(active) = self.active {
            let slices = &self.queues[active.queue];
            let over = active.end.is_some_and(|end| now >= end);
            if !over && slices.turn.is_some() {
                return Ok(active);
            }
            if !over && let Some(until) = active.idle_until.filter(|until| now < *until) {
                return Err(Next::WaitUntil(until));
            }
            if !over && slices.in_flight > 0 && slices.idles && active.idle_until.is_none() {
                return Err(Next::Idle);
            }
            self.expire(now, false);
        }
        let Some((.., queue)) = self.turns.first().copied() else { return Err(Next::Idle) };
        let active = Active { queue, end: None, idle_until: None, sent: 0, looked: false };
        self.active = Some(active);
        Ok(active)
    }

    /// Returns the request that the active queue sends.
    fn pick(&self, now: Nanos, queue: &[Waiting], active: &Active) -> usize {
        let own = |w: &Waiting| queue_of(w) == active.queue;
        let expire = if active.queue == WRITES { EXPIRE_ASYNC } else { EXPIRE_SYNC };
        let late = oldest(queue, own).filter(|i| now >= queue[*i].arrived + expire);
        let near = || nearest(queue, self.head, BACK_MAX, own);
        let chosen = late.filter(|_| !active.looked).or_else(near);
        chosen.expect("a queue with a turn has a request")
    }

    /// Updates whether the drive orders requests itself. Counts only completions under enough load.
    fn update_tagged(&mut self, waiting: usize) {
        self.peak = self.peak.max(self.in_flight);
        if waiting as u32 <= TAGGED && self.in_flight <= TAGGED {
            return;
        }
        self.samples += 1;
        if self.samples > TAGGED_SAMPLES {
            self.tagged = self.peak >= TAGGED;
            (self.samples, self.peak) = (0, 0);
        }
    }
}

impl Elevator for Cfq {
    fn added(&mut self, now: Nanos, queue: &[Waiting], index: usize) {
        let request = &queue[index];
        let own = queue_of(request);
        if self.queues.len() <= own {
            self.queues.resize(own + 1, Slices { idles: true, ..Slices::default() });
        }
        if request.is_sync() {
            let io_context = &mut self.queues[own].io_context;
            io_context.asks(now, queue, index, SLICE_IDLE * 2);
            self.update_idling(own);
        }
        let preempts = self.preempts(now, request);
        if preempts {
            self.expire(now, true);
        }
        if preempts || self.queues[own].turn.is_none() {
            self.line_up(now, own, preempts);
        }
    }

    fn next(&mut self, now: Nanos, queue: &[Waiting]) -> Next {
        let active = match self.select(now) {
            Ok(active) => active,
            Err(wait) => return wait,
        };
        let own = active.queue;
        let (in_flight, others) = (self.queues[own].in_flight, self.turns.len() > 1);
        let full = in_flight >= if others { QUANTUM } else { 4 * QUANTUM };
        if full || (own == WRITES && self.reads_in_flight > 0) {
            return Next::Idle;
        }
        let index = self.pick(now, queue, &active);
        let request = &queue[index];
        self.head = request.end;
        self.in_flight += 1;
        if request.is_sync() {
            self.reads_in_flight += 1;
            self.queues[own].io_context.is_sent();
        }
        self.queues[own].in_flight += 1;
        let sent = active.sent + 1;
        self.active = Some(Active { sent, looked: true, idle_until: None, ..active });
        if queue.iter().filter(|w| queue_of(w) == own).count() == 1 {
            self.leave(own);
        }
        if own == WRITES && others && sent >= WRITES_OF_SLICE {
            self.expire(now, false);
        }
        Next::Request(index)
    }

    fn completed(&mut self, now: Nanos, queue: &[Waiting], ended: &Waiting) {
        let own = queue_of(ended);
        self.update_tagged(queue.len());
        self.in_flight -= 1;
        self.queues[own].in_flight -= 1;
        if ended.is_sync() {
            self.reads_in_flight -= 1;
            self.queues[own].io_context.is_served(now);
        }
        let Some(mut active) = self.active.filter(|a| a.queue == own) else { return };
        let end = *active.end.get_or_insert(now + slice(own));
        let empty = self.queues[own].turn.is_none();
        if empty && own != WRITES && self.queues[own].idles {
            let seeky = self.is_seeky(own);
            active.idle_until = Some(now + if seeky { SEEKY_IDLE } else { SLICE_IDLE });
        }
        self.active = Some(active);
        if now >= end {
            self.expire(now, true);
        }
    }

    fn may_merge(&self, one: &Waiting, other: &Waiting) -> bool {
        queue_of(one) == queue_of(other)
    }
}
