//! Several streams and both directions, as a host sees them.

use super::{COMMAND, PAGE, SENSE, SHIFT, drive, latency, ssd_of};
use crate::drive::Drive;
use assay_spec::device::{Direction, Reach, ReadAheadSpec};
use assay_spec::{Bytes, Nanos, Op};

/// A drive that reads four pages ahead from the second request on; and a page on its link.
fn reader(streams: u32, direction: Direction) -> (Box<dyn Drive + Send>, Nanos) {
    drive(|device| {
        let (window, reach) = (Bytes(4 * PAGE), Reach::Logical);
        let spec = ReadAheadSpec { trigger: 2, window, reach, streams, direction };
        ssd_of(device).readahead = Some(spec);
    })
}

/// Reads pages one after the other, a second apart; whether each came from the flash only then.
fn from_flash(drive: &mut dyn Drive, transfer: Nanos, pages: &[u64]) -> Vec<bool> {
    let read = |(second, page): (usize, &u64)| {
        let now = Nanos::from_secs(second as u64);
        let took = latency(drive, now, Op::Read, 8 * page, 8);
        let ahead = COMMAND + transfer;
        assert!([ahead, ahead + SENSE + SHIFT].contains(&took), "page {page}: {took}");
        took > ahead
    };
    pages.iter().enumerate().map(read).collect()
}

#[test]
fn streams_do_not_disturb_each_other_up_to_their_number() {
    let pages = [100, 101, 500, 501, 102, 502, 103, 503];
    for (streams, expected) in [(1, [true; 4]), (2, [false; 4])] {
        let (mut drive_, transfer) = reader(streams, Direction::Forward);
        let came = from_flash(&mut *drive_, transfer, &pages);
        assert_eq!((&came[..4], &came[4..]), (&[true; 4][..], &expected[..]), "{streams}");
    }
    // A third one takes the place of the one not read for longest.
    let pages = [100, 101, 500, 501, 102, 900, 901, 103, 502];
    let (mut drive_, transfer) = reader(2, Direction::Forward);
    let came = from_flash(&mut *drive_, transfer, &pages);
    assert_eq!(came[4..], [false, true, true, false, true]);
}

#[test]
fn streams_that_go_down_are_fetched_downwards_if_they_are_to_be() {
    let pages = [200, 199, 198, 197, 196, 195, 194];
    let (mut drive_, transfer) = reader(1, Direction::Both);
    let came = from_flash(&mut *drive_, transfer, &pages);
    assert_eq!(came, [true, true, false, false, false, false, false]);
    let (mut drive_, transfer) = reader(1, Direction::Forward);
    assert_eq!(from_flash(&mut *drive_, transfer, &pages), [true; 7]);

    let (mut drive_, transfer) = reader(1, Direction::Both);
    let mut two =
        |second, page: u64| latency(&mut *drive_, Nanos::from_secs(second), Op::Read, 8 * page, 16);
    let took = [200, 198, 196].iter().zip(0..).map(|(page, second)| two(second, *page)).last();
    assert_eq!(took, Some(COMMAND + transfer + transfer));
    // Three pages down to the drive's beginning, and not beyond.
    let (mut drive_, transfer) = reader(1, Direction::Both);
    let came = from_flash(&mut *drive_, transfer, &[4, 3, 2, 1, 0, 5]);
    assert_eq!(came, [true, true, false, false, false, true]);
}

#[test]
fn who_asks_too_early_waits_for_what_is_on_its_way() {
    for early in [Nanos(1), Nanos(0)] {
        let (mut drive_, transfer) = reader(2, Direction::Both);
        from_flash(&mut *drive_, transfer, &[200, 199]);
        let now = Nanos::from_secs(9);
        // With this one, the window moves on by a page.
        assert_eq!(latency(&mut *drive_, now, Op::Read, 8 * 198, 8), COMMAND + transfer);
        let there = now + COMMAND + SENSE + SHIFT;
        let took = latency(&mut *drive_, there - COMMAND - early, Op::Read, 8 * 194, 8);
        assert_eq!(took, COMMAND + early + transfer);
    }
}
