//! Tests of arrays: layouts, the textbook's formulas, and contents after failures.

mod content;
mod formulas;
mod layouts;

use super::build::over;
use super::job::{REBUILD, Trace};
use super::spares::Spares;
use super::{Array, plan};
use crate::drive::{Accept, Counters, Drive, Inspect, PowerCut, Prefetch};
use assay_spec::array::Level;
use assay_spec::{Bytes, Completion, Nanos, Op, Request};
use plan::{MemberRequest, Range};
use std::collections::VecDeque;

impl Array {
    pub(super) fn trace_plan(&mut self, job: u32) {
        let super::job::Job { host, range, op, .. } = self.jobs[job].clone();
        let tag = (host != REBUILD).then(|| self.hosts[host].request.tag);
        let (op, range) = (op.unwrap(), range.unwrap());
        self.trace.push(Trace::Planned { job, tag, op, range });
    }

    pub(super) fn trace_ended(&mut self, operation: u32) {
        let super::job::MemberOperation { job, part, .. } = self.operations[operation];
        self.trace.push(Trace::Ended { job, part });
    }

    pub(super) fn trace_done(&mut self, job: u32) {
        self.trace.push(Trace::Done { job });
    }
}

/// A drive that serves one request after the other, and takes `each` for a request and `byte` for
/// each byte.
pub(super) struct Fixed {
    capacity: Bytes,
    each: Nanos,
    byte: Nanos,
    queue: VecDeque<(Nanos, u32)>,
    depth: usize,
    free: Vec<Nanos>,
    clock: Nanos,
    /// The numbers of writes, and of forced ones (FUA) among them.
    writes: [u32; 2],
}

impl Fixed {
    pub(super) fn new(capacity: Bytes, each: Nanos, byte: Nanos) -> Fixed {
        let free = vec![Nanos::ZERO];
        let (queue, clock, writes) = Default::default();
        Fixed { capacity, each, byte, queue, depth: 4, free, clock, writes }
    }
}

impl Drive for Fixed {
    fn capacity(&self) -> Bytes {
        self.capacity
    }
    fn submit(&mut self, now: Nanos, request: Request) -> Accept {
        assert!(now >= self.clock, "time runs back");
        assert!(request.end() <= self.capacity, "beyond the end");
        if self.queue.len() >= self.depth {
            return Accept::QueueFull;
        }
        self.clock = now;
        self.writes[0] += u32::from(request.op == Op::Write);
        self.writes[1] += u32::from(request.fua);
        let start = self.free[0].max(now);
        self.free[0] = start + self.each + self.byte * request.length.0;
        self.queue.push_back((self.free[0], request.tag));
        Accept::Accepted
    }
    fn next_event(&self) -> Option<Nanos> {
        self.queue.front().map(|(at, _)| *at)
    }
    fn advance(&mut self, to: Nanos, completions: &mut Vec<Completion>) {
        assert!(to >= self.clock, "time runs back");
        while let Some((at, tag)) = self.queue.front().copied().filter(|(at, _)| *at <= to) {
            completions.push(Completion { tag, at, error: 0 });
            self.queue.pop_front();
        }
        self.clock = to;
    }
}

impl Counters for Fixed {
    fn counters(&self) -> Vec<(String, f64)> {
        let told = ["writes", "forced"].into_iter().zip(self.writes);
        told.map(|(name, count)| (name.to_owned(), f64::from(count))).collect()
    }
    fn mark(&mut self) {}
}

impl Inspect for Fixed {}

impl PowerCut for Fixed {}

impl Prefetch for Fixed {}

/// Builds an array of fixed drives, with spares if `rebuild` says how to fill them.
pub(super) fn array(
    level: Level,
    members: usize,
    chunk: Bytes,
    drive: impl Fn() -> Fixed,
    rebuild: Option<assay_spec::array::Rebuild>,
) -> Array {
    let member = || -> Box<dyn Drive + Send> { Box::new(drive()) };
    let spares = rebuild.map(|rebuild| {
        let drives = (0..members).map(|_| member()).collect();
        Spares { rebuild, drives }
    });
    over(level, chunk, (0..members).map(|_| (member(), None)).collect(), spares)
}

/// A generator of a fixed sequence of pseudo-random numbers.
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        // SplitMix64, by Steele, Lea and Flood.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

/// Keeps `depth` requests in flight until `count` have ended; returns when the last one did.
pub(super) fn closed_loop(
    drive: &mut dyn Drive,
    depth: u32,
    count: usize,
    mut next: impl FnMut() -> (Op, Bytes, Bytes),
) -> Nanos {
    let (mut now, mut ended, mut asked) = (Nanos::ZERO, 0, 0);
    let mut free: Vec<u32> = (0..depth).collect();
    let mut completions = Vec::new();
    while ended < count {
        while asked < count
            && let Some(tag) = free.pop()
        {
            let (op, offset, length) = next();
            asked += 1;
            assert_eq!(
                drive.submit(now, Request { tag, op, offset, length, fua: false }),
                Accept::Accepted
            );
        }
        now = drive.next_event().expect("something is in flight");
        drive.advance(now, &mut completions);
        for completion in completions.drain(..) {
            assert_eq!(completion.error, 0);
            assert!(!free.contains(&completion.tag), "ended twice");
            free.push(completion.tag);
            ended += 1;
        }
    }
    now
}
