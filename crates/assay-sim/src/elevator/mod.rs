//! The elevators Linux had when the documents were written: which waiting request goes next.
//!
//! After the behaviour that Documentation/block of Linux 2.6 describes (`deadline-iosched.txt`,
//! `as-iosched.txt`, `biodoc.txt`) and the tunables of 2.6.26, the kernel of SIGMETRICS'09. One
//! policy a file; what they share is here: the queue with its merging. An elevator sees the waiting
//! requests in the order of their arrival and names one, or says how long it waits for a better
//! one. Reads are synchronous; direct writes were not, before 2.6.30 marked them so.
//!
//! Not for kernels with many queues (`mq-deadline`, `bfq`): those choose otherwise.
//!
//! *Invariants.* Every request put in comes out once, alone or in a merged one; a merged request is
//! one contiguous range in one direction, [`MERGED_MAX`] at most; nothing is merged with what has
//! been dispatched.

mod anticipatory;
mod cfq;
mod deadline;
mod io_context;
mod noop;
#[cfg(test)]
mod tests;

use assay_spec::experiment::ElevatorKind;
use assay_spec::{Bytes, Nanos, Op, Request};
use std::collections::VecDeque;

/// Requests grow to this by merging: `max_sectors_kb` of the time.
pub const MERGED_MAX: Bytes = Bytes(512 << 10);

/// Requests of one direction that an elevator sorts: `nr_requests` of the time. More of them wait
/// before it, in the order they came.
const WAITING_MAX: usize = 128;

/// No request, in a chain.
const END: u32 = u32::MAX;

/// A way to order requests.
pub(crate) trait Elevator {
    /// `queue[index]` has come.
    fn added(&mut self, now: Nanos, queue: &[Waiting], index: usize);
    /// What goes next. A request that is named is dispatched.
    fn next(&mut self, now: Nanos, queue: &[Waiting]) -> Next;
    /// A request has ended; those in `queue` still wait.
    fn completed(&mut self, now: Nanos, queue: &[Waiting], ended: &Waiting);
    /// True if it keeps requests sorted, and so finds every neighbour to merge with.
    fn sorts(&self) -> bool {
        true
    }
    /// True if two adjacent requests of one direction may become one.
    fn may_merge(&self, _one: &Waiting, _other: &Waiting) -> bool {
        true
    }
}

/// What an elevator decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The request at this place of the queue goes.
    Request(usize),
    /// None goes before this time, unless another comes or ends.
    WaitUntil(Nanos),
    /// None goes until another comes or ends.
    Idle,
}

/// A request that waits, with those merged into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// Read or write.
    pub(crate) op: Op,
    /// First byte.
    pub(crate) offset: Bytes,
    /// First byte after it.
    pub(crate) end: Bytes,
    /// A write that is to survive a power cut when it has ended; none is merged with it.
    pub(crate) fua: bool,
    /// Who asked.
    pub(crate) process: u32,
    /// When the elevator got it; of merged ones, the first.
    pub(crate) arrived: Nanos,
    /// Chain of the submitters' tags.
    first: u32,
    last: u32,
}

impl Waiting {
    /// True if somebody waits for it.
    pub(crate) fn is_sync(&self) -> bool {
        self.op == Op::Read
    }

    /// Bytes it covers.
    pub(crate) fn length(&self) -> Bytes {
        self.end - self.offset
    }
}

/// An elevator by its name.
pub struct Listed {
    /// Which it is.
    pub kind: ElevatorKind,
    /// One line for people.
    pub doc: &'static str,
    build: fn() -> Box<dyn Elevator + Send>,
}

/// Every elevator there is.
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

/// The elevator of this kind.
pub(crate) fn build(kind: ElevatorKind) -> Box<dyn Elevator + Send> {
    let listed = ELEVATORS.iter().find(|l| l.kind == kind);
    (listed.expect("a test holds that every kind is listed").build)()
}

/// A submitter's tag, and the next one of the same merged request.
#[derive(Clone, Copy, Debug)]
struct Link {
    tag: u32,
    next: u32,
}

/// The requests that wait for an elevator's choice.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// In the order of arrival.
    waiting: Vec<Waiting>,
    /// Requests with their process that find no place among those: reads, and writes.
    before: [VecDeque<(Request, u32)>; 2],
    links: Vec<Link>,
    free: Vec<u32>,
    /// Range of the request that was last added or grew.
    touched: Option<(Op, Bytes)>,
}

impl Queue {
    /// True if nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.before.iter().all(VecDeque::is_empty)
    }

    /// The requests the elevator chooses from, oldest first.
    pub(crate) fn waiting(&self) -> &[Waiting] {
        &self.waiting
    }

    /// Takes a request in: merged, at the end of the queue, or waiting before it.
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
        // The hint stays with a request until that is dispatched or another one grows.
        self.touched.get_or_insert((waiting.op, waiting.offset));
        self.waiting.push(waiting);
        elevator.added(now, &self.waiting, self.waiting.len() - 1);
    }

    /// Removes the request at `index`, which is dispatched, and lets others in.
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
        // Only its own direction has got room; those merged into others take none.
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

    /// A request that has nothing merged into it yet, of which an elevator need not know.
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

    /// Tells every tag of an ended request, and forgets them.
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

    /// Merges `new` into a waiting request, if it continues or precedes one.
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

    /// Makes `other` a part of the request at `index`, behind or before it.
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

    /// Joins the grown request at `index` with the one it has come to touch, which an elevator
    /// without sorting sees only beside it in the queue.
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

/// Which of the two queues before an elevator a request waits in.
fn direction(op: Op) -> usize {
    usize::from(op == Op::Write)
}

/// The request nearest to the head among those that `is_candidate` admits: ahead of `head`, or up
/// to `back_max` behind it at twice the cost; else the lowest, for the next sweep.
fn nearest(
    queue: &[Waiting],
    head: Bytes,
    back_max: Bytes,
    is_candidate: impl Fn(&Waiting) -> bool,
) -> Option<usize> {
    let cost = |w: &Waiting| {
        if w.offset >= head {
            (0, w.offset.0 - head.0)
        } else if w.offset + back_max >= head {
            (0, 2 * (head.0 - w.offset.0))
        } else {
            (1, w.offset.0)
        }
    };
    let candidates = queue.iter().enumerate().filter(|(_, w)| is_candidate(w));
    // On a tie the one ahead wins: it is found first only by chance, so it is asked for.
    candidates.min_by_key(|(_, w)| (cost(w), w.offset < head)).map(|(index, _)| index)
}

/// The request that waits longest among those that `is_candidate` admits.
fn oldest(queue: &[Waiting], is_candidate: impl Fn(&Waiting) -> bool) -> Option<usize> {
    let candidates = queue.iter().enumerate().filter(|(_, w)| is_candidate(w));
    candidates.min_by_key(|(index, w)| (w.arrived, *index)).map(|(index, _)| index)
}
