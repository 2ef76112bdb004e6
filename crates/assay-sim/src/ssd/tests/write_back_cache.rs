//! A buffer that keeps pages: each rule a nanosecond before and after.

use super::{COMMAND, PAGE, PROGRAM, SENSE, SHIFT, drive, latency, saves_every_four_pages, ssd_of};
use crate::drive::Drive;
use assay_spec::device::{
    BackgroundSpec, BufferSpec, DeviceSpec, FlushSpec, FtlSpec, HybridSpec, LazySpec, LogOpens,
    Logs, UnitReads,
};
use assay_spec::{Bytes, Nanos, Op, Rate, Request};

const IDLE: Nanos = Nanos::from_millis(10);
const ONE: Nanos = Nanos(1);

/// A buffer of so many pages that keeps some of them.
fn cache(slots: u64, high: u64, low: u64, idle: Option<Nanos>) -> impl Fn(&mut DeviceSpec) {
    let marks = LazySpec { high: Bytes(high * PAGE), low: Bytes(low * PAGE), idle };
    move |device| {
        if let BufferSpec::Dram { size, flush, .. } = &mut ssd_of(device).buffer {
            (*size, *flush) = (Bytes(slots * PAGE), FlushSpec::Lazy(marks));
        }
    }
}

/// Pages that the flash has been asked to program and to read.
fn asked(drive: &dyn Drive) -> (f64, f64) {
    let counters = drive.counters();
    let of = |name: &str| counters.iter().find(|(n, _)| n == name).expect("it is told").1;
    (of("pages_programmed"), of("pages_read"))
}

/// What the flash has been asked for by `now`.
fn asked_by(drive: &mut dyn Drive, now: Nanos) -> (f64, f64) {
    drive.advance(now, &mut Vec::new());
    asked(drive)
}

/// Writes whole pages one after the other, each of which must take as long as usual.
fn write(drive: &mut dyn Drive, now: &mut Nanos, usual: Nanos, pages: &[u64]) {
    for page in pages {
        assert_eq!(latency(drive, *now, Op::Write, 8 * page, 8), usual, "page {page}");
        *now += usual;
    }
}

fn submit(drive: &mut dyn Drive, now: Nanos, op: Op, page: u64, pages: u64) {
    let (offset, length) = (Bytes(page * PAGE), Bytes(pages * PAGE));
    drive.submit(now, Request { tag: 0, op, offset, length, fua: false });
}

#[test]
fn pages_go_at_the_high_mark_down_to_the_low_one() {
    let (mut drive_, transfer) = drive(cache(8, 3, 1, None));
    let (usual, mut now) = (COMMAND + transfer, Nanos::ZERO);
    write(&mut *drive_, &mut now, usual, &[0, 10]);
    submit(&mut *drive_, now, Op::Write, 20, 1);
    assert_eq!(asked_by(&mut *drive_, now + usual - ONE), (0.0, 0.0));
    assert_eq!(asked_by(&mut *drive_, now + usual), (2.0, 0.0));
    // The newest has stayed: to write it again costs nothing, while the others come anew.
    now += usual;
    write(&mut *drive_, &mut now, usual, &[20, 0]);
    assert_eq!(asked(&*drive_), (2.0, 0.0));
    write(&mut *drive_, &mut now, usual, &[10]);
    assert_eq!(asked(&*drive_), (4.0, 0.0));
    drive_.check();
}

#[test]
fn all_pages_go_when_the_drive_is_left_alone() {
    for background in [None, Some(Nanos::from_millis(3)), Some(IDLE), Some(IDLE + IDLE)] {
        let (mut drive_, transfer) = drive(|d| {
            cache(8, 8, 4, Some(IDLE))(d);
            if let FtlSpec::Page(map) = &mut ssd_of(d).ftl {
                let spec = |after| BackgroundSpec { after, blocks: 2 };
                map.collection.background = background.map(spec);
            }
        });
        let (usual, mut now) = (COMMAND + transfer, Nanos::ZERO);
        write(&mut *drive_, &mut now, usual, &[0, 10, 20]);
        assert_eq!(asked_by(&mut *drive_, now + IDLE - ONE), (0.0, 0.0), "{background:?}");
        // A request that comes just in time puts it off.
        now = now + IDLE - ONE;
        assert_eq!(latency(&mut *drive_, now, Op::Read, 0, 8), usual);
        now += usual;
        assert_eq!(asked_by(&mut *drive_, now + IDLE - ONE), (0.0, 0.0), "{background:?}");
        assert_eq!(asked_by(&mut *drive_, now + IDLE), (3.0, 0.0), "{background:?}");
        drive_.check();
    }
}

