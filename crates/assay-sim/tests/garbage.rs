//! Scattered writes on every bundled flash drive, before and after they have used up its spare
//! area.

#![allow(clippy::print_stdout)]

mod small;

use assay_sim::{Closed, Drive, InitialState, build};
use assay_spec::catalog::DEVICES;
use assay_spec::decode::Source;
use assay_spec::device::{DeviceKind, DeviceSpec, FtlSpec};
use assay_spec::seed::mix;
use assay_spec::{Bytes, Op, Request};
use small::small;

/// A drive that gets writes of a page each, one at a time, at random places.
struct Scattered {
    drive: Box<dyn Drive + Send>,
    closed: Closed,
    page: Bytes,
    pages: u64,
    written: u64,
}

impl Scattered {
    /// Writes `count` pages; returns the mean latency in ns.
    fn write(&mut self, count: u64) -> f64 {
        let (page, pages, before) = (self.page, self.pages, self.written);
        let place = |i: u64| ((u128::from(mix(before + i)) * u128::from(pages)) >> 64) as u64;
        let request = |i: u64| Request {
            tag: 0,
            op: Op::Write,
            offset: page * place(i),
            length: page,
            fua: false,
        };
        let mut sum = 0;
        self.drive.mark();
        self.closed.run(&mut *self.drive, count, request, |latency| sum += latency.0);
        self.written += count;
        sum as f64 / count as f64
    }

    /// Returns the pages that garbage collection and merges programmed for each page that was
    /// written, during the last call of `write`.
    fn collected(&self) -> f64 {
        let told = self.drive.counters();
        told.iter().find(|(name, _)| name == "wa_collect").map_or(0.0, |(_, share)| *share)
    }
}

/// Returns the names of the bundled flash drives with spare area, and of those that write in place.
fn flash_drives() -> (Vec<&'static str>, Vec<&'static str>) {
    let (mut with_spare, mut in_place) = (Vec::new(), Vec::new());
    for device in DEVICES {
        let spec = DeviceSpec::parse(Source { file: device.file, text: device.text }).unwrap();
        let DeviceKind::Ssd(ssd) = &spec.kind else { continue };
        let of = if matches!(ssd.ftl, FtlSpec::InPlace) { &mut in_place } else { &mut with_spare };
        of.push(device.name);
    }
    (with_spare, in_place)
}

#[test]
fn every_drive_collects_garbage_once_its_spare_area_is_used_up() {
    let (with_spare, in_place) = flash_drives();
    assert!(with_spare.len() >= 14, "{with_spare:?}");
    assert_eq!(in_place, ["optane-p4800x"], "what is written in place leaves no garbage");
    for name in with_spare {
        let spec = small(name);
        let DeviceKind::Ssd(ssd) = &spec.kind else { panic!("flash") };
        let (page, raw) = (ssd.nand.page, ssd.nand.pages());
        let pages = spec.capacity.0 / page.0;
        let drive = build(&spec, InitialState::Filled);
        let mut all = Scattered { drive, closed: Closed::new(1), page, pages, written: 0 };
        let first = all.write(16);
        let collects_early = all.collected() > 0.0;
        all.write(2 * (raw - pages));
        let later = all.write(2000);
        let collected = all.collected();
        let maps_pages = matches!(ssd.ftl, FtlSpec::Page(_));
        assert!(!(maps_pages && collects_early), "{name} collects while it has spare area");
        println!("{name}: {first:.0} ns, then {later:.0}; {collected:.2} pages collected a write");
        assert!(collected > 0.2, "{name}: {collected} pages are collected for each written");
        assert!(later > 1.5 * first, "{name}: a write took {first} ns, and later {later}");
    }
}
