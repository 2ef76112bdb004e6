//! How long requests waited and for what: to the nanosecond, by hand.

use super::{COMMAND, PAGE, PROGRAM, SENSE, SHIFT, drive, latency, saves_every_four_pages, ssd_of};
use super::{drive_that_is, until_the_map_is_saved};
use crate::drive::Drive;
use assay_spec::device::{BufferSpec, CollectionSpec, DeviceSpec, FtlSpec, Pace, ReadBuffered};
use assay_spec::seed::mix;
use assay_spec::{Bytes, Nanos, Op, Request};

/// Number and time of the waits for `cause`.
fn stall(drive: &dyn Drive, cause: &str) -> (f64, Nanos) {
    let counters = drive.counters();
    let of = |name: String| counters.iter().find(|(n, _)| *n == name).expect("it is told").1;
    (of(format!("stall_{cause}")), Nanos(of(format!("stall_{cause}_ns")) as u64))
}

/// A buffer of so many pages.
fn slots(pages: u64) -> impl FnOnce(&mut DeviceSpec) {
    move |device| {
        if let BufferSpec::Dram { size, .. } = &mut ssd_of(device).buffer {
            *size = Bytes(pages * PAGE);
        }
    }
}

#[test]
fn pages_of_a_write_wait_for_the_link_and_for_slots() {
    let (mut drive_, transfer) = drive(slots(4));
    let took = latency(&mut *drive_, Nanos::ZERO, Op::Write, 0, 8 * 8);
    // Four are sent for at once, and three of them wait for the link.
    let queued = Nanos(6 * transfer.0);
    assert_eq!(stall(&*drive_, "link"), (3.0, queued));
    // The fifth waits until the first is in the cells; each of the others a transfer longer.
    let first = transfer + SHIFT + PROGRAM;
    assert_eq!(stall(&*drive_, "buffer"), (4.0, first + Nanos(3 * transfer.0)));
    assert_eq!(took, COMMAND + first + Nanos(4 * transfer.0));
    for cause in ["firmware", "buffer_collect", "buffer_map", "map", "read_collect"] {
        assert_eq!(stall(&*drive_, cause), (0.0, Nanos::ZERO), "{cause}");
    }
}

#[test]
fn a_wait_that_is_open_counts_until_now_and_from_the_mark_on() {
    let (mut drive_, _) = drive(|_| {});
    let read =
        |tag| Request { tag, op: Op::Read, offset: Bytes(0), length: Bytes(PAGE), fua: false };
    for tag in 0..3 {
        drive_.submit(Nanos::ZERO, read(tag));
    }
    let mut done = Vec::new();
    let mut at = |drive: &mut dyn Drive, now: Nanos| {
        drive.advance(now, &mut done);
        stall(drive, "firmware")
    };
    let two = |now: Nanos| Nanos(2 * now.0);
    let early = COMMAND - Nanos(1);
    assert_eq!(at(&mut *drive_, early), (2.0, two(early)), "both wait");
    assert_eq!(at(&mut *drive_, COMMAND), (2.0, two(COMMAND)));
    assert_eq!(at(&mut *drive_, COMMAND + Nanos(5)), (2.0, two(COMMAND) + Nanos(5)), "one does");
    drive_.mark();
    assert_eq!(at(&mut *drive_, COMMAND + Nanos(7)), (0.0, Nanos(2)));
    assert_eq!(at(&mut *drive_, Nanos::from_secs(1)), (0.0, COMMAND - Nanos(5)), "it has ended");
}

#[test]
fn who_waits_for_the_map_is_told_so() {
    // One slot, one bus, and the map saved after each page.
    let (mut drive_, transfer) = drive_that_is(false, |d| {
        cramped(d);
        slots(1)(d);
        let ssd = ssd_of(d);
        ssd.nand.dies_per_channel = 4;
        if let FtlSpec::Page(map) = &mut ssd.ftl {
            map.save_map_every = Some(Bytes(PAGE));
        }
    });
    let usual = COMMAND + transfer;
    let now = latency(&mut *drive_, Nanos::ZERO, Op::Write, 0, 8);
    assert_eq!(now, usual);
    // The page of the map has the bus behind the host's: the slot is free before the map is there.
    let (free, saved) = (now + SHIFT + PROGRAM, now + SHIFT + SHIFT + PROGRAM);
    let second = now + latency(&mut *drive_, now, Op::Write, 80, 8);
    assert_eq!(second, free + transfer);
    assert_eq!(stall(&*drive_, "buffer"), (1.0, free - now - COMMAND));
    assert_eq!(stall(&*drive_, "buffer_map"), (0.0, Nanos::ZERO));
    // The second page waits for the map, and the third one for its slot.
    let asked = second + COMMAND;
    assert!(asked < saved);
    latency(&mut *drive_, second, Op::Write, 160, 8);
    assert_eq!(stall(&*drive_, "buffer_map"), (1.0, saved + SHIFT + PROGRAM - asked));
    assert_eq!(stall(&*drive_, "buffer").0, 1.0);

    // A read of what was written meanwhile, if the buffer serves none, and a trim.
    let (mut drive_, _) = drive(|d| {
        saves_every_four_pages(d);
        if let BufferSpec::Dram { reads, .. } = &mut ssd_of(d).buffer {
            *reads = ReadBuffered::AfterWriteBack;
        }
    });
    let now = until_the_map_is_saved(&mut *drive_, usual);
    let saved = now + SHIFT + PROGRAM;
    assert_eq!(latency(&mut *drive_, now, Op::Write, 800, 8), usual);
    let now = now + usual;
    latency(&mut *drive_, now, Op::Read, 800, 8);
    assert_eq!(stall(&*drive_, "map"), (1.0, saved - now - COMMAND));
}

