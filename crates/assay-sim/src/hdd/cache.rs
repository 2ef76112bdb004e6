//! The cache of a disk: segments of equal size, each with one run of read or written sectors.
//!
//! As in DiskSim (CMU-PDL-08-101, the disk's buffer): a read takes the least recently used segment
//! and fills it; data beyond the segment's size pushes out its front. A written segment is dirty
//! until it has been written to the platter, and holds clean data from then on.
//!
//! A drive may also pack its writes (`write_extents`): then they wait beside the segments, and each
//! takes only as much of the cache as it has sectors.
//!
//! *Invariants.* A dirty segment is never reused. No two of them have a sector in common. No clean
//! segment holds sectors that were written after it was filled.
//!
//! *Hot path.* Tens of thousands of packed writes may wait. An ordered map finds them by sector,
//! and a counter keeps the sum of their sectors.

use super::geometry::SectorPlace;
use assay_spec::Nanos;
use assay_spec::device::CacheSpec;
use std::collections::{BTreeMap, VecDeque};

/// A dirty segment: a run of sectors that waits to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dirty {
    /// The segment.
    pub slot: usize,
    /// When the arm may begin to seek for it.
    pub ready: Nanos,
    /// When all its data is in the cache.
    pub arrived: Nanos,
    /// Whether its data comes in the order of its sectors.
    pub in_order: bool,
    /// The number of the use of the cache with which it became dirty.
    pub came: u64,
    /// The place of its first sector when it became dirty. The arm compares places at each choice;
    /// shingled disks do not use it.
    pub place: SectorPlace,
}

/// The cache of a disk.
pub(crate) struct Cache {
    /// By segment: the sectors that it holds, `first[i]..end[i]`.
    first: Vec<u64>,
    end: Vec<u64>,
    /// By segment: the number of its last use, or `HELD` while it is dirty.
    used: Vec<u64>,
    /// The number of uses of the cache so far, which serves as a clock.
    pub uses: u64,
    /// The sectors of a segment.
    size: u64,
    /// The dirty segments, the oldest in front.
    pub dirty: VecDeque<Dirty>,
    /// By first sector: the dirty segments.
    dirty_from: BTreeMap<u64, usize>,
    /// By segment: [`Dirty::came`] of it, if it is dirty.
    came: Vec<u64>,
    /// The sectors of all dirty segments.
    dirty_sectors: u64,
    /// The number of segments that reads can fill; those behind hold packed writes.
    segments: usize,
    /// For packed writes: unused segments, and the sectors of the whole cache. `None` if writes
    /// take segments.
    packed: Option<(Vec<usize>, u64)>,
    /// The segment being destaged, and until when.
    writing: Option<(usize, Nanos)>,
    /// The sectors being destaged.
    writing_sectors: u64,
    spec: CacheSpec,
    /// The sectors of a band on a shingled disk: writes to two bands do not share a segment.
    band: u64,
}

/// The value of `used` for a dirty segment.
const HELD: u64 = u64::MAX;
/// The most sectors of a packed write: 2 MiB.
const PACKED: u64 = 4096;

impl Cache {
    pub(crate) fn new(spec: &CacheSpec) -> Cache {
        let segments = spec.segments as usize;
        let n = segments + spec.write_extents as usize;
        let packed = (n > segments).then(|| ((segments..n).rev().collect(), spec.size.0 / 512));
        Cache {
            segments,
            packed,
            first: vec![0; n],
            end: vec![0; n],
            used: vec![0; n],
            uses: 0,
            size: (spec.size.0 / 512 / u64::from(spec.segments)).max(1),
            dirty: VecDeque::new(),
            dirty_from: BTreeMap::new(),
            came: vec![0; n],
            dirty_sectors: 0,
            writing: None,
            writing_sectors: 0,
            spec: *spec,
            band: u64::MAX,
        }
    }

    /// Keeps waiting writes from growing across a multiple of `band` sectors.
    pub(crate) fn part_at(&mut self, band: u64) {
        self.band = band;
    }

