//! Tests of elevators without a host: deadlines and waits to the nanosecond, merging to the byte.

mod hosted;

use super::{
    ELEVATORS, Elevator, MERGED_MAX, Next, RequestQueue, Waiting, anticipatory, cfq, deadline,
};
use assay_spec::experiment::ElevatorKind;
use assay_spec::{Bytes, Nanos, Op, Request};

const PAGE: Bytes = Bytes(4096);
const MS: Nanos = Nanos::from_millis(1);

#[test]
fn every_elevator_is_listed_once_under_its_name() {
    let listed: Vec<ElevatorKind> = ELEVATORS.iter().map(|l| l.kind).collect();
    assert_eq!(listed, ElevatorKind::ALL);
    assert!(ELEVATORS.iter().all(|l| !l.doc.is_empty()));
    assert_eq!(ElevatorKind::Cfq.name(), "cfq");
    let word = |kind: ElevatorKind| kind.name().to_owned();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/elevator");
    let others = ["mod.rs", "interface.rs", "io_context.rs", "tests.rs", "tests"];
    let is_policy = |f: &String| !others.contains(&f.as_str());
    let files = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name());
    let mut files: Vec<String> =
        files.map(|f| f.to_string_lossy().into_owned()).filter(is_policy).collect();
    let mut names: Vec<String> = listed.into_iter().map(|k| word(k) + ".rs").collect();
    files.sort();
    names.sort();
    assert_eq!(files, names);
}

/// An elevator and its queue without a host.
struct Bench {
    queue: RequestQueue,
    elevator: Box<dyn Elevator + Send>,
    tags: u32,
    sent: Vec<Waiting>,
}

impl Bench {
    fn new(kind: ElevatorKind) -> Bench {
        let (queue, elevator) = (RequestQueue::default(), super::build(kind));
        Bench { queue, elevator, tags: 0, sent: Vec::new() }
    }

    /// Adds a request of one page.
    fn add(&mut self, now: Nanos, process: u32, op: Op, page: u64) {
        let request = Request { tag: self.tags, op, offset: PAGE * page, length: PAGE, fua: false };
        self.tags += 1;
        self.queue.add(now, request, process, &mut *self.elevator);
    }

    /// Dispatches the next request and returns its page, or returns the decision to wait.
    fn next(&mut self, now: Nanos) -> Result<u64, Next> {
        match self.elevator.next(now, self.queue.waiting()) {
            Next::Request(index) => {
                let taken = self.queue.take(now, index, &mut *self.elevator);
                self.sent.push(taken);
                Ok(taken.offset.0 / PAGE.0)
            }
            wait => Err(wait),
        }
    }

    /// Ends the last request.
    fn end(&mut self, now: Nanos) {
        let ended = self.sent.pop().expect("something was sent");
        self.elevator.completed(now, self.queue.waiting(), &ended);
    }

    /// Dispatches all requests, each of which ends at once; returns their pages in order.
    fn drain(&mut self, now: Nanos) -> Vec<u64> {
        let mut pages = Vec::new();
        while let Ok(page) = self.next(now) {
            pages.push(page);
            self.end(now);
        }
        pages
    }
}

#[test]
fn deadline_sorts_and_starts_again_with_the_oldest_at_the_end() {
    let mut bench = Bench::new(ElevatorKind::Deadline);
    for page in [50, 10, 90, 30, 70] {
        bench.add(Nanos::ZERO, 0, Op::Read, page);
    }
    assert_eq!(bench.drain(MS), [50, 70, 90, 10, 30]);
}

#[test]
fn deadline_lets_an_expired_read_go_first_after_a_batch_and_not_a_nanosecond_before() {
    for (late, first) in [(Nanos::ZERO, 300), (Nanos(1), 7)] {
        let mut bench = Bench::new(ElevatorKind::Deadline);
        bench.add(Nanos::ZERO, 0, Op::Read, 100);
        assert_eq!(bench.next(Nanos::ZERO), Ok(100));
        // This one lies behind the head: if it has not expired, it waits for the end of the sweep.
        bench.add(Nanos::ZERO, 0, Op::Read, 7);
        let now = deadline::READ_EXPIRE + late;
        for i in 0..40 {
            bench.add(now, 0, Op::Read, 110 + 10 * i);
        }
        for _ in 1..deadline::FIFO_BATCH {
            bench.next(now).unwrap();
        }
        let next = bench.next(now).unwrap();
        assert_eq!(next, if first == 7 { 7 } else { 110 + 10 * 15 }, "{late}");
    }
}

