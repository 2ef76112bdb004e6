//! Wrong bits: reads that take longer, and reads that end with an error.

use super::{COMMAND, PAGE, SENSE, SHIFT, drive, drive_that_is, latency, ssd_of};
use crate::drive::Drive;
use assay_spec::device::{CopyPath, DeviceSpec, Direction, EccSpec, EnduranceSpec, FtlSpec};
use assay_spec::device::{Reach, ReadAheadSpec, WearSpec};
use assay_spec::{Bytes, Completion, Nanos, Op, Request};

const RETRY: Nanos = Nanos::from_micros(70);

/// Three hundred wrong bits in each page, a hundred of which can be put right; each attempt has so
/// many times fewer.
fn wrong_bits(gain: f64, retries: u32) -> EccSpec {
    let share = 300.0 / (PAGE as f64 * 8.0);
    EccSpec {
        codeword: Bytes(PAGE),
        corrects: 100,
        fresh: share,
        worn: share,
        growth: 1.0,
        retry: RETRY,
        gain,
        retries,
    }
}

fn with(ecc: EccSpec) -> impl Fn(&mut DeviceSpec) {
    move |device| ssd_of(device).ecc = Some(ecc)
}

fn told(drive: &dyn Drive) -> [f64; 2] {
    let counters = drive.counters();
    let of = |name: &str| counters.iter().find(|(n, _)| n == name).expect("it is told").1;
    [of("read_retries"), of("uncorrectable")]
}

#[test]
fn a_read_is_tried_again_until_what_is_wrong_can_be_put_right() {
    for (gain, attempts) in [(10.0, 1), (2.0, 2), (1.6, 3)] {
        let (mut drive, transfer) = drive(with(wrong_bits(gain, 9)));
        let alone = COMMAND + SENSE + SHIFT + transfer;
        let took = latency(&mut *drive, Nanos::ZERO, Op::Read, 0, 8);
        assert_eq!(took, alone + RETRY * attempts, "{gain}");
        assert_eq!(told(&*drive), [attempts as f64, 0.0]);
        drive.mark();
        assert_eq!(told(&*drive), [0.0, 0.0]);
    }
}

/// How a read of `pages` from `first` on ends.
fn read(drive: &mut dyn Drive, now: Nanos, first: u64, pages: u64) -> Completion {
    let (offset, length) = (Bytes(first * PAGE), Bytes(pages * PAGE));
    drive.submit(now, Request { tag: 0, op: Op::Read, offset, length, fua: false });
    let mut done = Vec::new();
    while done.is_empty() {
        drive.run(Nanos::NEVER, &mut done);
    }
    done[0]
}

#[test]
fn a_read_that_cannot_be_put_right_ends_with_an_error() {
    let (mut drive, transfer) = drive(with(wrong_bits(1.0, 3)));
    let done = read(&mut *drive, Nanos::ZERO, 0, 1);
    assert_eq!(done.at, COMMAND + SENSE + RETRY * 3 + SHIFT + transfer);
    assert_eq!((done.error, told(&*drive)), (5, [3.0, 1.0]));
    // The next request that has its number knows nothing of it.
    assert_eq!(latency(&mut *drive, done.at, Op::Write, 8, 8), COMMAND + transfer);
    let written = read(&mut *drive, done.at + COMMAND + transfer, 1, 1);
    assert_eq!(written.error, 0, "it is in the buffer");
    let both = read(&mut *drive, written.at + Nanos::from_secs(1), 0, 4);
    assert_eq!((both.error, told(&*drive)), (5, [15.0, 5.0]));
}

#[test]
fn blocks_that_have_been_erased_more_often_have_more_wrong_bits() {
    let ecc = EccSpec { fresh: 0.0, ..wrong_bits(10.0, 9) };
    let retries = |used, growth| {
        let (mut drive, _) = drive(|device| {
            with(EccSpec { growth, ..ecc })(device);
            let spec = EnduranceSpec { cycles: 3000, spread: 0, spare_blocks: 0, used };
            ssd_of(device).endurance = Some(spec);
        });
        latency(&mut *drive, Nanos::ZERO, Op::Read, 0, 8);
        drive.check();
        told(&*drive)[0]
    };
    // A third of 300 is what can be put right, give or take ten.
    assert_eq!([0, 20, 50, 100].map(|used| retries(used, 1.0)), [0.0, 0.0, 1.0, 1.0]);
    assert_eq!([0, 20, 50, 100].map(|used| retries(used, 2.0)), [0.0, 0.0, 0.0, 1.0]);
    assert_eq!([0, 20, 50, 100].map(|used| retries(used, 0.5)), [0.0, 1.0, 1.0, 1.0]);
}

/// As many as can be put right: about half of the pages cannot.
fn half_lost() -> EccSpec {
    let share = 100.5 / (PAGE as f64 * 8.0);
    EccSpec { fresh: share, worn: share, ..wrong_bits(1.0, 0) }
}

/// Which of the first pages cannot be read, asked for one by one.
fn lost(drive: &mut dyn Drive, now: &mut Nanos, pages: impl Iterator<Item = u64>) -> Vec<bool> {
    let one = |page| {
        let done = read(drive, *now, page, 1);
        *now = done.at;
        assert!([0, 5].contains(&done.error));
        done.error == 5
    };
    pages.map(one).collect()
}

