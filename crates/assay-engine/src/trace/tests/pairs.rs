//! Tests of pairing events to requests.

use super::*;
use assay_spec::trace::PathCounts;

#[test]
fn a_request_has_all_its_times() {
    let (rows, record) = read_all(&[
        e(100, "Q", "R", 800, 8),
        e(101, "G", "R", 800, 8),
        e(102, "P", "N", 0, 0),
        e(103, "I", "R", 800, 8),
        e(110, "U", "N", 0, 0),
        e(120, "D", "R", 800, 8),
        e(500, "C", "R", 800, 8),
        e(600, "P", "N", 0, 0),
    ]);
    // Times count from the first event.
    let times = [Nanos(0), Nanos(3), Nanos(20), Nanos(400)];
    assert_eq!(rows, [row(times, Op::Read, 800, 8)]);
    assert_eq!((record.start_ns, record.length_ns), (100, 500));
    assert_eq!(unpaired(&record), []);
    assert_eq!(record.happened, PathCounts::default());
    let counts: Vec<(&str, u64)> =
        record.events.iter().map(|c| (c.action.as_str(), c.count)).collect();
    let expected = [("Q", 1), ("G", 1), ("D", 1), ("C", 1), ("P", 2), ("U", 1), ("I", 1)];
    assert_eq!(counts, expected);
}

#[test]
fn what_is_merged_begins_with_the_first_of_it() {
    let (rows, record) = read_all(&[
        e(0, "Q", "W", 100, 8),
        e(1, "G", "W", 100, 8),
        e(2, "Q", "W", 108, 8),
        e(3, "M", "W", 108, 8),
        e(4, "Q", "W", 92, 8),
        e(5, "F", "W", 92, 8),
        e(6, "I", "W", 92, 24),
        // This one is merged without an event, when both are in the elevator.
        e(7, "Q", "W", 116, 8),
        e(8, "I", "W", 116, 8),
        e(9, "D", "W", 92, 32),
        e(20, "C", "W", 92, 32),
    ]);
    assert_eq!(rows, [row([Nanos(0), Nanos(6), Nanos(9), Nanos(20)], Op::Write, 92, 32)]);
    assert_eq!((record.happened.merged, unpaired(&record)), (3, vec![]));
    assert_eq!((record.requests[0].requests, record.requests[0].bytes), (1, Bytes(32 * 512)));
}

#[test]
fn what_is_split_is_queued_when_the_whole_was() {
    let (rows, record) = read_all(&[
        e(0, "Q", "R", 0, 24),
        e(1, "X", "R", 0, 8),
        e(2, "D", "R", 0, 8),
        e(3, "D", "R", 8, 8),
        e(4, "D", "R", 16, 8),
        e(5, "C", "R", 8, 8),
        e(6, "C", "R", 0, 8),
        e(7, "C", "R", 16, 8),
    ]);
    let expected = [(3, 8, 5), (2, 0, 6), (4, 16, 7)]
        .map(|(sent, at, end)| row([Nanos(0), N, Nanos(sent), Nanos(end)], Op::Read, at, 8));
    assert_eq!(rows, expected);
    assert_eq!((record.happened.split, record.happened.without_insert), (2, 3));
}

#[test]
fn a_requeued_request_keeps_its_queue_and_takes_its_last_dispatch() {
    let (rows, record) = read_all(&[
        e(0, "Q", "R", 64, 8),
        e(1, "I", "R", 64, 8),
        e(2, "D", "R", 64, 8),
        e(3, "R", "R", 64, 8),
        e(4, "I", "R", 64, 8),
        e(5, "D", "R", 64, 8),
        e(6, "R", "R", 64, 8),
        e(7, "D", "R", 64, 8),
        e(9, "C", "R", 64, 8),
        // This one was sent before the trace began.
        e(10, "R", "R", 99, 8),
    ]);
    assert_eq!(rows, [row([Nanos(0), Nanos(1), Nanos(7), Nanos(9)], Op::Read, 64, 8)]);
    assert_eq!(record.happened.requeued, 2);
    assert_eq!(unpaired(&record), [("requeued, not dispatched before", 1)]);
}