#[test]
fn a_flush_brings_all_pages_to_the_cells() {
    let (mut drive_, transfer) = drive(cache(8, 8, 4, None));
    let (usual, mut now) = (COMMAND + transfer, Nanos::ZERO);
    write(&mut *drive_, &mut now, usual, &[0, 10, 20]);
    assert_eq!(asked_by(&mut *drive_, now + Nanos::from_secs(9)), (0.0, 0.0));
    now += Nanos::from_secs(9);
    // Three planes on three buses.
    assert_eq!(latency(&mut *drive_, now, Op::Flush, 0, 0), COMMAND + SHIFT + PROGRAM);
    assert_eq!(asked(&*drive_), (3.0, 0.0));
    // With the write before it still on its way, that one goes, too.
    now += Nanos::from_secs(1);
    submit(&mut *drive_, now, Op::Write, 30, 8);
    submit(&mut *drive_, now, Op::Flush, 0, 0);
    let mut done = Vec::new();
    drive_.advance(now + Nanos::from_secs(1), &mut done);
    let last = COMMAND + Nanos(8 * transfer.0) + SHIFT + PROGRAM;
    assert_eq!(done.iter().map(|c| c.at).max(), Some(now + last));
    assert_eq!(asked(&*drive_), (11.0, 0.0));
    drive_.check();
}

#[test]
fn a_page_that_is_written_again_costs_one_program_and_no_slot() {
    let (mut drive_, transfer) = drive(cache(8, 8, 4, None));
    let (usual, mut now) = (COMMAND + transfer, Nanos::ZERO);
    write(&mut *drive_, &mut now, usual, &[5; 10]);
    latency(&mut *drive_, now, Op::Flush, 0, 0);
    let counters = drive_.counters();
    let wa = counters.iter().find(|(name, _)| name == "wa").map(|(_, v)| *v);
    assert_eq!(wa, Some(0.1));

    let (mut drive_, transfer) = drive(cache(2, 2, 1, None));
    let mut now = Nanos::ZERO;
    // The second one has the first one go; both slots are taken until that is in the cells.
    write(&mut *drive_, &mut now, usual, &[0, 10]);
    let free = now + SHIFT + PROGRAM;
    write(&mut *drive_, &mut now, usual, &[10]);
    assert_eq!(latency(&mut *drive_, now, Op::Write, 160, 8), free + transfer - now);
    drive_.check();
}

/// Who waits for a slot needs none when the page it writes comes to wait.
#[test]
fn a_page_that_has_come_is_replaced_at_once() {
    let (mut drive_, transfer) = drive(cache(2, 2, 1, None));
    let mut now = Nanos::ZERO;
    write(&mut *drive_, &mut now, COMMAND + transfer, &[0, 10]);
    // Page 0 is on its way, 10 waits; 20 has the slot of 0, and has 10 go.
    let free = now + SHIFT + PROGRAM;
    submit(&mut *drive_, now, Op::Write, 20, 1);
    submit(&mut *drive_, now, Op::Write, 20, 1);
    let mut done = Vec::new();
    drive_.advance(free + SHIFT, &mut done);
    let ends: Vec<Nanos> = done.iter().map(|c| c.at - free).collect();
    assert_eq!(ends, [transfer, transfer + transfer]);
    drive_.check();
}