#[test]
fn what_is_lost_is_lost_however_it_is_read() {
    let (mut alone, _) = drive(with(half_lost()));
    let mut now = Nanos::ZERO;
    let all = lost(&mut *alone, &mut now, 0..200);
    let count = all.iter().filter(|lost| **lost).count();
    assert!((70..130).contains(&count), "{count} of 200");
    let mut back = lost(&mut *alone, &mut now, (0..200).rev());
    back.reverse();
    assert_eq!(all, back, "each time");
    // Ahead of the requests, too.
    let reads_ahead = |pages: u64| {
        move |device: &mut DeviceSpec| {
            with(half_lost())(device);
            ssd_of(device).readahead = Some(ReadAheadSpec {
                trigger: 2,
                window: Bytes(pages * PAGE),
                reach: Reach::Logical,
                streams: 1,
                direction: Direction::Forward,
            });
        }
    };
    let (mut ahead, _) = drive(reads_ahead(16));
    assert_eq!(lost(&mut *ahead, &mut now, 0..200), all);
    // And where the second of two that come at once finds its page on its way.
    let (mut ahead, _) = drive(reads_ahead(2));
    let (mut pairs, mut now) = (Vec::new(), Nanos::ZERO);
    for first in (200..400).step_by(2) {
        for tag in 0..2 {
            let offset = Bytes((first + u64::from(tag)) * PAGE);
            let request = Request { tag, op: Op::Read, offset, length: Bytes(PAGE), fua: false };
            ahead.submit(now, request);
        }
        let mut done = Vec::new();
        while done.len() < 2 {
            now = ahead.run(Nanos::NEVER, &mut done);
        }
        done.sort_by_key(|c: &Completion| c.tag);
        pairs.extend(done.iter().map(|c| c.error == 5));
    }
    assert_eq!(pairs, lost(&mut *alone, &mut Nanos::from_secs(2), 200..400));
}

#[test]
fn what_is_made_of_a_lost_page_is_lost_until_it_is_written_anew() {
    let (mut drive, _) = drive(with(half_lost()));
    let mut now = Nanos::ZERO;
    let all = lost(&mut *drive, &mut now, 0..200);
    let bad: Vec<u64> = (0..200).filter(|page| all[*page as usize]).collect();
    // A sector of each, with seven others that cannot be read.
    for page in &bad {
        now += Nanos::from_secs(1);
        latency(&mut *drive, now, Op::Write, page * 8, 1);
    }
    now += Nanos::from_secs(1);
    let after = lost(&mut *drive, &mut now, bad.iter().copied());
    assert!(after.iter().all(|lost| *lost), "wherever they are now");
    for page in &bad {
        now += Nanos::from_secs(1);
        latency(&mut *drive, now, Op::Write, page * 8, 8);
    }
    now += Nanos::from_secs(1);
    let after = lost(&mut *drive, &mut now, bad.iter().copied());
    let count = after.iter().filter(|lost| **lost).count();
    assert!(count < bad.len() * 7 / 10, "{count} of {}", bad.len());
}

#[test]
fn what_is_written_where_something_was_lost_is_new() {
    let (mut drive, _) = drive_that_is(false, |device| {
        tiny(device);
        ssd_of(device).ecc = Some(half_lost());
    });
    let mut now = Nanos::ZERO;
    // Parts of pages on all of its blocks, and then whole pages on all of them.
    for i in 0..6000 {
        let sectors = if (150..3000).contains(&i) { 1 } else { 8 };
        latency(&mut *drive, now, Op::Write, i * 77 % 150 * 8, sectors);
        now += Nanos::from_millis(50);
        if i == 2999 {
            let all = lost(&mut *drive, &mut now, 0..150);
            assert!(all.iter().all(|lost| *lost), "each was made of what was lost once");
        }
    }
    let count = lost(&mut *drive, &mut now, 0..150).iter().filter(|lost| **lost).count();
    assert!((50..100).contains(&count), "{count} of 150");
}

/// One plane of 24 blocks of eight pages.
fn tiny(device: &mut DeviceSpec) {
    device.capacity = Bytes(150 * PAGE);
    let nand = &mut ssd_of(device).nand;
    (nand.channels, nand.dies_per_channel, nand.planes_per_die) = (1, 1, 1);
    (nand.blocks_per_plane, nand.pages_per_block) = (24, 8);
}

#[test]
fn blocks_wear_out_while_they_are_written_and_what_is_moved_keeps_its_errors() {
    for copy in [CopyPath::CopyBack, CopyPath::Controller] {
        let (mut drive, _) = drive_that_is(false, |device| {
            tiny(device);
            let ssd = ssd_of(device);
            ssd.endurance = Some(EnduranceSpec { cycles: 60, spread: 0, spare_blocks: 0, used: 0 });
            // From half of their life on some pages cannot be put right.
            ssd.ecc = Some(EccSpec { fresh: 0.0, worn: 170.0 / 32768.0, ..half_lost() });
            if let FtlSpec::Page(map) = &mut ssd.ftl {
                map.collection.copy = copy;
                map.wear = WearSpec::Static { spread: 4 };
            }
        });
        let mut now = Nanos::ZERO;
        let mut seen = Vec::new();
        // A tenth is written again and again, the others are moved.
        for i in 0..6000 {
            let page = if i < 150 { i } else { i * 7 % 15 };
            latency(&mut *drive, now, Op::Write, page * 8, 8);
            now += Nanos::from_millis(50);
            if i % 200 == 199 {
                seen.push(lost(&mut *drive, &mut now, 15..150));
            }
        }
        let counts: Vec<usize> =
            seen.iter().map(|all| all.iter().filter(|lost| **lost).count()).collect();
        assert!(counts[0] == 0 && *counts.last().unwrap() > 10, "{copy:?}: {counts:?}");
        let stays = seen.is_sorted_by(|a, b| a.iter().zip(b).all(|(a, b)| a <= b));
        assert!(stays, "what is lost stays so: {copy:?}: {counts:?}");
        drive.check();
    }
}
