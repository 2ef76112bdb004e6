//! Flash operations and the pool that holds them.

use super::geometry::Ppa;
use super::observe::Cause;
use super::token::Token;
use assay_spec::Nanos;

/// The number of no operation; also the end of a list, and no block or page.
pub(crate) const NO_OP: u32 = u32::MAX;

/// The kind of a flash operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpKind {
    /// Sense, then transfer to the controller.
    Read,
    /// Transfer to the register, then program.
    Program,
    /// Copy-back: sense and program within the plane, once or several times in a row.
    Copy,
    /// Erase of a block.
    Erase,
}

/// A flash operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub kind: OpKind,
    pub cause: Cause,
    /// The page that is read or programmed, or the first of the block that is erased.
    pub ppa: Ppa,
    /// The token in the events of the operation.
    pub token: Token,
    /// For a copy: the page that it reads.
    pub source: u32,
    /// For copies: the array time of all of them.
    pub duration: Nanos,
    /// The number of operations that must end before this one begins.
    pub waits: u16,
    /// For a program: it waits in the register until it is released. For an erase that waits for
    /// replacers: it then waits until its plane is idle.
    pub held: bool,
    /// For a program: its data is in the register.
    pub loaded: bool,
    /// For a read or a program: the page has one bit a cell.
    pub is_slc: bool,
    /// For a program of several pages: its number in `MultiPage::closed`.
    pub multi_page: u32,
    /// The first of the operations that wait for this one, or `NO_OP`.
    pub first_waiter: u32,
    /// The next of the operations that wait for the same ones, or `NO_OP`.
    pub next_waiter: u32,
    /// The next operation in the queue of the plane, later of the channel; the next free one in the
    /// pool.
    pub next: u32,
    /// For a program: the group of programs that must end before the old block is erased.
    pub replaces: u32,
}

/// The pool of all operations; entries are reused.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    /// The operations, by number.
    ops: Vec<Op>,
    /// The first free entry, or `NO_OP`.
    free: u32,
    /// The number of operations queued or under way.
    pub(super) pending: u64,
}

impl Pool {
    /// Creates an empty pool.
    pub(super) fn new() -> Pool {
        Pool { ops: Vec::new(), free: NO_OP, pending: 0 }
    }

    /// Adds an operation that waits for no other and that no other waits for. Returns its number.
    ///
    /// *Hot path.* The fields are written in place, one by one. A value built elsewhere would be
    /// copied in wider words, and that copy would wait until all writes before it have left the
    /// processor.
    #[inline]
    pub(super) fn put(&mut self, kind: OpKind, cause: Cause, ppa: Ppa, token: Token) -> u32 {
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
        op.first_waiter = NO_OP;
        op.next_waiter = NO_OP;
        op.next = NO_OP;
        op.replaces = NO_OP;
        index
    }

    /// Adds a free entry and returns its number.
    #[cold]
    fn grow(&mut self) -> u32 {
        self.ops.push(Op {
            kind: OpKind::Erase,
            cause: Cause::Host,
            ppa: Ppa { plane: 0, page: 0 },
            token: Token::NONE,
            source: NO_OP,
            duration: Nanos::ZERO,
            waits: 0,
            held: false,
            loaded: false,
            is_slc: false,
            multi_page: NO_OP,
            first_waiter: NO_OP,
            next_waiter: NO_OP,
            next: NO_OP,
            replaces: NO_OP,
        });
        self.ops.len() as u32 - 1
    }

    /// Frees entry `index`.
    #[inline]
    pub(super) fn release(&mut self, index: u32) {
        self.ops[index as usize].next = self.free;
        self.free = index;
    }

    /// Makes operation `index` wait for `others`, behind the operations that wait for all of them
    /// already. The caller counts the waits.
    #[inline]
    pub(super) fn wait_for(&mut self, index: u32, others: &[u32]) {
        for other in others {
            match self.get(*other).first_waiter {
                NO_OP => self.get_mut(*other).first_waiter = index,
                first => return self.join_those_waiting(index, first),
            }
        }
    }

    /// Appends operation `index` to the list of waiting operations that begins with `first`.
    #[cold]
    fn join_those_waiting(&mut self, index: u32, first: u32) {
        let mut last = first;
        while self.get(last).next_waiter != NO_OP {
            last = self.get(last).next_waiter;
        }
        self.get_mut(last).next_waiter = index;
    }

    /// Returns operation `index`.
    #[inline]
    pub(super) fn get(&self, index: u32) -> &Op {
        &self.ops[index as usize]
    }

    /// Returns operation `index` for changes.
    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> &mut Op {
        &mut self.ops[index as usize]
    }
}
