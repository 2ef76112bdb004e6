//! DiskSim's disks through the importer: what comes out is what the catalogue has, and decodes.

#![allow(clippy::print_stdout)]

mod disk_data;

use assay_sim::{Drive, build};
use assay_spec::catalog::{DEVICES, find};
use assay_spec::device::{DeviceKind, Origin};
use assay_spec::{Bytes, Nanos, Op, Request};
use disk_data::{Paths, device, import, read};

const COMPLETE: [&str; 6] =
    ["atlas_III", "barracuda", "cheetah4LP", "atlas10k", "cheetah9LP", "ibm18es"];

#[test]
fn the_catalogue_has_what_the_importer_makes() {
    for disk in COMPLETE {
        let paths = Paths::of(disk);
        let Some(text) = import(&paths) else {
            println!("skipped: no {}", paths.model.display());
            continue;
        };
        let text = text.unwrap_or_else(|e| panic!("{disk}: {e}"));
        let bundled = find(DEVICES, &paths.name).unwrap_or_else(|| panic!("no {}", paths.name));
        assert!(text == bundled.text, "{} is not what the importer makes", bundled.file);
        let spec = device(&paths);
        assert_eq!(spec.name, paths.name);
        let named = |origin: &Origin| match origin {
            Origin::Source(text) => text.contains("DiskSim"),
            Origin::Derived(_) => true,
            Origin::Assumed(_) => false,
        };
        let nameless = spec.facts.iter().find(|f| !named(&f.origin));
        assert!(nameless.is_none(), "{disk}: {nameless:?}");
    }
}

#[test]
fn the_capacity_is_what_disksim_counts_and_the_last_sector_can_be_read() {
    for disk in COMPLETE {
        let paths = Paths::of(disk);
        if read(&paths.model).is_none() {
            println!("skipped: no {}", paths.model.display());
            continue;
        }
        let spec = device(&paths);
        let DeviceKind::Hdd(hdd) = &spec.kind else { panic!("not a disk") };
        // The tracks hold what the model says, or up to 3 % more that the model does not count.
        assert!(hdd.raw() >= spec.capacity && hdd.raw().0 < spec.capacity.0 * 103 / 100, "{disk}");
        let mut drive = build(&spec, assay_sim::InitialState::Filled);
        let (offset, length) = (spec.capacity - Bytes(512), Bytes(512));
        drive.submit(Nanos::ZERO, Request { tag: 0, op: Op::Read, offset, length, fua: false });
        let mut done = Vec::new();
        drive.run(Nanos::NEVER, &mut done);
        // A full stroke and a turn at most, and the controller.
        assert!(
            done[0].at > Nanos::from_millis(5) && done[0].at < Nanos::from_millis(30),
            "{disk}"
        );
    }
}

#[test]
fn a_disk_whose_layout_is_elsewhere_is_refused_with_the_place() {
    let paths = Paths::of("maxtor300g");
    let Some(result) = import(&paths) else {
        println!("skipped: no {}", paths.model.display());
        return;
    };
    let error = result.expect_err("its layout is not among the files");
    assert_eq!((error.file, error.line), ("model", 5));
    assert!(error.message.contains("maxtor300g-layout.model"), "{error}");
}
