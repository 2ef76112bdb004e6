//! Tests of the whole disk: hits and misses to the nanosecond, writes, order, and that the results
//! do not depend on how often the drive is called.

use super::small::device;
use super::*;
use assay_spec::device::DeviceKind;
use proptest::prelude::*;

pub(super) const MS: u64 = 1_000_000;
pub(super) const US: u64 = 1_000;

pub(super) fn drive(changes: &[(&str, &str)]) -> Hdd {
    let spec = device(changes);
    match &spec.kind {
        DeviceKind::Hdd(hdd) => Hdd::new(hdd, spec.link, spec.capacity),
        _ => panic!("not a disk"),
    }
}

pub(super) const CACHED: (&str, &str) =
    ("write_cache = { value = \"no\"", "write_cache = { value = \"yes\"");
pub(super) const DEPTH_8: (&str, &str) = ("queue_depth = { value = 1", "queue_depth = { value = 8");

pub(super) fn request(op: Op, first: u64, sectors: u64, tag: u32) -> Request {
    Request { tag, op, offset: Bytes(first * 512), length: Bytes(sectors * 512), fua: false }
}

/// Submits a request at `at`; returns when it ends.
pub(super) fn serve(disk: &mut Hdd, at: u64, op: Op, first: u64, sectors: u64) -> u64 {
    assert_eq!(disk.submit(Nanos(at), request(op, first, sectors, 0)), Accept::Accepted);
    let mut done = Vec::new();
    while done.is_empty() {
        let next = disk.next_event().expect("a request is in flight");
        disk.advance(next, &mut done);
    }
    done[0].at.0
}

pub(super) fn count(disk: &Hdd, name: &str) -> f64 {
    disk.counters().into_iter().find(|(n, _)| n == name).expect("a counter").1
}

#[test]
fn a_read_is_command_arm_platter_and_link() {
    // Sector 3 begins at 300 us; the command takes 100 us, the sector 100 us, the link 10 us.
    assert_eq!(serve(&mut drive(&[]), 200 * US, Op::Read, 3, 1), 410 * US);
    assert_eq!(serve(&mut drive(&[]), 200 * US + 1, Op::Read, 3, 1), 10 * MS + 410 * US);
}

#[test]
fn a_sector_is_a_hit_when_it_has_been_read_ahead() {
    for (join, missed) in [("no", 20 * MS + 210 * US), ("yes", 10 * MS + 310 * US - 1)] {
        let with = format!(
            "join_read_ahead = {{ value = \"{join}\", assumed = \"test\" }}\nwrite_segments"
        );
        let text = [("write_segments", with.as_str())];
        let start = |disk: &mut Hdd| assert_eq!(serve(disk, 0, Op::Read, 0, 1), 10 * MS + 110 * US);
        // Sector 1 is in the cache at 10.2 ms.
        let mut disk = drive(&text);
        start(&mut disk);
        assert_eq!(serve(&mut disk, 10 * MS + 200 * US, Op::Read, 1, 1), 10 * MS + 310 * US);
        assert_eq!(count(&disk, "read_hits"), 1.0);
        let mut disk = drive(&text);
        start(&mut disk);
        assert_eq!(serve(&mut disk, 10 * MS + 200 * US - 1, Op::Read, 1, 1), missed);
    }
}

#[test]
fn read_ahead_ends_with_the_segment() {
    // A segment has 32 sectors: after sector 0 the head reads on to sector 32.
    let mut disk = drive(&[]);
    serve(&mut disk, 0, Op::Read, 0, 1);
    assert_eq!(serve(&mut disk, 50 * MS, Op::Read, 32, 1), 50 * MS + 110 * US);
    assert_eq!(serve(&mut disk, 60 * MS, Op::Read, 1, 1), 60 * MS + 110 * US);
    let mut disk = drive(&[]);
    serve(&mut disk, 0, Op::Read, 0, 1);
    assert_eq!(serve(&mut disk, 50 * MS, Op::Read, 33, 1), 53 * MS + 410 * US, "not that one");
    let mut disk = drive(&[]);
    serve(&mut disk, 0, Op::Read, 0, 1);
    assert!(serve(&mut disk, 50 * MS, Op::Read, 0, 1) > 51 * MS, "it was pushed out");
}

