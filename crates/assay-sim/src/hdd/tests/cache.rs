//! Tests of the cache's answers about dirty segments against a search through all of them.

use super::*;
use assay_spec::Bytes;
use assay_spec::device::ReadAhead;
use proptest::prelude::*;

/// The number of sectors of the disk: few, so that writes overlap.
const SECTORS: u64 = 48;

fn cache(write_extents: u32) -> Cache {
    Cache::new(&CacheSpec {
        size: Bytes(512 * 64),
        segments: 4,
        read_ahead: ReadAhead::None,
        read_ahead_limit: Bytes(0),
        join_read_ahead: false,
        read_whole_track: false,
        read_on_arrival: false,
        write_on_arrival: false,
        read_written: true,
        write_cache: true,
        write_segments: 4,
        write_extents,
        combine_writes: true,
        destage_window: 4,
        destage_after: Nanos::ZERO,
    })
}

/// Takes a write of `first..end` as a disk does: destages dirty data of it that it cannot join, and
/// the oldest segments if there is no room.
fn take(cache: &mut Cache, first: u64, end: u64, now: Nanos) {
    if let Some(index) = cache.joinable(first, end) {
        return cache.join(index, first, end, now);
    }
    while let Some(index) = cache.dirty_in(first, end) {
        cache.written(index, Nanos::ZERO);
    }
    while !cache.has_room(now, first, end) {
        cache.written(0, Nanos::ZERO);
    }
    let place =
        SectorPlace { cylinder: 0, head: 0, angle: 0, index: 0, pass: 0, per_track: 1, run: 1 };
    cache.write((first, end), place, (now, now));
}

/// Compares every answer about `first..end` with that of a search through all dirty segments.
fn compare(cache: &Cache, first: u64, end: u64) {
    let ranges: Vec<_> = cache.dirty.iter().map(|d| cache.range(d.slot)).collect();
    let place = |holds: &dyn Fn(u64, u64) -> bool| ranges.iter().position(|r| holds(r.0, r.1));
    let begins = |from: u64| first <= from && from < end;
    assert_eq!(cache.dirty_in(first, end), place(&|from, to| from < end && first < to));
    assert_eq!(cache.dirty_within(first, end), place(&|from, _| begins(from)));
    assert_eq!(cache.dirty_across(first), place(&|from, to| from < first && first < to));
    let beginning = cache.dirty.iter().zip(&ranges).filter(|(_, r)| begins(r.0));
    assert_eq!(cache.arrived(first, end), beginning.map(|(d, _)| d.arrived).max());
    let joins = |from, to| from <= first && end <= to || to == first && end - from <= cache.most();
    let meets = |index: &usize| {
        ranges.iter().enumerate().any(|(i, r)| i != *index && r.0 < end && first < r.1)
    };
    assert_eq!(cache.joinable(first, end), place(&joins).filter(|index| !meets(index)));
    let waits = |sector: &u64| ranges.iter().any(|r| (r.0..r.1).contains(sector));
    assert_eq!(cache.dirty_after(first), (first..SECTORS).find(waits).unwrap_or(u64::MAX));
    let last = (first..end).rev().find(waits).map_or(first, |sector| sector + 1);
    assert_eq!(cache.dirty_before(first, end), last);
}

proptest! {
    #[test]
    fn what_waits_is_found_as_by_a_look_at_each(
        write_extents in prop_oneof![Just(0), Just(6)],
        steps in prop::collection::vec((0..4u8, 0..SECTORS - 8, 1..8u64), 1..60),
    ) {
        let mut cache = cache(write_extents);
        for (time, (step, first, length)) in steps.into_iter().enumerate() {
            let waiting = cache.dirty.len();
            match step {
                0 if waiting > 0 => cache.written(first as usize % waiting, Nanos::ZERO),
                1 if waiting > 0 => {
                    let index = first as usize % waiting;
                    let (from, to) = cache.range(cache.dirty[index].slot);
                    if to - from > 1 {
                        cache.written_to(index, from + 1 + length % (to - from - 1));
                    }
                }
                _ => take(&mut cache, first, first + length, Nanos(time as u64 + 1)),
            }
            cache.check();
            for first in 0..SECTORS {
                for end in first + 1..=SECTORS.min(first + 9) {
                    compare(&cache, first, end);
                }
            }
        }
    }
}
