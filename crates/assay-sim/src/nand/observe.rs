//! What a drive does inside, told to whoever asks.

use assay_spec::Nanos;

/// Why flash is touched: the denominator and the parts of write amplification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
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
}

impl Cause {
    /// How many there are.
    pub const COUNT: usize = 6;
    /// All, with the words for them.
    pub const ALL: [(Cause, &str); Cause::COUNT] = [
        (Cause::Host, "host"),
        (Cause::Partial, "partial"),
        (Cause::Collect, "collect"),
        (Cause::Wear, "wear"),
        (Cause::Map, "map"),
        (Cause::Ahead, "ahead"),
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

/// Sees every operation in the order in which it is planned.
pub trait Observer: Send {
    /// One step.
    fn operation(&mut self, operation: &Operation);
}
