//! Tests of elevators between a host and a disk: no request is lost or starves, slices are kept.

use super::super::{MERGED_MAX, cfq, deadline};
use super::{MS, PAGE, scattered};
use crate::drive::{Accept, Counters, Drive, Inspect, PowerCut, Prefetch};
use crate::host::Host;
use assay_spec::experiment::{ElevatorKind, HostSpec};
use assay_spec::{Bytes, Completion, Nanos, Op, Request};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A disk that serves one request at a time, in [`EACH`] and more for the distance of the head. It
/// holds `depth` requests.
struct Disk {
    head: u64,
    free: Nanos,
    depth: usize,
    queue: Vec<(Nanos, u32)>,
    /// All requests, each with the time of its submission.
    log: Vec<(Nanos, Request)>,
}

const EACH: Nanos = Nanos::from_micros(500);

impl Disk {
    fn new(depth: usize) -> Disk {
        Disk { head: 0, free: Nanos::ZERO, depth, queue: Vec::new(), log: Vec::new() }
    }
}

impl Drive for &mut Disk {
    fn capacity(&self) -> Bytes {
        Bytes::GIB * 64
    }
    fn submit(&mut self, now: Nanos, request: Request) -> Accept {
        if self.queue.len() >= self.depth {
            return Accept::QueueFull;
        }
        // A seek takes a tenth of a nanosecond for a page: 1.7 ms over the whole disk.
        let way = Nanos(request.offset.0.abs_diff(self.head) / PAGE.0 / 10);
        self.free = self.free.max(now) + EACH + way;
        self.head = request.end().0;
        self.queue.push((self.free, request.tag));
        self.log.push((now, request));
        Accept::Accepted
    }
    fn next_event(&self) -> Option<Nanos> {
        self.queue.first().map(|(at, _)| *at)
    }
    fn advance(&mut self, to: Nanos, completions: &mut Vec<Completion>) {
        while let Some((at, tag)) = self.queue.first().copied().filter(|(at, _)| *at <= to) {
            completions.push(Completion { tag, at, error: 0 });
            self.queue.remove(0);
        }
    }
}

impl Counters for &mut Disk {
    fn counters(&self) -> Vec<(String, f64)> {
        Vec::new()
    }
    fn mark(&mut self) {}
}

impl Inspect for &mut Disk {}

impl PowerCut for &mut Disk {}

impl Prefetch for &mut Disk {}

/// Runs a closed loop over a host; returns (tag, submitted, ended) of every request.
fn run<D: Drive>(
    host: &mut Host<D>,
    slots: u32,
    until: Nanos,
    mut next: impl FnMut(u32) -> (Op, Bytes, Bytes),
) -> Vec<(u32, Nanos, Nanos)> {
    let (mut now, mut free) = (Nanos::ZERO, (0..slots).collect::<Vec<u32>>());
    let (mut open, mut all, mut ended) = (BTreeMap::new(), Vec::new(), Vec::new());
    loop {
        for tag in free.drain(..).filter(|_| now < until) {
            let (op, offset, length) = next(tag);
            assert!(open.insert(tag, now).is_none());
            host.submit(now, Request { tag, op, offset, length, fua: false });
        }
        let Some(at) = host.next_event() else { break };
        assert!(at >= now, "time runs back");
        now = at;
        host.advance(now, &mut ended);
        for Completion { tag, at, .. } in ended.drain(..) {
            assert_eq!(at, now);
            all.push((tag, open.remove(&tag).expect("ended twice"), at));
            free.push(tag);
        }
    }
    assert!(open.is_empty(), "a request was lost");
    host.check();
    all
}

fn spec(depth: Option<u32>) -> HostSpec {
    HostSpec { gap: Nanos::from_micros(20), queue_depth: depth, ..HostSpec::default() }
}

