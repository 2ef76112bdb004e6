//! Tests of a volume's limits, to the nanosecond.

use super::*;
use assay_spec::Rate;

const MS: u64 = 1_000_000;

/// Builds a volume of 100 operations a second, 1000 while a credit of 90 lasts; each 256 KiB of a
/// request count as one. It moves 100 MB/s.
fn volume() -> Volume {
    let spec = VolumeSpec {
        unit: Bytes(256 << 10),
        round_trip: Nanos(100_000),
        read: Nanos(200_000),
        write: Nanos(300_000),
        operations: RateSpec { baseline: 100, burst: 1000, credit: 90 },
        throughput: RateSpec { baseline: 100_000_000, burst: 100_000_000, credit: 0 },
    };
    let (command, setup, activate) = Default::default();
    let link = LinkSpec { rate: Rate(1_000_000_000), queue_depth: 64, command, setup, activate };
    Volume::new(&spec, link, Bytes(1 << 30))
}

fn request(tag: u32, op: Op, length: u64) -> Request {
    Request { tag, op, offset: Bytes::ZERO, length: Bytes(length), fua: false }
}

/// Submits `count` requests, `depth` at a time; returns when each ends.
fn ends(volume: &mut Volume, op: Op, length: u64, count: usize, depth: u32) -> Vec<Nanos> {
    let (mut now, mut done) = (volume.clock, Vec::new());
    let mut sent = 0;
    while done.len() < count {
        while sent < count as u32 && sent - (done.len() as u32) < depth {
            assert_eq!(volume.submit(now, request(sent, op, length)), Accept::Accepted);
            sent += 1;
        }
        now = volume.run(Nanos::NEVER, &mut done);
    }
    done.iter().map(|c| c.at).collect()
}

#[test]
fn alone_a_request_takes_the_way_the_servers_and_its_data() {
    let time = |op, length| ends(&mut volume(), op, length, 1, 1)[0];
    assert_eq!(time(Op::Read, 4000), Nanos(100_000 + 200_000 + 4000));
    assert_eq!(time(Op::Write, 4000), Nanos(100_000 + 300_000 + 4000));
    assert_eq!(time(Op::Flush, 0), Nanos(100_000), "what is answered is safe");
}

#[test]
fn credit_lasts_as_long_as_more_is_drawn_than_flows_in() {
    let done = ends(&mut volume(), Op::Read, 512, 400, 32);
    let gap = |i: usize| done[i + 1].0 - done[i].0;
    // 1000 a second are drawn and 100 flow in: 90 last for 100 operations, and one more draws the
    // bucket below empty.
    let bursts = (0..399).take_while(|i| gap(*i) < 2 * MS).count();
    assert!((99..=101).contains(&bursts), "{bursts}");
    assert!((0..99).all(|i| gap(i).abs_diff(MS) <= 1), "the burst has its rate");
    assert!((102..399).all(|i| gap(i).abs_diff(10 * MS) <= 1), "and then the baseline");
}

#[test]
fn credit_comes_back_while_less_is_drawn() {
    let mut volume = volume();
    ends(&mut volume, Op::Read, 512, 300, 32);
    assert_eq!(volume.operations.left(volume.clock), 0);
    let pause = volume.clock + Nanos::from_millis(500);
    volume.advance(pause, &mut Vec::new());
    assert_eq!(volume.operations.left(pause), 50, "half a second at 100 a second");
    let done = ends(&mut volume, Op::Read, 512, 100, 32);
    let bursts = done.windows(2).filter(|pair| pair[1].0 - pair[0].0 < 2 * MS).count();
    assert!((54..=57).contains(&bursts), "50 and what flowed in meanwhile: {bursts}");
    volume.advance(volume.clock + Nanos::from_secs(60), &mut Vec::new());
    assert_eq!(volume.operations.left(volume.clock), 90, "no more than it holds");
}

#[test]
fn large_requests_count_as_several() {
    let per_second = |length| {
        let mut volume = volume();
        volume.throughput = Bucket::new(RateSpec { baseline: 1 << 40, burst: 1 << 40, credit: 0 });
        let done = ends(&mut volume, Op::Read, length, 400, 32);
        100.0 / (done[399] - done[299]).as_secs_f64()
    };
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-3;
    assert!(near(per_second(256 << 10), 100.0));
    assert!(near(per_second((256 << 10) + 512), 50.0), "one byte more is one operation more");
    assert!(near(per_second(1 << 20), 25.0));
}

#[test]
fn bytes_are_limited_beside_operations() {
    // At 64 KiB, 100 MB/s allow 1526 a second: operations are the limit, also in a burst.
    let done = ends(&mut volume(), Op::Write, 64 << 10, 80, 32);
    assert!((done[70].0 - done[20].0).abs_diff(50 * MS) <= 50);
    // At 256 KiB they allow 381 a second: bytes are the limit while there is credit.
    let done = ends(&mut volume(), Op::Write, 256 << 10, 80, 32);
    assert!((done[70].0 - done[20].0).abs_diff(50 * 2_621_440) <= 50);
}

#[test]
fn requests_pass_in_the_order_in_which_they_came_and_rounding_loses_nothing() {
    let mut volume = volume();
    volume.operations = Bucket::new(RateSpec { baseline: 3000, burst: 3000, credit: 0 });
    let done = ends(&mut volume, Op::Read, 512, 30_001, 32);
    assert!(done.is_sorted());
    let seconds = (done[30_000] - done[0]).as_secs_f64();
    assert!((seconds - 10.0).abs() < 1e-6, "{seconds} s for 30,000 at 3000 a second");
}

#[test]
fn a_full_queue_says_so() {
    let mut volume = volume();
    for tag in 0..64 {
        assert_eq!(volume.submit(Nanos::ZERO, request(tag, Op::Read, 512)), Accept::Accepted);
    }
    assert_eq!(volume.submit(Nanos::ZERO, request(64, Op::Read, 512)), Accept::QueueFull);
}
