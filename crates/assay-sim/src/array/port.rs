//! A member in its place: the drive, what waits for it, and whether it is still there.
//!
//! *Invariants.* A drive that has failed is not asked for anything again; each operation is with
//! the drive or waits, never both; every one lies inside the drive.

use crate::drive::{Accept, Drive};
use crate::ssd::Snapshot;
use assay_spec::{Bytes, Completion, Nanos, Op, Request};
use std::collections::VecDeque;

/// An operation as the port needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) tag: u32,
    pub(crate) op: Op,
    pub(crate) offset: Bytes,
    pub(crate) length: Bytes,
    pub(crate) fua: bool,
}

/// A place for a member.
pub(crate) struct Port {
    drive: Box<dyn Drive + Send>,
    /// The card it hangs on.
    pub(crate) controller: Option<usize>,
    /// The drive is out of use, with no spare in its place.
    pub(crate) dead: bool,
    /// How often the drive has been replaced.
    pub(crate) generation: u32,
    waiting: VecDeque<Asked>,
    flying: Vec<u32>,
    /// Where the last operation ended.
    head: Bytes,
    counts: Counts,
}

/// What a member was asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
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
            counts: Counts::default(),
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

    /// Lets everything up to `to` happen.
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

    /// How busy it is, then how far its head is from `place`.
    pub(crate) fn cost(&self, place: Bytes) -> (usize, u64) {
        (self.waiting.len() + self.flying.len(), self.head.0.abs_diff(place.0))
    }

    /// The drive fails; a spare may take its place. Returns what it had not done.
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

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    pub(crate) fn counters(&self) -> Vec<(String, f64)> {
        if self.dead { Vec::new() } else { self.drive.counters() }
    }

    /// What each flash drive in it tells of `now`; those of a dead member nothing.
    pub(crate) fn snapshots(&self, now: Nanos) -> Vec<Option<Snapshot>> {
        let snapshots = self.drive.snapshots(now).into_iter();
        snapshots.map(|snapshot| snapshot.filter(|_| !self.dead)).collect()
    }

    /// Panics unless every invariant of the drive holds.
    pub(crate) fn check(&self) {
        self.drive.check();
        assert!(!self.dead || self.waiting.is_empty() && self.flying.is_empty());
    }

    pub(crate) fn time_waits(&mut self) {
        self.drive.time_waits();
    }

    pub(crate) fn mark(&mut self) {
        self.counts = Counts::default();
        self.drive.mark();
    }
}
