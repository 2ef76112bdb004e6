//! From a declaration, with its drives and controllers found, to an array.

use super::controller::Controller;
use super::job::Slab;
use super::layout::Layout;
use super::port::Port;
use super::rebuild::Spares;
use super::{Array, Event};
use crate::drive::{self, Drive, Past};
use assay_spec::array::{Level, Rebuild};
use assay_spec::device::{ControllerSpec, DeviceKind, DeviceSpec};
use assay_spec::{Bytes, Nanos};
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// An array to be built.
#[derive(Clone, Debug)]
pub struct ArraySetup {
    /// How it spreads data.
    pub level: Level,
    /// Bytes that go to one member before the next has its turn.
    pub chunk: Bytes,
    /// Its members, in order.
    pub members: Vec<MemberSetup>,
    /// The cards, each once.
    pub controllers: Vec<ControllerSpec>,
    /// Which of them makes the array.
    pub front: Option<usize>,
    /// So many members fail.
    pub failed: usize,
    /// When they fail; `None`: they have failed before the start.
    pub fail_at: Option<Nanos>,
    /// How spares are filled, if there are any.
    pub rebuild: Option<Rebuild>,
}

/// A member to be built.
#[derive(Clone, Debug)]
pub struct MemberSetup {
    /// What it is.
    pub drive: MemberDrive,
    /// Which of the cards it hangs on.
    pub controller: Option<usize>,
}

/// What a member is.
#[derive(Clone, Debug)]
pub enum MemberDrive {
    /// A modelled drive.
    Device(Box<DeviceSpec>),
    /// An array.
    Array(Box<ArraySetup>),
}

impl ArraySetup {
    /// Bytes of the smallest member: all count as that large.
    fn member_capacity(&self) -> Bytes {
        let each = self.members.iter().map(|m| m.drive.capacity());
        each.min().expect("an array has members")
    }

    /// Addressable bytes; nothing if a member is smaller than a chunk.
    pub fn capacity(&self) -> Bytes {
        let member = self.member_capacity();
        Layout::new(self.level, self.members.len(), self.chunk, member).capacity()
    }

    /// True if a disk is among the drives: the host treats the array as one.
    pub fn has_disk(&self) -> bool {
        self.members.iter().any(|m| match &m.drive {
            MemberDrive::Device(spec) => matches!(spec.kind, DeviceKind::Hdd(_)),
            MemberDrive::Array(array) => array.has_disk(),
        })
    }

    /// Whether all its drives can be built as they are after random writes.
    ///
    /// # Errors
    /// Why one cannot.
    pub fn can_be_steady(&self) -> Result<(), &'static str> {
        self.members.iter().try_for_each(|m| match &m.drive {
            MemberDrive::Device(spec) => drive::can_be_steady(spec),
            MemberDrive::Array(array) => array.can_be_steady(),
        })
    }
}

impl MemberDrive {
    /// Addressable bytes.
    pub fn capacity(&self) -> Bytes {
        match self {
            MemberDrive::Device(spec) => spec.capacity,
            MemberDrive::Array(array) => array.capacity(),
        }
    }

    /// Builds it.
    pub fn build(&self, past: Past) -> Box<dyn Drive + Send> {
        match self {
            MemberDrive::Device(spec) => drive::build(spec, past),
            MemberDrive::Array(array) => Box::new(Array::new(array, past)),
        }
    }
}

impl Array {
    /// Builds `setup` of drives with such a past. Spares have none.
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
            // They are taken from the end.
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

    /// An array over drives that hang on these controllers, none of which is there yet.
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
