//! The guest's memory, as its device sees it.
//!
//! The memory lies in files whose descriptors the kernel sends. They are mapped, because a request
//! accesses the memory a dozen times. A file that is shorter than its region is refused. If a file
//! is truncated later, SIGBUS kills this process, as it would the kernel's. That is no new risk:
//! the kernel runs as the same user, who can kill this process anyway.

use super::message::{Malformed, Region};
use std::fmt::Display;
use std::fs::File;
use std::os::fd::OwnedFd;
use vm_memory::{FileOffset, MmapRegion, VolatileMemory, VolatileSlice};

/// The regions of the guest's memory, and their mappings.
#[derive(Debug, Default)]
pub struct Memory {
    regions: Vec<(Region, MmapRegion)>,
}

impl Memory {
    /// Maps each region from its file.
    ///
    /// # Errors If there is not one file for each region, or if a region is empty, exceeds the
    /// address space or its file, or does not begin at a page.
    pub fn new(regions: Vec<Region>, files: Vec<OwnedFd>) -> Result<Memory, Malformed> {
        let fits = |r: &Region| {
            let ends = [r.guest, r.user, r.offset].map(|start| start.checked_add(r.size));
            r.size > 0 && ends.iter().all(Option::is_some)
        };
        if regions.len() != files.len() || !regions.iter().all(fits) {
            let text = format!("{} regions with {} files", regions.len(), files.len());
            return Err(Malformed(text));
        }
        let map = |(region, file): (Region, OwnedFd)| {
            let unusable =
                |e: &dyn Display| Malformed(format!("the memory at {:#x}: {e}", region.guest));
            let file = File::from(file);
            // A mapping may be longer than its file; an access beyond the file's end kills.
            let length = file.metadata().map_err(|e| unusable(&e))?.len();
            if region.offset + region.size > length {
                return Err(unusable(&format_args!("its file has {length} bytes")));
            }
            let file = FileOffset::new(file, region.offset);
            let mapped = MmapRegion::from_file(file, region.size as usize);
            Ok((region, mapped.map_err(|e| unusable(&e))?))
        };
        Ok(Memory { regions: regions.into_iter().zip(files).map(map).collect::<Result<_, _>>()? })
    }

    /// Converts `user`, an address of the kernel's process, to a guest address. Returns `None` if
    /// no region has it.
    pub fn guest_address(&self, user: u64) -> Option<u64> {
        let holds = |r: &&Region| user.checked_sub(r.user).is_some_and(|at| at < r.size);
        let region = self.regions.iter().map(|(region, _)| region).find(holds)?;
        Some(region.guest + (user - region.user))
    }

    /// Returns the mapping of the `length` bytes at `guest`, which must lie in one region.
    fn place(&self, guest: u64, length: usize) -> Result<VolatileSlice<'_>, Malformed> {
        let at = |region: &Region| usize::try_from(guest.checked_sub(region.guest)?).ok();
        let mut found =
            self.regions.iter().filter_map(|(r, mapped)| mapped.get_slice(at(r)?, length).ok());
        let outside = || Malformed(format!("{length} bytes at {guest:#x}: no memory there"));
        found.next().ok_or_else(outside)
    }

    /// Reads the bytes from `guest` on into `into`.
    pub fn read(&self, guest: u64, into: &mut [u8]) -> Result<(), Malformed> {
        self.place(guest, into.len())?.copy_to(into);
        Ok(())
    }

    /// Writes `bytes` from `guest` on.
    pub fn write(&self, guest: u64, bytes: &[u8]) -> Result<(), Malformed> {
        self.place(guest, bytes.len())?.copy_from(bytes);
        Ok(())
    }

    /// Reads `N` bytes at `guest`.
    pub fn array<const N: usize>(&self, guest: u64) -> Result<[u8; N], Malformed> {
        let mut bytes = [0; N];
        self.read(guest, &mut bytes)?;
        Ok(bytes)
    }
}