#[test]
fn half_a_hit_reads_the_other_half() {
    let mut disk = drive(&[]);
    serve(&mut disk, 0, Op::Read, 0, 1);
    // Sectors 1 to 32 are in the cache; 33 and 34 pass from 53.3 ms on.
    assert_eq!(serve(&mut disk, 50 * MS, Op::Read, 31, 4), 53 * MS + 510 * US);
    assert_eq!((count(&disk, "media_reads"), count(&disk, "read_hits")), (2.0, 0.0));
}

#[test]
fn the_segment_used_longest_ago_is_taken() {
    let mut disk = drive(&[]);
    let mut at = 0;
    for first in [0, 1000, 2000, 3000] {
        at = serve(&mut disk, at + 50 * MS, Op::Read, first, 1);
    }
    assert_eq!(count(&disk, "media_reads"), 4.0);
    at = serve(&mut disk, at + 50 * MS, Op::Read, 1, 1);
    serve(&mut disk, at + 50 * MS, Op::Read, 4000, 1);
    at = serve(&mut disk, at + 100 * MS, Op::Read, 2, 1);
    assert_eq!(count(&disk, "read_hits"), 2.0, "the first was used again and stayed");
    serve(&mut disk, at + 50 * MS, Op::Read, 1001, 1);
    assert_eq!(count(&disk, "media_reads"), 6.0, "the second went");
}

/// A write continues a waiting one, but comes later: the head must not write it before it is there.
#[test]
fn what_comes_after_a_pause_has_come_when_it_is_written() {
    let mut disk = drive(&[CACHED, DEPTH_8]);
    for (at, first, sectors) in [(0, 20_000, 4), (MS, 20, 1), (2 * MS, 21, 20)] {
        disk.advance(Nanos(at), &mut Vec::new());
        disk.submit(Nanos(at), request(Op::Write, first, sectors, 0));
    }
    assert!(disk.media.arm.free.0 > 3 * MS, "it is at the first");
    // The continuing write comes over the link from 2.1 ms on, 10 us a sector.
    assert_eq!(disk.media.may_write(0, 20, 21), Nanos(2 * MS + 100 * US));
}

#[test]
fn a_cached_write_ends_with_its_data_and_is_destaged_after() {
    let mut disk = drive(&[CACHED]);
    assert_eq!(serve(&mut disk, 0, Op::Write, 20, 4), 140 * US);
    // The arm seeks for it when the command is processed; it passes from 2 ms to 2.4 ms.
    assert_eq!(count(&disk, "destaged"), 1.0);
    assert_eq!(disk.media.arm.free, Nanos(2400 * US));
    assert_eq!(serve(&mut disk, MS, Op::Read, 21, 2), MS + 120 * US, "read from the cache");
    let mut idle = drive(&[
        CACHED,
        (
            "destage_window",
            "destage_after = { value = \"5ms\", assumed = \"test\" }\ndestage_window",
        ),
    ]);
    serve(&mut idle, 0, Op::Write, 20, 4);
    idle.advance(Nanos(5 * MS + 140 * US - 1), &mut Vec::new());
    assert_eq!(count(&idle, "destaged"), 0.0);
    idle.advance(Nanos(5 * MS + 140 * US), &mut Vec::new());
    assert_eq!(count(&idle, "destaged"), 1.0);
}

#[test]
fn an_uncached_write_ends_on_the_platter() {
    let mut disk = drive(&[]);
    assert_eq!(serve(&mut disk, 0, Op::Write, 20, 4), 2400 * US);
    // Its data must be there first: the link has the first sector at 110 us, too late for 100 us.
    assert_eq!(serve(&mut drive(&[]), 0, Op::Write, 1, 1), 10 * MS + 200 * US);
    let mut soon = drive(&[("\"100us\"", "\"90us\"")]);
    assert_eq!(serve(&mut soon, 0, Op::Write, 1, 1), 200 * US, "there at the last moment");
}

