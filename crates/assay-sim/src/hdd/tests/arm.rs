//! Tests of the arm, to the nanosecond.

use super::*;
use crate::hdd::small::disk;

const MS: u64 = 1_000_000;
const US: u64 = 1_000;

fn arm() -> Arm {
    // There is no settle time in the skew, so that times are round.
    Arm::new(&disk(&[("\"200us\"", "\"0ns\"")]))
}

fn access(arm: &mut Arm, from: u64, first: u64, sectors: u64, write: bool) -> Passed {
    let place = arm.geometry.place(first);
    let plan = Access {
        first,
        sectors,
        write,
        on_arrival: false,
        not_before: Nanos::ZERO,
        per_sector: Nanos::ZERO,
        link: Nanos::ZERO,
    };
    arm.access(Nanos(from), place, &plan)
}

#[test]
fn a_sector_waits_for_its_turn_and_not_a_nanosecond_longer() {
    // Sector 3 begins at 300 us of every 10 ms.
    for (from, first) in [(0, 400 * US), (300 * US - 1, 400 * US), (300 * US, 400 * US)] {
        assert_eq!(access(&mut arm(), from, 3, 1, false).first, Nanos(first), "from {from}");
    }
    let missed = access(&mut arm(), 300 * US + 1, 3, 1, false);
    assert_eq!(missed.first, Nanos(10 * MS + 400 * US), "one nanosecond late is one turn late");
}

#[test]
fn a_head_switch_is_in_time_to_the_nanosecond() {
    // Track 1 begins 500 us after track 0, and the switch takes 500 us.
    assert_eq!(access(&mut arm(), 0, 100, 1, false).end, Nanos(600 * US));
    assert_eq!(access(&mut arm(), 1, 100, 1, false).end, Nanos(10 * MS + 600 * US));
}

#[test]
fn every_seek_is_in_time_to_the_nanosecond() {
    for distance in [1, 2, 50, 99, 100, 150, 219] {
        let sector = (0..).map(|s| s * 50).find(|s| arm().geometry.place(*s).cylinder == distance);
        let sector = sector.expect("every cylinder has a sector");
        let seek = 1000 * US + u64::from(distance - 1) * 40 * US;
        let angle = u64::from(arm().geometry.place(sector).angle);
        // The latest start with which the head meets the sector in the third turn.
        let start = 20 * MS + angle - seek;
        let meets = access(&mut arm(), start, sector, 1, false);
        assert_eq!(meets.over, Nanos(20 * MS + angle), "distance {distance}");
        let misses = access(&mut arm(), start + 1, sector, 1, false);
        assert_eq!(misses.first, meets.first + Nanos(10 * MS), "distance {distance}");
    }
}

#[test]
fn a_seek_hides_the_head_switch_and_a_short_one_does_not() {
    let mut arm = Arm::new(&disk(&[("\"500us\"", "\"3ms\""), ("\"200us\"", "\"0ns\"")]));
    let one_on = arm.geometry.place(300);
    assert_eq!((one_on.cylinder, one_on.head), (1, 1));
    assert_eq!(arm.positioning(0, &one_on, false, u32::MAX).map(|t| t >= 3_000_000), Some(true));
    assert_eq!(access(&mut arm, 0, 300, 1, false).over, Nanos(3 * MS), "the switch is longer");
    let mut arm = self::arm();
    assert_eq!(access(&mut arm, 0, 300, 1, false).over, Nanos(MS), "the seek is longer");
}

#[test]
fn a_write_settles_after_every_move_and_only_then() {
    let spec = disk(&[]);
    let over = |sector, write| access(&mut Arm::new(&spec), 0, sector, 1, write).over;
    assert_eq!((over(3, false), over(3, true)), (Nanos::ZERO, Nanos::ZERO));
    assert_eq!((over(100, false), over(100, true)), (Nanos(500 * US), Nanos(700 * US)));
    assert_eq!((over(200, false), over(200, true)), (Nanos(MS), Nanos(MS + 200 * US)));
}

#[test]
fn sequential_tracks_lose_no_turn_reading_or_writing() {
    let spec = disk(&[]);
    for write in [false, true] {
        let end = access(&mut Arm::new(&spec), 0, 0, 400, write).end;
        // The time is that of four tracks, two head switches and one seek, with their settle times.
        assert_eq!(end, Nanos(40 * MS + 2 * 700 * US + 1200 * US));
    }
}

