//! The declaration of superblocks that are mapped as a whole, and of their logs.

use super::values::Values;
use crate::decode::{Decoded, Section};
use crate::units::Bytes;

/// Superblocks that are mapped as a whole, with logs.
#[derive(Clone, Copy, Debug)]
pub struct HybridSpec {
    /// The number of planes that a superblock has a block of; all planes if `None`.
    pub width: Option<u32>,
    /// The number of logs at a time. With 0 it is a block mapping with one replacement block at a
    /// time.
    pub log_superblocks: u32,
    /// The rule that says which writes go to which log.
    pub logs: Logs,
    /// The smallest unit that the log maps. A smaller write reads the rest of the unit first.
    pub unit: Bytes,
    /// The way the rest of a unit is read.
    pub unit_reads: UnitReads,
    /// The largest number of superblocks of a log.
    pub blocks_per_log: u32,
    /// The contents with which a log begins.
    pub log_opens: LogOpens,
    /// The number of logs that are merged at once when no log is left.
    pub merge_together: u32,
    /// The number of consecutive writes, each where the previous one ended, that make a stream
    /// wherever they begin. With 0 only a write to the start of a superblock begins a stream.
    pub stream_after: u32,
}

impl HybridSpec {
    /// The largest number of pages that a log may have on a plane.
    pub const MOST_ROWS: u32 = 65_534;
}

/// The rule that says which writes go to which log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logs {
    /// A log takes the writes to one superblock, except those in order from its start, which go to
    /// a superblock of their own.
    Own,
    /// A log takes all writes to one superblock. A log that was written in order takes the place of
    /// the data (Kim et al., IEEE TCE 2002, BAST).
    Switched,
    /// A log takes the writes to any superblock, except those in order from its start (Lee et al.,
    /// ACM TECS 2007, FAST).
    Shared,
}

/// The contents with which a log begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogOpens {
    /// None: the first page of the log is the first one written.
    Empty,
    /// Copies of the pages of the superblock before the first one written, which thus lies at its
    /// own offset: the write may be the first of a stream.
    InPlace,
}

/// The way to read those pages of a unit that a write leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitReads {
    /// All at once, from whichever planes have them.
    Together,
    /// One after the other, like a controller with room for one page.
    OneByOne,
}

const WITH_LOGS: &str = "mapping `hybrid`, `bast` or `fast`";

/// Declares the keys that only a mapping with superblocks has.
pub(super) fn goes_without(ftl: &mut Section<'_>) {
    ftl.goes_with(&["superblock_planes"], "mapping `hybrid`, `bast`, `fast` or `block`");
    ftl.goes_with(&["log_superblocks"], WITH_LOGS);
    ftl.goes_with(&OF_LOGS, "mapping `hybrid`");
}

/// Decodes a mapping with superblocks that has no further keys: a block mapping without logs, or
/// one with the logs of a paper (BAST, FAST).
pub(super) fn plain(
    ftl: &mut Section<'_>,
    values: &mut Values,
    width: Option<u32>,
    logs: Logs,
) -> Decoded<HybridSpec> {
    ftl.goes_with(&OF_LOGS, "mapping `hybrid`");
    let log_superblocks = match logs {
        Logs::Own => {
            ftl.goes_with(&["log_superblocks"], WITH_LOGS);
            0
        }
        _ => values.count(ftl, "ftl", "log_superblocks", 1..4097)?,
    };
    Ok(HybridSpec {
        width,
        log_superblocks,
        logs,
        unit: Bytes(512),
        unit_reads: UnitReads::Together,
        blocks_per_log: 1,
        log_opens: LogOpens::Empty,
        merge_together: 1,
        stream_after: 0,
    })
}

/// The keys of logs that only the mapping `hybrid` has.
const OF_LOGS: [&str; 6] =
    ["unit", "unit_reads", "blocks_per_log", "log_opens", "merge_together", "stream_after"];

pub(super) fn decode(
    ftl: &mut Section<'_>,
    values: &mut Values,
    width: Option<u32>,
) -> Decoded<HybridSpec> {
    let log_superblocks = values.count(ftl, "ftl", "log_superblocks", 1..4097)?;
    let unit = values.size(ftl, "ftl", "unit")?;
    let words = ["together", "one-by-one"];
    let unit_reads = match values.choice_or(ftl, "ftl", "unit_reads", &words, 0)? {
        0 => UnitReads::Together,
        _ => UnitReads::OneByOne,
    };
    let blocks = |values: &mut Values, s: &mut Section<'_>, key| values.count(s, "ftl", key, 1..17);
    let blocks_per_log = values.optional(ftl, "blocks_per_log", 1, blocks)?;
    let log_opens = match values.choice_or(ftl, "ftl", "log_opens", &["empty", "in-place"], 0)? {
        0 => LogOpens::Empty,
        _ => LogOpens::InPlace,
    };
    let most = log_superblocks + 1;
    let together =
        |values: &mut Values, s: &mut Section<'_>, key| values.count(s, "ftl", key, 1..most);
    let merge_together = values.optional(ftl, "merge_together", 1, together)?;
    let count =
        |values: &mut Values, s: &mut Section<'_>, key| values.count(s, "ftl", key, 0..65_537);
    let stream_after = values.optional(ftl, "stream_after", 0, count)?;
    Ok(HybridSpec {
        width,
        log_superblocks,
        logs: Logs::Own,
        unit,
        unit_reads,
        blocks_per_log,
        log_opens,
        merge_together,
        stream_after,
    })
}
