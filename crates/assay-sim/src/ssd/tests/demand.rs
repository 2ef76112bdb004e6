//! A map of which only a part is in memory: what looking up costs, and who waits for whom.

use super::{COMMAND, PAGE, PROGRAM, SENSE, SHIFT, drive, drive_that_is, latency, ssd_of};
use crate::drive::Drive;
use assay_spec::device::{DeviceSpec, Direction, FtlSpec, Reach, ReadAheadSpec};
use assay_spec::{Bytes, Completion, Nanos, Op, Request};

/// Room for so many entries.
fn with(entries: u64) -> impl Fn(&mut DeviceSpec) {
    move |device| {
        let FtlSpec::Page(map) = &mut ssd_of(device).ftl else { panic!("a page map") };
        map.map_cache = Some(Bytes(entries * 8));
    }
}

fn told(drive: &dyn Drive) -> [f64; 3] {
    let counters = drive.counters();
    let of = |name: &str| counters.iter().find(|(n, _)| n == name).expect("it is told").1;
    ["map_lookups", "map_misses", "map_writes"].map(of)
}

const SECOND: Nanos = Nanos::from_secs(1);

#[test]
fn an_entry_that_is_not_there_is_read_first() {
    let (mut drive, transfer) = drive(with(1_000));
    let alone = COMMAND + SENSE + SHIFT + transfer;
    let look_up = SENSE + SHIFT;
    let took: Vec<Nanos> = [0, 0, 1, 2000, 0]
        .iter()
        .zip(1..)
        .map(|(page, second)| latency(&mut *drive, SECOND * second, Op::Read, page * 8, 8))
        .collect();
    let missed = alone + look_up;
    assert_eq!(took, [missed, alone, missed, missed, alone]);
    assert_eq!(told(&*drive), [5.0, 3.0, 0.0]);
    let stalled = drive.snapshots(SECOND * 9)[0].expect("one drive").stalled;
    assert_eq!(stalled[crate::Stall::Map as usize], look_up * 3);
}

#[test]
fn what_was_never_written_has_no_page_of_the_map() {
    let (mut drive, transfer) = drive_that_is(false, with(1_000));
    assert_eq!(latency(&mut *drive, SECOND, Op::Read, 0, 8), COMMAND + transfer);
    assert_eq!(latency(&mut *drive, SECOND * 2, Op::Write, 0, 8), COMMAND + transfer);
    let alone = COMMAND + SENSE + SHIFT + transfer;
    assert_eq!(latency(&mut *drive, SECOND * 3, Op::Read, 0, 8), alone, "it is in memory");
}

/// Submits one after the other, at such times; when each is answered.
fn all(drive: &mut dyn Drive, requests: &[(u64, Op, u64, u64)]) -> Vec<Completion> {
    let mut done = Vec::new();
    for (tag, (at, op, page, pages)) in (0..).zip(requests) {
        drive.advance(Nanos::from_micros(*at), &mut done);
        let (offset, length) = (Bytes(page * PAGE), Bytes(pages * PAGE));
        let request = Request { tag, op: *op, offset, length, fua: false };
        drive.submit(Nanos::from_micros(*at), request);
    }
    while let Some(at) = drive.next_event() {
        drive.advance(at, &mut done);
    }
    done.sort_by_key(|completion| completion.tag);
    done
}

/// A cache of so many entries, and read-ahead of so many pages after so many reads.
fn ahead(entries: u64, trigger: u32, pages: u64) -> impl FnOnce(&mut DeviceSpec) {
    move |device| {
        with(entries)(device);
        let (reach, direction) = (Reach::Logical, Direction::Forward);
        let window = Bytes(pages * PAGE);
        let ahead = ReadAheadSpec { trigger, window, reach, streams: 1, direction };
        ssd_of(device).readahead = Some(ahead);
    }
}

