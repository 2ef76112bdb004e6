//! What a host sees of a drive's buffer, its switch, and its saved map: to the nanosecond.

mod ahead;
mod demand;
mod errors;
mod modern;
mod stalls;
mod thermal;
mod write_back_cache;

use super::build::{assemble, build};
use crate::drive::{Drive, Inspect};
use crate::ftl::page::PageMap;
use assay_spec::catalog::{DEVICES, find};
use assay_spec::decode::Source;
use assay_spec::device::{
    BufferSpec, DeviceKind, DeviceSpec, Direction, FtlSpec, ProgramTime, Reach, ReadAheadSpec,
    ReadBuffered, SsdSpec,
};
use assay_spec::seed::mix;
use assay_spec::{Bytes, Nanos, Op, Rate, Request};

const PAGE: u64 = 4096;
/// Of `ssd-m`: the firmware, a page on the link, on a bus, a sense.
const COMMAND: Nanos = Nanos(61_000);
const SHIFT: Nanos = Nanos(100_000);
const SENSE: Nanos = Nanos(50_000);
const PROGRAM: Nanos = Nanos(900_000);

/// The drive `ssd-m` as this changes it, with programs that all take as long.
fn drive(change: impl FnOnce(&mut DeviceSpec)) -> (Box<dyn Drive + Send>, Nanos) {
    drive_that_is(true, change)
}

/// The same, with everything written once or nothing.
fn drive_that_is(
    filled: bool,
    change: impl FnOnce(&mut DeviceSpec),
) -> (Box<dyn Drive + Send>, Nanos) {
    let bundled = find(DEVICES, "ssd-m").unwrap();
    let source = Source { file: bundled.file, text: bundled.text };
    let mut device = DeviceSpec::parse(source).unwrap();
    let ssd = ssd_of(&mut device);
    (ssd.nand.program, ssd.nand.read) = (ProgramTime::uniform(PROGRAM), SENSE);
    ssd.readahead = None;
    if let FtlSpec::Page(map) = &mut ssd.ftl {
        map.save_map_every = None;
    }
    if let BufferSpec::Dram { reads, .. } = &mut ssd.buffer {
        *reads = ReadBuffered::FromBuffer;
    }
    change(&mut device);
    let transfer = Bytes(PAGE).time_at(device.link.rate);
    let ssd = *ssd_of(&mut device);
    let past = if filled { crate::InitialState::Filled } else { crate::InitialState::New };
    let mut drive = build(&ssd, device.link, device.capacity, past);
    drive.time_waits();
    (drive, transfer)
}

fn ssd_of(device: &mut DeviceSpec) -> &mut SsdSpec {
    match &mut device.kind {
        DeviceKind::Ssd(ssd) => ssd,
        _ => panic!("ssd-m is flash"),
    }
}

/// One request alone, `sectors` long, from sector `at`: how long it takes.
fn latency(drive: &mut dyn Drive, now: Nanos, op: Op, at: u64, sectors: u64) -> Nanos {
    let (offset, length) = (Bytes(at * 512), Bytes(sectors * 512));
    drive.submit(now, Request { tag: 0, op, offset, length, fua: false });
    let mut done = Vec::new();
    while done.is_empty() {
        drive.run(Nanos::NEVER, &mut done);
    }
    done[0].at - now
}

#[test]
fn a_write_is_answered_from_the_buffer_or_from_the_cells() {
    let (mut cached, transfer) = drive(|_| {});
    assert_eq!(latency(&mut *cached, Nanos::ZERO, Op::Write, 0, 8), COMMAND + transfer);
    let (mut through, _) = drive(|d| d.set_write_cache(false));
    let whole = COMMAND + transfer + SHIFT + PROGRAM;
    assert_eq!(latency(&mut *through, Nanos::ZERO, Op::Write, 0, 8), whole);
    // A page written in part: its rest is read first.
    let part = Bytes(512).time_at(Rate(280_000_000));
    let merged = COMMAND + part + SENSE + SHIFT + SHIFT + PROGRAM;
    let later = Nanos::from_secs(1);
    assert_eq!(latency(&mut *through, later, Op::Write, 800, 1), merged);
}