#[test]
fn inner_zones_are_slower() {
    let mut a = arm();
    let first = access(&mut a, 0, 20_000, 1, false);
    let rest = access(&mut a, first.end.0, 20_001, 49, false);
    assert_eq!(rest.end - first.end, Nanos(9800 * US), "49 of 50 sectors of a 10 ms turn");
}

#[test]
fn streaming_in_pieces_takes_as_long_as_in_one() {
    let whole = access(&mut arm(), 0, 0, 25_000, false).end;
    for piece in [1, 7, 64, 333] {
        let (mut a, mut at, mut next) = (arm(), 0, 0);
        while next < 25_000 {
            let run = piece.min(25_000 - next);
            at = access(&mut a, at, next, run, false).end.0;
            next += run;
        }
        assert_eq!(Nanos(at), whole, "in pieces of {piece}, through a change of zones");
    }
    for step in [1, 99 * US, 100 * US, 777 * US, 13 * MS] {
        let mut a = arm();
        let mut head = HeadStream { next: 0, at: Nanos::ZERO, place: None };
        let (mut until, end) = (0, 30 * MS);
        while until < end {
            until = (until + step.max(end / 10_000)).min(end);
            head = a.stream(head, 25_000, Nanos(until), false);
        }
        let once = arm().stream(
            HeadStream { next: 0, at: Nanos::ZERO, place: None },
            25_000,
            Nanos(end),
            false,
        );
        assert_eq!((head.next, head.at), (once.next, once.at), "in steps of {step} ns");
    }
}

#[test]
fn streaming_counts_a_sector_when_its_last_nanosecond_is_over() {
    let start = HeadStream { next: 0, at: Nanos::ZERO, place: None };
    let read = |until, stop| arm().stream(start, 1000, Nanos(until), stop).next;
    assert_eq!((read(100 * US - 1, false), read(100 * US, false)), (0, 1));
    assert_eq!((read(1, true), read(100 * US, true), read(100 * US + 1, true)), (1, 1, 2));
    assert_eq!(read(10 * MS + 600 * US - 1, false), 100, "the switch, and a sector not done");
    assert_eq!(read(10 * MS + 600 * US, false), 101);
}

#[test]
fn on_arrival_the_rest_of_the_run_is_taken_first() {
    let plan = |on_arrival| Access {
        first: 10,
        sectors: 20,
        write: false,
        on_arrival,
        not_before: Nanos::ZERO,
        per_sector: Nanos(US),
        link: Nanos::ZERO,
    };
    let run = |from, on_arrival| {
        let mut a = arm();
        let place = a.geometry.place(10);
        a.access(Nanos(from), place, &plan(on_arrival))
    };
    // Sector 10 begins at 1 ms. The head begins at 2 ms: ten sectors have passed, ten are to come.
    let (plain, arrival) = (run(2 * MS, false), run(2 * MS, true));
    assert_eq!((plain.first, plain.end), (Nanos(11_100 * US), Nanos(13 * MS)));
    assert_eq!((arrival.first, arrival.end), (Nanos(11_100 * US), Nanos(12 * MS)));
    assert_eq!(arrival.past, Nanos(13 * MS), "the head passes what it has already");
    assert_eq!(arrival.delivered, Nanos(12 * MS + 11 * US), "ten are waiting, one is new");
    // One nanosecond later, sector 20 has begun to pass and must come round again.
    assert_eq!(run(2 * MS + 1, true).end, Nanos(12_100 * US));
    assert_eq!(run(3 * MS, true), run(3 * MS, false), "after the run nothing is gained");
}

#[test]
fn a_slow_link_is_done_later_than_the_platter() {
    let mut a = arm();
    let place = a.geometry.place(0);
    let mut plan = Access {
        first: 0,
        sectors: 10,
        write: false,
        on_arrival: false,
        not_before: Nanos::ZERO,
        per_sector: Nanos(300 * US),
        link: Nanos::ZERO,
    };
    let passed = a.access(Nanos::ZERO, place, &plan);
    assert_eq!(passed.delivered, Nanos(100 * US + 10 * 300 * US), "from the first sector on");
    plan.per_sector = Nanos(30 * US);
    let passed = arm().access(Nanos::ZERO, place, &plan);
    assert_eq!(passed.delivered, Nanos(MS + 30 * US), "the last sector follows the platter");
}