/// However many there are: one after the other, and not one within the other.
#[test]
fn parts_of_many_pages_join_those_that_are_made_whole() {
    const PAGES: u64 = 10_000;
    let (mut drive_, _) = drive(|d| {
        cache(2 * PAGES, 2 * PAGES, 0, Some(IDLE))(d);
        ssd_of(d).nand.read = Nanos::from_secs(1);
    });
    let mut now = Nanos::ZERO;
    let first_parts = (0..PAGES).map(|page| 8 * page);
    let second_parts = (0..PAGES).map(|page| 8 * page + 1);
    for part in first_parts {
        now += latency(&mut *drive_, now, Op::Write, part, 1);
    }
    // They go, and the rest of each is read, one a second on a plane.
    now += IDLE + IDLE;
    assert!(asked_by(&mut *drive_, now).1 > 0.0);
    for part in second_parts {
        now += latency(&mut *drive_, now, Op::Write, part, 1);
    }
    assert_eq!(asked(&*drive_).0, 0.0);
    latency(&mut *drive_, now, Op::Flush, 0, 0);
    assert_eq!(asked(&*drive_), (PAGES as f64, PAGES as f64));
    drive_.check();
}

#[test]
fn what_was_written_longest_ago_goes_first() {
    let (mut drive_, transfer) = drive(cache(8, 3, 2, None));
    let (usual, mut now) = (COMMAND + transfer, Nanos::ZERO);
    write(&mut *drive_, &mut now, usual, &[0, 10, 0, 20]);
    assert_eq!(asked(&*drive_), (1.0, 0.0));
    let now = now + Nanos::from_secs(1);
    assert_eq!(latency(&mut *drive_, now, Op::Read, 0, 8), usual, "it waits");
    let now = now + Nanos::from_secs(1);
    let from_flash = COMMAND + SENSE + SHIFT + transfer;
    assert_eq!(latency(&mut *drive_, now, Op::Read, 80, 8), from_flash);
}

#[test]
fn a_page_on_the_link_is_not_given_away_before_it_is_there() {
    let (mut drive_, transfer) = drive(cache(8, 2, 0, None));
    let (usual, mut now) = (COMMAND + transfer, Nanos::ZERO);
    write(&mut *drive_, &mut now, usual, &[10]);
    submit(&mut *drive_, now, Op::Write, 9, 2);
    let first = now + usual;
    assert_eq!(asked_by(&mut *drive_, first - ONE).0, 0.0);
    assert_eq!(asked_by(&mut *drive_, first).0, 1.0, "page 9; 10 is to be replaced");
    assert_eq!(asked_by(&mut *drive_, first + transfer - ONE).0, 1.0);
    assert_eq!(asked_by(&mut *drive_, first + transfer).0, 2.0);
    drive_.check();
}

#[test]
fn parts_of_a_page_wait_together_and_the_rest_is_read_if_it_must_be() {
    let (mut drive_, transfer) = drive(cache(8, 8, 4, None));
    let part = |sectors: u64| COMMAND + Bytes(512 * sectors).time_at(Rate(280_000_000));
    let at = |step: u64| Nanos::from_secs(step);
    assert_eq!(latency(&mut *drive_, at(0), Op::Write, 800, 1), part(1));
    assert_eq!(latency(&mut *drive_, at(1), Op::Read, 800, 1), part(1));
    let from_flash = COMMAND + SENSE + SHIFT + transfer;
    assert_eq!(latency(&mut *drive_, at(2), Op::Read, 800, 8), from_flash, "not all of it waits");
    assert_eq!(latency(&mut *drive_, at(3), Op::Write, 801, 7), part(7));
    assert_eq!(latency(&mut *drive_, at(4), Op::Read, 800, 8), COMMAND + transfer);
    // Whole by now, it goes without being read.
    assert_eq!(latency(&mut *drive_, at(5), Op::Flush, 0, 0), COMMAND + SHIFT + PROGRAM);
    assert_eq!(asked(&*drive_), (1.0, 1.0));
    assert_eq!(latency(&mut *drive_, at(6), Op::Write, 1600, 1), part(1));
    let merged = COMMAND + SENSE + SHIFT + SHIFT + PROGRAM;
    assert_eq!(latency(&mut *drive_, at(7), Op::Flush, 0, 0), merged);
    assert_eq!(asked(&*drive_), (2.0, 2.0));
    drive_.check();
}