#[test]
fn a_write_that_must_survive_ends_on_the_platter() {
    let forced = |disk: &mut Hdd, at: u64, first: u64, sectors: u64| {
        let request = Request { fua: true, ..request(Op::Write, first, sectors, 0) };
        assert_eq!(disk.submit(Nanos(at), request), Accept::Accepted);
        let mut done = Vec::new();
        while done.is_empty() {
            let next = disk.next_event().expect("a request is in flight");
            disk.advance(next, &mut done);
        }
        done[0].at.0
    };
    // It ends as without a cache, and dirty data elsewhere goes on waiting.
    assert_eq!(forced(&mut drive(&[CACHED]), 0, 20, 4), 2400 * US);
    let mut disk = drive(&[CACHED, DEPTH_8]);
    serve(&mut disk, 0, Op::Write, 20, 1);
    serve(&mut disk, 150 * US, Op::Write, 5000, 4);
    assert_eq!(forced(&mut disk, 300 * US, 40, 1), 4100 * US, "right behind the first");
    // Dirty data of the same sectors is written first: all is destaged, as with a flush.
    let mut disk = drive(&[CACHED, DEPTH_8]);
    serve(&mut disk, 0, Op::Write, 20, 1);
    serve(&mut disk, 150 * US, Op::Write, 5000, 4);
    let end = forced(&mut disk, 300 * US, 5002, 1);
    assert_eq!((count(&disk, "destaged"), disk.media.cache.dirty.len()), (2.0, 0));
    assert!(end >= disk.media.arm.free.0, "{end}");
}

#[test]
fn written_data_is_read_after_it_is_on_the_platter_if_not_from_the_cache() {
    let unread =
        ("write_segments", "read_written = { value = \"no\", assumed = \"test\" }\nwrite_segments");
    let mut disk = drive(&[CACHED, unread, DEPTH_8]);
    serve(&mut disk, 0, Op::Write, 5000, 4);
    serve(&mut disk, 150 * US, Op::Write, 9000, 4);
    let end = serve(&mut disk, 300 * US, Op::Read, 9000, 4);
    assert_eq!(count(&disk, "destaged"), 2.0);
    assert!(end > 10 * MS, "destaged, and round again: {end}");
    // Half of a read is dirty in the cache: that half is written first.
    let mut disk = drive(&[CACHED, DEPTH_8]);
    serve(&mut disk, 0, Op::Write, 5000, 4);
    serve(&mut disk, 150 * US, Op::Write, 9000, 4);
    serve(&mut disk, 300 * US, Op::Read, 8998, 4);
    assert_eq!(count(&disk, "destaged"), 2.0);
}

#[test]
fn a_write_without_room_waits_for_the_platter() {
    let mut disk = drive(&[CACHED, DEPTH_8]);
    serve(&mut disk, 0, Op::Write, 20, 1);
    serve(&mut disk, 150 * US, Op::Write, 5000, 1);
    let last = disk.media.arm.free;
    assert_eq!(last, Nanos(2100 * US), "the first is being written");
    // Two segments may be dirty, and both are: one is being written, one waits.
    let end = serve(&mut disk, 300 * US, Op::Write, 9000, 1);
    assert_eq!(end, 2110 * US, "when the first is written there is room");
}

#[test]
fn packed_writes_take_as_much_of_the_cache_as_they_have() {
    let packed =
        ("write_segments", "write_extents = { value = 16, assumed = \"test\" }\nwrite_segments");
    let mut disk = drive(&[CACHED, DEPTH_8, packed]);
    // The cache has 128 sectors. The arm writes the first write, and three of 40 sectors wait.
    let mut at = serve(&mut disk, 0, Op::Write, 90, 1);
    for first in [5000, 7000, 9000] {
        at = serve(&mut disk, at, Op::Write, first, 40);
    }
    assert_eq!(at, 4 * 100 * US + 121 * 10 * US, "none waited for the platter");
    let written = disk.media.arm.free.0;
    assert!(serve(&mut disk, at, Op::Write, 11_000, 40) > written, "there was no room");
    let mut disk = drive(&[CACHED, packed]);
    let large = serve(&mut disk, 0, Op::Write, 0, 500);
    assert_eq!(large, 100 * US + 5 * MS, "larger than the cache");
    let end = serve(&mut disk, large, Op::Write, 600, 500);
    assert_eq!((count(&disk, "destaged"), end > 50 * MS), (2.0, true));
}

