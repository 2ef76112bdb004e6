//! What logs cost, to the nanosecond, on the drive `ssd-l` with a unit of a page.

use crate::drive::Drive;
use crate::ssd::build::build;
use assay_spec::catalog::{DEVICES, find};
use assay_spec::decode::Source;
use assay_spec::device::SuspendSpec;
use assay_spec::device::{DeviceKind, DeviceSpec, FtlSpec, HybridSpec, LogOpens, Logs};
use assay_spec::{Bytes, Nanos, Op, Request};

const PAGE: u64 = 4096;
const PLANES: u64 = 32;
const ROWS: u64 = 128;
const COPY: Nanos = Nanos(860_000);
const ERASE: Nanos = Nanos(1_500_000);

/// The drive, filled, as this changes its layer, which has logs that open empty, of one block each,
/// and merges one at a time.
fn drive(change: impl FnOnce(&mut HybridSpec)) -> Box<dyn Drive + Send> {
    drive_that(None, change)
}

/// The same of one that leaves programs and erases for reads, if so.
fn drive_that(
    leaves: Option<SuspendSpec>,
    change: impl FnOnce(&mut HybridSpec),
) -> Box<dyn Drive + Send> {
    let bundled = find(DEVICES, "ssd-l").unwrap();
    let device = DeviceSpec::parse(Source { file: bundled.file, text: bundled.text }).unwrap();
    let DeviceKind::Ssd(mut ssd) = device.kind else { panic!("ssd-l is flash") };
    let FtlSpec::Hybrid(layer) = &mut ssd.ftl else { panic!("ssd-l has logs") };
    layer.unit = Bytes(PAGE);
    (layer.blocks_per_log, layer.log_opens, layer.merge_together) = (1, LogOpens::Empty, 1);
    change(layer);
    ssd.nand.suspend = leaves;
    build(&ssd, device.link, device.capacity, crate::InitialState::Filled)
}

/// Writes a page of a superblock alone, a second after the last: how long it takes.
fn write(drive: &mut dyn Drive, now: &mut Nanos, superblock: u64, page: u64) -> Nanos {
    *now += Nanos::from_secs(1);
    let offset = Bytes((superblock * PLANES * ROWS + page) * PAGE);
    drive.submit(*now, Request { tag: 0, op: Op::Write, offset, length: Bytes(PAGE), fua: false });
    let mut done = Vec::new();
    while done.is_empty() {
        drive.run(Nanos::NEVER, &mut done);
    }
    done[0].at - *now
}

#[test]
fn reads_go_before_programs_that_can_be_left() {
    let leaves = SuspendSpec { suspend: Nanos(20_000), resume: Nanos(10_000), max_admissions: 4 };
    let took = [None, Some(leaves)].map(|leaves| {
        let mut drive = drive_that(leaves, |_| {});
        let mut now = Nanos::ZERO;
        // The log's page is in its register when the write is answered, and the other lies on the
        // same plane; a second later nothing is under way.
        let write = write(&mut *drive, &mut now, 3, 5);
        let read = |drive: &mut dyn Drive, at: Nanos| {
            let offset = Bytes((7 * PLANES * ROWS + 5) * PAGE);
            let read = Request { tag: 0, op: Op::Read, offset, length: Bytes(PAGE), fua: false };
            drive.submit(at, read);
            let mut done = Vec::new();
            while done.is_empty() {
                drive.run(Nanos::NEVER, &mut done);
            }
            done[0].at - at
        };
        let beside = read(&mut *drive, now + write + Nanos::from_micros(100));
        let alone = read(&mut *drive, now + Nanos::from_secs(1));
        let counters = drive.counters();
        let left = counters.iter().find(|(name, _)| name == "suspensions").map(|(_, n)| *n);
        (beside - alone, left)
    });
    let [(waits, None), (leaves, Some(left))] = took else { panic!("{took:?}") };
    assert!(waits > Nanos::from_micros(300), "{waits}");
    assert_eq!((leaves, left), (Nanos(20_000), 1.0));
}

#[test]
fn a_log_that_opens_in_place_copies_the_rows_before() {
    let (mut empty, mut in_place) = (drive(|_| {}), drive(|d| d.log_opens = LogOpens::InPlace));
    for (superblock, row) in [(3, 1), (4, 10), (5, ROWS - 1)] {
        let (now, page) = (Nanos::from_secs(superblock), row * PLANES);
        let alone = write(&mut *empty, &mut now.clone(), superblock, page);
        let opened = write(&mut *in_place, &mut now.clone(), superblock, page);
        assert_eq!(opened - alone, COPY * row, "row {row}");
    }
    // Which is done once.
    let mut now = Nanos::from_secs(10);
    let again = write(&mut *in_place, &mut now.clone(), 4, 10 * PLANES);
    assert_eq!(again, write(&mut *empty, &mut now, 4, 10 * PLANES));
}