/// What joins a page that is being made whole has no use for its slot: who waits for one has it.
#[test]
fn a_slot_that_is_given_back_is_taken_at_once() {
    let command = Nanos(1000);
    let (mut drive, transfer) = drive(|device| {
        device.link.command = command;
        if let BufferSpec::Dram { size, .. } = &mut ssd_of(device).buffer {
            *size = Bytes(2 * PAGE);
        }
    });
    for (tag, at, sectors) in [(0, 800, 1), (1, 801, 1), (2, 8, 8)] {
        let (offset, length) = (Bytes(at * 512), Bytes(sectors * 512));
        drive.submit(Nanos::ZERO, Request { tag, op: Op::Write, offset, length, fua: false });
    }
    let mut done = Vec::new();
    drive.advance(Nanos::from_secs(1), &mut done);
    let part = Bytes(512).time_at(Rate(280_000_000));
    let ends: Vec<(u32, Nanos)> = done.iter().map(|c| (c.tag, c.at)).collect();
    let joined = command + part + part;
    assert_eq!(ends, [(0, command + part), (1, joined), (2, joined + transfer)]);
    drive.check();
}

/// A part of a page is written, and while its rest is read the page is trimmed.
#[test]
fn a_trim_is_not_undone_by_a_page_that_is_made_whole() {
    let (mut drive, transfer) = drive(|_| {});
    let submit = |drive: &mut dyn Drive, op, at: u64, sectors: u64| {
        let (offset, length) = (Bytes(at * 512), Bytes(sectors * 512));
        drive.submit(Nanos::ZERO, Request { tag: 0, op, offset, length, fua: false });
    };
    submit(&mut *drive, Op::Write, 801, 1);
    submit(&mut *drive, Op::Trim, 800, 8);
    submit(&mut *drive, Op::Write, 1601, 1);
    submit(&mut *drive, Op::Trim, 1600, 8);
    // What is written after that is there.
    submit(&mut *drive, Op::Write, 1602, 1);
    drive.advance(Nanos::from_secs(1), &mut Vec::new());
    let read = |drive: &mut dyn Drive, second, at| {
        latency(drive, Nanos::from_secs(second), Op::Read, at, 8)
    };
    assert_eq!(read(&mut *drive, 1, 800), COMMAND + transfer, "nothing is there");
    assert_eq!(read(&mut *drive, 2, 1600), COMMAND + SENSE + SHIFT + transfer);
    drive.check();
}

/// And nothing is read ahead meanwhile: it would be old.
#[test]
fn a_page_that_is_made_whole_is_not_read_ahead() {
    let (mut drive, _) = drive(|device| {
        let (trigger, window) = (1, Bytes(4 * PAGE));
        let (reach, direction) = (Reach::Logical, Direction::Forward);
        let ahead = ReadAheadSpec { trigger, window, reach, streams: 1, direction };
        ssd_of(device).readahead = Some(ahead);
    });
    for (op, at, sectors) in [(Op::Write, 25, 1), (Op::Read, 16, 8)] {
        let (offset, length) = (Bytes(at * 512), Bytes(sectors * 512));
        drive.submit(Nanos::ZERO, Request { tag: 0, op, offset, length, fua: false });
    }
    drive.advance(Nanos::from_secs(1), &mut Vec::new());
    assert_eq!(drive.counters()[0], ("pages_read".to_owned(), 2.0));
}

