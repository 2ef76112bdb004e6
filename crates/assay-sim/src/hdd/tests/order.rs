//! Tests of the orders of commands.

use super::*;
use crate::hdd::small::disk;

const MS: u64 = 1_000_000;

fn seek_request(arm: &Arm, number: u64, sector: u64, ready: u64) -> PendingSeek {
    let (came, ready) = (Nanos(ready), Nanos(ready));
    PendingSeek { number, came, ready, place: arm.geometry.place(sector), write: false }
}

#[test]
fn first_come_first_served() {
    let arm = Arm::new(&disk(&[]));
    let wishes =
        [seek_request(&arm, 7, 0, 5), seek_request(&arm, 3, 9000, 8), seek_request(&arm, 5, 0, 0)];
    assert_eq!(Fcfs.ready(&wishes), Some(Nanos(8)));
    assert_eq!(Fcfs.next(Nanos(7), &arm, &wishes), None, "the first is not ready");
    assert_eq!(Fcfs.next(Nanos(8), &arm, &wishes), Some(1));
}

#[test]
fn the_shortest_way_counts_seek_and_rotation() {
    let arm = Arm::new(&disk(&[]));
    let order = Sptf { age_limit: Nanos(1000 * MS) };
    // `gone` is on the same track but has just passed; `near` is a seek away that is in time.
    let (gone, near) = (seek_request(&arm, 0, 1, 0), seek_request(&arm, 1, 230, 0));
    let at = Nanos(MS);
    assert_eq!(order.next(at, &arm, &[gone, near]), Some(1));
    // Right when sector 1 comes round, it wins.
    assert_eq!(order.next(Nanos(10 * MS + 100_000), &arm, &[gone, near]), Some(0));
    let soon = PendingSeek { ready: Nanos(2 * MS), ..near };
    assert_eq!(order.next(at, &arm, &[gone, soon]), Some(0), "what is not ready is not chosen");
    assert_eq!(order.ready(&[gone, soon]), Some(Nanos(0)));
}

#[test]
fn who_waits_longer_than_the_limit_goes_first() {
    let arm = Arm::new(&disk(&[]));
    let order = Sptf { age_limit: Nanos(5 * MS) };
    let old = seek_request(&arm, 0, 21_000, 0);
    let near = PendingSeek { came: Nanos(4 * MS), ..seek_request(&arm, 1, 60, 0) };
    assert_eq!(order.next(Nanos(5 * MS), &arm, &[old, near]), Some(1));
    assert_eq!(order.next(Nanos(5 * MS + 1), &arm, &[old, near]), Some(0));
}

#[test]
fn a_bound_cuts_only_what_is_not_better() {
    let arm = Arm::new(&disk(&[]));
    for sector in (0..25_000).step_by(317) {
        let place = arm.geometry.place(sector);
        let time = arm.positioning(0, &place, false, u32::MAX).expect("no bound");
        assert_eq!(arm.positioning(0, &place, false, time), None);
        assert_eq!(arm.positioning(0, &place, false, time + 1), Some(time));
    }
}
