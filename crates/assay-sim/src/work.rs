//! Reports to an observer of a drive's work outside its flash: controller, link, arm and head.

use assay_spec::Nanos;

/// The kind of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// The controller processes a command.
    Command,
    /// Data moves over the link into the drive.
    FromHost,
    /// Data moves over the link to the host.
    ToHost,
    /// Data moves over the link to the host out of a disk's cache.
    CacheHit,
    /// The arm moves, the heads are switched, or both.
    Seek,
    /// The head waits for a sector: rotational latency.
    Turn,
    /// Sectors pass under the head and are read.
    Read,
    /// Sectors pass under the head and are written.
    Write,
    /// Sectors pass under the head and are read before they are requested.
    ReadAhead,
}

/// One piece of work, reported when it has ended, or when its end is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The kind of work.
    pub activity: Activity,
    /// The tag of the request that it is done for, if there is one.
    pub tag: Option<u32>,
    /// The first logical page of the work, or the first sector of a disk's, if it has one.
    pub first: Option<u64>,
    /// When it begins.
    pub start: Nanos,
    /// When it ends.
    pub end: Nanos,
}
