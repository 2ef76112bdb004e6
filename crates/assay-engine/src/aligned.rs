//! Memory for requests past the page cache.

use crate::target::uring::buffers::Region;
use assay_spec::Bytes;
use std::io;

/// Memory that direct requests may use: pages of its own, for the heap is not always memory that a
/// drive can reach (`guest/memory.rs`).
pub(crate) struct Aligned {
    region: Region,
    length: usize,
}

impl Aligned {
    /// Maps `length` bytes of zeros.
    pub(crate) fn new(length: usize) -> io::Result<Aligned> {
        Ok(Aligned { region: Region::new(1, Bytes(length as u64))?, length })
    }

    /// The bytes.
    pub(crate) fn slice(&mut self) -> &mut [u8] {
        // SAFETY: the region's only slot is at least as long, lives as long, and is nobody else's.
        unsafe { std::slice::from_raw_parts_mut(self.region.slot(0), self.length) }
    }
}
