//! Operations waiting for a plane, and the pool they live in.

use super::{Cause, Ppa};
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
    pub ppa: Ppa,
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
    /// Of reads and programs: of a page with one bit a cell.
    pub is_slc: bool,
    /// Which pages it is about, if they are several.
    pub gang: u32,
    /// The first of the operations that wait for this one.
    pub unblocks: u32,
    /// The next of those that wait for the same ones.
    pub sibling: u32,
    /// The next in the queue of its plane, and later of its channel.
    pub next: u32,
    /// Of a program: the replacers that it belongs to.
    pub replaces: u32,
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

    /// An operation that nobody waits for and that waits for nobody; its number.
    ///
    /// It is made in its place, field by field: made elsewhere and copied in wider words, the copy
    /// would wait until everything written before has left the processor.
    #[inline]
    pub(super) fn put(&mut self, kind: Kind, cause: Cause, ppa: Ppa, token: u64) -> u32 {
        let mut index = self.free;
        if index == NO_OP {
            index = self.grow();
        }
        let op = &mut self.ops[index as usize];
        self.free = op.next;
        op.kind = kind;
        op.cause = cause;
        op.ppa.plane = ppa.plane;
        op.ppa.page = ppa.page;
        op.token = token;
        op.duration = Nanos::ZERO;
        op.waits = 0;
        op.held = false;
        op.loaded = false;
        op.unblocks = NO_OP;
        op.sibling = NO_OP;
        op.next = NO_OP;
        op.replaces = NO_OP;
        index
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        self.ops.push(Op {
            kind: Kind::Erase,
            cause: Cause::Host,
            ppa: Ppa { plane: 0, page: 0 },
            token: 0,
            duration: Nanos::ZERO,
            waits: 0,
            held: false,
            loaded: false,
            is_slc: false,
            gang: NO_OP,
            unblocks: NO_OP,
            sibling: NO_OP,
            next: NO_OP,
            replaces: NO_OP,
        });
        self.ops.len() as u32 - 1
    }

    #[inline]
    pub(super) fn release(&mut self, index: u32) {
        self.ops[index as usize].next = self.free;
        self.free = index;
    }

    #[inline]
    pub(super) fn get(&self, index: u32) -> &Op {
        &self.ops[index as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> &mut Op {
        &mut self.ops[index as usize]
    }
}