#[test]
fn without_a_buffer_the_first_write_waits_for_the_map() {
    let (mut drive_, transfer) = drive(|d| {
        saves_every_four_pages(d);
        ssd_of(d).buffer = BufferSpec::Registers;
    });
    let now = until_the_map_is_saved(&mut *drive_, COMMAND + transfer + SHIFT);
    let saved = now + PROGRAM;
    latency(&mut *drive_, now, Op::Write, 800, 8);
    assert_eq!(stall(&*drive_, "map"), (1.0, saved - now - COMMAND));
}

/// One plane with little to spare, that collects whole blocks.
fn cramped(device: &mut DeviceSpec) {
    let ssd = ssd_of(device);
    (ssd.nand.channels, ssd.nand.dies_per_channel, ssd.nand.planes_per_die) = (1, 1, 1);
    (ssd.nand.blocks_per_plane, ssd.nand.pages_per_block) = (16, 8);
    if let FtlSpec::Page(map) = &mut ssd.ftl {
        map.collection = CollectionSpec { pace: Pace::WholeBlock, ..map.collection };
        map.collection.reserve_blocks = 2;
    }
    device.capacity = Bytes(96 * PAGE);
}

#[test]
fn one_slot_makes_every_write_wait_for_flash_or_collection() {
    let (mut drive_, transfer) = drive(|d| {
        cramped(d);
        slots(1)(d);
    });
    let (mut now, mut waited) = (Nanos::ZERO, Nanos::ZERO);
    for index in 0..2000 {
        let took = latency(&mut *drive_, now, Op::Write, 8 * (mix(index) % 96), 8);
        waited += took - COMMAND - transfer;
        now += took;
    }
    let (plain, collect) = (stall(&*drive_, "buffer"), stall(&*drive_, "buffer_collect"));
    assert_eq!(plain.1 + collect.1, waited, "nothing else makes a write slow");
    assert_eq!(plain.0 + collect.0, 1999.0, "each but the first");
    // Behind no collection, a write waits for the program before it less its own command.
    assert_eq!(plain.1.0, plain.0 as u64 * (SHIFT + PROGRAM - COMMAND).0);
    assert!(collect.0 > 50.0 && collect.1 > Nanos(collect.0 as u64 * (SENSE + PROGRAM).0));
    drive_.check();
}

#[test]
fn without_a_buffer_or_its_cache_writes_wait_behind_collection() {
    for cached in [true, false] {
        let (mut drive_, transfer) = drive(|d| {
            cramped(d);
            match cached {
                true => ssd_of(d).buffer = BufferSpec::Registers,
                false => d.set_write_cache(false),
            }
        });
        let (mut now, mut waited) = (Nanos::ZERO, Nanos::ZERO);
        // Each finds the plane at rest, but for its own collection.
        let usual = COMMAND + transfer + SHIFT + if cached { Nanos::ZERO } else { PROGRAM };
        for index in 0..500 {
            let took = latency(&mut *drive_, now, Op::Write, 8 * (mix(index) % 96), 8);
            waited += took - usual;
            now += Nanos::from_secs(1);
        }
        assert!(waited > Nanos::ZERO);
        assert_eq!(stall(&*drive_, "write_collect").1, waited);
    }
}

#[test]
fn erases_are_told_block_by_block() {
    let (mut drive_, _) = drive(cramped);
    let mut now = Nanos::ZERO;
    for index in 0..2000 {
        now += latency(&mut *drive_, now, Op::Write, 8 * (mix(index) % 96), 8);
        if index == 1000 {
            drive_.mark();
        }
        drive_.check();
    }
    let counters = drive_.counters();
    let of = |name: &str| counters.iter().find(|(n, _)| n == name).expect("it is told").1;
    assert!(of("erases") > of("blocks_erased"), "the mark does not make blocks young");
    let bins = counters.iter().filter(|(name, _)| {
        name.strip_prefix("erases_bin_").is_some_and(|n| n.parse::<u32>().is_ok())
    });
    assert_eq!(bins.map(|(_, blocks)| blocks).sum::<f64>(), 16.0);
    assert!(of("erases_min") <= of("erases_q1") && of("erases_q3") <= of("erases_max"));
    assert_eq!(of("free_blocks"), drive_.snapshots(now)[0].expect("it lives").free_blocks as f64);
}