/// One write that must be in the cells alone: what others of the time before wait for in the buffer
/// it does not.
#[test]
fn a_write_that_must_survive_waits_for_the_cells() {
    let forced = |drive: &mut dyn Drive, now: Nanos, at: u64, sectors: u64| {
        let (offset, length) = (Bytes(at * 512), Bytes(sectors * 512));
        drive.submit(now, Request { tag: 0, op: Op::Write, offset, length, fua: true });
        let mut done = Vec::new();
        while done.is_empty() {
            drive.run(Nanos::NEVER, &mut done);
        }
        done[0].at - now
    };
    let (mut cached, transfer) = drive(|_| {});
    let whole = COMMAND + transfer + SHIFT + PROGRAM;
    assert_eq!(forced(&mut *cached, Nanos::ZERO, 0, 8), whole);
    let later = Nanos::from_secs(1);
    assert_eq!(latency(&mut *cached, later, Op::Write, 0, 8), COMMAND + transfer, "not others");
    let part = Bytes(512).time_at(Rate(280_000_000));
    let merged = COMMAND + part + SENSE + SHIFT + SHIFT + PROGRAM;
    assert_eq!(forced(&mut *cached, Nanos::from_secs(2), 800, 1), merged);
    let (mut registers, _) = drive(|d| ssd_of(d).buffer = BufferSpec::Registers);
    assert_eq!(forced(&mut *registers, Nanos::ZERO, 0, 8), whole);
    let (mut safe, _) = drive(|d| {
        if let BufferSpec::Dram { protected, .. } = &mut ssd_of(d).buffer {
            *protected = true;
        }
    });
    assert_eq!(forced(&mut *safe, Nanos::ZERO, 0, 8), COMMAND + transfer, "it survives as it is");
}

/// On SATA each command has frames beside its data; and the drive asks for each 8 KiB of a write,
/// wherever that begins, while a read just comes.
#[test]
fn frames_beside_the_data_take_the_link() {
    const SETUP: Nanos = Nanos(3000);
    const ASKING: Nanos = Nanos(800);
    let beside = COMMAND + SETUP;
    let (mut drive, transfer) = drive(|d| (d.link.setup, d.link.activate) = (SETUP, ASKING));
    let mut now = Nanos::ZERO;
    let mut takes = |op, at, sectors| {
        now += Nanos::from_secs(1);
        latency(&mut *drive, now, op, at, sectors)
    };
    for (sectors, frames) in [(8, 1), (16, 1), (24, 2), (256, 16)] {
        let data = transfer * (sectors / 8);
        assert_eq!(takes(Op::Write, 0, sectors), beside + data + ASKING * frames);
    }
    assert_eq!(takes(Op::Write, 8, 16), beside + transfer * 2 + ASKING);
    // Three pages with half of the first and of the last: 8 KiB, asked for once.
    let half = Bytes(PAGE / 2).time_at(Rate(280_000_000));
    assert_eq!(takes(Op::Write, 4, 16), beside + half * 2 + transfer + ASKING);
    assert_eq!(takes(Op::Read, 0, 8), beside + SENSE + SHIFT + transfer);
}

#[test]
fn a_read_is_answered_from_the_buffer_or_behind_the_program() {
    let (mut drive_, transfer) = drive(|_| {});
    let written = latency(&mut *drive_, Nanos::ZERO, Op::Write, 0, 8);
    assert_eq!(latency(&mut *drive_, written, Op::Read, 0, 8), COMMAND + transfer);

    let (mut drive_, transfer) = drive(|d| {
        if let BufferSpec::Dram { reads, .. } = &mut ssd_of(d).buffer {
            *reads = ReadBuffered::AfterWriteBack;
        }
    });
    let written = latency(&mut *drive_, Nanos::ZERO, Op::Write, 0, 8);
    let programmed = written + SHIFT + PROGRAM;
    let read = programmed + SENSE + SHIFT + transfer;
    assert_eq!(latency(&mut *drive_, written, Op::Read, 0, 8), read - written);
    let later = Nanos::from_secs(1);
    let alone = COMMAND + SENSE + SHIFT + transfer;
    assert_eq!(latency(&mut *drive_, later, Op::Read, 0, 8), alone);
}

