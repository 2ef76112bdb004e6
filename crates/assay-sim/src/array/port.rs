//! A port of an array: a member drive, the operations that wait for it, and whether it has failed.
//!
//! *Invariants.* A drive that has failed gets no more operations; each operation is with the drive
//! or waits, never both; every operation lies inside the drive.

use crate::drive::{Accept, Drive};
use crate::ssd::stall::Snapshot;
use assay_spec::{Bytes, Completion, Nanos, Op, Request};
use std::collections::VecDeque;

/// An operation, as much of it as the port needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) tag: u32,
    pub(crate) op: Op,
    pub(crate) offset: Bytes,
    pub(crate) length: Bytes,
    pub(crate) fua: bool,
}

/// A port for one member.
pub(crate) struct Port {
    drive: Box<dyn Drive + Send>,
    /// The card that the member is on, if any.
    pub(crate) controller: Option<usize>,
    /// Whether the drive has failed, with no spare in its place.
    pub(crate) dead: bool,
    /// The number of times that the drive has failed.
    pub(crate) generation: u32,
    waiting: VecDeque<Asked>,
    /// The tags of the operations that are with the drive.
    flying: Vec<u32>,
    /// The offset at which the last operation ends.
    head: Bytes,
    counts: PortCounts,
}

/// The numbers of operations of a member since the last mark.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PortCounts {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
}

impl Port {
    pub(crate) fn new(drive: Box<dyn Drive + Send>, controller: Option<usize>) -> Port {
        Port {
            drive,
            controller,
            dead: false,
            generation: 0,
            waiting: VecDeque::new(),
            flying: Vec::new(),
            head: Bytes::ZERO,
            counts: PortCounts::default(),
        }
    }

    pub(crate) fn capacity(&self) -> Bytes {
        self.drive.capacity()
    }

    /// Hands an operation over, now or when the drive has room.
    pub(crate) fn ask(&mut self, now: Nanos, asked: Asked) {
        assert!(!self.dead, "asked of a failed member");
        assert!(asked.offset + asked.length <= self.drive.capacity(), "inside the member");
        match asked.op {
            Op::Read => self.counts.reads += 1,
            Op::Write => self.counts.writes += 1,
            Op::Trim | Op::Flush => {}
        }
        self.head = asked.offset + asked.length;
        self.waiting.push_back(asked);
        self.pump(now);
    }

    /// Submits waiting operations until the drive is full.
    fn pump(&mut self, now: Nanos) {
        while let Some(Asked { tag, op, offset, length, fua }) = self.waiting.front().copied() {
            let request = Request { tag, op, offset, length, fua };
            if self.drive.submit(now, request) == Accept::QueueFull {
                return;
            }
            self.waiting.pop_front();
            self.flying.push(tag);
        }
    }

    pub(crate) fn next_event(&self) -> Option<Nanos> {
        if self.dead { None } else { self.drive.next_event() }
    }

    /// Executes the drive's events up to `to`, and appends the completions.
    pub(crate) fn advance(&mut self, to: Nanos, completions: &mut Vec<Completion>) {
        if self.dead {
            return;
        }
        let before = completions.len();
        self.drive.advance(to, completions);
        let ended = &completions[before..];
        if !ended.is_empty() {
            self.flying.retain(|tag| ended.iter().all(|c| c.tag != *tag));
            self.pump(to);
        }
    }

    /// Returns the cost of a read at `place`, for the choice between copies: the number of
    /// operations at the port, then the distance from the last one.
    pub(crate) fn cost(&self, place: Bytes) -> (usize, u64) {
        (self.waiting.len() + self.flying.len(), self.head.0.abs_diff(place.0))
    }

    /// Makes the drive fail; `spare` takes its place. Returns the operations that had not ended.
    pub(crate) fn fail(&mut self, spare: Option<Box<dyn Drive + Send>>) -> Vec<u32> {
        let waiting = self.waiting.drain(..).map(|asked| asked.tag);
        let undone = self.flying.drain(..).chain(waiting).collect();
        self.dead = spare.is_none();
        if let Some(spare) = spare {
            self.drive = spare;
        }
        self.generation += 1;
        self.head = Bytes::ZERO;
        undone
    }

    pub(crate) fn counts(&self) -> PortCounts {
        self.counts
    }

    pub(crate) fn counters(&self) -> Vec<(String, f64)> {
        if self.dead { Vec::new() } else { self.drive.counters() }
    }

    /// Returns the state at `now` of each flash drive in the member: `None` if the member is dead.
    pub(crate) fn snapshots(&self, now: Nanos) -> Vec<Option<Snapshot>> {
        let snapshots = self.drive.snapshots(now).into_iter();
        snapshots.map(|snapshot| snapshot.filter(|_| !self.dead)).collect()
    }

    /// Panics unless every invariant of the drive and the port holds.
    pub(crate) fn check(&self) {
        self.drive.check();
        assert!(!self.dead || self.waiting.is_empty() && self.flying.is_empty());
    }

    pub(crate) fn time_waits(&mut self) {
        self.drive.time_waits();
    }

    pub(crate) fn mark(&mut self) {
        self.counts = PortCounts::default();
        self.drive.mark();
    }
}
