//! A drive that gets warm, as its host sees it.

use super::{COMMAND, PAGE, SENSE, SHIFT, drive, latency, ssd_of};
use crate::Closed;
use crate::drive::Drive;
use assay_spec::device::{DeviceSpec, PowerSpec, ThermalSpec};
use assay_spec::seed::mix;
use assay_spec::units::{Microwatts, Picojoules};
use assay_spec::{Bytes, Nanos, Op, Request};

/// 35 °C alone, and a degree more for each 50 mJ; 200 uJ a page programmed.
fn warm(device: &mut DeviceSpec) {
    let ssd = ssd_of(device);
    let erase = Picojoules(1_000_000_000);
    let (read, program) = (Picojoules(20_000_000), Picojoules(200_000_000));
    ssd.power = Some(PowerSpec { idle: Microwatts(1_000_000), read, program, erase });
    ssd.thermal = Some(ThermalSpec {
        ambient: 25.0,
        resistance: 10.0,
        capacity: 0.05,
        limit: 50.0,
        resume: 45.0,
        power: Microwatts(1_800_000),
    });
}

fn told(drive: &dyn Drive, name: &str) -> f64 {
    let counters = drive.counters();
    counters.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("no {name}")).1
}

/// Random writes until so many more have ended.
fn write(drive: &mut dyn Drive, closed: &mut Closed, from: u64, count: u64) {
    let request = |i: u64| {
        let offset = Bytes(mix(from + i) % 10_000 * PAGE);
        Request { tag: 0, op: Op::Write, offset, length: Bytes(PAGE), fua: false }
    };
    closed.run(drive, count, request, |_| {});
}

#[test]
fn a_throttled_drive_draws_no_more_than_it_may() {
    let (mut drive, _) = drive(warm);
    let mut closed = Closed::new(32);
    write(&mut *drive, &mut closed, 0, 20_000);
    drive.mark();
    let begun = closed.now();
    write(&mut *drive, &mut closed, 1 << 32, 20_000);
    let took = closed.now() - begun;
    // Throttled it would be at 43 °C in the end: it is free again and again, and in the mean
    // between the limit and where it resumes.
    let (power, warmest) = (told(&*drive, "power_w"), told(&*drive, "temperature_max_c"));
    assert!((1.8..2.6).contains(&power), "{power}");
    assert!((50.0..52.0).contains(&warmest), "what was begun goes on: {warmest}");
    assert!(told(&*drive, "throttled") > 100.0);
    // Everything beside: a drive that does not get warm is faster by that.
    let (mut cool, _) = super::drive(|device| {
        warm(device);
        ssd_of(device).thermal = None;
    });
    let mut free = Closed::new(32);
    write(&mut *cool, &mut free, 0, 20_000);
    cool.mark();
    let begun = free.now();
    write(&mut *cool, &mut free, 1 << 32, 20_000);
    let slower = took.as_secs_f64() / (free.now() - begun).as_secs_f64();
    let draws = told(&*cool, "power_w");
    assert!(draws > 3.0, "{draws}");
    assert!((slower / ((draws - 1.0) / (power - 1.0)) - 1.0).abs() < 0.05, "{slower}");
}

#[test]
fn a_warm_drive_cools_down_while_it_is_left_alone() {
    let (mut drive, transfer) = drive(warm);
    let mut closed = Closed::new(32);
    write(&mut *drive, &mut closed, 0, 20_000);
    let now = closed.now();
    while let Some(at) = drive.next_event() {
        drive.advance(at, &mut Vec::new());
    }
    assert!(told(&*drive, "temperature_c") > 44.0);
    let later = now + Nanos::from_secs(5);
    let alone = COMMAND + SENSE + SHIFT + transfer;
    assert_eq!(latency(&mut *drive, later, Op::Read, 0, 8), alone, "it is held back no more");
    assert!(told(&*drive, "temperature_c") < 35.1);
    drive.mark();
    let [now, warmest] = ["temperature_c", "temperature_max_c"].map(|name| told(&*drive, name));
    assert_eq!((now, told(&*drive, "throttled")), (warmest, 0.0));
}

#[test]
fn what_was_drawn_before_a_mark_warms_as_much() {
    let temperatures = [false, true].map(|is_marked| {
        let (mut drive, _) = drive(warm);
        let mut closed = Closed::new(32);
        write(&mut *drive, &mut closed, 0, 2_000);
        // Much is on its way that no command has looked at.
        while let Some(at) = drive.next_event() {
            drive.advance(at, &mut Vec::new());
        }
        if is_marked {
            drive.mark();
        }
        told(&*drive, "temperature_c")
    });
    assert!(temperatures[0] > 36.0, "{temperatures:?}");
    assert!((temperatures[0] - temperatures[1]).abs() < 1e-9, "{temperatures:?}");
}