#[test]
fn a_write_joins_the_one_it_continues() {
    let mut disk = drive(&[CACHED, DEPTH_8]);
    serve(&mut disk, 0, Op::Write, 20, 4);
    let mut at = 150 * US;
    for first in [5000, 5004, 5008] {
        at = serve(&mut disk, at, Op::Write, first, 4) + 10 * US;
    }
    assert_eq!(serve(&mut disk, at, Op::Flush, 0, 0), disk.media.arm.free.0);
    assert_eq!(count(&disk, "destaged"), 2.0);
}

#[test]
fn a_flush_ends_when_everything_is_written() {
    let mut disk = drive(&[CACHED]);
    assert_eq!(serve(&mut disk, 0, Op::Flush, 0, 0), 100 * US, "nothing to write");
    let mut disk = drive(&[CACHED]);
    serve(&mut disk, 0, Op::Write, 20, 4);
    assert_eq!(serve(&mut disk, 150 * US, Op::Flush, 0, 0), 2400 * US);
}

#[test]
fn overheads_depend_on_the_command_before() {
    let table = "[overhead]\nread_hit_after_read = { value = \"1us\", assumed = \"t\" }\n\
                 read_hit_after_write = { value = \"2us\", assumed = \"t\" }\n\
                 write_after_read = { value = \"3us\", assumed = \"t\" }\n\
                 write_after_write = { value = \"4us\", assumed = \"t\" }\n\
                 write_end = { value = \"50us\", assumed = \"t\" }\n[cache]";
    let mut disk = drive(&[CACHED, ("[cache]", table)]);
    serve(&mut disk, 0, Op::Read, 0, 1);
    assert_eq!(serve(&mut disk, 50 * MS, Op::Read, 1, 1), 50 * MS + 111 * US);
    assert_eq!(serve(&mut disk, 60 * MS, Op::Write, 900, 1), 60 * MS + 163 * US);
    assert_eq!(serve(&mut disk, 90 * MS, Op::Write, 900, 1), 90 * MS + 164 * US);
    assert_eq!(serve(&mut disk, 120 * MS, Op::Read, 900, 1), 120 * MS + 112 * US);
}

#[test]
fn a_whole_track_is_read_from_where_the_head_lands() {
    let whole = (
        "write_segments",
        "read_whole_track = { value = \"yes\", assumed = \"t\" }\nwrite_segments",
    );
    let large = ("\"64KiB\"", "\"512KiB\"");
    // The head is on the track at 100 us, before sector 1; sector 50 passes at 5 ms.
    let mut disk = drive(&[whole, large]);
    assert_eq!(serve(&mut disk, 0, Op::Read, 50, 1), 5110 * US);
    assert_eq!(serve(&mut disk, 5120 * US, Op::Read, 1, 1), 5230 * US, "read on the way");
    let mut disk = drive(&[whole, large]);
    serve(&mut disk, 1, Op::Read, 50, 1);
    assert!(serve(&mut disk, 5120 * US, Op::Read, 1, 1) > 10 * MS, "cut, so not read");
}

#[test]
fn the_queue_is_full_at_its_depth() {
    let mut disk = drive(&[DEPTH_8]);
    for tag in 0..8 {
        let read = request(Op::Read, u64::from(tag) * 1000, 1, tag);
        assert_eq!(disk.submit(Nanos::ZERO, read), Accept::Accepted);
    }
    assert_eq!(disk.submit(Nanos::ZERO, request(Op::Read, 5, 1, 9)), Accept::QueueFull);
    let mut done = Vec::new();
    while done.is_empty() {
        disk.advance(disk.next_event().expect("in flight"), &mut done);
    }
    assert_eq!(disk.submit(done[0].at, request(Op::Read, 5, 1, 9)), Accept::Accepted);
}

