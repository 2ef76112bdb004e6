//! A table of requests in flight, by kind and first block.
//!
//! Several requests may have the same key: two reads of one place may be in flight at a time. They
//! are taken in the order in which they came, but one of the wanted length comes first.

use assay_spec::Op;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The time of an event that the trace does not have.
pub const NEVER: u64 = u64::MAX;

/// A request in flight, or a part of one. Its times are in ns on the trace's clock.
#[derive(Clone, Copy, Debug)]
pub struct OpenRequest {
    /// The kind of request.
    pub op: Op,
    /// The first block that is not done.
    pub sector: u64,
    /// The number of bytes that are not done.
    pub bytes: u64,
    /// The number of bytes that are done, before `sector`.
    pub done: u64,
    /// The time of its first event.
    pub begun: u64,
    /// The time when it was queued, or [`NEVER`].
    pub queue: u64,
    /// The time when it was put into the elevator, or [`NEVER`].
    pub insert: u64,
    /// The time when it was sent to the drive, or [`NEVER`].
    pub dispatch: u64,
    /// The id of the process of its first event.
    pub process: u32,
}

/// The most requests with one key that are searched for one of the wanted length.
const LOOKED_AT: usize = 64;
/// The index of no slot.
const NONE: u32 = u32::MAX;

/// An element of the list of requests with the same key.
struct Slot {
    open: OpenRequest,
    next: u32,
}

/// A table of requests by kind and first block.
#[derive(Default)]
pub struct Table {
    /// By key: the first and the last slot of its list.
    ends: HashMap<u64, (u32, u32), BuildHasherDefault<Mix>>,
    slots: Vec<Slot>,
    /// The indices of free slots.
    free: Vec<u32>,
}

/// Returns the key of a request, which has two bits for its kind.
fn key(op: Op, sector: u64) -> u64 {
    sector << 2 | op as u64
}

impl Table {
    /// Returns the number of requests.
    pub fn len(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }

    /// Removes all requests, and returns their number.
    pub fn clear(&mut self) -> u64 {
        let there = self.len();
        *self = Table::default();
        there
    }

    /// Adds a request, behind others with its key.
    pub fn push(&mut self, open: OpenRequest) {
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

    /// Takes a request of this kind and first block: one of `bytes` bytes if there is one among the
    /// first [`LOOKED_AT`], else the first.
    pub fn take(&mut self, op: Op, sector: u64, bytes: u64) -> Option<OpenRequest> {
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

/// Returns the first slot of a list with `bytes` bytes, behind the slot before it; or the first
/// slot of all, behind `NONE`.
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

/// A hasher for keys, which are numbers.
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
