//! Construction of an array from its declaration, in which drives and controllers are resolved.

use super::controller::Controller;
use super::job::Slab;
use super::layout::Layout;
use super::port::Port;
use super::rebuild::Spares;
use super::{Array, Event};
use crate::build::{build, can_be_steady};
use crate::drive::Drive;
use crate::past::Past;
use assay_spec::array::{Level, Rebuild};
use assay_spec::device::{ControllerSpec, DeviceKind, DeviceSpec};
use assay_spec::{Bytes, Nanos};
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

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
    fn member_capacity(&self) -> Bytes {
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

    /// Builds the drive or array in the state `past`.
    pub fn build(&self, past: Past) -> Box<dyn Drive + Send> {
        match self {
            MemberDrive::Device(spec) => build(spec, past),
            MemberDrive::Array(array) => Box::new(Array::new(array, past)),
        }
    }
}

impl Array {
    /// Builds `setup` of drives in the state `past`. Spares are new.
    pub fn new(setup: &ArraySetup, past: Past) -> Array {
        let member = |(index, m): (usize, &MemberSetup)| {
            (m.drive.build(past.of_member(index)), m.controller)
        };
        let members = setup.members.iter().enumerate().map(member).collect();
        let spares = setup.rebuild.map(|rebuild| {
            let layout =
                Layout::new(setup.level, setup.members.len(), setup.chunk, setup.member_capacity());
            let lost = layout.victims(setup.failed).fold(0, |set, i| set | layout.lost_with(i));
            let spare = |i: usize| setup.members[i].drive.build(Past::New);
            // `fail` takes spares from the end.
            let lost: Vec<usize> = super::layout::each(lost).collect();
            let drives = lost.into_iter().rev().map(spare).collect();
            Spares { rebuild, drives }
        });
        let mut array = Array::over(setup.level, setup.chunk, members, spares);
        array.controllers = setup.controllers.iter().cloned().map(Controller::new).collect();
        array.front = setup.front;
        if setup.failed > 0 {
            let at = setup.fail_at.unwrap_or(Nanos::ZERO);
            array.after(at, Event::Fail(setup.failed as u32));
            if at == Nanos::ZERO {
                array.run_to(Nanos::ZERO, false);
            }
        }
        array
    }

    /// Builds an array over drives, each with the index of its controller. The caller adds the
    /// controllers, and a front.
    pub(super) fn over(
        level: Level,
        chunk: Bytes,
        members: Vec<(Box<dyn Drive + Send>, Option<usize>)>,
        spares: Option<Spares>,
    ) -> Array {
        let ports = members.into_iter().map(|(drive, controller)| Port::new(drive, controller));
        let ports: Vec<Port> = ports.collect();
        let smallest = ports.iter().map(Port::capacity).min().expect("an array has members");
        Array {
            layout: Layout::new(level, ports.len(), chunk, smallest),
            ports,
            controllers: Vec::new(),
            front: None,
            missing: 0,
            rebuilding: None,
            spares,
            hosts: Slab::default(),
            jobs: Slab::default(),
            operations: Slab::default(),
            locks: BTreeMap::new(),
            events: BinaryHeap::new(),
            sequence: 0,
            requests: 0,
            done: VecDeque::new(),
            clock: Nanos::ZERO,
            buffer: Vec::new(),
            #[cfg(test)]
            trace: Vec::new(),
        }
    }
}
