//! The elevators (I/O schedulers) of Linux 2.6: they choose which waiting request goes next.
//!
//! After the behaviour that Documentation/block of Linux 2.6 describes (`deadline-iosched.txt`,
//! `as-iosched.txt`, `biodoc.txt`) and the tunables of 2.6.26, the kernel of SIGMETRICS'09. Each
//! policy has its file; the queue with its merging, which they share, is here. An elevator sees the
//! waiting requests in the order of their arrival and names one, or says how long it waits for a
//! better one. Reads are synchronous; direct writes are not, as before Linux 2.6.30.
//!
//! Kernels with many queues have other policies (`mq-deadline`, `bfq`), which are not modelled.
//!
//! *Invariants.* Every request put in comes out once, alone or in a merged one; a merged request is
//! one contiguous range in one direction, at most [`MERGED_MAX`] long; a request is not merged with
//! one that has been dispatched.

mod anticipatory;
mod cfq;
mod deadline;
mod interface;
mod io_context;
mod noop;
#[cfg(test)]
mod tests;

use assay_spec::experiment::ElevatorKind;
use assay_spec::{Bytes, Nanos, Op, Request};
pub(crate) use interface::{Elevator, Next, Waiting};
use std::collections::VecDeque;

/// The longest merged request: the default of `max_sectors_kb` at the time.
pub const MERGED_MAX: Bytes = Bytes(512 << 10);

/// The most requests of one direction that an elevator chooses from: the default of `nr_requests`
/// at the time. Others wait before it, in the order of arrival.
const WAITING_MAX: usize = 128;

/// The end of a chain of links.
const END: u32 = u32::MAX;

/// An entry in the list of elevators.
pub struct Listed {
    /// Its name in documents.
    pub kind: ElevatorKind,
    /// A description in one line.
    pub doc: &'static str,
    build: fn() -> Box<dyn Elevator + Send>,
}

/// All elevators.
pub const ELEVATORS: &[Listed] = &[
    Listed {
        kind: ElevatorKind::Noop,
        doc: "first come, first served; merges neighbours",
        build: || Box::new(noop::Noop),
    },
    Listed {
        kind: ElevatorKind::Deadline,
        doc: "sorted batches, reads first; 500 ms for a read, 5 s for a write",
        build: || Box::new(deadline::Deadline::default()),
    },
    Listed {
        kind: ElevatorKind::Anticipatory,
        doc: "waits up to 6 ms for the next read of the process it has just served",
        build: || Box::new(anticipatory::Anticipatory::default()),
    },
    Listed {
        kind: ElevatorKind::Cfq,
        doc: "time slices: 100 ms for each process that reads, 40 ms for all writes",
        build: || Box::new(cfq::Cfq::default()),
    },
];

/// Builds the elevator of this kind.
pub(crate) fn build(kind: ElevatorKind) -> Box<dyn Elevator + Send> {
    let listed = ELEVATORS.iter().find(|l| l.kind == kind);
    (listed.expect("a test holds that every kind is listed").build)()
}

/// A submitter's tag, and the index of the link with the next tag of the same merged request.
#[derive(Clone, Copy, Debug)]
struct Link {
    tag: u32,
    next: u32,
}

/// The requests that wait for an elevator's choice.
#[derive(Debug, Default)]
pub(crate) struct RequestQueue {
    /// The requests that the elevator chooses from, in the order of arrival.
    waiting: Vec<Waiting>,
    /// By direction: the requests, each with its process, that `waiting` has no room for.
    before: [VecDeque<(Request, u32)>; 2],
    /// The tags of all waiting and dispatched requests.
    links: Vec<Link>,
    /// Unused indices of `links`.
    free: Vec<u32>,
    /// The direction and offset of the request that was last added or grew by merging.
    touched: Option<(Op, Bytes)>,
}

