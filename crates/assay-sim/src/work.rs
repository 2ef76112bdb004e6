//! What a drive does beside its flash, told to an observer: controller, link, arm and head.

use assay_spec::Nanos;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// The controller looks at a command.
    Command,
    /// Data comes over the link.
    FromHost,
    /// Data goes over the link.
    ToHost,
    /// Data goes over the link out of a disk's cache.
    CacheHit,
    /// The arm moves, the heads are switched, or both.
    Seek,
    /// The head waits for a sector.
    Turn,
    /// Sectors pass under the head and are read.
    Read,
    /// Sectors pass under the head and are written.
    Write,
    /// Sectors are read before they are asked for.
    ReadAhead,
}

/// One piece of work, told when it has ended, or when its end is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// What is done.
    pub activity: Activity,
    /// The request it is done for.
    pub tag: Option<u32>,
    /// The logical page, or a disk's sector, that it is about or begins with.
    pub first: Option<u64>,
    /// When it begins.
    pub start: Nanos,
    /// When it ends.
    pub end: Nanos,
}
