//! The interface through which observers follow a drive's flash.

use super::record::Record;
use crate::work::Work;
use assay_spec::Nanos;

/// The cause of a flash operation: the parts of write amplification and, with `Host`, its
/// denominator.
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
    /// Pages of the mapping table.
    Map,
    /// Read-ahead: data read before it is requested.
    Ahead,
    /// Folding: data moved from blocks with one bit a cell to others.
    Fold,
    /// The unused rest of a program that cannot wait for more pages.
    Pad,
}

impl Cause {
    /// The number of causes.
    pub const COUNT: usize = 8;

    /// Returns `true` if the drive does it to gain space or to level wear.
    pub(crate) fn collects(self) -> bool {
        matches!(self, Cause::Collect | Cause::Wear | Cause::Fold)
    }

    /// All causes with their names.
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

/// A step of a flash operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// From the cells to the register.
    Sense,
    /// From the register to the controller.
    TransferOut,
    /// From the controller to the register.
    TransferIn,
    /// From the register to the cells.
    Program,
    /// Erase of a block.
    Erase,
}

/// One step on one array or channel, from `start` to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The kind of step.
    pub step: Step,
    /// The cause of the operation.
    pub cause: Cause,
    /// The plane that the step is for.
    pub plane: u32,
    /// The physical page; for an erase the first of the block, for a program of several pages the
    /// last.
    pub page: u32,
    /// When the step begins.
    pub start: Nanos,
    /// When the step ends.
    pub end: Nanos,
}

/// A command of a mapping layer. Commands come in the order in which a plane serves them, apart
/// from priority reads and delayed erases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashCommand {
    /// A read of a physical page.
    Read {
        /// The physical page.
        page: u32,
        /// The logical page whose newest data the read must return, if it is for one.
        subject: Option<u32>,
    },
    /// A program of a physical page with new data.
    Program {
        /// The physical page.
        page: u32,
        /// The logical page that is written.
        subject: Option<u32>,
    },
    /// A program of a physical page with the data of another.
    Copy {
        /// The source page.
        from: u32,
        /// The target page.
        to: u32,
    },
    /// An erase of a block.
    Erase {
        /// The first physical page of the block.
        page: u32,
    },
}

/// An observer of all flash commands as they are requested, and of all steps as they begin.
pub trait Observer: Send {
    /// Called when a command is requested.
    fn command(&mut self, _cause: Cause, _command: &FlashCommand) {}
    /// Called when a step begins.
    fn operation(&mut self, operation: &Operation);
    /// Called when a program or an erase is suspended. `operation` spans the time that this takes
    /// its array.
    fn suspended(&mut self, _operation: &Operation) {}
    /// Called when a suspended program or erase is resumed; `operation.end` is its new end.
    fn resumed(&mut self, _operation: &Operation) {}
    /// Called for work of the drive outside the flash. The commands requested next follow from it.
    fn work(&mut self, _work: &Work) {}
    /// Called when a block is to be used with one bit a cell from now on, or with all bits.
    fn used_as(&mut self, _block: u32, _is_slc: bool) {}
    /// Called when a logical page is trimmed.
    fn trimmed(&mut self, _page: u32) {}
    /// Called before the program of a page that records trimmed pages.
    fn records(&mut self, _record: Record) {}
    /// Called before commands for the request that wrote logical page `page`, or, with `None`,
    /// before background work of the drive.
    fn resumes(&mut self, _page: Option<u32>) {}
}