#[test]
fn logs_are_merged_so_many_at_a_time() {
    let merges = |together| {
        let mut drive = drive(|d| (d.log_superblocks, d.merge_together) = (4, together));
        let mut now = Nanos::ZERO;
        let took: Vec<Nanos> =
            (0..12).map(|n| write(&mut *drive, &mut now, n, PLANES + n)).collect();
        let alone = took[0];
        took.into_iter().map(|t| t - alone).collect::<Vec<Nanos>>()
    };
    // Every row is copied, then the log and the old data are erased.
    let merge = COPY * ROWS + ERASE * 2;
    let one = [vec![Nanos::ZERO; 4], vec![merge; 8]].concat();
    assert_eq!(merges(1), one);
    let none = Nanos::ZERO;
    let three =
        [vec![none; 4], vec![merge * 3, none, none, merge * 3, none, none], vec![merge * 3, none]];
    assert_eq!(merges(3), three.concat());
}

#[test]
fn a_log_is_full_when_its_last_block_is() {
    for blocks in [1, 2, 3] {
        let mut drive = drive(|d| d.blocks_per_log = blocks);
        let mut now = Nanos::ZERO;
        let slow = |took: &Nanos| *took > COPY * ROWS;
        let first = (0..4 * ROWS).position(|_| slow(&write(&mut *drive, &mut now, 7, PLANES)));
        assert_eq!(first, Some(blocks as usize * ROWS as usize), "{blocks} blocks");
    }
}

/// Full, partial and switch merges, and pages programmed.
fn told(drive: &dyn Drive) -> [f64; 4] {
    let names = ["merges_full", "merges_partial", "merges_switch", "pages_programmed"];
    let counters = drive.counters();
    names.map(|name| counters.iter().find(|(n, _)| n == name).expect("it is told").1)
}

/// Two superblocks written in order twice, page by page in turn.
fn two_in_turn(logs: Logs) -> [f64; 4] {
    let mut drive = drive(|d| (d.logs, d.log_superblocks, d.stream_after) = (logs, 2, 0));
    let mut now = Nanos::ZERO;
    for page in (0..2).flat_map(|_| 0..PLANES * ROWS) {
        write(&mut *drive, &mut now, 3, page);
        write(&mut *drive, &mut now, 5, page);
    }
    drive.check();
    told(&*drive)
}

#[test]
fn a_log_that_was_written_in_order_takes_the_place_of_the_data() {
    // Each has its log; the second round finds them full.
    let pages = (4 * PLANES * ROWS) as f64;
    assert_eq!(two_in_turn(Logs::Switched), [0.0, 0.0, 2.0, pages]);
    // With room for one stream, the second goes to its log out of place.
    let [full, partial, switch, programmed] = two_in_turn(Logs::Shared);
    assert!(full + partial > 0.0 && programmed > pages, "{full} {partial} {switch}");
    // Ten rows, and then other superblocks: the rest is copied behind them.
    let mut drive = drive(|d| (d.logs, d.log_superblocks, d.stream_after) = (Logs::Switched, 2, 0));
    let mut now = Nanos::ZERO;
    for page in 0..10 * PLANES {
        write(&mut *drive, &mut now, 7, page);
    }
    write(&mut *drive, &mut now, 8, PLANES);
    assert_eq!(told(&*drive)[..3], [0.0, 0.0, 0.0]);
    write(&mut *drive, &mut now, 9, PLANES);
    assert_eq!(told(&*drive), [0.0, 1.0, 0.0, (PLANES * ROWS) as f64 + 2.0]);
    drive.check();
}

#[test]
fn logs_that_all_share_are_full_before_any_is_merged() {
    let merges = |logs| {
        let mut drive = drive(|d| (d.logs, d.log_superblocks, d.stream_after) = (logs, 2, 0));
        let mut now = Nanos::ZERO;
        // Rows of one plane, in six superblocks in turn: two logs have 256 of them.
        let mut before = 0.0;
        for i in 0..2 * ROWS + 1 {
            before = told(&*drive)[0];
            write(&mut *drive, &mut now, i % 6, PLANES * (1 + i / 6));
        }
        drive.check();
        (before, told(&*drive)[0])
    };
    // The oldest has something of all six.
    assert_eq!(merges(Logs::Shared), (0.0, 6.0));
    // Where each superblock has its own, two are soon used up, and then each write needs one.
    assert_eq!(merges(Logs::Switched), (254.0, 255.0));
}

#[test]
fn what_a_stream_has_written_again_does_not_count_in_a_log() {
    let mut drive = drive(|d| (d.logs, d.log_superblocks, d.stream_after) = (Logs::Shared, 1, 0));
    let mut now = Nanos::ZERO;
    write(&mut *drive, &mut now, 3, PLANES);
    for page in 0..=PLANES {
        write(&mut *drive, &mut now, 3, page);
    }
    // The first is in the log, old; 127 more fill its plane there, and the next wants another log.
    for row in 0..ROWS {
        write(&mut *drive, &mut now, 4, PLANES * (1 + row % (ROWS - 1)));
    }
    assert_eq!(told(&*drive)[..3], [1.0, 0.0, 0.0], "the stream goes on");
    drive.check();
}

#[test]
fn each_group_of_planes_has_logs_to_share() {
    let mut drive = drive(|d| {
        (d.logs, d.log_superblocks, d.stream_after) = (Logs::Shared, 1, 0);
        d.width = Some(1);
    });
    // One page in each of 32 groups, twice: all find room.
    let mut now = Nanos::ZERO;
    for group in (0..PLANES).chain(0..PLANES) {
        write(&mut *drive, &mut now, 0, group * ROWS + 1);
    }
    assert_eq!(told(&*drive)[..3], [0.0; 3]);
    drive.check();
}