#[test]
fn who_needs_the_same_page_of_the_map_waits_for_one_reading() {
    let (mut drive, transfer) = drive(with(1_000));
    let done = all(&mut *drive, &[(0, Op::Read, 0, 4)]);
    // The four lie on different buses, but one has all of the entries.
    assert_eq!(done[0].at, COMMAND + SENSE + SHIFT + SENSE + SHIFT + transfer * 4);
    assert_eq!(told(&*drive), [4.0, 4.0, 0.0]);
    assert_eq!(drive.counters()[0], ("pages_read".to_owned(), 5.0));
}

#[test]
fn what_is_read_ahead_is_looked_up_too() {
    let (mut drive, transfer) = drive(ahead(1_000, 2, 8));
    let pages = |drive: &dyn Drive| drive.counters()[0].1;
    all(&mut *drive, &[(0, Op::Read, 0, 1), (10_000, Op::Read, 1, 1)]);
    // Each of the two has the page of the map read, the second for the eight that come next, too.
    assert_eq!((told(&*drive), pages(&*drive)), ([10.0, 10.0, 0.0], 2.0 + 8.0 + 2.0));
    // What has come is there; and what comes next is fetched.
    let took = latency(&mut *drive, SECOND, Op::Read, 16, 8);
    assert_eq!(took, COMMAND + transfer);
}

#[test]
fn a_write_waits_in_the_buffer_and_is_read_from_there() {
    let (mut drive, transfer) = drive(with(1_000));
    // The second looks the first one's page up; the read comes while that is under way.
    let done = all(&mut *drive, &[(0, Op::Write, 0, 1), (0, Op::Read, 0, 1)]);
    assert_eq!(done[0].at, COMMAND + transfer);
    let known = COMMAND + transfer + SENSE + SHIFT;
    assert_eq!(done[1].at, known.max(COMMAND * 2) + transfer);
    // What is in the buffer and known waits for nobody: the second looks up what the first has.
    let at = Nanos::from_millis(500).0 / 1000;
    let work = [(at, Op::Write, 5000, 1), (at, Op::Read, 5001, 1), (at, Op::Read, 5000, 1)];
    all(&mut *drive, &[(at / 2, Op::Write, 5000, 1)]);
    let done = all(&mut *drive, &work);
    assert_eq!(done[2].at, Nanos::from_micros(at) + COMMAND * 3 + transfer);
    // And a flush waits for all of it.
    let at = Nanos::from_secs(1).0 / 1000;
    let done = all(&mut *drive, &[(at, Op::Write, 9999, 1), (at, Op::Flush, 0, 0)]);
    let looked_up = SECOND + COMMAND + transfer + SENSE + SHIFT;
    assert_eq!(done[1].at, looked_up + SHIFT + PROGRAM);
}

#[test]
fn a_trim_does_not_overtake_a_write_that_waits() {
    let (mut drive, transfer) = drive(with(1_000));
    let at = (COMMAND * 2 + transfer).0 / 1000 - 60;
    let work = [(0, Op::Write, 7, 1), (at, Op::Trim, 6, 3), (at, Op::Read, 7, 1)];
    all(&mut *drive, &work);
    drive.check();
    let read = latency(&mut *drive, SECOND, Op::Read, 56, 8);
    assert_eq!(read, COMMAND + transfer, "nothing is there any more");
}

#[test]
fn pages_of_the_map_are_written_when_half_of_the_cache_has_changed() {
    let (mut drive, _) = drive(with(100));
    // 50 changed entries of 25 pages of the map, two each.
    let page = |i: u64| (i % 25) * 1024 + i / 25;
    let write = |i: u64| (i * 10_000, Op::Write, page(i), 1);
    all(&mut *drive, &(0..50).map(write).collect::<Vec<_>>());
    assert_eq!(told(&*drive), [50.0, 50.0, 0.0]);
    all(&mut *drive, &[(500_000, Op::Write, page(50), 1)]);
    assert_eq!(told(&*drive), [51.0, 51.0, 1.0]);
    let counters = drive.counters();
    let of = |name: &str| counters.iter().find(|(n, _)| n == name).expect("it is told").1;
    // What it holds beside is read from its old copy.
    assert_eq!((of("pages_read"), of("pages_programmed")), (51.0 + 1.0, 51.0 + 1.0));
    assert_eq!(of("wa_map"), 1.0 / 51.0);
    drive.check();
}

