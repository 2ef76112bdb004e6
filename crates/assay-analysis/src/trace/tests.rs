//! Tests of the numbers of small traces, computed by hand.

use super::*;
use assay_spec::Bytes;

fn row(times: [u64; 4], op: Op, block: u64, blocks: u64) -> TraceRow {
    let [queue, insert, dispatch, complete] = times.map(Nanos);
    TraceRow {
        submit: queue.min(insert).min(dispatch),
        complete,
        queue,
        insert,
        dispatch,
        offset: Bytes(block * 512),
        length: Bytes(blocks * 512),
        op,
        job: block as u32,
        error: 0,
    }
}

const N: u64 = u64::MAX;

#[test]
fn every_span_has_its_ends() {
    let full = row([100, 130, 150, 400], Op::Read, 0, 8);
    assert_eq!(Span::ALL.map(|s| s.of(&full)), [50, 250, 270, 300].map(|ns| Some(Nanos(ns))));
    // A request in no elevator, one sent before the trace began, and one to a device without
    // dispatches.
    let none = row([100, N, 150, 400], Op::Read, 0, 8);
    assert_eq!(Span::Inserted.of(&none), Some(Nanos(300)));
    let sent = row([N, N, 150, 400], Op::Read, 0, 8);
    assert_eq!(Span::ALL.map(|s| s.of(&sent).map(|t| t.0)), [None, Some(250), None, Some(250)]);
    let mapped = row([100, N, N, 400], Op::Read, 0, 8);
    let expected = [None, None, Some(300), Some(300)];
    assert_eq!(Span::ALL.map(|s| s.of(&mapped).map(|t| t.0)), expected);
}

#[test]
fn directions_are_told_apart() {
    let rows = [
        row([0, 0, 10, 100], Op::Read, 0, 8),
        row([0, 0, 30, 90], Op::Write, 100, 16),
        row([0, 0, 20, 80], Op::Read, 8, 8),
        row([0, 0, 40, 110], Op::Read, 64, 7),
        TraceRow { error: 5, ..row([0, 0, 50, 130], Op::Read, 71, 8) },
        row([0, N, 60, 120], Op::Flush, 0, 0),
    ];
    let s = summary(&rows, true);
    let names: Vec<&str> = s.directions.iter().map(|d| d.direction).collect();
    assert_eq!((names, s.from_ns, s.to_ns), (vec!["read", "write", "flush", "both"], 0, 130));
    let [read, write, flush, both] = &s.directions[..] else { panic!() };
    assert_eq!((read.requests, read.errors, read.blocks, read.bytes), (3, 1, 23, 23 * 512));
    // The second read follows the first in the order of dispatches, not of ends.
    assert_eq!((read.sequential, write.sequential), (Some(1.0 / 3.0), Some(0.0)));
    assert_eq!((flush.sequential, both.sequential), (None, Some(0.25)));
    assert_eq!(read.sizes, [(4096, 3)]);
    assert_eq!(write.size.unwrap().mean, 8192.0);
    assert_eq!(flush.size, None);
    assert_eq!(read.in_device.unwrap().median, 70.0);
    assert_eq!((both.requests, both.errors, both.blocks), (4, 1, 39));
    // Each job is a stream by itself, and has one request here.
    assert_eq!(summary(&rows, false).directions[0].sequential, Some(0.0));
    assert_eq!(summary(&rows[..1], true).directions.len(), 1);
    assert!(summary(&[], true).directions.is_empty());
}

#[test]
fn over_time_everything_adds_up() {
    let rows: Vec<TraceRow> = (1..=1000)
        .map(|i| row([0, 0, 0, i * 1_234_567], Op::ALL[i as usize % 2], i, i % 9))
        .collect();
    let end = 1000 * 1_234_567;
    let blocks: u64 = rows.iter().map(|r| r.length.0 / 512).sum();
    let line = cumulated(&rows, |_| true, end);
    assert_eq!((line.len(), line[0]), (1001, (0.0, 0.0)));
    assert_eq!(line[1000], (end as f64 / 1e9, blocks as f64));
    let half = rows.iter().filter(|r| r.complete.0 <= end / 2).map(|r| r.length.0 / 512);
    assert_eq!(line[500].1, half.sum::<u64>() as f64);
    let of = rates(&rows, Op::Read, end);
    assert_eq!(of.interval, 0.01);
    let count = of.requests.len();
    assert_eq!(count, 123);
    let whole: f64 = of.requests[..count - 1].iter().map(|(_, rate)| rate * 0.01).sum();
    let last = of.requests[count - 1].1 * (end as f64 / 1e9 - 1.22);
    assert!((whole + last - 500.0).abs() < 1e-9, "{whole} {last}");
}