/// Writes four pages, after which the map is saved; when the fourth was answered.
fn until_the_map_is_saved(drive: &mut dyn Drive, usual: Nanos) -> Nanos {
    let mut now = Nanos::ZERO;
    for page in 0..4 {
        assert_eq!(latency(drive, now, Op::Write, 8 * page, 8), usual);
        now += usual;
    }
    now
}

fn saves_every_four_pages(device: &mut DeviceSpec) {
    if let FtlSpec::Page(map) = &mut ssd_of(device).ftl {
        map.save_map_every = Some(Bytes(4 * PAGE));
    }
}

#[test]
fn what_is_written_while_the_map_is_saved_waits_in_the_buffer() {
    let (mut drive_, transfer) = drive(saves_every_four_pages);
    let usual = COMMAND + transfer;
    let now = until_the_map_is_saved(&mut *drive_, usual);
    // The page of the map goes to the fifth plane, on a channel of its own, when the fourth page of
    // the host is there.
    let saved = now + SHIFT + PROGRAM;
    assert_eq!(latency(&mut *drive_, now, Op::Write, 800, 8), usual);
    // A read of it is answered from there; a flush waits for the map and then for the page.
    let now = now + usual;
    assert_eq!(latency(&mut *drive_, now, Op::Read, 800, 8), usual);
    let now = now + usual;
    assert_eq!(latency(&mut *drive_, now, Op::Flush, 0, 0), saved + SHIFT + PROGRAM - now);
    let counters = drive_.counters();
    let map = counters.iter().find(|(name, _)| name == "wa_map").map(|(_, v)| *v);
    assert_eq!(map, Some(1.0 / 5.0));
    drive_.check();
}

#[test]
fn a_full_buffer_waits_for_the_map() {
    let (mut drive_, transfer) = drive(|d| {
        saves_every_four_pages(d);
        if let BufferSpec::Dram { size, .. } = &mut ssd_of(d).buffer {
            *size = Bytes(4 * PAGE);
        }
    });
    let usual = COMMAND + transfer;
    let now = until_the_map_is_saved(&mut *drive_, usual);
    // Slots fall free when the pages before are in the cells, and are taken; the flash gets them
    // when the map is there.
    let saved = now + SHIFT + PROGRAM;
    let first = usual + SHIFT + PROGRAM;
    let mut answered = now;
    for page in 0..4 {
        let free = first + Nanos(usual.0 * page);
        let at = free.max(answered + COMMAND) + transfer;
        let took = latency(&mut *drive_, answered, Op::Write, 800 + 8 * page, 8);
        assert_eq!(answered + took, at, "page {page}");
        answered = at;
    }
    assert!(answered <= saved + transfer);
    let fifth = latency(&mut *drive_, answered, Op::Write, 1600, 8);
    assert_eq!(answered + fifth, saved + SHIFT + PROGRAM + transfer);
    drive_.check();
}

#[test]
fn what_was_parked_is_read_or_trimmed_in_order() {
    let (mut drive_, transfer) = drive(|d| {
        saves_every_four_pages(d);
        if let BufferSpec::Dram { reads, .. } = &mut ssd_of(d).buffer {
            *reads = ReadBuffered::AfterWriteBack;
        }
    });
    let usual = COMMAND + transfer;
    let now = until_the_map_is_saved(&mut *drive_, usual);
    let saved = now + SHIFT + PROGRAM;
    assert_eq!(latency(&mut *drive_, now, Op::Write, 800, 8), usual);
    let now = now + usual;
    let read = saved + SHIFT + PROGRAM + SENSE + SHIFT + transfer;
    assert_eq!(latency(&mut *drive_, now, Op::Read, 800, 8), read - now, "behind its program");

    let (mut drive_, _) = drive(saves_every_four_pages);
    let now = until_the_map_is_saved(&mut *drive_, usual);
    assert_eq!(latency(&mut *drive_, now, Op::Write, 800, 8), usual);
    let now = now + usual;
    assert_eq!(latency(&mut *drive_, now, Op::Trim, 800, 8), saved - now);
    // Nothing is read any more.
    assert_eq!(latency(&mut *drive_, saved, Op::Read, 800, 8), usual);
    drive_.check();
}