    /// Returns the sectors that a segment holds: the first, and the end.
    pub(crate) fn range(&self, slot: usize) -> (u64, u64) {
        (self.first[slot], self.end[slot])
    }

    /// Counts a use of a segment.
    fn use_now(&mut self, slot: usize) {
        self.uses += 1;
        if self.used[slot] != HELD {
            self.used[slot] = self.uses;
        }
    }

    /// Returns `true` if a segment is dirty.
    pub(crate) fn is_dirty(&self, slot: usize) -> bool {
        self.used[slot] == HELD
    }

    /// Returns the segment that answers most of a read of `first..end`; of several that answer all
    /// of it a dirty one, else `reading`, the one being read ahead. Counts a use of it.
    pub(crate) fn find(&mut self, first: u64, end: u64, reading: Option<usize>) -> Option<usize> {
        // Most reads find nothing: this test finds that without a branch for every segment.
        let holds = |(from, held): (&u64, &u64)| first.wrapping_sub(*from) < held - from;
        let segments = self.first.iter().zip(&self.end);
        if !segments.fold(false, |any, segment| any | holds(segment)) {
            return None;
        }
        let mut best = None;
        let mut best_end = first;
        for (slot, (from, held)) in self.first.iter().zip(&self.end).enumerate() {
            if *from <= first && *held > first {
                let dirty = self.used[slot] == HELD;
                // Data beyond the end of the read does not count; the rank breaks ties.
                let rank = u64::from(dirty) * 2 + u64::from(Some(slot) == reading);
                let value = if *held >= end { end + rank } else { *held };
                if value > best_end && (self.spec.read_written || !dirty) {
                    (best, best_end) = (Some(slot), value);
                }
            }
        }
        if let Some(slot) = best {
            self.use_now(slot);
        }
        best
    }

    /// Returns the index in `dirty` of segment `slot`.
    pub(crate) fn place_of(&self, slot: usize) -> usize {
        self.dirty.binary_search_by_key(&self.came[slot], |d| d.came).expect("it waits")
    }

    /// Returns the dirty segments that begin before `end`, the last of them first.
    fn dirty_until(&self, end: u64) -> impl Iterator<Item = usize> {
        self.dirty_from.range(..end).rev().map(|(_, slot)| *slot)
    }

    /// Returns the dirty segments that have a sector of `first..end`, the last of them first.
    fn dirty_slots(&self, first: u64, end: u64) -> impl Iterator<Item = usize> {
        self.dirty_until(end).take_while(move |slot| self.end[*slot] > first)
    }

    /// Returns the index in `dirty` of the oldest segment that has a sector of `first..end`.
    pub(crate) fn dirty_in(&self, first: u64, end: u64) -> Option<usize> {
        self.dirty_slots(first, end).map(|slot| self.place_of(slot)).min()
    }

    /// Returns the index in `dirty` of the oldest segment that begins in `first..end`.
    pub(crate) fn dirty_within(&self, first: u64, end: u64) -> Option<usize> {
        self.dirty_from.range(first..end).map(|(_, slot)| self.place_of(*slot)).min()
    }

    /// Returns when the last data of the dirty segments that begin in `first..end` arrives.
    pub(crate) fn arrived(&self, first: u64, end: u64) -> Option<Nanos> {
        let waiting = self.dirty_from.range(first..end);
        waiting.map(|(_, slot)| self.dirty[self.place_of(*slot)].arrived).max()
    }

    /// Returns the index in `dirty` of the segment that begins before `sector` and ends behind it.
    pub(crate) fn dirty_across(&self, sector: u64) -> Option<usize> {
        let slot = self.dirty_until(sector).next().filter(|slot| self.end[*slot] > sector);
        slot.map(|slot| self.place_of(slot))
    }

    /// Returns the first dirty sector at or after `sector`, or `u64::MAX`.
    pub(crate) fn dirty_after(&self, sector: u64) -> u64 {
        match self.dirty_until(sector).next().is_some_and(|slot| self.end[slot] > sector) {
            true => sector,
            false => self.dirty_from.range(sector..).next().map_or(u64::MAX, |(first, _)| *first),
        }
    }

