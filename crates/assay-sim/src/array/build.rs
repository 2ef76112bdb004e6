//! Builds arrays.

use super::agenda::{Agenda, Event};
use super::controller::Controller;
use super::layout::{Layout, each};
use super::port::Port;
use super::setup::{ArraySetup, MemberDrive, MemberSetup};
use super::slab::Slab;
use super::spares::Spares;
use super::state::{Array, Cards, Recovery};
use crate::build::build;
use crate::drive::Drive;
use crate::initial_state::InitialState;
use assay_spec::array::{Level, Rebuild};
use assay_spec::{Bytes, Nanos};
use std::collections::{BTreeMap, VecDeque};

impl ArraySetup {
    /// Builds the array of drives in the state `past`. Spares are new.
    ///
    /// # Panics
    /// Never: nothing stops it.
    pub fn build(&self, past: InitialState) -> Array {
        self.build_unless(past, &|| false).expect("nothing stops it")
    }

    /// Builds the array as [`ArraySetup::build`] does. Many large drives take a while: returns
    /// `None` if `is_stopped` returns `true` before all are built.
    pub fn build_unless(&self, past: InitialState, is_stopped: &dyn Fn() -> bool) -> Option<Array> {
        let member = |(index, m): (usize, &MemberSetup)| {
            let drive = m.drive.build_unless(past.of_member(index), is_stopped)?;
            Some((drive, m.controller))
        };
        let members = self.members.iter().enumerate().map(member).collect::<Option<Vec<_>>>()?;
        let spares = match self.rebuild {
            Some(rebuild) => Some(self.spares(rebuild, is_stopped)?),
            None => None,
        };
        let mut array = over(self.level, self.chunk, members, spares);
        let controllers = self.controllers.iter().cloned().map(Controller::new).collect();
        array.cards = Cards { controllers, front: self.front };
        if self.failed > 0 {
            let at = self.fail_at.unwrap_or(Nanos::ZERO);
            array.after(at, Event::Fail(self.failed as u32));
            if at == Nanos::ZERO {
                array.run_to(Nanos::ZERO, false);
            }
        }
        Some(array)
    }

    /// Builds new drives for those that fail.
    fn spares(&self, rebuild: Rebuild, is_stopped: &dyn Fn() -> bool) -> Option<Spares> {
        let layout =
            Layout::new(self.level, self.members.len(), self.chunk, self.member_capacity());
        let lost = layout.victims(self.failed).fold(0, |set, i| set | layout.lost_with(i));
        let build = |i: usize| self.members[i].drive.build_unless(InitialState::New, is_stopped);
        // `fail` takes spares from the end.
        let lost: Vec<usize> = each(lost).collect();
        let drives = lost.into_iter().rev().map(build).collect::<Option<_>>()?;
        Some(Spares { rebuild, drives })
    }
}

impl MemberDrive {
    /// Builds the drive or array in the state `past`. Returns `None` if `is_stopped` returns `true`
    /// before all drives are built.
    pub fn build_unless(
        &self,
        past: InitialState,
        is_stopped: &dyn Fn() -> bool,
    ) -> Option<Box<dyn Drive + Send>> {
        match self {
            _ if is_stopped() => None,
            MemberDrive::Device(spec) => Some(build(spec, past)),
            MemberDrive::Array(array) => Some(Box::new(array.build_unless(past, is_stopped)?)),
        }
    }
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
        cards: Cards::default(),
        missing: 0,
        recovery: Recovery { rebuilding: None, spares },
        hosts: Slab::default(),
        jobs: Slab::default(),
        operations: Slab::default(),
        locks: BTreeMap::new(),
        agenda: Agenda::default(),
        requests: 0,
        done: VecDeque::new(),
        clock: Nanos::ZERO,
        buffer: Vec::new(),
        #[cfg(test)]
        trace: Vec::new(),
    }
}
