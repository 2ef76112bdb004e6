//! A job: the work of one request, or of rebuilding, in one row.
//!
//! Its way through the array is in `operations.rs`.

use super::plan::{MemberRequest, Plan, Range};
use super::slab::Slab;
use assay_spec::Op;

/// The request number of a job that rebuilds a row, which no request of the host asked for.
pub(super) const REBUILD: u32 = u32::MAX;

/// The work in one row for one request.
#[derive(Clone, Debug, Default)]
pub(super) struct Job {
    /// The number of its request, or [`REBUILD`].
    pub(super) host: u32,
    /// The range of its row, or `None` for a flush or trim.
    pub(super) range: Option<Range>,
    /// The kind of request; `None` only in a new place.
    pub(super) op: Option<Op>,
    pub(super) plan: Plan,
    /// The operations of the present phase (reads or writes) that have not ended.
    pub(super) left: u32,
    pub(super) is_writing: bool,
    pub(super) has_lock: bool,
    /// Whether a member has failed that it was reading from, so that it must begin again.
    pub(super) is_stale: bool,
}

/// An operation of a job: one request to one member.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemberOperation {
    pub(super) job: u32,
    pub(super) part: MemberRequest,
    /// The generation of the port when it was issued. The drive has been replaced if the port's has
    /// changed since.
    pub(super) generation: u32,
}

impl Slab<Job> {
    /// Makes a job in a free place, and reuses the lists of the plan there.
    pub(super) fn renew(&mut self, host: u32, range: Option<Range>, op: Op) -> u32 {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.places.push(Job::default());
                self.places.len() as u32 - 1
            }
        };
        let plan = std::mem::take(&mut self[index].plan);
        self[index] = Job { host, range, op: Some(op), plan, ..Job::default() };
        self[index].plan.clear();
        index
    }
}

/// A step of an array at work, for the model of the contents.
#[cfg(test)]
#[derive(Clone, Copy, Debug)]
pub(super) enum Trace {
    /// A job was planned, perhaps not for the first time; `tag` is that of its request, if any.
    Planned { job: u32, tag: Option<u32>, op: Op, range: Range },
    /// A member has done one operation of a job.
    Ended { job: u32, part: MemberRequest },
    /// All operations of a job have ended.
    Done { job: u32 },
}
