//! The guest's memory, as its device sees it.
//!
//! It lies in files that the kernel passes over. They are read and written by system calls and not
//! mapped: a peer that cuts its file off gets an error then, where a mapping would end this
//! process. A call costs a third of a microsecond, a request of the guest fifty.

use super::message::{Malformed, Region};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

/// Where the guest's addresses lie.
#[derive(Debug, Default)]
pub struct Memory {
    regions: Vec<(Region, File)>,
}

impl Memory {
    /// Takes the regions and the file of each.
    ///
    /// # Errors
    /// If there is not one file for each, or a region runs beyond the end of its numbers.
    pub fn new(regions: Vec<Region>, files: Vec<OwnedFd>) -> Result<Memory, Malformed> {
        let fits = |r: &Region| {
            let ends = [r.guest, r.user, r.offset].map(|start| start.checked_add(r.size));
            r.size > 0 && ends.iter().all(Option::is_some) && i64::try_from(r.offset).is_ok()
        };
        if regions.len() != files.len() || !regions.iter().all(fits) {
            let text = format!("{} regions with {} files", regions.len(), files.len());
            return Err(Malformed(text));
        }
        let files = files.into_iter().map(File::from);
        Ok(Memory { regions: regions.into_iter().zip(files).collect() })
    }

    /// The guest's address of what the kernel has at `user` in its own space.
    pub fn guest_address(&self, user: u64) -> Option<u64> {
        let holds = |r: &&Region| user.checked_sub(r.user).is_some_and(|at| at < r.size);
        let region = self.regions.iter().map(|(region, _)| region).find(holds)?;
        Some(region.guest + (user - region.user))
    }

    /// The file and the place in it of `length` bytes at `guest`.
    fn place(&self, guest: u64, length: usize) -> Result<(&File, u64), Malformed> {
        let within = |r: &Region| {
            let at = guest.checked_sub(r.guest)?;
            (at.checked_add(length as u64)? <= r.size).then_some(r.offset + at)
        };
        let mut places = self.regions.iter().filter_map(|(r, file)| Some((file, within(r)?)));
        let outside = || Malformed(format!("{length} bytes at {guest:#x}: no memory there"));
        places.next().ok_or_else(outside)
    }

    /// Fills `into` from `guest` on.
    pub fn read(&self, guest: u64, into: &mut [u8]) -> Result<(), Malformed> {
        let (file, at) = self.place(guest, into.len())?;
        file.read_exact_at(into, at).map_err(|e| lost(guest, &e))
    }

    /// Writes `bytes` from `guest` on.
    pub fn write(&self, guest: u64, bytes: &[u8]) -> Result<(), Malformed> {
        let (file, at) = self.place(guest, bytes.len())?;
        file.write_all_at(bytes, at).map_err(|e| lost(guest, &e))
    }

    /// The bytes at `guest`, as many as `N`.
    pub fn array<const N: usize>(&self, guest: u64) -> Result<[u8; N], Malformed> {
        let mut bytes = [0; N];
        self.read(guest, &mut bytes)?;
        Ok(bytes)
    }
}

fn lost(guest: u64, e: &std::io::Error) -> Malformed {
    Malformed(format!("the memory at {guest:#x} cannot be used: {e}"))
}
