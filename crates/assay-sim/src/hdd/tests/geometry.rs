//! Tests of the places of sectors.

use super::*;
use crate::hdd::small::disk;
use assay_spec::Nanos;
use assay_spec::device::{SkewSpec, ZoneSpec};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn geometry(zones: Vec<ZoneSpec>, heads: u32, spare_range: u32, serpentine: bool) -> DiskGeometry {
    let mut spec = disk(&[]);
    (spec.heads, spec.spare_range, spec.serpentine, spec.zones) =
        (heads, spare_range, serpentine, zones);
    DiskGeometry::new(&spec)
}

fn zone(first_cylinder: u32, cylinders: u32, sectors_per_track: u32) -> ZoneSpec {
    ZoneSpec { first_cylinder, cylinders, sectors_per_track, ..Default::default() }
}

fn spot(g: &DiskGeometry, sector: u64) -> (u32, u32, u32) {
    let p = g.place(sector);
    (p.cylinder, p.head, p.index)
}

#[test]
fn sectors_run_along_tracks_heads_cylinders_and_zones() {
    let g = geometry(vec![zone(0, 3, 10), zone(5, 2, 4)], 2, 0, false);
    assert_eq!(g.sectors(), 76);
    assert_eq!(spot(&g, 0), (0, 0, 0));
    assert_eq!(spot(&g, 9), (0, 0, 9));
    assert_eq!(spot(&g, 10), (0, 1, 0));
    assert_eq!(spot(&g, 20), (1, 0, 0));
    assert_eq!(spot(&g, 59), (2, 1, 9), "the last of the first zone");
    assert_eq!(spot(&g, 60), (5, 0, 0), "the next zone begins after its gap");
    assert_eq!(spot(&g, 75), (6, 1, 3));
    assert_eq!((g.track(63), g.track(64)), ((60, 64), (64, 68)));
    assert_eq!((g.cylinder_end(59), g.cylinder_end(60)), (60, 68));
}

#[test]
fn serpentine_heads_turn_back_in_every_second_cylinder() {
    let g = geometry(vec![zone(0, 3, 10)], 2, 0, true);
    assert_eq!(spot(&g, 10), (0, 1, 0));
    assert_eq!(spot(&g, 20), (1, 1, 0), "the same head in the next cylinder");
    assert_eq!(spot(&g, 30), (1, 0, 0));
    assert_eq!(spot(&g, 40), (2, 0, 0));
}

#[test]
fn a_slip_moves_its_range_on_into_the_spares() {
    // A range is one cylinder: 20 places, of which 2 are spares and 18 sectors.
    let zones = vec![ZoneSpec { spares: 2, slips: vec![3, 25], ..zone(0, 2, 10) }];
    let g = geometry(zones, 2, 1, false);
    assert_eq!(g.sectors(), 36);
    assert_eq!((spot(&g, 2), spot(&g, 3)), ((0, 0, 2), (0, 0, 4)), "place 3 is skipped");
    assert_eq!((g.place(0).run, g.place(3).run), (3, 6));
    assert_eq!(spot(&g, 17), (0, 1, 8), "the first spare is used, the second is not");
    assert_eq!(spot(&g, 18), (1, 0, 0), "the next range begins where it did");
    assert_eq!((spot(&g, 22), spot(&g, 23)), ((1, 0, 4), (1, 0, 6)));
}

#[test]
fn front_and_spares_of_a_zone_are_not_seen() {
    let zones =
        vec![ZoneSpec { front: 7, spares: 3, slips: vec![8], ..zone(0, 1, 20) }, zone(1, 1, 10)];
    let g = geometry(zones, 1, 0, false);
    assert_eq!(g.sectors(), 10 + 10);
    assert_eq!((spot(&g, 0), spot(&g, 1)), ((0, 0, 7), (0, 0, 9)));
    assert_eq!((spot(&g, 9), spot(&g, 10)), ((0, 0, 17), (1, 0, 0)));
}