#[test]
fn the_rest_of_a_page_of_the_map_is_read_before_it_is_written() {
    let last = |entries: u64, first: u64, pages: u64| {
        let (mut drive, _) = drive(with(entries));
        // Trims look nothing up, and change as much as writes.
        all(&mut *drive, &[(0, Op::Trim, first, pages), (10_000, Op::Write, first + pages, 1)]);
        let mut busy = Nanos::from_millis(10);
        let work = [(20_000, Op::Write, first + pages + 1, 1)];
        assert_eq!(told(&*drive), [1.0, 1.0, 0.0], "half of the cache has changed");
        busy = busy.max(ends(&mut *drive, &work));
        assert_eq!(told(&*drive)[2], 1.0);
        drive.check();
        (busy - Nanos::from_millis(20), drive.counters()[0].1)
    };
    let (_, transfer) = drive(|_| {});
    let written = COMMAND + transfer + SENSE + SHIFT;
    // Two pages of the map were read to look something up, and one for what it holds beside.
    assert_eq!(last(100, 0, 49), (written + SENSE + SHIFT + SHIFT + PROGRAM, 3.0));
    // All of its 1024 entries have changed: nothing is read, and the two programs are side by side.
    assert_eq!(last(2046, 1, 1022).1, 3.0, "one entry has not");
    assert_eq!(last(2046, 0, 1022), (written + SHIFT + PROGRAM, 2.0));
}

#[test]
fn nothing_is_read_ahead_of_a_page_whose_write_waits() {
    let (mut drive, transfer) = drive(ahead(1, 1, 4));
    // Nothing is there of page 9, and its entry has left the cache, which has room for one.
    all(&mut *drive, &[(0, Op::Trim, 9, 1), (10_000, Op::Read, 5_000, 1)]);
    assert_eq!(told(&*drive)[2], 1.0, "its page of the map is written");
    // It is written, and while it waits for its entry the page before it is read.
    all(&mut *drive, &[(40_000, Op::Write, 9, 1), (40_000, Op::Read, 8, 1)]);
    let read = latency(&mut *drive, SECOND, Op::Read, 9 * 8, 8);
    assert!(read >= COMMAND + SENSE + SHIFT + transfer, "it comes from the flash: {read}");
}

#[test]
fn a_trim_of_much_is_written_at_once() {
    let (mut drive, transfer) = drive(with(1_000));
    // 64 pages of the map, but for the last half of the cache.
    all(&mut *drive, &[(0, Op::Trim, 0, 64 * 1024)]);
    assert_eq!(told(&*drive), [0.0, 0.0, 64.0]);
    drive.check();
    // There is room for what is asked for again.
    let took: Vec<Nanos> = [8, 9]
        .into_iter()
        .map(|second| latency(&mut *drive, SECOND * second, Op::Read, 70_000 * 8, 8))
        .collect();
    let alone = COMMAND + SENSE + SHIFT + transfer;
    assert_eq!(took, [alone + SENSE + SHIFT, alone]);
}

/// Does this, and says when the drive has nothing more to do.
fn ends(drive: &mut dyn Drive, requests: &[(u64, Op, u64, u64)]) -> Nanos {
    let mut last = Nanos::ZERO;
    for (at, op, page, pages) in requests {
        let (offset, length) = (Bytes(page * PAGE), Bytes(pages * PAGE));
        let request = Request { tag: 0, op: *op, offset, length, fua: false };
        drive.submit(Nanos::from_micros(*at), request);
    }
    while let Some(at) = drive.next_event() {
        drive.advance(at, &mut Vec::new());
        last = at;
    }
    last
}