#[test]
fn trimmed_pages_are_never_programmed() {
    let (mut drive_, transfer) = drive(cache(8, 8, 4, None));
    let (usual, mut now) = (COMMAND + transfer, Nanos::ZERO);
    write(&mut *drive_, &mut now, usual, &[0, 10]);
    assert_eq!(latency(&mut *drive_, now, Op::Trim, 0, 8), COMMAND);
    now += COMMAND;
    assert_eq!(latency(&mut *drive_, now, Op::Read, 0, 8), usual, "nothing is there");
    now += usual;
    // Less than a page is not trimmed.
    assert_eq!(latency(&mut *drive_, now, Op::Trim, 81, 3), COMMAND);
    now += COMMAND;
    latency(&mut *drive_, now, Op::Flush, 0, 0);
    assert_eq!(asked(&*drive_), (1.0, 0.0));
    drive_.check();
}

#[test]
fn while_the_map_is_saved_pages_go_on_waiting() {
    let (mut drive_, transfer) = drive(|d| {
        saves_every_four_pages(d);
        cache(8, 6, 0, None)(d);
    });
    let (usual, mut now) = (COMMAND + transfer, Nanos::ZERO);
    write(&mut *drive_, &mut now, usual, &[0, 10, 20, 30, 40, 50]);
    // After four of them the map is due; its page has a plane and a bus of its own.
    assert_eq!(asked(&*drive_), (5.0, 0.0));
    let saved = now + SHIFT + PROGRAM;
    write(&mut *drive_, &mut now, usual, &[50]);
    assert_eq!(latency(&mut *drive_, now, Op::Read, 320, 8), usual);
    assert_eq!(asked_by(&mut *drive_, saved - ONE), (5.0, 0.0));
    assert_eq!(asked_by(&mut *drive_, saved), (7.0, 0.0));
    drive_.check();
}

#[test]
fn with_the_cache_off_nothing_waits() {
    let (mut drive_, transfer) = drive(|d| {
        cache(8, 8, 4, None)(d);
        d.set_write_cache(false);
    });
    let through = COMMAND + transfer + SHIFT + PROGRAM;
    assert_eq!(latency(&mut *drive_, Nanos::ZERO, Op::Write, 0, 8), through);
}

#[test]
fn pages_in_a_row_make_a_unit_of_the_log_together() {
    let spec = HybridSpec {
        width: None,
        log_superblocks: 4,
        logs: Logs::Own,
        unit: Bytes(2 * PAGE),
        unit_reads: UnitReads::Together,
        blocks_per_log: 1,
        log_opens: LogOpens::Empty,
        merge_together: 1,
        stream_after: 0,
    };
    for (kept, expected) in [(false, (4.0, 2.0)), (true, (2.0, 0.0))] {
        let (mut drive_, transfer) = drive(|d| {
            ssd_of(d).ftl = FtlSpec::Hybrid(spec);
            if kept {
                cache(8, 8, 4, None)(d);
            }
        });
        let (usual, mut now) = (COMMAND + transfer, Nanos::ZERO);
        write(&mut *drive_, &mut now, usual, &[1002, 1003]);
        latency(&mut *drive_, now, Op::Flush, 0, 0);
        drive_.advance(now + Nanos::from_secs(1), &mut Vec::new());
        assert_eq!(asked(&*drive_), expected);
        drive_.check();
    }
}

#[test]
fn what_is_on_the_link_when_the_power_fails_goes_to_the_cells_with_what_was_kept() {
    // What is kept, and written then: the same page, another, or the first of all.
    for (kept, last, pages) in [(&[0, 10][..], 0, 2.0), (&[0], 30, 2.0), (&[], 30, 1.0)] {
        let (mut drive_, transfer) = drive(|d| {
            cache(8, 8, 4, None)(d);
            if let BufferSpec::Dram { protected, .. } = &mut ssd_of(d).buffer {
                *protected = true;
            }
        });
        let mut now = Nanos::ZERO;
        write(&mut *drive_, &mut now, COMMAND + transfer, kept);
        submit(&mut *drive_, now, Op::Write, last, 1);
        let cut = now + COMMAND + ONE;
        assert_eq!(asked_by(&mut *drive_, cut), (0.0, 0.0));
        let dark = drive_.lose_power(cut);
        assert!(dark >= cut + transfer - ONE + PROGRAM, "{kept:?}, {last}");
        assert_eq!(asked(&*drive_), (pages, 0.0), "{kept:?}, {last}");
        assert_eq!(asked_by(&mut *drive_, dark + Nanos::from_secs(1)), (pages, 0.0));
    }
}