#[test]
fn deadline_passes_a_write_by_twice_and_no_more() {
    let mut bench = Bench::new(ElevatorKind::Deadline);
    bench.add(Nanos::ZERO, 0, Op::Write, 1);
    for i in 0..100 {
        bench.add(Nanos::ZERO, 0, Op::Read, 1000 + 10 * i);
    }
    let order = bench.drain(MS);
    let passed = order.iter().position(|page| *page == 1).unwrap() as u32;
    assert_eq!(passed, deadline::WRITES_STARVED * deadline::FIFO_BATCH);
}

#[test]
fn anticipatory_waits_for_the_same_process_until_its_time_is_over() {
    let mut bench = Bench::new(ElevatorKind::Anticipatory);
    let far = 1 << 24;
    bench.add(Nanos::ZERO, 0, Op::Read, 10);
    assert_eq!(bench.next(Nanos::ZERO), Ok(10));
    bench.add(MS, 1, Op::Read, far);
    bench.end(MS * 5);
    let until = MS * 5 + anticipatory::ANTIC_EXPIRE;
    assert_eq!(bench.next(MS * 5), Err(Next::WaitUntil(until)));
    assert_eq!(bench.next(until - Nanos(1)), Err(Next::WaitUntil(until)));
    assert_eq!(bench.next(until), Ok(far), "not a nanosecond longer");
}

#[test]
fn anticipatory_is_rewarded_by_the_same_process_and_takes_what_is_close() {
    for (process, page, goes) in [(0, 1 << 23, true), (1, 11, true), (1, 1 << 23, false)] {
        let mut bench = Bench::new(ElevatorKind::Anticipatory);
        bench.add(Nanos::ZERO, 0, Op::Read, 10);
        bench.next(Nanos::ZERO).unwrap();
        bench.add(MS, 2, Op::Read, 1 << 24);
        bench.end(MS);
        bench.next(MS).unwrap_err();
        bench.add(MS * 2, process, Op::Read, page);
        assert_eq!(bench.next(MS * 2).is_ok(), goes, "{process} {page}");
    }
}

#[test]
fn anticipatory_does_not_wait_for_a_process_that_thinks_long_nor_after_writes() {
    let mut bench = Bench::new(ElevatorKind::Anticipatory);
    let mut now = Nanos::ZERO;
    for i in 0..10 {
        now += MS * 15;
        bench.add(now, 0, Op::Read, 1000 * i);
        bench.next(now).unwrap();
        bench.end(now);
    }
    bench.add(now, 1, Op::Read, 1 << 24);
    assert_eq!(bench.next(now), Ok(1 << 24));
    let mut bench = Bench::new(ElevatorKind::Anticipatory);
    bench.add(Nanos::ZERO, 0, Op::Write, 10);
    bench.next(Nanos::ZERO).unwrap();
    bench.end(MS);
    bench.add(MS, 1, Op::Read, 1 << 24);
    assert_eq!(bench.next(MS), Ok(1 << 24));
}

#[test]
fn cfq_idles_for_a_process_and_not_a_nanosecond_longer() {
    let mut bench = Bench::new(ElevatorKind::Cfq);
    bench.add(Nanos::ZERO, 0, Op::Read, 10);
    bench.add(Nanos::ZERO, 1, Op::Read, 1 << 24);
    assert_eq!(bench.next(Nanos::ZERO), Ok(10));
    bench.end(MS);
    let until = MS + cfq::SLICE_IDLE;
    assert_eq!(bench.next(MS), Err(Next::WaitUntil(until)));
    assert_eq!(bench.next(until - Nanos(1)), Err(Next::WaitUntil(until)));
    assert_eq!(bench.next(until), Ok(1 << 24));
}