#[test]
fn without_a_buffer_writes_wait_while_the_map_is_saved() {
    let (mut drive_, transfer) = drive(|d| {
        saves_every_four_pages(d);
        ssd_of(d).buffer = BufferSpec::Registers;
    });
    let now = until_the_map_is_saved(&mut *drive_, COMMAND + transfer + SHIFT);
    // The saving began with the page that is in its register by now.
    let saved = now + PROGRAM;
    let took = latency(&mut *drive_, now, Op::Write, 800, 8);
    assert_eq!(now + took, saved + transfer + SHIFT);
}

/// Planes that do one thing at a time are servers, until somebody looks.
#[test]
fn a_plain_drive_goes_by_servers() {
    let serves = |change: fn(&mut SsdSpec)| {
        let bundled = find(DEVICES, "reference-28").unwrap();
        let source = Source { file: bundled.file, text: bundled.text };
        let mut device = DeviceSpec::parse(source).unwrap();
        change(ssd_of(&mut device));
        let ssd = *ssd_of(&mut device);
        let FtlSpec::Page(map) = ssd.ftl else { panic!("it maps pages") };
        let map = PageMap::new(&ssd.nand, map, 1000, 0, false);
        let mut drive = assemble(map, &ssd, device.link, device.capacity);
        let by_plane = drive.nand.uses_plane_fast_path();
        drive.observe(Box::new(crate::Checker::new(&ssd.nand, 1000)));
        (by_plane, drive.nand.uses_plane_fast_path())
    };
    assert_eq!(serves(|_| {}), (true, false));
    assert_eq!(serves(|ssd| ssd.nand.cache_register = true), (false, false));
    assert_eq!(serves(|ssd| ssd.buffer = BufferSpec::Registers), (false, false));
}

/// What is under way when counting begins and ends counts as far as it is, as it does step by step.
#[test]
fn servers_count_what_is_under_way() {
    for reads in [0, 50, 100] {
        let counted = |is_observed: bool| {
            let bundled = find(DEVICES, "reference-28").unwrap();
            let source = Source { file: bundled.file, text: bundled.text };
            let mut device = DeviceSpec::parse(source).unwrap();
            let ssd = ssd_of(&mut device);
            (ssd.nand.blocks_per_plane, ssd.nand.channels) = (32, 2);
            let ssd = *ssd;
            device.capacity = Bytes(ssd.nand.pages() * PAGE * 4 / 5);
            let pages = device.capacity.0 / PAGE;
            let mut drive = crate::build(&device, crate::InitialState::Filled);
            if is_observed {
                drive.observe(Box::new(crate::timeline::Recorder::new(&device)));
            }
            let request = |i: u64| {
                let op = if mix(!i) % 100 < reads { Op::Read } else { Op::Write };
                let offset = Bytes(mix(i) % pages * PAGE);
                Request { tag: 0, op, offset, length: Bytes(PAGE), fua: false }
            };
            let mut closed = crate::Closed::new(32);
            let mut all = Vec::new();
            for part in 0..40 {
                closed.run(&mut *drive, 997, |i| request(part * 1000 + i), |_| ());
                all.push(drive.counters());
                if part % 3 == 0 {
                    drive.mark();
                    all.push(drive.counters());
                }
            }
            all
        };
        let (fast_path, steps) = (counted(false), counted(true));
        let differs = fast_path.iter().flatten().zip(steps.iter().flatten()).find(|(a, b)| a != b);
        assert_eq!(differs, None, "{reads} % reads");
        let mut collected = fast_path.iter().flatten().filter(|(name, _)| name == "wa_collect");
        assert_eq!(collected.any(|(_, wa)| *wa > 1.0), reads < 100);
    }
}
