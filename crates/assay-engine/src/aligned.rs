//! Memory for direct requests, which bypass the page cache.

use crate::target::uring::buffers::Region;
use assay_spec::Bytes;
use std::io;

/// Memory for direct requests. It is a mapping of its own, because a drive of a guest cannot always
/// reach the heap (`guest/memory.rs`).
pub(crate) struct Aligned {
    region: Region,
    length: usize,
}

impl Aligned {
    /// Maps `length` bytes of zeros.
    pub(crate) fn new(length: usize) -> io::Result<Aligned> {
        Ok(Aligned { region: Region::new(1, Bytes(length as u64))?, length })
    }

    /// Returns the memory.
    pub(crate) fn slice(&mut self) -> &mut [u8] {
        // SAFETY: the region's only slot is at least as long, lives as long, and is nobody else's.
        unsafe { std::slice::from_raw_parts_mut(self.region.slot(0), self.length) }
    }
}
