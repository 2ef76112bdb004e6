//! What a drive does inside, told to whoever asks.

use super::cells::Record;
use crate::work::Work;
use assay_spec::Nanos;

/// Why flash is touched: the denominator and the parts of write amplification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Cause {
    /// A request of the host.
    Host,
    /// The rest of a mapping unit that a request covers only in part.
    Partial,
    /// Garbage collection, or a merge of log blocks.
    Collect,
    /// Wear levelling.
    Wear,
    /// The map's own pages.
    Map,
    /// Data fetched before it is asked for.
    Ahead,
    /// Data moves from blocks of one bit a cell to others.
    Fold,
    /// The rest of a program that cannot wait for more.
    Pad,
}

impl Cause {
    /// How many there are.
    pub const COUNT: usize = 8;

    /// Whether it is space or wear that makes the drive do it.
    pub(crate) fn collects(self) -> bool {
        matches!(self, Cause::Collect | Cause::Wear | Cause::Fold)
    }

    /// All, with the words for them.
    pub const ALL: [(Cause, &str); Cause::COUNT] = [
        (Cause::Host, "host"),
        (Cause::Partial, "partial"),
        (Cause::Collect, "collect"),
        (Cause::Wear, "wear"),
        (Cause::Map, "map"),
        (Cause::Ahead, "ahead"),
        (Cause::Fold, "fold"),
        (Cause::Pad, "pad"),
    ];
}

/// One step of an operation on flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Cell to register.
    Sense,
    /// Register to controller.
    ShiftOut,
    /// Controller to register.
    ShiftIn,
    /// Register to cell.
    Program,
    /// A block.
    Erase,
}

/// One step on one resource, from `start` to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What is done.
    pub step: Step,
    /// What for.
    pub cause: Cause,
    /// The plane.
    pub plane: u32,
    /// The physical page; of an erase, the first of the block.
    pub page: u32,
    /// When it begins.
    pub start: Nanos,
    /// When it ends.
    pub end: Nanos,
}

/// What a translation layer asks for, in the order in which a plane will do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashCommand {
    /// A physical page is read, for a logical one if it is a host's.
    Read {
        /// The physical page.
        page: u32,
        /// The logical page.
        subject: Option<u32>,
    },
    /// A physical page gets new contents of a logical one.
    Program {
        /// The physical page.
        page: u32,
        /// The logical page.
        subject: Option<u32>,
    },
    /// A physical page gets the contents of another.
    Copy {
        /// The physical page whose contents it is.
        from: u32,
        /// The physical page that gets them.
        to: u32,
    },
    /// A block is erased.
    Erase {
        /// Its first physical page.
        page: u32,
    },
}

/// Sees what is asked of the flash, and every step of it when it begins.
pub trait Observer: Send {
    /// Something is asked for.
    fn command(&mut self, _cause: Cause, _command: &FlashCommand) {}
    /// A step begins.
    fn operation(&mut self, operation: &Operation);
    /// A program or an erase that has begun is left until it is resumed; so much time of its array
    /// that takes.
    fn suspended(&mut self, _operation: &Operation) {}
    /// It is gone on with, and ends then.
    fn resumed(&mut self, _operation: &Operation) {}
    /// Something beside the flash was at work; what is asked of the flash next follows from it.
    fn work(&mut self, _work: &Work) {}
    /// From now on a block is used with one bit a cell, or not.
    fn used_as(&mut self, _block: u32, _is_slc: bool) {}
    /// A logical page is trimmed.
    fn trimmed(&mut self, _page: u32) {}
    /// The page that is asked for next records this.
    fn records(&mut self, _record: Record) {}
    /// What is asked next is for whoever wrote the logical `page`, or is the drive's own idea.
    fn resumes(&mut self, _page: Option<u32>) {}
}