type Arrival = (u64, u8, u64, u64);

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let one = (0_u64..9 * MS, 0_u8..6, 0_u64..400, 1_u64..9);
    // The requests are near each other, so that they hit, overlap and join.
    proptest::collection::vec(
        one.prop_map(|(t, op, s, n)| (t, op, s / 40 * 2300 + s % 40, n)),
        1..60,
    )
}

pub(super) fn op(kind: u8) -> Op {
    match kind {
        0..3 => Op::Read,
        3..5 => Op::Write,
        _ => Op::Flush,
    }
}

#[test]
fn running_to_the_next_end_is_stepping_there() {
    let reads = [(0, 7000), (0, 90), (3 * MS, 20_000), (4 * MS, 91), (5 * MS, 300)];
    let mut ends = Vec::new();
    for run in [false, true] {
        let (mut disk, mut done) = (drive(&[DEPTH_8, CACHED]), Vec::new());
        for (tag, (at, first)) in reads.iter().enumerate() {
            disk.advance(Nanos(*at), &mut done);
            let op = if tag == 1 { Op::Write } else { Op::Read };
            disk.submit(Nanos(*at), request(op, *first, 4, tag as u32));
        }
        while done.len() < reads.len() {
            match run {
                true => assert_eq!(disk.run(Nanos::NEVER, &mut done), done[done.len() - 1].at),
                false => disk.advance(disk.next_event().expect("in flight"), &mut done),
            }
        }
        ends.push(done);
    }
    assert_eq!(ends[0], ends[1]);
    let mut disk = drive(&[DEPTH_8]);
    assert_eq!(disk.run(Nanos(5), &mut Vec::new()), Nanos(5), "nothing happens until then");
    disk.submit(Nanos(5), request(Op::Read, 0, 1, 0));
    assert_eq!(disk.run(Nanos(MS), &mut Vec::new()), Nanos(MS));
}

/// Serves requests in steps of `step`; returns (end, tag), where refused ones end at `u64::MAX`.
fn replay(disk: &mut Hdd, arrivals: &[Arrival], step: u64) -> Vec<(u64, u32)> {
    let (mut now, mut asked, mut done) = (0, 0, Vec::new());
    let mut refused = Vec::new();
    for (tag, (gap, kind, first, sectors)) in arrivals.iter().enumerate() {
        now += gap;
        while asked + step < now {
            asked += step;
            disk.advance(Nanos(asked), &mut done);
            disk.media.cache.check();
        }
        disk.advance(Nanos(now), &mut done);
        asked = now;
        let request = request(op(*kind), *first, *sectors, tag as u32);
        if disk.submit(Nanos(now), request) == Accept::QueueFull {
            refused.push(tag);
        }
        disk.media.cache.check();
    }
    while let Some(next) = disk.next_event().filter(|_| done.len() + refused.len() < arrivals.len())
    {
        disk.advance(next, &mut done);
    }
    let mut ends: Vec<(u64, u32)> = done.iter().map(|c| (c.at.0, c.tag)).collect();
    assert!(ends.is_sorted(), "completions come in order of time");
    ends.extend(refused.iter().map(|tag| (u64::MAX, *tag as u32)));
    ends.sort_unstable();
    ends
}

