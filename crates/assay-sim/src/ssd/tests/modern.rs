//! Programs of several pages, a cache of one bit a cell, and power-loss protection, to the host.

use super::{COMMAND, PAGE, PROGRAM, SENSE, SHIFT, drive_that_is, latency, ssd_of};
use crate::drive::Drive;
use assay_spec::device::{
    BackgroundSpec, BufferSpec, CopyPath, DeviceSpec, EraseTime, FtlSpec, Pace, ProgramTime,
    SlcCacheSpec, SlcSpec,
};
use assay_spec::seed::mix;
use assay_spec::{Bytes, Nanos, Op};

const SLC: Nanos = Nanos::from_micros(200);
const FOLD: Nanos = Nanos::from_millis(20);

/// One plane of 24 blocks of 12 pages, three to a program; a buffer of 16 pages.
fn small(cache: Option<(u64, u64)>, protected: bool) -> impl Fn(&mut DeviceSpec) {
    move |device| {
        device.capacity = Bytes(150 * PAGE);
        let ssd = ssd_of(device);
        (ssd.nand.channels, ssd.nand.dies_per_channel, ssd.nand.planes_per_die) = (1, 1, 1);
        (ssd.nand.blocks_per_plane, ssd.nand.pages_per_block) = (24, 12);
        ssd.nand.pages_per_program = 3;
        ssd.nand.slc = Some(SlcSpec { bits: 3, read: SENSE, program: SLC });
        if let FtlSpec::Page(map) = &mut ssd.ftl {
            map.collection.copy = CopyPath::Controller;
            // In blocks of four pages.
            map.slc = cache.map(|(most, fixed)| SlcCacheSpec {
                size: Bytes(4 * most * PAGE),
                fixed: Bytes(4 * fixed * PAGE),
                fold_after: FOLD,
            });
        }
        if let BufferSpec::Dram { size, protected: is, .. } = &mut ssd.buffer {
            (*size, *is) = (Bytes(16 * PAGE), protected);
        }
    }
}

fn told(drive: &dyn Drive, name: &str) -> f64 {
    drive.counters().iter().find(|(n, _)| n == name).map_or(0.0, |(_, value)| *value)
}

/// Writes pages from `first` to `end` one by one; when the last is answered.
fn write(drive: &mut dyn Drive, mut now: Nanos, first: u64, end: u64) -> Nanos {
    for page in first..end {
        now += latency(drive, now, Op::Write, 8 * page, 8);
    }
    now
}

#[test]
fn a_flush_programs_what_is_there_and_wastes_the_rest() {
    let (mut drive, transfer) = drive_that_is(false, small(None, false));
    let now = write(&mut *drive, Nanos::ZERO, 0, 2);
    assert_eq!(now, (COMMAND + transfer) * 2);
    assert_eq!(told(&*drive, "array_busy_ns"), 0.0, "two of three pages wait");
    assert_eq!(latency(&mut *drive, now, Op::Read, 8, 8), COMMAND + transfer, "and are read");
    let now = now + COMMAND + transfer;
    let took = latency(&mut *drive, now, Op::Flush, 0, 0);
    assert_eq!(took, COMMAND + SHIFT * 2 + PROGRAM);
    assert_eq!(told(&*drive, "pages_programmed"), 3.0);
    assert_eq!(told(&*drive, "wa_pad"), 0.5, "one for two");
    let again = latency(&mut *drive, now + took, Op::Flush, 0, 0);
    assert_eq!(again, COMMAND, "nothing is left to do");
    drive.check();
}

#[test]
fn with_protection_a_flush_has_nothing_to_do() {
    let (mut drive, _) = drive_that_is(false, small(None, true));
    let now = write(&mut *drive, Nanos::ZERO, 0, 2);
    assert_eq!(latency(&mut *drive, now, Op::Flush, 0, 0), COMMAND);
    assert_eq!(told(&*drive, "pages_programmed"), 2.0);
    assert_eq!(told(&*drive, "array_busy_ns"), 0.0, "they may wait on");
    // Switching off a cache that survives a power cut changes nothing.
    let (mut off, transfer) = drive_that_is(false, |d| {
        small(None, true)(d);
        d.set_write_cache(false);
    });
    assert_eq!(latency(&mut *off, Nanos::ZERO, Op::Write, 0, 8), COMMAND + transfer);
}

#[test]
fn without_the_write_cache_each_request_is_one_short_program() {
    let (mut drive, transfer) = drive_that_is(false, |d| {
        small(None, false)(d);
        d.set_write_cache(false);
    });
    let all = COMMAND + transfer * 2 + SHIFT * 2 + PROGRAM;
    assert_eq!(latency(&mut *drive, Nanos::ZERO, Op::Write, 0, 16), all);
    assert_eq!(told(&*drive, "pages_programmed"), 3.0);
}

#[test]
fn the_cache_is_fast_until_it_is_full() {
    let (mut drive, _) = drive_that_is(false, small(Some((5, 0)), false));
    // Five blocks of four pages, one page a program; then three pages a program in other blocks.
    write(&mut *drive, Nanos::ZERO, 0, 20);
    drive.advance(Nanos::from_millis(500), &mut Vec::new());
    let slc = SLC * 20;
    assert_eq!(told(&*drive, "array_busy_ns") as u64, (slc + fold(20)).0, "and folded when idle");
    let (mut busy, _) = drive_that_is(false, small(Some((5, 0)), false));
    let now = write(&mut *busy, Nanos::ZERO, 0, 32);
    busy.advance(now + FOLD - Nanos(1), &mut Vec::new());
    assert_eq!(told(&*busy, "array_busy_ns") as u64, (slc + PROGRAM * 4).0, "12 pages in threes");
    assert_eq!(told(&*busy, "wa_fold"), 0.0);
    busy.check();
}

