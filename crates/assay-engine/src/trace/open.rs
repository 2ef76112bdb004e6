//! Requests on their way, found again by direction and first block.
//!
//! Several may have the same key: two reads of one place in flight at a time. They are taken in
//! the order they came, one of the wanted length first.

use assay_spec::Op;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A moment that is not known.
pub const NEVER: u64 = u64::MAX;

/// A request on its way, or a part of one.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    /// Which way.
    pub op: Op,
    /// First block of what is not done.
    pub sector: u64,
    /// Bytes that are not done.
    pub bytes: u64,
    /// Bytes that are done, before `sector`.
    pub done: u64,
    /// The first moment of it that is known.
    pub begun: u64,
    /// When it was queued, put into the elevator, sent to the drive.
    pub queue: u64,
    /// See `queue`.
    pub insert: u64,
    /// See `queue`.
    pub dispatch: u64,
    /// Who queued it.
    pub process: u32,
}

/// How many of one key are looked through for one of the wanted length.
const LOOKED_AT: usize = 64;
const NONE: u32 = u32::MAX;

struct Slot {
    open: Open,
    next: u32,
}

/// Requests by direction and first block.
#[derive(Default)]
pub struct Table {
    /// The first and the last of each key.
    ends: HashMap<u64, (u32, u32), BuildHasherDefault<Mix>>,
    slots: Vec<Slot>,
    free: Vec<u32>,
}

fn key(op: Op, sector: u64) -> u64 {
    sector << 2 | op as u64
}

impl Table {
    /// How many there are.
    pub fn len(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }

    /// Forgets all; says how many there were.
    pub fn clear(&mut self) -> u64 {
        let there = self.len();
        *self = Table::default();
        there
    }

    /// Adds one behind others with its key.
    pub fn push(&mut self, open: Open) {
        let slot = Slot { open, next: NONE };
        let index = match self.free.pop() {
            Some(index) => {
                self.slots[index as usize] = slot;
                index
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        };
        let ends = self.ends.entry(key(open.op, open.sector)).or_insert((index, NONE));
        if ends.1 != NONE {
            self.slots[ends.1 as usize].next = index;
        }
        ends.1 = index;
    }

    /// Takes one of `bytes` bytes if it is near; else the first.
    pub fn take(&mut self, op: Op, sector: u64, bytes: u64) -> Option<Open> {
        let key = key(op, sector);
        let ends = self.ends.get_mut(&key)?;
        let (mut before, mut index) = (NONE, ends.0);
        if self.slots[index as usize].open.bytes != bytes {
            (before, index) = wanted(&self.slots, index, bytes);
        }
        let Slot { open, next } = self.slots[index as usize];
        match (before, next) {
            (NONE, NONE) => drop(self.ends.remove(&key)),
            (NONE, next) => ends.0 = next,
            (before, next) => {
                self.slots[before as usize].next = next;
                if next == NONE {
                    ends.1 = before;
                }
            }
        }
        self.free.push(index);
        Some(open)
    }
}

/// The first of a list with `bytes` bytes, and what stands before it; else the first of all.
fn wanted(slots: &[Slot], first: u32, bytes: u64) -> (u32, u32) {
    let (mut before, mut index) = (NONE, first);
    for _ in 0..LOOKED_AT {
        let slot = &slots[index as usize];
        if slot.open.bytes == bytes {
            return (before, index);
        }
        if slot.next == NONE {
            break;
        }
        (before, index) = (index, slot.next);
    }
    (NONE, first)
}

/// Spreads keys; they are numbers already.
#[derive(Default)]
pub struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers of 64 bits")
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = assay_spec::seed::mix(number);
    }
}
