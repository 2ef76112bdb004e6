//! Wrong bits: reads that take longer, and reads that end with an error.

use super::{COMMAND, PAGE, SENSE, SHIFT, drive, latency, ssd_of};
use crate::drive::Drive;
use assay_spec::device::{DeviceSpec, EccSpec, EnduranceSpec};
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
