//! The layout of data on the members of an array: rows, columns, copies and parities.
//!
//! A row is one chunk of every member, at the same place on each; in a JBOD it is a whole member.
//! Its data columns hold the array's bytes in order; the other chunks are copies or parities. After
//! Patterson, Gibson, Katz, SIGMOD 1988. The rotation of RAID-5 and 6 is the default of Linux md,
//! left-symmetric: the first data column follows the parity, so that a long read uses every member
//! in turn.
//!
//! *Invariants.* Each chunk of each member has one role. A data column is on one member or, where
//! there are copies, on one for each copy.

use assay_spec::Bytes;
use assay_spec::array::Level;

/// A set of members, one bit each.
pub(crate) type Members = u64;

/// The size of a row of a RAID-1, which has no chunks: one row is locked and rebuilt at a time.
const MIRROR_CHUNK: Bytes = Bytes::MIB;

/// The role of a member's chunk in its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The data column of this number, or a copy of it.
    Data(usize),
    /// The parity.
    P,
    /// The second parity.
    Q,
}

/// The layout of an array of equal members.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) level: Level,
    pub(crate) members: usize,
    pub(crate) chunk: Bytes,
    pub(crate) rows: u64,
}

impl Layout {
    /// Lays out `members` drives, of which `member` bytes each are used.
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

    /// Returns the number of data columns of a row.
    pub(crate) fn columns(&self) -> usize {
        match self.level {
            Level::Raid0 => self.members,
            Level::Raid1 | Level::Jbod => 1,
            Level::Raid10 | Level::Raid01 => self.members / 2,
            Level::Raid4 | Level::Raid5 => self.members - 1,
            Level::Raid6 => self.members - 2,
        }
    }

    /// Returns the offset on the members at which the chunks of `row` begin.
    pub(crate) fn place(&self, row: u64) -> Bytes {
        if self.level == Level::Jbod { Bytes::ZERO } else { self.chunk * row }
    }

    /// Returns the data bytes of a row.
    pub(crate) fn width(&self) -> Bytes {
        self.chunk * self.columns() as u64
    }

    /// Returns the addressable bytes.
    pub(crate) fn capacity(&self) -> Bytes {
        self.width() * self.rows
    }

    /// Returns `true` if rows hold parities.
    pub(crate) fn has_parity(&self) -> bool {
        matches!(self.level, Level::Raid4 | Level::Raid5 | Level::Raid6)
    }

    /// Returns the number of parities of a row.
    pub(crate) fn parities(&self) -> usize {
        if self.has_parity() { self.members - self.columns() } else { 0 }
    }

    /// Returns the member with the (first) parity of `row`.
    fn parity_member(&self, row: u64) -> usize {
        match self.level {
            Level::Raid4 => self.members - 1,
            _ => self.members - 1 - (row % self.members as u64) as usize,
        }
    }

    /// Returns the members that hold `role` in `row`: more than one if there are copies.
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

    /// Returns all roles of a row, data first.
    pub(crate) fn roles(&self) -> impl Iterator<Item = Role> {
        let parities = [Role::P, Role::Q].into_iter().take(self.parities());
        (0..self.columns()).map(Role::Data).chain(parities)
    }

    /// Returns the members that are out of use when `member` fails. A RAID-01 loses the whole half,
    /// a RAID-0, that `member` is part of.
    pub(crate) fn lost_with(&self, member: usize) -> Members {
        match self.level {
            Level::Raid01 => {
                let side = all(self.members / 2);
                if member < self.members / 2 { side } else { side << (self.members / 2) }
            }
            _ => 1 << member,
        }
    }

    /// Returns `count` members that can fail together without loss of data, if the level allows
    /// that many failures.
    pub(crate) fn victims(&self, count: usize) -> impl Iterator<Item = usize> {
        let step = if self.level == Level::Raid10 { 2 } else { 1 };
        (0..count).map(move |i| i * step)
    }
}

/// Returns the set of the first `n` members.
fn all(n: usize) -> Members {
    Members::MAX >> (64 - n)
}

/// Returns the members of a set, in order.
pub(crate) fn each(mut set: Members) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(first)
    })
}
