//! Tests of bandwidth and small-write cost against the textbook (Patterson, Gibson, Katz, SIGMOD
//! 1988).

use super::super::controller::Controller;
use super::*;
use assay_spec::Rate;
use assay_spec::array::Rebuild;
use assay_spec::device::ControllerSpec;

const CHUNK: Bytes = Bytes(64 << 10);
const EACH: Nanos = Nanos::from_millis(1);

/// Builds a drive of 1000 requests a second, whatever their length.
fn thousand() -> Fixed {
    Fixed::new(Bytes::MIB * 64, EACH, Nanos::ZERO)
}

/// Builds a drive of 100 MB/s, whatever the number of requests.
fn hundred() -> Fixed {
    Fixed::new(Bytes::MIB * 64, Nanos::ZERO, Nanos(10))
}

/// Measures the requests a second of random 4 KiB requests, with enough in flight to keep every
/// member busy.
fn iops(array: &mut Array, op: Op) -> f64 {
    let mut numbers = Numbers(1);
    let count = 20_000;
    let places = array.capacity().0 / 4096;
    let end =
        closed_loop(array, 256, count, || (op, Bytes(numbers.below(places) * 4096), Bytes(4096)));
    count as f64 / end.as_secs_f64()
}

/// Measures the MB/s of sequential requests of `length`.
fn bandwidth(array: &mut dyn Drive, op: Op, length: Bytes) -> f64 {
    let count = (array.capacity().0 / length.0) as usize;
    let mut at = Bytes::ZERO;
    let end = closed_loop(array, 32, count, || {
        let offset = at;
        at += length;
        (op, offset, length)
    });
    length.0 as f64 * count as f64 / end.as_secs_f64() / 1e6
}

#[track_caller]
fn close(found: f64, formula: f64) {
    // Random addresses do not keep all members equally busy until the last request.
    assert!((found / formula - 1.0).abs() < 0.05, "{found:.1} against {formula:.1}");
}

#[test]
fn random_requests_by_the_formulas() {
    let of = |level, n| array(level, n, CHUNK, thousand, None);
    let cases = [
        (Level::Raid0, 5, 5.0, 5.0),
        (Level::Raid1, 2, 2.0, 1.0),
        (Level::Raid10, 6, 6.0, 3.0),
        (Level::Raid01, 6, 6.0, 3.0),
        (Level::Raid5, 8, 8.0, 8.0 / 4.0),
        (Level::Raid6, 9, 9.0, 9.0 / 6.0),
        // In a RAID-4, the parity member does a read and a write for each write.
        (Level::Raid4, 8, 7.0, 0.5),
    ];
    for (level, n, reads, writes) in cases {
        close(iops(&mut of(level, n), Op::Read) / 1000.0, reads);
        close(iops(&mut of(level, n), Op::Write) / 1000.0, writes);
    }
}

#[test]
fn sequential_bandwidth_by_the_formulas() {
    let of = |level, n| array(level, n, CHUNK, hundred, None);
    for (level, n, reads, writes) in [
        (Level::Raid0, 5, 500.0, 500.0),
        (Level::Raid10, 6, 600.0, 300.0),
        (Level::Raid5, 5, 500.0, 400.0),
        (Level::Raid6, 6, 600.0, 400.0),
    ] {
        let mut array = of(level, n);
        let row = array.layout.width();
        close(bandwidth(&mut array, Op::Read, row), reads);
        close(bandwidth(&mut of(level, n), Op::Write, row), writes);
    }
}

#[test]
fn after_a_failure_reads_are_slower_by_the_formula() {
    // A RAID-5 of n members: of n requests, n - 1 need one read, and one needs n - 1 reads.
    for n in [4, 5, 8] {
        let mut degraded = array(Level::Raid5, n, CHUNK, thousand, None);
        degraded.fail(Nanos::ZERO, 1);
        let operations = ((n - 1) + (n - 1)) as f64 / n as f64;
        close(iops(&mut degraded, Op::Read) / 1000.0, (n - 1) as f64 / operations);
    }
    // A RAID-10 of 6: the partner of the failed member has twice the work of any other.
    let mut degraded = array(Level::Raid10, 6, CHUNK, thousand, None);
    degraded.fail(Nanos::ZERO, 1);
    close(iops(&mut degraded, Op::Read) / 1000.0, 3.0);
}

fn card(rate: u64) -> Controller {
    Controller::new(ControllerSpec {
        name: "card".into(),
        title: String::new(),
        rate: Rate(rate),
        queue_depth: 256,
        command: Nanos::from_micros(50),
        stripe: Nanos::from_micros(100),
        parity: Rate(1_000_000_000),
        facts: Vec::new(),
    })
}

/// Builds a RAID-0 made by the host, with its members on cards of 250 MB/s.
fn on_cards(cards: &[usize]) -> Array {
    let mut array = array(Level::Raid0, cards.len(), CHUNK, hundred, None);
    array.cards.controllers = vec![card(250_000_000), card(250_000_000)];
    for (port, card) in array.ports.iter_mut().zip(cards) {
        port.controller = Some(*card);
    }
    array
}

#[test]
fn two_controllers_carry_what_one_cannot() {
    for (cards, formula) in [
        (&[0][..], 100.0),
        (&[0, 0], 200.0),
        (&[0, 0, 0], 250.0),
        (&[0, 0, 0, 0, 0], 250.0),
        (&[0, 0, 1, 1], 400.0),
        // Three of five members share the bandwidth of one card.
        (&[0, 0, 0, 1, 1], 250.0 * 5.0 / 3.0),
        (&[0, 0, 0, 1, 1, 1], 500.0),
    ] {
        let width = CHUNK * cards.len() as u64;
        close(bandwidth(&mut on_cards(cards), Op::Read, width), formula);
        close(bandwidth(&mut on_cards(cards), Op::Write, width), formula);
    }
    // A card processes one request in 50 us, however many drives it has.
    let mut array = on_cards(&[0; 30]);
    close(iops(&mut array, Op::Read), 20_000.0);
}