#[test]
fn cfq_serves_each_process_in_slices_of_its_own() {
    let mut disk = Disk::new(1);
    let mut host = Host::new(&mut disk, spec(Some(1)), ElevatorKind::Cfq);
    let mut places = [0, 1 << 20, 2 << 20];
    run(&mut host, 3, Nanos::from_secs(3), |tag| {
        places[tag as usize] += 1;
        (Op::Read, PAGE * places[tag as usize], PAGE)
    });
    // Runs of requests of one process, found by the part of the disk that they are in.
    let mut slices: Vec<(u64, Nanos, Nanos)> = Vec::new();
    for (at, request) in &disk.log {
        let process = request.offset.0 / (PAGE.0 << 20);
        match slices.last_mut().filter(|(p, ..)| *p == process) {
            Some((.., end)) => *end = *at,
            None => slices.push((process, *at, *at)),
        }
    }
    assert!(slices.len() >= 27, "{slices:?}");
    for (i, (process, start, end)) in slices.iter().enumerate().take(slices.len() - 3) {
        assert_eq!(*process, i as u64 % 3, "in turn");
        let length = (*end - *start).0 as f64 / cfq::SLICE_SYNC.0 as f64;
        assert!((0.97..=1.01).contains(&length), "{process}: {length}");
    }
}

#[test]
fn nobody_waits_longer_than_the_deadline_and_the_batches_before() {
    let mut disk = Disk::new(1);
    let mut host = Host::new(&mut disk, spec(Some(1)), ElevatorKind::Deadline);
    let slots = 100;
    let mut i = 0;
    let all = run(&mut host, slots, Nanos::from_secs(60), |tag| {
        i += 1;
        // Most go to one region, so that requests elsewhere would starve without a deadline.
        let op = if tag % 2 == 0 { Op::Read } else { Op::Write };
        let near = if tag < 90 { 10_000 } else { 1 << 23 };
        (op, PAGE * (3 * scattered(i, near)), PAGE)
    });
    // At worst a page takes EACH and a seek over the whole disk, after the gap.
    let service = EACH + Nanos::from_micros(1_700 + 20);
    let batches = u64::from((deadline::WRITES_STARVED + 2) * deadline::FIFO_BATCH);
    for (tag, asked, ended) in all {
        let expire = if tag % 2 == 0 { deadline::READ_EXPIRE } else { deadline::WRITE_EXPIRE };
        // Requests that expired earlier go first, in a batch each at worst.
        let before = u64::from(slots) * batches / 2;
        assert!(ended - asked <= expire + service * before, "{tag}: {}", ended - asked);
        assert!(tag % 2 == 1 || ended - asked <= expire + Nanos::from_millis(600));
    }
}

#[test]
fn flushes_and_trims_pass_the_elevator() {
    for kind in ElevatorKind::ALL {
        let mut disk = Disk::new(1);
        let mut host = Host::new(&mut disk, spec(Some(1)), kind);
        let mut i = 0;
        let all = run(&mut host, 4, MS * 50, |tag| match tag {
            0 => (Op::Flush, Bytes::ZERO, Bytes::ZERO),
            _ => {
                i += 1;
                (Op::Write, PAGE * (2 * scattered(i, 1000)), PAGE)
            }
        });
        assert!(all.iter().filter(|(tag, ..)| *tag == 0).count() > 5, "{kind:?}");
    }
}