    /// Returns the end of the last dirty sectors in `from..to`, or `from` if there are none.
    pub(crate) fn dirty_before(&self, from: u64, to: u64) -> u64 {
        self.dirty_until(to).next().map_or(from, |slot| self.end[slot].max(from).min(to))
    }

    /// Returns an empty or else the least recently used segment, or `None` if all are dirty.
    fn oldest(&mut self) -> Option<usize> {
        let mut best = None;
        let mut best_used = HELD;
        for (slot, used) in self.used[..self.segments].iter().enumerate() {
            if *used < best_used {
                (best, best_used) = (Some(slot), *used);
            }
        }
        best
    }

    /// Takes a segment for a read from `first` on, and empties it. Returns `None` if all are dirty.
    pub(crate) fn take_for_read(&mut self, first: u64) -> Option<usize> {
        let slot = self.oldest()?;
        (self.first[slot], self.end[slot]) = (first, first);
        self.use_now(slot);
        Some(slot)
    }

    /// Makes segment `slot` hold `first..end`, or only the end of that if it is too small.
    pub(crate) fn hold(&mut self, slot: usize, first: u64, end: u64) {
        self.end[slot] = end;
        self.first[slot] = first.max(end.saturating_sub(self.size));
    }

    /// Returns `true` if another write, of `first..end`, may wait in the cache at `now`. One that
    /// continues the segment being destaged counts as part of it.
    pub(crate) fn has_room(&self, now: Nanos, first: u64, end: u64) -> bool {
        let writing = self.writing.filter(|(_, until)| *until > now);
        if let Some((free, size)) = &self.packed {
            let held = self.dirty_sectors + writing.map_or(0, |_| self.writing_sectors);
            // A write that is larger than the cache passes through it when the cache is empty.
            return !free.is_empty() && (held == 0 || held + (end - first) <= *size);
        }
        let goes_on =
            writing.is_some_and(|(slot, _)| self.spec.combine_writes && self.end[slot] == first);
        let waiting = self.dirty.len() + usize::from(writing.is_some() && !goes_on);
        waiting < self.spec.write_segments as usize && self.used.iter().any(|used| *used != HELD)
    }

    /// Returns the index in `dirty` of the segment that a write of `first..end` can join: it holds
    /// all of that already, or ends where the write begins and may grow.
    pub(crate) fn joinable(&self, first: u64, end: u64) -> Option<usize> {
        let holds = |slot: usize| end <= self.end[slot];
        let goes_on = |slot: usize| {
            let grows =
                || end - self.first[slot] <= self.most() && !first.is_multiple_of(self.band);
            self.spec.combine_writes && self.end[slot] == first && grows()
        };
        // Dirty segments do not overlap, so that only the last two that begin by `first` matter.
        let near = self.dirty_until(first + 1).take(2).filter(|s| holds(*s) || goes_on(*s));
        let index = near.map(|slot| self.place_of(slot)).min()?;
        // Other dirty data of the range would be written over it later.
        let slot = self.dirty[index].slot;
        (!self.dirty_slots(first, end).any(|other| other != slot)).then_some(index)
    }

    /// Returns the most sectors to which a waiting write can grow.
    fn most(&self) -> u64 {
        if self.packed.is_some() { PACKED } else { self.size }
    }

    /// Puts a write of `first..end`, whose data is there at `arrived`, into segment `index` of
    /// `dirty`.
    pub(crate) fn join(&mut self, index: usize, first: u64, end: u64, arrived: Nanos) {
        let slot = self.dirty[index].slot;
        self.forget(first, end);
        self.dirty[index].in_order &= first == self.end[slot];
        self.dirty_sectors += end.saturating_sub(self.end[slot]);
        self.end[slot] = self.end[slot].max(end);
        self.dirty[index].arrived = self.dirty[index].arrived.max(arrived);
        self.uses += 1;
    }

