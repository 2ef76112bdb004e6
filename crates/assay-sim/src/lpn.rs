//! The number of a logical page, which the flash, the translation layers and the drive name.

use std::ops::{Add, Range, Sub};

/// The number of a logical page of a drive, from 0 on. The unit is a page of the drive's flash.
/// The host's pages come first. Behind them are the drive's own: the pages of a map on flash, then
/// the record of trimmed pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Lpn(pub u32);

impl Lpn {
    /// Returns the index of the page in a table by logical page.
    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the pages of `range`, in ascending order.
    #[inline]
    pub(crate) fn iter(range: Range<Lpn>) -> impl Iterator<Item = Lpn> {
        (range.start.0..range.end.0).map(Lpn)
    }
}

impl Add<u32> for Lpn {
    type Output = Lpn;

    /// Returns the page that is `pages` pages behind this one.
    #[inline]
    fn add(self, pages: u32) -> Lpn {
        Lpn(self.0 + pages)
    }
}

impl Sub<u32> for Lpn {
    type Output = Lpn;

    /// Returns the page that is `pages` pages before this one.
    #[inline]
    fn sub(self, pages: u32) -> Lpn {
        Lpn(self.0 - pages)
    }
}

impl Sub for Lpn {
    type Output = u32;

    /// Returns the number of pages from `first` to this one, without this one.
    #[inline]
    fn sub(self, first: Lpn) -> u32 {
        self.0 - first.0
    }
}

impl From<Lpn> for u64 {
    #[inline]
    fn from(page: Lpn) -> u64 {
        u64::from(page.0)
    }
}
