//! The map on flash: from time to time the pages of it that have changed are written, and until
//! they are in the cells nothing else is: writes wait in the buffer, and when that is full in front
//! of it (what SIGMETRICS 2009, section 5.7, was told by a maker of the rare long pauses).
//!
//! The pages of the map are logical pages beyond the host's, so they are placed, collected and
//! counted like any other. Where they are is kept in memory.

use super::bits::Bits;
use assay_spec::Bytes;
use assay_spec::device::PageMapSpec;

/// Which pages of the map have changed since it was last saved.
pub(super) struct SavedMap {
    /// Host pages between two times.
    every: u64,
    since: u64,
    /// Entries in a page of the map.
    entries: u32,
    /// The first page of the map, as a logical page.
    first: u32,
    changed: Bits,
}

impl SavedMap {
    /// Of a map of `logical` pages, saved each time the host has written `every` bytes.
    pub(super) fn new(every: Bytes, page: Bytes, logical: u32) -> SavedMap {
        SavedMap {
            every: (every.0 / page.0).max(1),
            since: 0,
            entries: (page.0 / PageMapSpec::ENTRY) as u32,
            first: logical,
            changed: Bits::default(),
        }
    }

    /// The entry of a host's page has changed.
    #[inline]
    pub(super) fn change(&mut self, page: u32) {
        self.changed.set(page / self.entries);
    }

    /// The host has written a page; true if it is time.
    #[inline]
    pub(super) fn is_due(&mut self) -> bool {
        self.since += 1;
        self.since >= self.every
    }

    /// The logical pages to write; from now on nothing has changed.
    pub(super) fn take(&mut self) -> Vec<u32> {
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
        [0, 1023, 2999, 5].iter().for_each(|page| map.change(*page));
        assert_eq!([map.is_due(), map.is_due(), map.is_due()], [false, false, true]);
        assert_eq!(map.take(), [3000, 3002]);
        assert!(map.take().is_empty() && !map.is_due());
    }
}
