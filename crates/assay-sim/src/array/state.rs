//! The state of an array.

use super::agenda::Agenda;
use super::controller::Controller;
use super::job::{Job, MemberOperation};
use super::layout::{Layout, Members};
use super::port::Port;
use super::slab::Slab;
use super::spares::{Rebuilding, Spares};
use assay_spec::{Completion, Nanos, Request};
use std::collections::{BTreeMap, VecDeque};

/// Several drives that appear as one.
pub struct Array {
    pub(super) layout: Layout,
    pub(super) ports: Vec<Port>,
    pub(super) cards: Cards,
    /// Members that have failed, until their spares are filled.
    pub(super) missing: Members,
    pub(super) recovery: Recovery,
    pub(super) hosts: Slab<HostRequest>,
    pub(super) jobs: Slab<Job>,
    pub(super) operations: Slab<MemberOperation>,
    /// By row that is locked by a job: the jobs that wait for the lock.
    pub(super) locks: BTreeMap<u64, VecDeque<u32>>,
    pub(super) agenda: Agenda,
    pub(super) requests: usize,
    pub(super) done: VecDeque<Completion>,
    pub(super) clock: Nanos,
    pub(super) buffer: Vec<Completion>,
    #[cfg(test)]
    pub(super) trace: Vec<super::job::Trace>,
}

/// The cards of an array.
#[derive(Default)]
pub(super) struct Cards {
    /// All cards, each once.
    pub(super) controllers: Vec<Controller>,
    /// The card that makes the array, or `None` if the host makes it.
    pub(super) front: Option<usize>,
}

/// What replaces failed members.
pub(super) struct Recovery {
    /// The progress of filling spares, if some are being filled.
    pub(super) rebuilding: Option<Rebuilding>,
    /// The spares that are left, if the array has any.
    pub(super) spares: Option<Spares>,
}

/// A request of the host, in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostRequest {
    pub(super) request: Request,
    pub(super) jobs_left: u32,
    pub(super) error: i32,
}
