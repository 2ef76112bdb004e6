//! Arrays as people write them: `raid5(sim:ssd-m*4, chunk=64KiB, failed=1, controller=perc-6i)`.
//!
//! ```text
//! array      = level "(" item { "," item } ")"
//! item       = member | option
//! member     = ( "sim:" name | array ) { "*" count | "@" controller }
//! option     = "chunk=" size | "failed=" count | "fail_at=" time | "rebuild=" ( rate | "idle" )
//!            | "controller=" controller
//! controller = name [ "#" number ]
//! ```
//!
//! `controller=` is a card that makes the array; `@` is a card that a member hangs on while the
//! host makes the array. The same word is the same card, `#2` is another one of its kind.
//!
//! *Invariant.* What parses can be built, if the drives and controllers named exist.

mod parse;

pub use parse::{parse, parse_linux, scale_linux};

use crate::units::{Bytes, Nanos};

/// Bytes that go to one member before the next has its turn, if not said otherwise: the default of
/// Linux' md and of the cards of the time.
pub const CHUNK: Bytes = Bytes(64 << 10);

/// Members of an array at most.
pub const MEMBERS_MAX: usize = 64;
/// Most drives of an array with all arrays in it.
pub const DRIVES_MAX: usize = 1024;

/// How an array spreads data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Striped, without redundancy.
    Raid0,
    /// The same on every member.
    Raid1,
    /// Striped over pairs of the same.
    Raid10,
    /// Two stripes of the same.
    Raid01,
    /// Striped, with the parity on the last member.
    Raid4,
    /// Striped, with the parity on each member in turn (left-symmetric).
    Raid5,
    /// Striped, with two parities on each member in turn (left-symmetric).
    Raid6,
    /// One member after the other, each as it is.
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
    /// Names as written.
    pub const NAMES: [&str; 8] =
        ["raid0", "raid1", "raid10", "raid01", "raid4", "raid5", "raid6", "jbod"];

    /// The name as written.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Fewest members. One alone may be a RAID-0: cards without another way to pass a drive through
    /// are set up so.
    pub const fn members_min(self) -> usize {
        match self {
            Level::Raid0 | Level::Jbod => 1,
            Level::Raid1 => 2,
            Level::Raid4 | Level::Raid5 => 3,
            Level::Raid10 | Level::Raid01 | Level::Raid6 => 4,
        }
    }

    /// Members that may fail, if the right ones do.
    pub const fn failures_max(self, members: usize) -> usize {
        match self {
            Level::Raid0 | Level::Jbod => 0,
            Level::Raid1 => members - 1,
            Level::Raid10 | Level::Raid01 => members / 2,
            Level::Raid4 | Level::Raid5 => 1,
            Level::Raid6 => 2,
        }
    }

    /// True if there are chunks to choose the size of.
    pub const fn has_chunks(self) -> bool {
        !matches!(self, Level::Raid1 | Level::Jbod)
    }

    /// True if members come in pairs.
    pub const fn is_paired(self) -> bool {
        matches!(self, Level::Raid10 | Level::Raid01)
    }
}

/// An array, as declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArraySpec {
    /// How it spreads data.
    pub level: Level,
    /// Its members, in order.
    pub members: Vec<MemberSpec>,
    /// Bytes that go to one member before the next has its turn.
    pub chunk: Bytes,
    /// Whether the chunk was written down.
    pub has_chunk: bool,
    /// So many members fail, such that nothing is lost.
    pub failed: u32,
    /// When they fail; `None`: they have failed before the start.
    pub fail_at: Option<Nanos>,
    /// How spares are filled, if there are any.
    pub rebuild: Option<Rebuild>,
    /// The card that makes the array.
    pub controller: Option<String>,
}

/// One member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberSpec {
    /// What it is.
    pub target: MemberTarget,
    /// The card it hangs on.
    pub controller: Option<String>,
}

/// What a member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberTarget {
    /// A modelled drive, by its name or file.
    Drive(String),
    /// An array.
    Array(Box<ArraySpec>),
}

impl MemberSpec {
    /// How many drives it is.
    pub fn drives(&self) -> usize {
        match &self.target {
            MemberTarget::Drive(_) => 1,
            MemberTarget::Array(array) => array.members.iter().map(MemberSpec::drives).sum(),
        }
    }
}

/// How spares are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebuild {
    /// At no more than so many bytes a second on each spare.
    Rate(Bytes),
    /// While no request of the host is there.
    Idle,
}

impl ArraySpec {
    /// A short name for cells and files: `raid5-4x-ssd-m-64KiB-failed1-perc-6i`.
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
    /// A short name: `ssd-m-at-perc-6i`.
    pub fn name(&self) -> String {
        let target = match &self.target {
            MemberTarget::Drive(drive) => stem(drive).to_owned(),
            MemberTarget::Array(array) => array.name(),
        };
        let at = |card: &String| format!("-at-{}", stem(card).replace('#', "."));
        target + &self.controller.as_ref().map(at).unwrap_or_default()
    }
}

/// Short names of members, those alike counted: `3x-ssd-m-2x-ssd-l`.
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

/// What a drive or controller of this name or file is called.
fn stem(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.strip_suffix(".toml").unwrap_or(file)
}

/// True if `text` can only be meant as an array: the name of a level, or any word around a
/// parenthesis that is closed.
pub fn is_array(text: &str) -> bool {
    let text = text.trim();
    let Some((word, _)) = text.split_once('(') else { return false };
    let closed = text.ends_with(')') || word.starts_with("raid");
    closed && word.trim_end().chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
}

/// Cuts a list of targets at the commas that stand in no parentheses and no quotation marks.
pub fn split_targets(list: &str) -> Vec<String> {
    let (mut parts, mut depth, mut quoted) = (vec![String::new()], 0_u32, false);
    for c in list.chars() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("there is always one").push(c);
    }
    parts.into_iter().map(|p| p.trim().to_owned()).filter(|p| !p.is_empty()).collect()
}
