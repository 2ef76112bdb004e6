//! Operations waiting for a plane, and the pool they live in.

use super::{Cause, Spot};
use assay_spec::Nanos;

/// No operation.
pub(crate) const NO_OP: u32 = u32::MAX;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Sense, then shift out.
    Read,
    /// Shift in, then program.
    Program,
    /// Sense and program within the plane, `count` times.
    Copy,
    /// Erase.
    Erase,
}

/// One operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub kind: Kind,
    pub cause: Cause,
    pub spot: Spot,
    /// Whom to tell.
    pub token: u64,
    /// Of copies: how long all of them take.
    pub duration: Nanos,
    /// It may not begin before so many others have ended.
    pub waits: u16,
    /// Loaded, but not to be programmed before it is told.
    pub held: bool,
    /// In the register.
    pub loaded: bool,
    /// The operation that waits for this one.
    pub unblocks: u32,
    /// The next in the plane's queue.
    pub next: u32,
}

/// All operations there are, used again and again.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    ops: Vec<Op>,
    free: u32,
}

impl Pool {
    pub(super) fn new() -> Pool {
        Pool { ops: Vec::new(), free: NO_OP }
    }

    #[inline]
    pub(super) fn put(&mut self, op: Op) -> u32 {
        let index = self.free;
        if index == NO_OP {
            self.ops.push(op);
            return self.ops.len() as u32 - 1;
        }
        self.free = self.ops[index as usize].next;
        self.ops[index as usize] = op;
        index
    }

    #[inline]
    pub(super) fn release(&mut self, index: u32) {
        self.ops[index as usize].next = self.free;
        self.free = index;
    }

    #[inline]
    pub(super) fn get(&mut self, index: u32) -> &mut Op {
        &mut self.ops[index as usize]
    }
}