/// Simulates a host without an elevator: first come, first served, nothing merged.
fn plain(requests: &[(u64, u64, Op)], gap: Nanos, depth: usize) -> Vec<(u32, Nanos)> {
    let mut disk = Disk::new(3);
    let mut drive = &mut disk;
    let (mut waiting, mut ended) = (std::collections::VecDeque::new(), Vec::new());
    let (mut ready, mut in_flight, mut i) = (Nanos::ZERO, 0, 0);
    let mut done = Vec::new();
    loop {
        let arrival = requests.get(i).map(|(at, ..)| Nanos(*at));
        let held = !waiting.is_empty() && in_flight < depth;
        let events = [arrival, drive.next_event(), held.then_some(ready)];
        // A request that a full drive refuses is submitted again when another one ends.
        let now = drive.log.last().map_or(Nanos::ZERO, |(at, _)| *at);
        let later = done.last().map_or(now, |(_, at): &(u32, Nanos)| now.max(*at));
        let next = events.into_iter().flatten().filter(|at| *at >= later).min();
        let full = held && in_flight >= 3;
        let events = [arrival, drive.next_event(), (held && !full).then_some(ready.max(later))];
        let Some(now) = next.and(events.into_iter().flatten().min()) else { break };
        drive.advance(now, &mut ended);
        for completion in ended.drain(..) {
            done.push((completion.tag, completion.at));
            in_flight -= 1;
            ready = now + gap;
        }
        while let Some((at, page, op)) = requests.get(i).filter(|(at, ..)| Nanos(*at) <= now) {
            assert_eq!(Nanos(*at), now);
            let tag = i as u32;
            waiting.push_back(Request {
                tag,
                op: *op,
                offset: PAGE * *page,
                length: PAGE,
                fua: false,
            });
            i += 1;
        }
        while in_flight < depth && ready <= now && !waiting.is_empty() {
            if drive.submit(now, waiting[0]) == Accept::QueueFull {
                break;
            }
            waiting.pop_front();
            in_flight += 1;
        }
    }
    done
}

proptest! {
    #[test]
    fn noop_without_neighbours_is_first_come_first_served(
        gaps in proptest::collection::vec((0_u64..2_000_000, any::<bool>()), 1..300),
        gap in 0_u64..100_000, depth in 1_usize..6, seed in any::<u64>(),
    ) {
        let mut at = 0;
        let requests: Vec<(u64, u64, Op)> = gaps.iter().enumerate().map(|(i, (pause, read))| {
            at += pause;
            let op = if *read { Op::Read } else { Op::Write };
            (at, 2 * scattered(seed ^ i as u64, 1 << 22), op)
        }).collect();
        let mut disk = Disk::new(3);
        let machine = HostSpec {
            gap: Nanos(gap), queue_depth: Some(depth as u32), ..HostSpec::default()
        };
        let mut host = Host::new(&mut disk, machine, ElevatorKind::Noop);
        let mut ended = Vec::new();
        for (i, (at, page, op)) in requests.iter().enumerate() {
            host.advance(Nanos(*at), &mut ended);
            let (tag, op, offset, length) = (i as u32, *op, PAGE * *page, PAGE);
            host.submit(Nanos(*at), Request { tag, op, offset, length, fua: false });
        }
        host.advance(Nanos(u64::MAX / 2), &mut ended);
        let ended: Vec<(u32, Nanos)> = ended.into_iter().map(|c| (c.tag, c.at)).collect();
        prop_assert_eq!(ended, plain(&requests, Nanos(gap), depth));
    }

    #[test]
    fn every_request_ends_once_whatever_is_merged(
        kind in 0_usize..4, slots in 1_u32..300, depth in 1_u32..9, own in 1_u32..5,
        places in 1_u64..2000, seed in any::<u64>(),
    ) {
        let mut disk = Disk::new(4);
        let mut host = Host::new(&mut disk, spec(Some(depth)), ElevatorKind::ALL[kind]);
        host.set_processes(own);
        let (mut i, mut asked) = (seed, BTreeMap::new());
        let all = run(&mut host, slots, MS * 300, |_| {
            i = i.wrapping_add(1);
            let op = if scattered(i, 3) == 0 { Op::Write } else { Op::Read };
            let pages = 1 + scattered(!i, 4);
            let page = scattered(i ^ 7, places);
            (page..page + pages).for_each(|p| *asked.entry((op as u8, p)).or_insert(0) += 1);
            (op, PAGE * page, PAGE * pages)
        });
        prop_assert!(all.len() >= slots as usize);
        // The disk got exactly the requested pages, each as often as it was requested.
        for (_, request) in &disk.log {
            prop_assert!(request.length <= MERGED_MAX);
            for page in request.offset.0 / PAGE.0..request.end().0 / PAGE.0 {
                let left = asked.get_mut(&(request.op as u8, page)).expect("it was asked");
                *left -= 1;
            }
        }
        prop_assert!(asked.values().all(|left| *left == 0));
    }
}