impl RequestQueue {
    /// Returns `true` if no request waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.before.iter().all(VecDeque::is_empty)
    }

    /// Returns the requests that the elevator chooses from, in the order of arrival.
    pub(crate) fn waiting(&self) -> &[Waiting] {
        &self.waiting
    }

    /// Adds a request: merges it, puts it at the end of the queue, or makes it wait before that.
    pub(crate) fn add(
        &mut self,
        now: Nanos,
        request: Request,
        process: u32,
        elevator: &mut dyn Elevator,
    ) {
        assert!(matches!(request.op, Op::Read | Op::Write), "only what can be sorted");
        let waiting = self.single(now, request, process);
        if self.merge(waiting, elevator) {
            return;
        }
        if self.is_full(request.op) || !self.before[direction(request.op)].is_empty() {
            self.release(waiting.first);
            self.before[direction(request.op)].push_back((request, process));
            return;
        }
        self.push(now, waiting, elevator);
    }

    fn is_full(&self, op: Op) -> bool {
        self.waiting.iter().filter(|w| w.op == op).count() >= WAITING_MAX
    }

    fn push(&mut self, now: Nanos, waiting: Waiting, elevator: &mut dyn Elevator) {
        // The hint stays with a request until it is dispatched or another one grows.
        self.touched.get_or_insert((waiting.op, waiting.offset));
        self.waiting.push(waiting);
        elevator.added(now, &self.waiting, self.waiting.len() - 1);
    }

    /// Removes the request at `index`, which is dispatched, and lets requests before the queue in.
    pub(crate) fn take(
        &mut self,
        now: Nanos,
        index: usize,
        elevator: &mut dyn Elevator,
    ) -> Waiting {
        let taken = self.waiting.remove(index);
        if self.touched == Some((taken.op, taken.offset)) {
            self.touched = None;
        }
        // Only its own direction has room now; requests that are merged need none.
        while !self.is_full(taken.op) {
            let Some((request, process)) = self.before[direction(taken.op)].pop_front() else {
                break;
            };
            let waiting = self.single(now, request, process);
            if !self.merge(waiting, elevator) {
                self.push(now, waiting, elevator);
            }
        }
        taken
    }

    /// Makes a request with nothing merged into it, without adding it to the queue.
    pub(crate) fn single(&mut self, now: Nanos, request: Request, process: u32) -> Waiting {
        let link = Link { tag: request.tag, next: END };
        let index = match self.free.pop() {
            Some(index) => {
                self.links[index as usize] = link;
                index
            }
            None => {
                self.links.push(link);
                self.links.len() as u32 - 1
            }
        };
        Waiting {
            op: request.op,
            offset: request.offset,
            end: request.end(),
            fua: request.fua,
            process,
            arrived: now,
            first: index,
            last: index,
        }
    }

    /// Calls `tell` with every tag of an ended request, and frees their links.
    pub(crate) fn finish(&mut self, ended: &Waiting, mut tell: impl FnMut(u32)) {
        let mut at = ended.first;
        while at != END {
            let Link { tag, next } = self.links[at as usize];
            tell(tag);
            self.free.push(at);
            at = next;
        }
    }

    fn release(&mut self, link: u32) {
        self.free.push(link);
    }

    /// Merges `new` into a waiting request that ends where it begins, or begins where it ends.
    /// Returns `false` if there is none.
    fn merge(&mut self, new: Waiting, elevator: &dyn Elevator) -> bool {
        let fits = |w: &Waiting| {
            !w.fua
                && !new.fua
                && w.op == new.op
                && w.length() + new.length() <= MERGED_MAX
                && elevator.may_merge(w, &new)
        };
        let back = self.waiting.iter().position(|w| w.end == new.offset && fits(w));
        if let Some(index) = back {
            self.join(index, new, true);
            self.join_neighbour(index, true, elevator);
            return true;
        }
        let touched = self.touched;
        let found = |w: &Waiting| elevator.sorts() || touched == Some((w.op, w.offset));
        let front = self.waiting.iter().position(|w| w.offset == new.end && fits(w) && found(w));
        if let Some(index) = front {
            self.join(index, new, false);
            self.join_neighbour(index, false, elevator);
        }
        front.is_some()
    }

    /// Makes `other` a part of the request at `index`: behind it, or before it.
    fn join(&mut self, index: usize, other: Waiting, behind: bool) {
        let joined = &mut self.waiting[index];
        assert_eq!(joined.op, other.op, "one direction");
        if behind {
            assert_eq!(joined.end, other.offset, "no hole");
            joined.end = other.end;
        } else {
            assert_eq!(other.end, joined.offset, "no hole");
            joined.offset = other.offset;
        }
        joined.arrived = joined.arrived.min(other.arrived);
        self.links[joined.last as usize].next = other.first;
        joined.last = other.last;
        self.touched = Some((joined.op, joined.offset));
    }

    /// Joins the request at `index`, which has grown, with one that it now touches. An elevator
    /// that does not sort finds that one only next to it in the queue.
    fn join_neighbour(&mut self, index: usize, behind: bool, elevator: &dyn Elevator) {
        let grown = self.waiting[index];
        let touches = |w: &Waiting| {
            let adjacent = if behind { w.offset == grown.end } else { w.end == grown.offset };
            adjacent
                && !w.fua
                && w.op == grown.op
                && w.length() + grown.length() <= MERGED_MAX
                && elevator.may_merge(w, &grown)
        };
        let beside = |i: usize| if behind { i == index + 1 } else { i + 1 == index };
        let mut all = self.waiting.iter().enumerate();
        let other = all.position(|(i, w)| touches(w) && (elevator.sorts() || beside(i)));
        let Some(other) = other else { return };
        // The older of the two keeps its place.
        let gone = self.waiting.remove(index.max(other));
        let is_behind = gone.offset == self.waiting[index.min(other)].end;
        self.join(index.min(other), gone, is_behind);
    }
}

/// Returns the index in `before` for requests with `op`.
fn direction(op: Op) -> usize {
    usize::from(op == Op::Write)
}