#[test]
fn a_remapped_sector_is_where_its_stand_in_is() {
    let zones = vec![ZoneSpec { spares: 2, remaps: vec![(4, 19)], ..zone(0, 2, 10) }];
    let g = geometry(zones, 1, 0, false);
    assert_eq!((g.place(0).run, g.place(4).run, g.place(5).run), (4, 1, 5));
    assert_eq!(spot(&g, 4), (1, 0, 9));
    assert_eq!((g.track(4), g.track(3)), ((4, 5), (0, 10)));
}

#[test]
fn skews_in_sectors_turn_the_tracks_on() {
    let skew = Some(SkewSpec { track: 2, cylinder: 5, offset: 1 });
    let g = geometry(vec![ZoneSpec { skew, ..zone(0, 3, 10) }], 2, 0, false);
    let sector = 1_000_000;
    assert_eq!(g.turn(), 10 * sector);
    assert_eq!(g.place(0).angle, sector);
    assert_eq!(g.place(10).angle, 3 * sector, "one head on");
    assert_eq!(g.place(20).angle, 8 * sector, "one cylinder on: 2 and 5 more");
    assert_eq!(g.place(30).angle, 0, "10 is a whole turn");
    assert_eq!(g.place(19).angle, 2 * sector, "3 + 9 less a turn");
}

#[test]
fn without_skews_a_track_begins_when_the_head_is_there() {
    let g = geometry(vec![zone(0, 3, 10), zone(3, 2, 5)], 2, 0, false);
    // A head switch takes 500 us and 200 us to settle; a seek of one cylinder 1 ms and 200 us.
    assert_eq!(g.place(10).angle, 700_000);
    assert_eq!(g.place(20).angle, 1_900_000);
    assert_eq!(g.place(60).angle, 3 * 1_900_000, "through the change of zones");
    assert_eq!(Nanos(u64::from(g.place(61).angle - g.place(60).angle)), Nanos::from_millis(2));
}

proptest! {
    /// Every sector has a place of its own, and tracks and runs of numbers agree with places.
    #[test]
    fn numbers_and_places_are_one_to_one(
        heads in 1_u32..5,
        spare_range in 0_u32..4,
        serpentine: bool,
        raw in proptest::collection::vec((1_u32..9, 3_u32..40, 0_u64..20, any::<u64>()), 1..4),
    ) {
        let mut zones = Vec::new();
        let mut first = 0;
        for (cylinders, spt, front, bits) in raw {
            let cylinders = if spare_range == 0 { cylinders } else { cylinders * spare_range };
            let whole = u64::from(cylinders) * u64::from(heads * spt);
            let place = |k: u64| (bits >> (8 * k)) % whole;
            let mut slips: Vec<u64> = (0..2).map(place).collect();
            slips.sort_unstable();
            slips.dedup();
            let zone = ZoneSpec { front, spares: 2, slips, ..zone(first, cylinders, spt) };
            first += cylinders + bits as u32 % 3;
            let range = u64::from(spare_range.max(1)) * u64::from(heads * spt);
            if zone.sectors(heads, spare_range) > 0 && range > 2 {
                zones.push(zone);
            }
        }
        prop_assume!(!zones.is_empty());
        let g = geometry(zones.clone(), heads, spare_range, serpentine);
        let mut seen = BTreeMap::new();
        for sector in 0..g.sectors() {
            let place = g.place(sector);
            let spot = (place.cylinder, place.head, place.index);
            prop_assert!(seen.insert(spot, sector).is_none(), "{sector} lies on {:?}", spot);
            let z = zones.iter().rfind(|z| z.first_cylinder <= place.cylinder).unwrap();
            prop_assert!(place.cylinder < z.first_cylinder + z.cylinders);
            let (track, end) = g.track(sector);
            prop_assert!((track..end).contains(&sector));
            prop_assert_eq!((g.track(track), g.track(end - 1)), ((track, end), (track, end)));
            prop_assert!(u64::from(place.run) <= end - sector);
            // Sectors of a run follow each other in number and in place.
            if place.run > 1 {
                let next = g.place(sector + 1);
                prop_assert_eq!((next.cylinder, next.head, next.index, next.run),
                    (place.cylinder, place.head, place.index + 1, place.run - 1));
            }
        }
        let total: u64 = zones.iter().map(|z| z.sectors(heads, spare_range)).sum();
        prop_assert_eq!(seen.len() as u64, total);
    }
}
