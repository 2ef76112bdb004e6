//! The declaration of superblocks that are mapped as a whole, and of their logs.

use super::Values;
use crate::decode::{Decoded, Section};
use crate::units::Bytes;

/// Superblocks mapped as a whole.
#[derive(Clone, Copy, Debug)]
pub struct HybridSpec {
    /// Planes that a superblock has a block of; all planes if `None`.
    pub width: Option<u32>,
    /// Logs at a time; without any it is block mapping with one replacement block at a time.
    pub log_superblocks: u32,
    /// What belongs in them.
    pub logs: Logs,
    /// Smallest unit the log maps; smaller writes read the rest of the unit first.
    pub unit: Bytes,
    /// How the rest of a unit is read.
    pub unit_reads: UnitReads,
    /// Superblocks that a log may come to have.
    pub blocks_per_log: u32,
    /// What a log begins with.
    pub log_opens: LogOpens,
    /// Logs merged at once when there is none left.
    pub merge_together: u32,
    /// So many writes, each where the last one ended, are a stream wherever they begin; with 0 only
    /// one that begins a superblock is.
    pub stream_after: u32,
}

impl HybridSpec {
    /// Pages that a log may have on a plane.
    pub const MOST_ROWS: u32 = 65_534;
}

/// What belongs in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logs {
    /// What is written to one superblock, but not what is written in order from its start: that
    /// goes to a superblock of its own.
    Own,
    /// All that is written to one superblock. A log that was written in order takes the place of
    /// the data (Kim et al., IEEE TCE 2002, BAST).
    Switched,
    /// What is written to any superblock, but not in order from its start (Lee et al., ACM TECS
    /// 2007, FAST).
    Shared,
}

/// What a log begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogOpens {
    /// Nothing: its first page is the first one written.
    Empty,
    /// The pages of the superblock before the first one written, which so lies in its place: the
    /// write may be the first of a stream.
    InPlace,
}

/// How the pages of a unit are read that a write leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitReads {
    /// All at once, from whichever planes have them.
    Together,
    /// One after the other, as a controller does that has room for one page.
    OneByOne,
}

const WITH_LOGS: &str = "mapping `hybrid`, `bast` or `fast`";

/// What only a drive of superblocks can say.
pub(super) fn goes_without(ftl: &mut Section<'_>) {
    ftl.goes_with(&["superblock_planes"], "mapping `hybrid`, `bast`, `fast` or `block`");
    ftl.goes_with(&["log_superblocks"], WITH_LOGS);
    ftl.goes_with(&OF_LOGS, "mapping `hybrid`");
}

/// Superblocks of which nothing more is to be said: without logs of their own, or with such as a
/// paper has them.
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

/// What only `hybrid` can say of its logs.
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
