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

/// Something that an observer learns of.
#[derive(Clone, Debug)]
pub enum Observed {
    /// A command is requested, for this cause.
    Command(Cause, FlashCommand),
    /// A step begins.
    Operation(Operation),
    /// A program or an erase is suspended. The operation lasts as long as the array needs to
    /// suspend.
    Suspended(Operation),
    /// A suspended program or erase is resumed; the operation has its new end.
    Resumed(Operation),
    /// The drive works outside the flash. The commands requested next follow from it.
    Work(Work),
    /// A block is to be used with one bit a cell from now on, or with all bits.
    UsedAs {
        /// The block.
        block: u32,
        /// Whether with one bit a cell.
        is_slc: bool,
    },
    /// A logical page is trimmed.
    Trimmed(u32),
    /// The program of a page that records trimmed pages comes next.
    Records(Record),
    /// Commands for the request that wrote this logical page come next or, with `None`, background
    /// work of the drive.
    Resumes(Option<u32>),
}

/// An observer of a drive: of all flash commands as they are requested, of all steps as they begin.
pub trait Observer: Send {
    /// Called when something happens.
    fn observe(&mut self, observed: Observed);
}
