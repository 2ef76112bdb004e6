//! Where an array keeps what: rows, columns, copies and parities.
//!
//! A row is one chunk of every member at the same place; in a JBOD it is a whole member. Its data
//! columns hold the array's bytes in order; the other chunks are copies or parities. After
//! Patterson, Gibson, Katz, SIGMOD 1988; the rotation of RAID-5 and 6 is Linux md's default,
//! left-symmetric: the data follows the parity round, so that a long read takes every member in
//! turn.
//!
//! *Invariants.* Each chunk of each member has one role; a data column has one place, or as many as
//! there are copies.

use assay_spec::Bytes;
use assay_spec::array::Level;

/// Members, one bit each.
pub(crate) type Members = u64;

/// Rows of a RAID-1, which has no chunks: the piece that is locked and rebuilt at a time.
const MIRROR_CHUNK: Bytes = Bytes::MIB;

/// What a member's chunk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A data column.
    Data(usize),
    /// The parity.
    P,
    /// The second parity.
    Q,
}

/// How an array of equal members is laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) level: Level,
    pub(crate) members: usize,
    pub(crate) chunk: Bytes,
    pub(crate) rows: u64,
}

impl Layout {
    /// Lays out members of at least `member` bytes each.
    pub(crate) fn new(level: Level, members: usize, chunk: Bytes, member: Bytes) -> Layout {
        assert!((level.members_min()..=64).contains(&members), "as the spec has checked");
        assert!(!level.is_paired() || members.is_multiple_of(2), "as the spec has checked");
        let chunk = match level {
            Level::Raid1 => MIRROR_CHUNK.min(member),
            Level::Jbod => member,
            _ => chunk,
        };
        assert!(chunk.0 > 0, "a chunk holds something");
        let rows = if level == Level::Jbod { members as u64 } else { member.0 / chunk.0 };
        Layout { level, members, chunk, rows }
    }

    /// Data columns of a row.
    pub(crate) fn columns(&self) -> usize {
        match self.level {
            Level::Raid0 => self.members,
            Level::Raid1 | Level::Jbod => 1,
            Level::Raid10 | Level::Raid01 => self.members / 2,
            Level::Raid4 | Level::Raid5 => self.members - 1,
            Level::Raid6 => self.members - 2,
        }
    }

    /// Where the chunks of `row` begin on the members.
    pub(crate) fn place(&self, row: u64) -> Bytes {
        if self.level == Level::Jbod { Bytes::ZERO } else { self.chunk * row }
    }

    /// Data bytes of a row.
    pub(crate) fn width(&self) -> Bytes {
        self.chunk * self.columns() as u64
    }

    /// Addressable bytes.
    pub(crate) fn capacity(&self) -> Bytes {
        self.width() * self.rows
    }

    /// True if rows hold parities.
    pub(crate) fn has_parity(&self) -> bool {
        matches!(self.level, Level::Raid4 | Level::Raid5 | Level::Raid6)
    }

    /// Parities of a row.
    pub(crate) fn parities(&self) -> usize {
        if self.has_parity() { self.members - self.columns() } else { 0 }
    }

    /// The member with the parity of `row`.
    fn parity_member(&self, row: u64) -> usize {
        match self.level {
            Level::Raid4 => self.members - 1,
            _ => self.members - 1 - (row % self.members as u64) as usize,
        }
    }

    /// The members that hold `role` in `row`; more than one if there are copies.
    pub(crate) fn holders(&self, row: u64, role: Role) -> Members {
        let n = self.members;
        let one = |member: usize| 1 << (member % n);
        match (self.level, role) {
            (Level::Raid0 | Level::Raid4, Role::Data(column)) => one(column),
            (Level::Raid1, Role::Data(_)) => all(n),
            (Level::Jbod, Role::Data(_)) => one(row as usize),
            (Level::Raid10, Role::Data(column)) => 0b11 << (2 * column),
            (Level::Raid01, Role::Data(column)) => 1 << column | 1 << (column + n / 2),
            (Level::Raid5, Role::Data(column)) => one(self.parity_member(row) + 1 + column),
            (Level::Raid6, Role::Data(column)) => one(self.parity_member(row) + 2 + column),
            (Level::Raid4 | Level::Raid5 | Level::Raid6, Role::P) => one(self.parity_member(row)),
            (Level::Raid6, Role::Q) => one(self.parity_member(row) + 1),
            (_, Role::P | Role::Q) => 0,
        }
    }

    /// Every role of a row, data first.
    pub(crate) fn roles(&self) -> impl Iterator<Item = Role> {
        let parities = [Role::P, Role::Q].into_iter().take(self.parities());
        (0..self.columns()).map(Role::Data).chain(parities)
    }

    /// What is out of use when `member` fails. A RAID-01 loses the whole stripe it is part of.
    pub(crate) fn lost_with(&self, member: usize) -> Members {
        match self.level {
            Level::Raid01 => {
                let side = all(self.members / 2);
                if member < self.members / 2 { side } else { side << (self.members / 2) }
            }
            _ => 1 << member,
        }
    }

    /// So many members that can fail without loss.
    pub(crate) fn victims(&self, count: usize) -> impl Iterator<Item = usize> {
        let step = if self.level == Level::Raid10 { 2 } else { 1 };
        (0..count).map(move |i| i * step)
    }
}

/// The first `n` members.
fn all(n: usize) -> Members {
    Members::MAX >> (64 - n)
}

/// The members of a set, from the first on.
pub(crate) fn each(mut set: Members) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(first)
    })
}