#[test]
fn cfq_idles_shortly_for_a_process_that_jumps() {
    let mut bench = Bench::new(ElevatorKind::Cfq);
    let now = MS;
    // The drive takes one request at a time: 50 completions while others wait show that.
    (0..60).for_each(|i| bench.add(now, 0, Op::Write, i << 14));
    assert_eq!(bench.drain(now).len(), 60);
    for i in 0..30 {
        bench.add(now, 1, Op::Read, scattered(i, 1000) << 14);
        bench.next(now).unwrap();
        bench.end(now);
    }
    bench.add(now, 1, Op::Read, 5 << 14);
    bench.add(now, 2, Op::Read, 500 << 14);
    bench.next(now).unwrap();
    bench.end(now);
    assert_eq!(bench.next(now), Err(Next::WaitUntil(now + cfq::SEEKY_IDLE)));
}

#[test]
fn cfq_lets_a_read_take_the_drive_from_writes_and_holds_writes_while_reads_run() {
    let mut bench = Bench::new(ElevatorKind::Cfq);
    for i in 0..10 {
        bench.add(Nanos::ZERO, 0, Op::Write, 1000 * i);
    }
    assert_eq!(bench.next(Nanos::ZERO), Ok(0));
    bench.add(MS, 1, Op::Read, 1 << 20);
    assert_eq!(bench.next(MS), Ok(1 << 20));
    assert_eq!(bench.next(MS), Err(Next::Idle));
}

#[test]
fn merging_grows_to_its_limit_and_ends_every_request() {
    let mut bench = Bench::new(ElevatorKind::Deadline);
    let pages = MERGED_MAX.0 / PAGE.0;
    for page in 0..=pages {
        bench.add(Nanos::ZERO, 0, Op::Write, page);
    }
    bench.next(Nanos::ZERO).unwrap();
    bench.next(Nanos::ZERO).unwrap();
    let lengths: Vec<Bytes> = bench.sent.iter().map(Waiting::length).collect();
    assert_eq!(lengths, [MERGED_MAX, PAGE]);
    let mut ended = Vec::new();
    bench.queue.finish(&bench.sent[0].clone(), |tag| ended.push(u64::from(tag)));
    assert_eq!(ended, (0..pages).collect::<Vec<_>>());
}

#[test]
fn who_sorts_finds_what_comes_before_and_between() {
    for (kind, front, middle) in
        [(ElevatorKind::Noop, 3, 2), (ElevatorKind::Deadline, 2, 1), (ElevatorKind::Cfq, 2, 1)]
    {
        let mut bench = Bench::new(kind);
        for page in [50, 100, 99] {
            bench.add(Nanos::ZERO, 0, Op::Read, page);
        }
        assert_eq!(bench.queue.waiting().len(), front, "{kind:?}");
        let mut bench = Bench::new(kind);
        for page in [100, 50, 102, 101] {
            bench.add(Nanos::ZERO, 0, Op::Read, page);
        }
        assert_eq!(bench.queue.waiting().len(), middle + 1, "{kind:?}");
    }
    // Noop, too, joins requests next to each other in the queue; CFQ never joins two processes'.
    let mut noop = Bench::new(ElevatorKind::Noop);
    let mut cfq = Bench::new(ElevatorKind::Cfq);
    for page in [100, 102, 101] {
        noop.add(Nanos::ZERO, page as u32, Op::Read, page);
        cfq.add(Nanos::ZERO, page as u32, Op::Read, page);
    }
    assert_eq!((noop.queue.waiting().len(), cfq.queue.waiting().len()), (1, 3));
}

/// Returns the pseudo-random number `i`, below `limit`.
fn scattered(i: u64, limit: u64) -> u64 {
    let mut z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (z ^ (z >> 27)) % limit
}

/// A forced write (FUA) is dispatched alone.
#[test]
fn a_forced_write_is_merged_with_none() {
    for listed in super::ELEVATORS {
        let mut bench = Bench::new(listed.kind);
        let write = |page: u64, fua| Request {
            tag: page as u32,
            op: Op::Write,
            offset: PAGE * page,
            length: PAGE,
            fua,
        };
        for (page, fua) in [(7, false), (8, true), (9, false), (10, false)] {
            bench.queue.add(Nanos::ZERO, write(page, fua), 0, &mut *bench.elevator);
        }
        let waiting = bench.queue.waiting().iter().map(|w| (w.length().0 / PAGE.0, w.fua));
        let waiting: Vec<(u64, bool)> = waiting.collect();
        assert_eq!(waiting, [(1, false), (1, true), (2, false)], "{:?}", listed.kind);
    }
}