/// What folding takes of `pages` in full blocks of four but one, which is still open: reads, whole
/// programs, an erase for each block.
fn fold(pages: u64) -> Nanos {
    let moved = pages - 4;
    SENSE * moved + PROGRAM * (moved / 3) + Nanos::from_micros(3500) * (moved / 4)
}

#[test]
fn folding_begins_when_the_drive_was_left_alone_and_makes_room_again() {
    let (mut drive, _) = drive_that_is(false, small(Some((5, 0)), false));
    let now = write(&mut *drive, Nanos::ZERO, 0, 24);
    drive.advance(now + FOLD - Nanos(1), &mut Vec::new());
    assert_eq!(told(&*drive, "pages_read"), 0.0);
    drive.advance(now + FOLD, &mut Vec::new());
    assert_eq!(told(&*drive, "pages_read"), 1.0);
    drive.advance(now + Nanos::from_secs(1), &mut Vec::new());
    assert_eq!(told(&*drive, "wa_fold"), 20.0 / 24.0, "all five blocks are full");
    drive.check();
    // The next pages are fast again, but for those that fill the open block of three bits.
    let before = told(&*drive, "array_busy_ns") as u64;
    let later = write(&mut *drive, now + Nanos::from_secs(1), 40, 40 + 8 + 3);
    drive.advance(later + FOLD - Nanos(1), &mut Vec::new());
    let grown = told(&*drive, "array_busy_ns") as u64 - before;
    assert_eq!(grown, (PROGRAM * 3 + SLC * 3).0);
}

#[test]
fn the_fixed_share_is_there_on_a_full_drive() {
    let folded = |fixed| {
        let (mut drive, _) = drive_that_is(true, |device| {
            small(Some((3, fixed)), false)(device);
            device.capacity = Bytes(200 * PAGE);
        });
        // Pages here and there, so that no block is empty of itself.
        let pause = Nanos::from_secs(1);
        let mut now = Nanos::ZERO;
        for page in (0..600).map(|i| i * 77 % 200) {
            now = write(&mut *drive, now, page, page + 1);
        }
        now += pause;
        drive.advance(now, &mut Vec::new());
        drive.mark();
        write(&mut *drive, now, 0, 24);
        drive.advance(now + pause, &mut Vec::new());
        drive.check();
        told(&*drive, "wa_fold") * 24.0
    };
    assert!((8.0..=12.0).contains(&folded(3)), "three blocks of four: {}", folded(3));
    assert_eq!(folded(0), 0.0, "nothing is free beyond what collection keeps");
}

/// 24 planes of 13 blocks of one program each, that are to survive power cuts, and want more free
/// blocks when left alone than they can have.
fn wants_too_much(device: &mut DeviceSpec) {
    small(None, false)(device);
    device.capacity = Bytes(24 * 46 * PAGE);
    let ssd = ssd_of(device);
    let nand = &mut ssd.nand;
    (nand.channels, nand.dies_per_channel, nand.planes_per_die) = (3, 2, 4);
    (nand.blocks_per_plane, nand.pages_per_block, nand.pages_per_program) = (13, 6, 6);
    // Programs are there before the next pages are.
    nand.program = ProgramTime::uniform(Nanos(244));
    (nand.read, nand.erase) = (Nanos(20_715), Nanos(63_519));
    let FtlSpec::Page(map) = &mut ssd.ftl else { panic!("it maps pages") };
    map.power_fail_safe = true;
    map.save_map_every = Some(Bytes(176 * PAGE));
    map.collection.reserve_blocks = 3;
    map.collection.erase = EraseTime::WhenIdle;
    map.collection.pace = Pace::WholeBlock;
    map.collection.background = Some(BackgroundSpec { after: Nanos(468_296), blocks: 5 });
    let BufferSpec::Dram { size, .. } = &mut ssd.buffer else { panic!("it has a buffer") };
    *size = Bytes(24 * 7 * PAGE);
}

#[test]
fn background_work_that_cannot_reach_its_aim_comes_to_an_end() {
    for seed in 0..8 {
        let (mut drive, _) = drive_that_is(false, wants_too_much);
        let (mut now, mut draw) = (Nanos::ZERO, seed * 1000);
        let pages = 24 * (37 + seed);
        for _ in 0..24 * 40 {
            draw = mix(draw);
            let (first, pause) = (draw % pages, Nanos((draw >> 50) * 20));
            let count = (1 + (draw >> 20) % 8).min(pages - first);
            let (op, at, sectors) = match (draw >> 40) % 16 {
                0 => (Op::Trim, first * 8, count * 8),
                1 => (Op::Flush, 0, 0),
                _ => (Op::Write, first * 8, count * 8),
            };
            now += latency(&mut *drive, now, op, at, sectors) + pause;
        }
        // Emptied for less than a program wastes, blocks leave as much behind as they had: that
        // takes tens of thousands, if it ends.
        let mut events = 0;
        while let Some(next) = drive.next_event() {
            drive.advance(next, &mut Vec::new());
            events += 1;
            assert!(events < 10_000, "{seed}");
        }
        drive.check();
    }
}