#[test]
fn a_request_ends_with_its_last_part() {
    let (rows, record) = read_all(&[
        e(0, "Q", "R", 0, 32),
        e(1, "D", "R", 0, 32),
        e(2, "C", "R", 0, 8),
        e(3, "C", "R", 8, 16),
        e(4, "C", "R", 24, 8),
    ]);
    assert_eq!(rows, [row([Nanos(0), N, Nanos(1), Nanos(4)], Op::Read, 0, 32)]);
    assert_eq!((record.happened.partial, unpaired(&record)), (2, vec![]));
}

#[test]
fn requests_of_one_place_end_in_the_order_they_began() {
    let (rows, record) = read_all(&[
        e(0, "Q", "R", 8, 8),
        e(1, "Q", "R", 8, 16),
        e(2, "Q", "R", 8, 8),
        e(3, "Q", "W", 8, 8),
        e(4, "D", "R", 8, 8),
        e(5, "D", "R", 8, 16),
        e(6, "D", "W", 8, 8),
        e(7, "D", "R", 8, 8),
        e(8, "C", "W", 8, 8),
        e(9, "C", "R", 8, 8),
        e(10, "C", "R", 8, 16),
        e(11, "C", "R", 8, 8),
    ]);
    let known = |q, d, c| [Nanos(q), N, Nanos(d), Nanos(c)];
    let expected = [
        row(known(3, 6, 8), Op::Write, 8, 8),
        row(known(0, 4, 9), Op::Read, 8, 8),
        row(known(1, 5, 10), Op::Read, 8, 16),
        row(known(2, 7, 11), Op::Read, 8, 8),
    ];
    assert_eq!((rows, unpaired(&record)), (expected.to_vec(), vec![]));
}

#[test]
fn flushes_discards_and_errors() {
    let failed = E { error: 0xfffb, ..e(9, "C", "R", 8, 8) };
    let (rows, record) = read_all(&[
        e(0, "Q", "FWS", 0, 0),
        e(1, "Q", "FWS", 0, 0),
        e(2, "D", "FN", 0, 0),
        e(3, "C", "FN", 0, 0),
        e(4, "Q", "DS", 0, 4096),
        e(5, "D", "DS", 0, 4096),
        e(6, "C", "DS", 0, 4096),
        e(7, "Q", "RA", 8, 8),
        e(8, "D", "RA", 8, 8),
        failed,
        // This is a write with a flush behind it: its data, the flush, and the end of both.
        e(10, "Q", "FWFS", 16, 8),
        e(11, "D", "WS", 16, 8),
        e(12, "C", "WS", 16, 8),
        e(13, "D", "FN", 0, 0),
        e(14, "C", "FN", 0, 0),
        e(15, "C", "WS", 16, 0),
    ]);
    let expected = [
        row([Nanos(0), N, Nanos(2), Nanos(3)], Op::Flush, 0, 0),
        row([Nanos(4), N, Nanos(5), Nanos(6)], Op::Trim, 0, 4096),
        TraceRow { error: 5, ..row([Nanos(7), N, Nanos(8), Nanos(9)], Op::Read, 8, 8) },
        row([Nanos(10), N, Nanos(11), Nanos(12)], Op::Write, 16, 8),
        row([N, N, Nanos(13), Nanos(14)], Op::Flush, 0, 0),
    ];
    assert_eq!(rows, expected);
    assert_eq!(unpaired(&record), [("completions of no bytes", 1)]);
    assert_eq!(record.requests.iter().map(|r| r.errors).collect::<Vec<_>>(), [1, 0, 0, 0]);
}

