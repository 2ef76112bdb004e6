//! Tests of commands that wait: writes for room in the cache, reads for data that another command
//! reads, flushes for what the cache held when they arrived.

use super::tests::{CACHED, DEPTH_8, MS, US, count, drive, request};
use super::*;

const SPTF: (&str, &str) = (
    "[cache]",
    "[queue]\norder = { value = \"sptf\", assumed = \"t\" }\n\
     age_limit = { value = \"1s\", assumed = \"t\" }\n[cache]",
);

/// Submits requests, each with its time, tagged 0, 1, 2…; returns tag and end of each, in the order
/// of their ends.
fn ends(disk: &mut Hdd, arrivals: &[(u64, Op, u64, u64)]) -> Vec<(u32, u64)> {
    let mut done = Vec::new();
    for (tag, (at, op, first, sectors)) in arrivals.iter().enumerate() {
        disk.advance(Nanos(*at), &mut done);
        let request = request(*op, *first, *sectors, tag as u32);
        assert_eq!(disk.submit(Nanos(*at), request), Accept::Accepted);
    }
    while done.len() < arrivals.len() {
        disk.advance(disk.next_event().expect("in flight"), &mut done);
    }
    done.iter().map(|c| (c.tag, c.at.0)).collect()
}

#[test]
fn room_is_given_in_the_order_of_arrival_whatever_the_order_of_the_arm() {
    // Two may wait in the cache; shortest positioning time would serve the last ones first.
    let firsts = [20, 20_000, 16_000, 12_000, 8000, 4000, 300];
    let writes: Vec<_> =
        firsts.iter().map(|first| (first / 1_000_000, Op::Write, *first, 4)).collect();
    for order in [&[DEPTH_8, CACHED][..], &[DEPTH_8, CACHED, SPTF]] {
        let tags: Vec<u32> = ends(&mut drive(order), &writes).iter().map(|(tag, _)| *tag).collect();
        assert_eq!(tags, [0, 1, 2, 3, 4, 5, 6], "{order:?}");
    }
}

#[test]
fn a_sequence_that_waits_for_room_is_written_at_the_speed_of_the_platter() {
    // 96 sectors of one track pass in 9.6 ms.
    let writes: Vec<_> = (0..8).map(|i| (0, Op::Write, i * 12, 12)).collect();
    let mut disk = drive(&[DEPTH_8, CACHED, SPTF]);
    let last = ends(&mut disk, &writes).last().expect("eight").1;
    assert!(last < 20 * MS, "{last}: one turn to begin with, and one to go");
}

#[test]
fn a_read_for_room_goes_before_a_longer_way_of_the_arm() {
    // The cache is full of writes to far places; the read is on the track where the arm is.
    let arrivals = [
        (0, Op::Write, 20, 4),
        (0, Op::Write, 20_000, 4),
        (0, Op::Write, 16_000, 4),
        (0, Op::Write, 12_000, 4),
        (200 * US, Op::Read, 60, 1),
    ];
    let order = |how: &[(&str, &str)]| {
        let ends = ends(&mut drive(how), &arrivals);
        ends.iter().position(|(tag, _)| *tag == 4).expect("it ended")
    };
    assert_eq!(order(&[DEPTH_8, CACHED]), 4, "first come, first served");
    assert!(order(&[DEPTH_8, CACHED, SPTF]) < 4);
}

#[test]
fn a_waiting_read_is_answered_by_what_another_has_read() {
    let whole = (
        "write_segments",
        "read_whole_track = { value = \"yes\", assumed = \"t\" }\nwrite_segments",
    );
    let large = ("\"64KiB\"", "\"512KiB\"");
    // The head is on the track at 100 us, before sector 1, and has read sector 50 at 5.1 ms.
    let mut disk = drive(&[whole, large, DEPTH_8]);
    let reads = [(0, Op::Read, 50, 1), (US, Op::Read, 10, 1), (2 * US, Op::Read, 60, 1)];
    let expected = [(0, 5110 * US), (1, 5120 * US), (2, 6110 * US)];
    assert_eq!(ends(&mut disk, &reads), expected);
    assert_eq!((count(&disk, "read_hits"), count(&disk, "media_reads")), (1.0, 2.0));
}

#[test]
fn a_flush_does_not_wait_for_what_comes_after_it() {
    // The arm writes sectors 20 to 23 until 2.4 ms, then seeks to 5000; later writes wait.
    let mut disk = drive(&[DEPTH_8, CACHED]);
    let before = [(0, Op::Write, 20, 4), (150 * US, Op::Write, 5000, 4)];
    let mut without = drive(&[DEPTH_8, CACHED]);
    let flush = (300 * US, Op::Flush, 0, 0);
    let expected = ends(&mut without, &[before[0], before[1], flush]).last().expect("three").1;
    let after = [(2500 * US, Op::Write, 9000, 4), (2600 * US, Op::Write, 9100, 4)];
    let all = [before[0], before[1], flush, after[0], after[1]];
    let flushed = ends(&mut disk, &all).iter().find(|(tag, _)| *tag == 2).expect("it ended").1;
    assert_eq!(flushed, expected);
    // The flush ends when all that the cache held when it arrived is on the platter.
    assert!(expected > 2400 * US);
    assert_eq!(count(&without, "destaged"), 2.0);
}