    /// Puts a write of `first..end`, which begins at `place`, into a segment of its own. Its data
    /// comes from the first to the second of `times`. There must be room.
    pub(crate) fn write(
        &mut self,
        (first, end): (u64, u64),
        place: SectorPlace,
        times: (Nanos, Nanos),
    ) {
        let (ready, arrived) = times;
        let stale = |slot: &usize| {
            self.used[*slot] != HELD && self.first[*slot] < end && first < self.end[*slot]
        };
        let slot = match &mut self.packed {
            Some((free, _)) => free.pop(),
            None => (0..self.used.len()).find(stale).or_else(|| self.oldest()),
        };
        let slot = slot.expect("there is room");
        self.forget(first, end);
        (self.first[slot], self.end[slot], self.used[slot]) = (first, end, HELD);
        self.uses += 1;
        self.came[slot] = self.uses;
        self.dirty_sectors += end - first;
        self.dirty_from.insert(first, slot);
        let (in_order, came) = (true, self.uses);
        self.dirty.push_back(Dirty { slot, ready, arrived, in_order, came, place });
    }

    /// Invalidates clean data of `first..end`. A segment loses all its data, as in firmware that
    /// keeps no lists inside a segment.
    pub(crate) fn forget(&mut self, first: u64, end: u64) {
        // A packed write leaves no clean data.
        for slot in 0..self.segments {
            if !self.is_dirty(slot) && self.first[slot] < end && first < self.end[slot] {
                (self.first[slot], self.end[slot], self.used[slot]) = (0, 0, 0);
            }
        }
    }

    /// Notes that segment `index` of `dirty` will be on the platter at `until`: it is clean.
    pub(crate) fn written(&mut self, index: usize, until: Nanos) {
        let Dirty { slot, .. } = self.dirty.remove(index).expect("the index is inside");
        self.uses += 1;
        self.used[slot] = self.uses;
        // Segments written together occupy the cache until the same time.
        let others = self.writing.is_some_and(|(_, at)| at == until);
        let sectors = self.end[slot] - self.first[slot];
        self.dirty_sectors -= sectors;
        self.dirty_from.remove(&self.first[slot]);
        self.writing_sectors = if others { self.writing_sectors + sectors } else { sectors };
        self.writing = Some((slot, until));
        if let Some((free, _)) = &mut self.packed {
            free.push(slot);
        }
        if !self.spec.read_written || self.packed.is_some() {
            (self.first[slot], self.end[slot], self.used[slot]) = (0, 0, 0);
        }
    }

    /// Notes that the part of segment `index` of `dirty` before `sector` is on the platter. The
    /// rest stays dirty.
    pub(crate) fn written_to(&mut self, index: usize, sector: u64) {
        let slot = self.dirty[index].slot;
        debug_assert!(self.first[slot] < sector && sector < self.end[slot]);
        self.dirty_sectors -= sector - self.first[slot];
        self.dirty_from.remove(&self.first[slot]);
        self.dirty_from.insert(sector, slot);
        self.first[slot] = sector;
        self.uses += 1;
    }

    /// Panics unless the invariants hold, and the map and counter of dirty segments are right.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        let (mut before, mut sectors) = (0, 0);
        for (from, slot) in &self.dirty_from {
            let (first, end) = self.range(*slot);
            assert!(*from == first && before <= first && self.is_dirty(*slot), "{slot} is lost");
            assert_eq!(self.dirty[self.place_of(*slot)].slot, *slot);
            (before, sectors) = (end, sectors + end - first);
        }
        assert_eq!((self.dirty_from.len(), self.dirty_sectors), (self.dirty.len(), sectors));
        for slot in 0..self.used.len() {
            let (first, end) = self.range(slot);
            assert!(first <= end, "segment {slot} ends before it begins");
            if self.is_dirty(slot) {
                assert!(self.dirty.iter().any(|d| d.slot == slot), "segment {slot} is lost");
                continue;
            }
            assert!(end - first <= self.size, "segment {slot} is too large");
            let stale = self.dirty_in(first, end).filter(|_| first < end);
            assert!(stale.is_none(), "segment {slot} has old data of {first}..{end}");
        }
    }
}

#[cfg(test)]
#[path = "tests/cache.rs"]
mod tests;
