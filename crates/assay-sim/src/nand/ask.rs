//! What may be asked of the chips.

use super::observe::Asked;
use super::ops::{Kind, NO_OP, Op};
use super::{Cause, NOBODY, Nand, Spot};
use assay_spec::Nanos;

impl Nand {
    /// Asks for a read; `token` is told when the data is in the controller. Returns its number, for
    /// a program that waits for it.
    #[inline]
    pub(crate) fn read(&mut self, spot: Spot, cause: Cause, token: u64) -> u32 {
        self.counts.reads[cause as usize] += 1;
        self.tell(cause, Asked::Read { page: spot.page, subject: subject(token) });
        self.ask(Op { token, ..op(Kind::Read, spot, cause) })
    }

    /// Asks for a program; `token` is told when the data is in its register and in the cells.
    #[inline]
    pub(crate) fn program(&mut self, spot: Spot, cause: Cause, token: u64) {
        self.program_after(spot, cause, token, &[]);
    }

    /// Asks for a program that needs the data of `reads`: it is not loaded before they have ended.
    #[inline]
    pub(crate) fn program_after(&mut self, spot: Spot, cause: Cause, token: u64, reads: &[u32]) {
        self.tell(cause, Asked::Program { page: spot.page, subject: subject(token) });
        self.ask_program(Op { token, ..op(Kind::Program, spot, cause) }, reads);
    }

    /// Asks for a program of what the page `from` holds, which `reads` bring.
    pub(crate) fn program_from(&mut self, to: Spot, cause: Cause, from: Spot, reads: &[u32]) {
        self.tell(cause, Asked::Copy { from: from.page, to: to.page });
        self.ask_program(op(Kind::Program, to, cause), reads);
    }

    #[inline]
    fn ask_program(&mut self, op: Op, reads: &[u32]) -> u32 {
        self.counts.programs[op.cause as usize] += 1;
        let program = self.ask(Op { waits: reads.len() as u16, ..op });
        for read in reads {
            self.pool.get(*read).unblocks = program;
        }
        program
    }

    /// Asks for a program that is loaded and then waits until it is released; returns its number.
    pub(crate) fn program_held(&mut self, spot: Spot, cause: Cause, token: u64) -> u32 {
        self.tell(cause, Asked::Program { page: spot.page, subject: subject(token) });
        self.ask_program(Op { token, held: true, ..op(Kind::Program, spot, cause) }, &[])
    }

    /// Held programs may begin, those of one die together.
    pub(crate) fn release(&mut self, programs: &[u32]) {
        for program in programs {
            self.pool.get(*program).held = false;
        }
        for program in programs {
            let plane = self.pool.get(*program).spot.plane;
            self.confirm(plane);
        }
    }

    /// Asks for a page to be moved to another of its plane through the register, without the bus.
    #[inline]
    pub(crate) fn copy_back(&mut self, from: Spot, to: Spot, cause: Cause) {
        debug_assert_eq!(from.plane, to.plane, "copy-back stays in its plane");
        self.tell(cause, Asked::Copy { from: from.page, to: to.page });
        self.counts.reads[cause as usize] += 1;
        self.counts.programs[cause as usize] += 1;
        let duration = self.read + self.program_time(to.page);
        let tail = self.planes[from.plane as usize].tail;
        let alone = self.geometry.planes_of_array(self.geometry.array(from.plane)).len() == 1;
        if tail != NO_OP && alone && !self.cache_register && self.observer.is_none() {
            // Nothing comes between copies in a row when neither another plane nor a load can:
            // they are one that takes as long.
            let last = self.pool.get(tail);
            if last.kind == Kind::Copy && last.cause == cause {
                last.duration += duration;
                return;
            }
        }
        self.ask(Op { duration, token: u64::from(from.page), ..op(Kind::Copy, to, cause) });
    }

    /// Asks for the erase of the block that begins with page `spot`.
    pub(crate) fn erase(&mut self, spot: Spot, cause: Cause) {
        self.counts.erases[cause as usize] += 1;
        self.tell(cause, Asked::Erase { page: spot.page });
        self.ask(op(Kind::Erase, spot, cause));
    }

    #[inline]
    fn ask(&mut self, op: Op) -> u32 {
        self.pending += 1;
        let plane = op.spot.plane;
        let index = self.pool.put(op);
        let p = &mut self.planes[plane as usize];
        if p.head == NO_OP {
            p.head = index;
            p.tail = index;
            self.serve_plane(plane);
        } else {
            self.pool.get(p.tail).next = index;
            p.tail = index;
        }
        index
    }
}

/// The logical page that a token is about.
fn subject(token: u64) -> Option<u32> {
    (token != NOBODY).then_some(token as u32)
}

/// An operation that nobody waits for and that waits for nobody.
#[inline]
fn op(kind: Kind, spot: Spot, cause: Cause) -> Op {
    Op {
        kind,
        cause,
        spot,
        token: NOBODY,
        duration: Nanos::ZERO,
        waits: 0,
        held: false,
        loaded: false,
        unblocks: NO_OP,
        next: NO_OP,
    }
}