#[test]
fn dispatches_may_be_all_there_is_and_may_be_missing() {
    let (rows, record) = read_all(&[e(0, "D", "R", 8, 8), e(1, "C", "R", 8, 8)]);
    assert_eq!(rows, [row([N, N, Nanos(0), Nanos(1)], Op::Read, 8, 8)]);
    assert_eq!((record.happened.without_queue, unpaired(&record)), (1, vec![]));
    // md and dm have no dispatches: one request ends as a whole, one in two parts.
    let (rows, record) = read_all(&[
        e(0, "Q", "R", 8, 8),
        e(1, "Q", "W", 100, 16),
        e(2, "C", "R", 8, 8),
        e(3, "C", "W", 100, 8),
        e(4, "C", "W", 108, 8),
    ]);
    let expected = [
        row([Nanos(0), N, N, Nanos(2)], Op::Read, 8, 8),
        row([Nanos(1), N, N, Nanos(3)], Op::Write, 100, 8),
        row([Nanos(1), N, N, Nanos(4)], Op::Write, 108, 8),
    ];
    assert_eq!(rows, expected);
    assert_eq!((record.happened.without_dispatch, unpaired(&record)), (3, vec![]));
}

#[test]
fn what_cannot_be_paired_is_told() {
    let (rows, record) = read_all(&[
        e(0, "C", "R", 8, 8),
        e(1, "Q", "R", 16, 8),
        e(2, "Q", "W", 24, 8),
        e(3, "I", "W", 24, 8),
        e(4, "Q", "R", 32, 8),
        e(5, "D", "R", 32, 8),
        e(6, "C", "W", 32, 8),
    ]);
    assert_eq!(rows, []);
    let expected = [
        ("completed, but never queued or dispatched", 2),
        ("dispatched, not completed", 1),
        ("queued, not dispatched", 2),
    ];
    assert_eq!(unpaired(&record), expected);
}

/// Each request ends once, with the bytes it began with, in whatever order the ends come.
#[test]
fn a_random_run_of_requests_comes_out_as_it_went_in() {
    let mut state = 7;
    let mut random = |n: u64| {
        state = assay_spec::seed::mix(state);
        state % n
    };
    for _ in 0..300 {
        let (mut events, mut flying, mut expected) = (Vec::new(), Vec::new(), Vec::new());
        let mut now = 0;
        for i in 0..60 {
            now += 1 + random(5);
            // The requests are far apart, so that none can be mistaken for another.
            let (sector, pieces) = (i * 1000, 1 + random(4));
            for piece in 0..pieces {
                events.push(e(now + piece, "Q", "W", sector + 8 * piece, 8));
            }
            let queue = now;
            now += 10;
            let length = 8 * pieces;
            events.push(e(now, "D", "W", sector, length as u32));
            flying.push((sector, length, queue, now));
            while flying.len() > random(12) as usize {
                now += 1;
                let at = random(flying.len() as u64) as usize;
                let (sector, length, queue, sent) = flying.swap_remove(at);
                events.push(e(now, "C", "W", sector, length as u32));
                let times = [Nanos(queue), N, Nanos(sent), Nanos(now)];
                expected.push(row(times, Op::Write, sector, length));
            }
        }
        let start = Nanos(events[0].time);
        let (rows, record) = read(&[&records(&events, false)], None).unwrap();
        let since = |t: Nanos| if t == N { N } else { t - start };
        let expected: Vec<TraceRow> = expected
            .into_iter()
            .map(|r| {
                let times = [r.queue, r.insert, r.dispatch, r.complete].map(since);
                row(times, Op::Write, r.offset.0 / 512, r.length.0 / 512)
            })
            .collect();
        assert_eq!(rows, expected);
        let left: Vec<_> = unpaired(&record);
        let dispatched = [("dispatched, not completed", flying.len() as u64)];
        assert_eq!(left, if flying.is_empty() { &[][..] } else { &dispatched[..] });
    }
}
