//! The declaration of an array, in which drives and controllers are resolved.

use super::layout::Layout;
use crate::build::can_be_steady;
use assay_spec::array::{Level, Rebuild};
use assay_spec::device::{ControllerSpec, DeviceKind, DeviceSpec};
use assay_spec::{Bytes, Nanos};

/// An array to be built.
#[derive(Clone, Debug)]
pub struct ArraySetup {
    /// The RAID level.
    pub level: Level,
    /// The bytes that go to one member before the next one.
    pub chunk: Bytes,
    /// Its members, in order.
    pub members: Vec<MemberSetup>,
    /// The cards, each once.
    pub controllers: Vec<ControllerSpec>,
    /// The card that makes the array, or `None` if the host makes it.
    pub front: Option<usize>,
    /// The number of members that fail.
    pub failed: usize,
    /// When they fail; `None` if they have failed before the start.
    pub fail_at: Option<Nanos>,
    /// How spares are filled, or `None` if there are none.
    pub rebuild: Option<Rebuild>,
}

/// A member to be built.
#[derive(Clone, Debug)]
pub struct MemberSetup {
    /// The drive.
    pub drive: MemberDrive,
    /// The card that it is on, if any.
    pub controller: Option<usize>,
}

/// The drive of a member.
#[derive(Clone, Debug)]
pub enum MemberDrive {
    /// A modelled drive.
    Device(Box<DeviceSpec>),
    /// An array.
    Array(Box<ArraySetup>),
}

impl ArraySetup {
    /// Returns the bytes of the smallest member; no more are used of the others.
    pub(super) fn member_capacity(&self) -> Bytes {
        let each = self.members.iter().map(|m| m.drive.capacity());
        each.min().expect("an array has members")
    }

    /// Returns the addressable bytes: zero if a member is smaller than a chunk.
    pub fn capacity(&self) -> Bytes {
        let member = self.member_capacity();
        Layout::new(self.level, self.members.len(), self.chunk, member).capacity()
    }

    /// Returns `true` if a disk is among the drives: the host then treats the array like a disk.
    pub fn has_disk(&self) -> bool {
        self.members.iter().any(|m| match &m.drive {
            MemberDrive::Device(spec) => matches!(spec.kind, DeviceKind::Hdd(_)),
            MemberDrive::Array(array) => array.has_disk(),
        })
    }

    /// Checks whether all its drives can be built in the steady state of random writes.
    ///
    /// # Errors
    /// Returns the reason why a drive cannot, as [`can_be_steady`] does.
    pub fn can_be_steady(&self) -> Result<(), &'static str> {
        self.members.iter().try_for_each(|m| match &m.drive {
            MemberDrive::Device(spec) => can_be_steady(spec),
            MemberDrive::Array(array) => array.can_be_steady(),
        })
    }
}

impl MemberDrive {
    /// Returns the addressable bytes.
    pub fn capacity(&self) -> Bytes {
        match self {
            MemberDrive::Device(spec) => spec.capacity,
            MemberDrive::Array(array) => array.capacity(),
        }
    }
}
