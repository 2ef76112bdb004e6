//! Checkpoints of the map: from time to time the map pages that have changed are written to flash.
//! Until they are in the cells, nothing else is written: writes wait in the buffer, and in front of
//! it when it is full. (A vendor named this as the reason for rare long pauses: SIGMETRICS 2009,
//! section 5.7.)
//!
//! Map pages are logical pages beyond the host's, so they are placed, collected and counted like
//! any other. Their places are kept in memory.

use super::bits::Bits;
use crate::lpn::Lpn;
use assay_spec::Bytes;
use assay_spec::device::PageMapSpec;

/// The map pages that have changed since the last checkpoint.
pub(super) struct SavedMap {
    /// The number of host pages written between two checkpoints.
    every: u64,
    /// The number of host pages written since the last checkpoint.
    since: u64,
    /// The number of entries in a map page.
    entries: u32,
    /// The first map page, as a logical page.
    first: Lpn,
    /// The numbers of the map pages that have changed.
    changed: Bits,
}

impl SavedMap {
    /// Returns the state of a map of `logical` pages, saved each time the host has written `every`
    /// bytes.
    pub(super) fn new(every: Bytes, page: Bytes, logical: u32) -> SavedMap {
        SavedMap {
            every: (every.0 / page.0).max(1),
            since: 0,
            entries: (page.0 / PageMapSpec::ENTRY) as u32,
            first: Lpn(logical),
            changed: Bits::default(),
        }
    }

    /// Notes that the entry of host page `page` has changed.
    #[inline]
    pub(super) fn change(&mut self, page: Lpn) {
        self.changed.set(page.0 / self.entries);
    }

    /// Counts a page written by the host. Returns `true` if a checkpoint is due.
    #[inline]
    pub(super) fn is_due(&mut self) -> bool {
        self.since += 1;
        self.since >= self.every
    }

    /// Returns the map pages to write, as logical pages. None counts as changed from now on.
    pub(super) fn take(&mut self) -> Vec<Lpn> {
        self.since = 0;
        let first = self.first;
        self.changed.drain().map(|index| first + index).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_changed_is_written_once() {
        // 4096 / 4 entries a page: 3000 logical pages have a map of three.
        let mut map = SavedMap::new(Bytes(3 * 4096), Bytes(4096), 3000);
        [0, 1023, 2999, 5].iter().for_each(|page| map.change(Lpn(*page)));
        assert_eq!([map.is_due(), map.is_due(), map.is_due()], [false, false, true]);
        assert_eq!(map.take(), [Lpn(3000), Lpn(3002)]);
        assert!(map.take().is_empty() && !map.is_due());
    }
}