/// Changes of the specification to other cache policies of firmware.
const FIRMWARE: [(&str, &str); 6] = [
    ("write_segments", "write_segments"),
    (
        "write_segments",
        "read_ahead = { value = \"sequential\", assumed = \"t\" }\n\
         read_whole_track = { value = \"yes\", assumed = \"t\" }\nwrite_segments",
    ),
    (
        "write_segments",
        "read_ahead = { value = \"track\", assumed = \"t\" }\n\
         read_on_arrival = { value = \"yes\", assumed = \"t\" }\n\
         write_on_arrival = { value = \"yes\", assumed = \"t\" }\nwrite_segments",
    ),
    (
        "write_segments",
        "write_extents = { value = 6, assumed = \"t\" }\n\
         destage_after = { value = \"700us\", assumed = \"t\" }\nwrite_segments",
    ),
    (
        "write_segments",
        "read_ahead = { value = \"cylinder\", assumed = \"t\" }\n\
         read_written = { value = \"no\", assumed = \"t\" }\n\
         join_read_ahead = { value = \"no\", assumed = \"t\" }\nwrite_segments",
    ),
    // A shingled disk with the smallest log that is allowed, so that it is always full.
    (
        "[cache]",
        "[shingled]\nband = { value = \"32KiB\", assumed = \"t\" }\n\
         cache = { value = \"66KiB\", assumed = \"t\" }\n\
         entry_overhead = { value = \"1KiB\", assumed = \"t\" }\n\
         map_entries = { value = 32, assumed = \"t\" }\n\
         streams = { value = 2, assumed = \"t\" }\n\
         stream_wait = { value = \"3ms\", assumed = \"t\" }\n\
         clean_after = { value = \"5ms\", assumed = \"t\" }\n\
         [cache]\nwrite_extents = { value = 6, assumed = \"t\" }",
    ),
];

proptest! {
    /// The results do not depend on how often the drive is advanced, and every request ends once.
    #[test]
    fn time_in_small_steps_is_time_in_large_ones(
        arrivals in arrivals(),
        cached: bool,
        sptf: bool,
        firmware in 0_usize..6,
    ) {
        let mut changes = vec![DEPTH_8, FIRMWARE[firmware]];
        if cached {
            changes.push(CACHED);
        }
        let order = "[queue]\norder = { value = \"sptf\", assumed = \"t\" }\n\
                     age_limit = { value = \"40ms\", assumed = \"t\" }\n[cache]";
        if sptf {
            changes.push(("[cache]", order));
        }
        let large = replay(&mut drive(&changes), &arrivals, u64::MAX / 2);
        let mut tags: Vec<u32> = large.iter().map(|(_, tag)| *tag).collect();
        tags.sort_unstable();
        prop_assert_eq!(tags, (0..arrivals.len() as u32).collect::<Vec<_>>());
        for step in [3 * MS, 170 * US, 9_999] {
            let small = replay(&mut drive(&changes), &arrivals, step);
            prop_assert_eq!(&small, &large, "step {}", step);
        }
    }

    /// A drive that holds one command serves it at once, with the same result as by events.
    #[test]
    fn deciding_at_once_is_deciding_late(
        arrivals in arrivals(),
        cached: bool,
        firmware in 0_usize..6,
    ) {
        let mut changes = vec![FIRMWARE[firmware]];
        if cached {
            changes.push(CACHED);
        }
        let late: Vec<_> = changes.iter().copied().chain([DEPTH_8]).collect();
        let (mut one, mut eight) = (drive(&changes), drive(&late));
        let mut at = 0;
        for (gap, kind, first, sectors) in arrivals {
            let end = serve(&mut one, at, op(kind), first, sectors);
            prop_assert_eq!(serve(&mut eight, at, op(kind), first, sectors), end);
            at = end + gap;
        }
        prop_assert_eq!(one.counters(), eight.counters());
    }
}

#[test]
fn shortest_positioning_time_serves_more_than_first_come() {
    let order = "[queue]\norder = { value = \"sptf\", assumed = \"t\" }\n\
                 age_limit = { value = \"1s\", assumed = \"t\" }\n[cache]";
    let run = |changes: &[(&str, &str)]| {
        let mut disk = drive(changes);
        let (mut random, mut now, mut served, mut done) = (1_u64, Nanos::ZERO, 0, Vec::new());
        let mut next = |tag| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            request(Op::Read, (random >> 33) % 25_000, 1, tag)
        };
        for tag in 0..8 {
            disk.submit(now, next(tag));
        }
        while served < 2000 {
            now = disk.next_event().expect("in flight");
            disk.advance(now, &mut done);
            for end in done.drain(..) {
                served += 1;
                disk.submit(now, next(end.tag));
            }
        }
        now
    };
    let (fcfs, sptf) = (run(&[DEPTH_8]), run(&[DEPTH_8, ("[cache]", order)]));
    assert!(sptf.0 * 3 < fcfs.0 * 2, "{sptf} against {fcfs}");
}
