//! An array of drives: its level, its members and what becomes of them.

use crate::units::{Bytes, Nanos, Rate};

/// The default chunk: the number of bytes that go to one member before the next member takes over.
/// Linux md and the RAID cards of the time have this default.
pub const CHUNK: Bytes = Bytes(64 << 10);

/// The largest number of members of an array.
pub const MEMBERS_MAX: usize = 64;
/// The largest number of drives of an array, with the drives of all arrays nested in it.
pub const DRIVES_MAX: usize = 1024;

/// The way an array spreads data over its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Striping without redundancy.
    Raid0,
    /// Mirroring: every member has the same data.
    Raid1,
    /// Striping over mirrored pairs.
    Raid10,
    /// A mirror of two striped sets.
    Raid01,
    /// Striping, with the parity on the last member.
    Raid4,
    /// Striping, with the parity on each member in turn (left-symmetric).
    Raid5,
    /// Striping, with two parities on each member in turn (left-symmetric).
    Raid6,
    /// Concatenation: the members one after the other, without striping.
    Jbod,
}

impl Level {
    /// Every level, in the order of [`Level::NAMES`].
    pub const ALL: [Level; 8] = [
        Level::Raid0,
        Level::Raid1,
        Level::Raid10,
        Level::Raid01,
        Level::Raid4,
        Level::Raid5,
        Level::Raid6,
        Level::Jbod,
    ];
    /// The names of the levels, as users write them.
    pub const NAMES: [&str; 8] =
        ["raid0", "raid1", "raid10", "raid01", "raid4", "raid5", "raid6", "jbod"];

    /// Returns the name of the level, as users write it.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Returns the smallest number of members. A RAID-0 may have a single member: a card that
    /// cannot pass drives through is set up with one RAID-0 for each drive.
    pub const fn members_min(self) -> usize {
        match self {
            Level::Raid0 | Level::Jbod => 1,
            Level::Raid1 => 2,
            Level::Raid4 | Level::Raid5 => 3,
            Level::Raid10 | Level::Raid01 | Level::Raid6 => 4,
        }
    }

    /// Returns the largest number of members that may fail without loss of data, in the best case.
    pub const fn failures_max(self, members: usize) -> usize {
        match self {
            Level::Raid0 | Level::Jbod => 0,
            Level::Raid1 => members - 1,
            Level::Raid10 | Level::Raid01 => members / 2,
            Level::Raid4 | Level::Raid5 => 1,
            Level::Raid6 => 2,
        }
    }

    /// Returns `true` if the level has chunks, so that a chunk size can be chosen.
    pub const fn has_chunks(self) -> bool {
        !matches!(self, Level::Raid1 | Level::Jbod)
    }

    /// Returns `true` if the members come in pairs.
    pub const fn is_paired(self) -> bool {
        matches!(self, Level::Raid10 | Level::Raid01)
    }
}

/// The declaration of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArraySpec {
    /// The way the array spreads data.
    pub level: Level,
    /// The members of the array, in order.
    pub members: Vec<MemberSpec>,
    /// The number of bytes that go to one member before the next member takes over.
    pub chunk: Bytes,
    /// Whether the user wrote a chunk size.
    pub has_chunk: bool,
    /// The number of members that fail. They are chosen so that no data is lost.
    pub failed: u32,
    /// The time at which the members fail; `None` if they have failed before the start.
    pub fail_at: Option<Nanos>,
    /// The way spares are filled; `None` if there are no spares.
    pub rebuild: Option<Rebuild>,
    /// The card that makes the array; `None` if the host makes it.
    pub controller: Option<String>,
}

/// One member of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberSpec {
    /// The drive or array that the member is.
    pub target: MemberTarget,
    /// The card that the member is attached to.
    pub controller: Option<String>,
}

/// The drive or array that a member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberTarget {
    /// A modelled drive, by its name or file.
    Drive(String),
    /// A nested array.
    Array(Box<ArraySpec>),
}

impl MemberSpec {
    /// Returns the number of drives of the member.
    pub fn drives(&self) -> usize {
        match &self.target {
            MemberTarget::Drive(_) => 1,
            MemberTarget::Array(array) => array.members.iter().map(MemberSpec::drives).sum(),
        }
    }
}

/// The way spares are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebuild {
    /// At no more than this rate on each spare.
    Rate(Rate),
    /// Only while the host has no request under way.
    Idle,
}

impl ArraySpec {
    /// Returns a short name for cells and files: `raid5-4x-ssd-m-64KiB-failed1-perc-6i`.
    pub fn name(&self) -> String {
        let mut name = format!("{}-{}", self.level.name(), names(&self.members));
        if self.has_chunk {
            name += &format!("-{}", self.chunk);
        }
        if self.failed > 0 {
            name += &format!("-failed{}", self.failed);
        }
        if self.rebuild.is_some() {
            name += "-rebuild";
        }
        if let Some(controller) = &self.controller {
            name += &format!("-{}", stem(controller).replace('#', "."));
        }
        name
    }
}

impl MemberSpec {
    /// Returns a short name: `ssd-m-at-perc-6i`.
    pub fn name(&self) -> String {
        let target = match &self.target {
            MemberTarget::Drive(drive) => stem(drive).to_owned(),
            MemberTarget::Array(array) => array.name(),
        };
        let at = |card: &String| format!("-at-{}", stem(card).replace('#', "."));
        target + &self.controller.as_ref().map(at).unwrap_or_default()
    }
}

/// Returns the short names of the members, with equal neighbours counted: `3x-ssd-m-2x-ssd-l`.
pub(crate) fn names(members: &[MemberSpec]) -> String {
    let mut names = Vec::new();
    let mut rest = members;
    while let Some(first) = rest.first() {
        let same = rest.iter().take_while(|m| *m == first).count();
        names.push(format!("{same}x-{}", first.name()));
        rest = &rest[same..];
    }
    names.join("-")
}

/// Returns the name of a drive or controller from its name or file: without directories and
/// `.toml`.
fn stem(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.strip_suffix(".toml").unwrap_or(file)
}

/// Returns `true` if `text` can only be meant as an array: a word before a parenthesis that is
/// closed at the end of the text, or a word that begins with `raid` before any parenthesis.
pub fn is_array(text: &str) -> bool {
    let text = text.trim();
    let Some((word, _)) = text.split_once('(') else { return false };
    let closed = text.ends_with(')') || word.starts_with("raid");
    closed && word.trim_end().chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
}

/// Splits a list of targets at the commas that are outside all parentheses and quotation marks. The
/// blanks in between stay, because the name of a file may begin or end with one.
pub fn split_targets(list: &str) -> Vec<String> {
    let mut start = 0;
    let ends = outer_commas(list).into_iter().chain([list.len()]);
    let part = |end: usize| list[std::mem::replace(&mut start, end + 1)..end].to_owned();
    ends.map(part).filter(|part| !part.is_empty()).collect()
}

/// Returns the offsets of the commas that are outside all parentheses and quotation marks.
pub(super) fn outer_commas(text: &str) -> Vec<usize> {
    let (mut commas, mut depth, mut quoted) = (Vec::new(), 0_u32, false);
    for (i, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => commas.push(i),
            _ => {}
        }
    }
    commas
}
