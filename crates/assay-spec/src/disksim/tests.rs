//! Tests of the importer on a disk of a few lines. The tests on real disks are `disk_import` of
//! assay-sim.

use super::*;
use crate::decode::Source;
use crate::device::{DeviceKind, DeviceSpec, ReadAhead, SeekSpec};
use crate::units::{Bytes, Rate};

const MODEL: &str = "\
dm_disk TINY_model {   # a comment, with } in it
   Number of data surfaces = 2,
   Block count = 3700,
   Layout Model = dm_layout_g1 {
      LBN-to-PBN mapping scheme = 1,
      Sparing scheme used = 8,
      Rangesize for sparing = 5,
      Zones = [
         dm_layout_g1_zone {
            First cylinder number = 0,
            Last cylinder number = 9,
            Blocks per track = 100,
            Offset of first block = 3.000000,
            Empty space at zone front = 10,
            Skew for track switch = 20.9,
            Skew for cylinder switch = 30.000000,
            Number of spares = 20,
            slips = [ 500, 44, 44 ],
            defects = [ 7, 999, 8, 8 ]
         },
         dm_layout_g1_zone {
            First cylinder number = 12, Last cylinder number = 21, Blocks per track = 90,
            Offset of first block = 0, Empty space at zone front = 0,
            Skew for track switch = 18, Skew for cylinder switch = 27, Number of spares = 20,
            slips = [], defects = []
         }
      ]
   },
   Mechanical Model = dm_mech_g1 {
      Access time type = trackSwitchPlusRotation,
      Seek type = extracted,
      Full seek curve = tiny.seek,
      Add. write settling delay = 0.4870,
      Head switch time = 0.999000,
      Rotation speed (in rpms) = 7200,
      Percent error in rpms = 0.0
   }
} # end
";

const SPECS: &str = "\
disksim_disk TINY_validate {
   Model = source tiny.model,
   Per-request overhead time = 0.010000,
   Time scale for overheads = 2.000000,
   Bulk sector transfer time = 0.100000,
   Allow almost read hits = 1,
   Allow read hits on write data = 1,
   Never disconnect = 1,
   Max queue length = 1,
   Scheduler = disksim_ioqueue { Scheduling policy = 1 },
   Number of buffer segments = 6,
   Maximum number of write segments = 2,
   Segment size (in blks) = 64,
   Buffer continuous read = 4,
   Maximum read-ahead (blks) = 32,
   Read any free blocks = 1,
   Fast write level = 2,
   Immediate buffer read = 0,
   Immediate buffer write = 1,
   Combine seq writes = 0,
   Read hit over. after read = 0.374,
   Read hit over. after write = 0.335,
   Read miss over. after read = 0.0,
   Read miss over. after write = 0.0,
   Write hit over. after read = 0.414,
   Write hit over. after write = 0.396,
   Write miss over. after read = 0.5,
   Write miss over. after write = 0.6,
   Read completion overhead = 0.0,
   Write completion overhead = 0.001
}
";

const SEEK: &str = "Seek distances measured: 3\n1,\t0.525700, 0.024385\n2,1.0\n20, 2.5\n";