#[test]
fn a_card_that_makes_the_array_pays_for_each_stripe() {
    for chunk in [16, 64, 256] {
        let chunk = Bytes::KIB * chunk;
        let mut array = array(Level::Raid0, 5, chunk, hundred, None);
        array.cards.controllers = vec![card(400_000_000)];
        array.cards.front = Some(0);
        let seconds = 100e-6 + chunk.0 as f64 / 400e6;
        let formula = (chunk.0 as f64 / seconds / 1e6).min(500.0);
        close(bandwidth(&mut array, Op::Read, chunk * 5), formula);
    }
    let mut array = array(Level::Raid5, 30, CHUNK, thousand, None);
    array.cards.controllers = vec![card(400_000_000)];
    array.cards.front = Some(0);
    // Each write sets up four member requests; then its own 4 KiB cross the link.
    close(iops(&mut array, Op::Write), 1.0 / (4.0 * 100e-6 + 4096.0 / 400e6));
}

#[test]
fn a_full_card_says_so() {
    let mut array = array(Level::Raid0, 2, CHUNK, thousand, None);
    array.cards.controllers = vec![card(400_000_000)];
    array.cards.front = Some(0);
    let mut ask = |tag| {
        let request =
            Request { tag, op: Op::Read, offset: Bytes::ZERO, length: Bytes(4096), fua: false };
        array.submit(Nanos::ZERO, request)
    };
    assert!((0..256).all(|tag| ask(tag) == Accept::Accepted));
    assert_eq!(ask(256), Accept::QueueFull);
}

#[test]
fn rebuilding_takes_what_the_rate_says_and_ends() {
    let rate = Rate(10_000_000);
    let small = || Fixed::new(CHUNK * 100, Nanos::ZERO, Nanos(10));
    let mut array = array(Level::Raid5, 4, CHUNK, small, Some(Rebuild::Rate(rate)));
    array.fail(Nanos::ZERO, 1);
    let mut last = Nanos::ZERO;
    while let Some(at) = array.next_event() {
        array.advance(at, &mut Vec::new());
        last = at;
    }
    assert!(array.missing == 0 && array.recovery.rebuilding.is_none());
    // The last row begins 99 rows after the first, then is read and written at 100 MB/s.
    let row = CHUNK.time_at(rate);
    assert_eq!(last, row * 99 + CHUNK.time_at(Rate(100_000_000)) * 2);
}

#[test]
fn rebuilding_in_idle_time_waits_for_the_host() {
    let small = || Fixed::new(CHUNK * 100, EACH, Nanos::ZERO);
    let mut array = array(Level::Raid1, 2, CHUNK, small, Some(Rebuild::Idle));
    let request =
        Request { tag: 7, op: Op::Read, offset: Bytes::ZERO, length: Bytes(4096), fua: false };
    array.submit(Nanos::ZERO, request);
    array.fail(Nanos::ZERO, 1);
    let mut completions = Vec::new();
    array.advance(EACH - Nanos(1), &mut completions);
    assert_eq!(
        array.recovery.rebuilding.as_ref().map(|r| (r.is_busy, r.next_row)),
        Some((false, 0))
    );
    assert!(completions.is_empty());
    array.advance(EACH, &mut completions);
    assert_eq!(completions.len(), 1);
    assert!(array.recovery.rebuilding.as_ref().is_some_and(|r| r.is_busy));
    // A row of a RAID-1 is 1 MiB: a read and a write, 1 ms each.
    array.advance(EACH * 3, &mut completions);
    assert_eq!(array.recovery.rebuilding.as_ref().map(|r| r.next_row), Some(1));
}

#[test]
fn what_is_lost_ends_with_an_error() {
    let mut array = array(Level::Raid5, 4, CHUNK, thousand, None);
    array.missing = 0b11;
    array.ports[0].dead = true;
    array.ports[1].dead = true;
    let request =
        Request { tag: 7, op: Op::Write, offset: Bytes::ZERO, length: Bytes(4096), fua: false };
    array.submit(Nanos::ZERO, request);
    let mut completions = Vec::new();
    array.advance(Nanos::ZERO, &mut completions);
    assert_eq!(completions, [Completion { tag: 7, at: Nanos::ZERO, error: 5 }]);
}

/// A forced write (FUA) is forced on every member that has a part of it, parity included; no other
/// write is.
#[test]
fn a_forced_write_is_forced_on_the_members() {
    for (level, members) in [(Level::Raid0, 2), (Level::Raid1, 2), (Level::Raid5, 3)] {
        for fua in [false, true] {
            let mut array = array(level, members, CHUNK, thousand, None);
            let (offset, length) = (Bytes::ZERO, CHUNK * members as u64);
            array.submit(Nanos::ZERO, Request { tag: 0, op: Op::Write, offset, length, fua });
            let mut done = Vec::new();
            while done.is_empty() {
                array.run(Nanos::NEVER, &mut done);
            }
            let told = array.counters();
            for member in 1..=members {
                let of = |name: &str| {
                    let name = format!("member_{member}_{name}");
                    told.iter().find(|(n, _)| *n == name).expect("it tells").1
                };
                let forced = if fua { of("writes") } else { 0.0 };
                assert!(of("writes") > 0.0, "{level:?}: member {member}");
                assert_eq!(of("forced"), forced, "{level:?}: member {member}");
            }
        }
    }
}