fn tiny() -> DeviceSpec {
    let text = import(MODEL, SPECS, SEEK, "tiny").unwrap_or_else(|e| panic!("{e}"));
    // The test asks for 1 MiB, the smallest capacity of a device, instead of the 1,894,400 bytes of
    // the model.
    let small = text.replace("1894400B", "1048576B");
    DeviceSpec::parse(Source { file: "tiny", text: &small }).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn every_parameter_arrives() {
    let spec = tiny();
    let DeviceKind::Hdd(hdd) = &spec.kind else { panic!("not a disk") };
    assert_eq!((spec.link.rate, spec.link.command), (Rate(5_120_000), Nanos::from_micros(10)));
    assert_eq!((hdd.rpm, hdd.heads, hdd.serpentine, hdd.spare_range), (7200, 2, true, 5));
    let zone = &hdd.zones[0];
    assert_eq!((zone.first_cylinder, zone.cylinders, zone.sectors_per_track), (0, 10, 100));
    let skew = zone.skew.expect("skews");
    assert_eq!((skew.track, skew.cylinder, skew.offset), (20, 30, 3), "whole sectors");
    assert_eq!((zone.front, zone.spares), (10, 20));
    assert_eq!(zone.slips, [44, 500], "in order, once");
    assert_eq!(zone.remaps, [(7, 999)], "8 stands in for itself");
    assert_eq!(hdd.zones[1].first_cylinder, 12);
    assert_eq!(hdd.raw(), Bytes((2000 - 10 - 40 + 1800 - 40) * 512));
    assert_eq!(hdd.write_settle, Nanos::from_micros(487));
    let SeekSpec::Table(table) = &hdd.seek else { panic!("no table") };
    assert_eq!(table[..2], [(1, Nanos(525_700)), (2, Nanos(1_000_000))]);
    let over = hdd.overhead;
    assert_eq!(over.read_hit, [Nanos::from_micros(748), Nanos::from_micros(670)], "scaled by 2");
    assert_eq!(over.write, [Nanos::from_micros(828), Nanos::from_micros(792)]);
    assert_eq!((over.read_end, over.write_end), (Nanos::ZERO, Nanos::from_micros(2)));
    let cache = hdd.cache;
    assert_eq!((cache.segments, cache.write_segments, cache.size), (6, 2, Bytes(6 * 64 * 512)));
    assert_eq!(
        (cache.read_ahead, cache.read_ahead_limit),
        (ReadAhead::Sequential, Bytes(32 * 512))
    );
    let flags = [cache.join_read_ahead, cache.read_whole_track, cache.read_on_arrival];
    assert_eq!(flags, [true, true, false]);
    let flags = [cache.write_on_arrival, cache.read_written, cache.write_cache];
    assert_eq!(flags, [true; 3]);
    assert!(!cache.combine_writes);
}

#[test]
fn what_we_do_not_model_is_said() {
    let text = import(MODEL, SPECS, SEEK, "tiny").expect("right");
    assert!(text.contains("# Not modelled: Never disconnect\n"), "{text}");
}

#[test]
fn a_write_that_is_not_cached_costs_what_a_miss_does() {
    let specs = SPECS.replace("Fast write level = 2", "Fast write level = 0");
    let text = import(MODEL, &specs, SEEK, "tiny").expect("right");
    assert!(text.contains("write_after_read = { value = \"1ms\""), "{text}");
    assert!(text.contains("write_cache = { value = \"no\""));
}

#[test]
fn mistakes_are_shown_with_their_line() {
    let check = |file: &str, from: &str, to: &str, line: usize, says: &str| {
        let [mut model, mut specs, mut seek] = [MODEL, SPECS, SEEK].map(str::to_owned);
        let text = match file {
            "model" => &mut model,
            "specs" => &mut specs,
            _ => &mut seek,
        };
        assert!(text.contains(from), "no `{from}`");
        *text = text.replacen(from, to, 1);
        let error = import(&model, &specs, &seek, "tiny").expect_err(to);
        assert_eq!((error.file, error.line), (file, line), "{error}");
        assert!(error.message.contains(says), "{error}");
    };
    check("model", "surfaces = 2", "surfaces = two", 2, "is not a number from 0 to 64");
    check("model", "scheme = 1", "scheme = 2", 5, "is not one this importer knows");
    check("model", "used = 8", "used = 3", 6, "Sparing scheme used");
    check("model", "Blocks per track = 100,", "", 9, "has no `Blocks per track`");
    check("model", "number = 9", "number = -1", 11, "not a number");
    check("model", "= [ 7, 999, 8, 8 ]", "= [ 7 ]", 19, "not pairs");
    check("model", "extracted", "hpl", 31, "is not one this importer knows");
    check("model", "dm_layout_g1 {", "source x.model, X = y {", 4, "another file, `x.model`");
    check("model", "} # end", "", 1, "the block `dm_disk` is not closed");
    check("model", "dm_disk", "dm_disc", 1, "no block `dm_disk`");
    check("specs", "= 0.374", "= soon", 21, "not a time in milliseconds");
    check("specs", "= 0.374", "", 21, "expected `=`, found `,`");
    check("seek", "2,1.0", "2;1.0", 3, "not `distance, milliseconds`");
    check("seek", "20,", "2,", 4, "not above");
    check("seek", "2,1.0\n20, 2.5\n", "", 2, "fewer than two points");
}

#[test]
fn other_files_are_found_by_their_names() {
    let names = references(SPECS, Some(MODEL));
    assert_eq!(names, (Some("tiny.model".to_owned()), Some("tiny.seek".to_owned())));
    assert_eq!(references("garbage {", None), (None, None));
}

/// A simple generator, so that every run of the test tries the same garbage.
fn next(random: &mut u64) -> usize {
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    (*random >> 33) as usize
}

#[test]
fn any_text_gives_a_spec_or_an_error() {
    const PIECES: [&str; 14] = [
        "{",
        "}",
        "[",
        "]",
        "=",
        ",",
        "#",
        "\n",
        "source ",
        "-1",
        "1e999",
        "NaN",
        "\u{e9}",
        "99999999999999",
    ];
    let mut random = 1;
    for round in 0..4000 {
        let mut texts = [MODEL, SPECS, SEEK].map(str::to_owned);
        for _ in 0..=round % 4 {
            let text = &mut texts[next(&mut random) % 3];
            let mut at = next(&mut random) % (text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            match next(&mut random) % 3 {
                0 => text.insert_str(at, PIECES[next(&mut random) % PIECES.len()]),
                1 => text.truncate(at),
                _ if at < text.len() => drop(text.remove(at)),
                _ => {}
            }
        }
        let [model, specs, seek] = &texts;
        if let Ok(text) = import(model, specs, seek, "tiny") {
            // A spec that cannot be built is refused with a place, like any other device file.
            let _ = DeviceSpec::parse(Source { file: "tiny", text: &text });
        }
    }
    let deep = "a b { c = ".to_owned() + &"[".repeat(100_000);
    assert!(import(&deep, SPECS, SEEK, "tiny").is_err());
}
