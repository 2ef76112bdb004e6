//! The memory for I/O: one page-aligned mapping, cut into equal slots.
//!
//! *Invariants.* A slot starts on a page and never overlaps another. While the kernel may write to
//! slots, they are accessed through raw pointers only: a reference would promise Rust that nobody
//! else writes. The mapping must outlive every request in flight; its owner takes care of that.
//!
//! Each sector that is written carries a seal, by which assay recognises its own data when it
//! examines a device or file before writing to it.
//!
//! Not a general allocator: slots are made once and never freed one by one.

use assay_spec::{Bytes, seed};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::io;
use std::ptr::NonNull;

/// The size of a page: the alignment of slots, and the distance of the stamps in a write.
const PAGE: usize = 4096;
/// The size of a sector, the smallest unit of writes: each carries a seal.
pub(crate) const SECTOR: usize = 512;
/// The size of a sector's header: address and counter of the stamp, digest of the rest, seal.
const HEAD: usize = 32;
/// The constant that distinguishes assay's seals from others' data.
const KEY: u64 = 0xa55a_f1a5_b10c_5ea1;
/// The size from which a mapping asks for huge pages: the kernel then walks fewer segments.
const HUGE: usize = 2 << 20;

/// A mapping of `slots` buffers.
pub(crate) struct Region {
    start: NonNull<u8>,
    /// The size of a slot: a multiple of [`PAGE`].
    stride: usize,
    slots: usize,
}

impl Region {
    /// Maps `slots` zeroed buffers of at least `length` each.
    pub(crate) fn new(slots: u32, length: Bytes) -> io::Result<Region> {
        let too_large = || io::Error::from(io::ErrorKind::OutOfMemory);
        let stride = usize::try_from(length.0).ok().and_then(|n| n.checked_next_multiple_of(PAGE));
        let stride = stride.ok_or_else(too_large)?.max(PAGE);
        let slots = slots.max(1) as usize;
        let size = stride.checked_mul(slots).ok_or_else(too_large)?;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice aliases nothing.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        if size >= HUGE {
            // SAFETY: the range is the mapping made above; the advice changes no contents, and
            // without it everything still works, so its result does not matter.
            unsafe { libc::madvise(at, size, libc::MADV_HUGEPAGE) };
        }
        let start = NonNull::new(at.cast::<u8>()).ok_or_else(too_large)?;
        Ok(Region { start, stride, slots })
    }

    /// Returns the size of a slot in bytes.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Returns the number of slots.
    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    /// Returns the start of slot `index`.
    #[inline]
    pub(crate) fn slot(&self, index: usize) -> *mut u8 {
        assert!(index < self.slots, "slot {index} of {}", self.slots);
        // SAFETY: `index` is in bounds, so the offset stays within the mapping.
        unsafe { self.start.as_ptr().add(index * self.stride) }
    }

    /// Returns the whole region. Nothing may be in flight: `&mut self` excludes other users in the
    /// program, and the owner must exclude the kernel.
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is that long, initialised (zero pages) and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.stride * self.slots) }
    }

    /// Fills every slot with incompressible bytes of its own, which follow from `seed`, and seals
    /// its sectors.
    pub(crate) fn fill(&mut self, seed: u64) {
        let stride = self.stride;
        for (index, slot) in self.bytes().chunks_exact_mut(stride).enumerate() {
            let mut random = Pcg64Mcg::seed_from_u64(seed::mix(seed ^ seed::mix(index as u64)));
            random.fill_bytes(slot);
            slot.chunks_exact_mut(SECTOR).for_each(seal_sector);
        }
    }

    /// Makes the first `length` bytes of slot `index` differ from every other write: each page
    /// begins with its address on the target and `counter`. Each page is stamped because drives and
    /// file systems that look for duplicates compare pages.
    ///
    /// # Safety
    ///
    /// No request may be in flight on the slot.
    #[inline]
    pub(crate) unsafe fn stamp(&self, index: usize, offset: Bytes, length: usize, counter: u64) {
        let slot = self.slot(index);
        for at in (0..length.min(self.stride)).step_by(PAGE) {
            // SAFETY: `at` is a multiple of the page below the stride, itself a multiple of the
            // page, so 32 aligned bytes fit; the caller says that nobody else uses them.
            unsafe {
                let stamp = slot.add(at).cast::<u64>();
                let (address, body) = (offset.0 + at as u64, u64::from_le(stamp.add(2).read()));
                stamp.write(address.to_le());
                stamp.add(1).write(counter.to_le());
                stamp.add(3).write(seal([address, counter, body]).to_le());
            }
        }
    }

    /// Returns the slots as the kernel wants them for registration.
    pub(crate) fn vectors(&self) -> impl Iterator<Item = libc::iovec> + '_ {
        (0..self.slots).map(|i| libc::iovec { iov_base: self.slot(i).cast(), iov_len: self.stride })
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping of `new`; the owner has waited for all requests on it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.stride * self.slots) };
    }
}

/// Seals a sector: sets its third word to a digest of everything after the fourth, and its fourth
/// to a word that follows from the first three. To other programs both look like noise.
fn seal_sector(sector: &mut [u8]) {
    let body = digest_of_body(sector);
    sector[16..24].copy_from_slice(&body.to_le_bytes());
    let sealed = seal([word(sector, 0), word(sector, 1), body]);
    sector[24..HEAD].copy_from_slice(&sealed.to_le_bytes());
}

/// Returns the seal: the word that follows from a sector's address, counter and digest.
#[inline]
fn seal([address, counter, body]: [u64; 3]) -> u64 {
    seed::mix(body ^ KEY ^ seed::mix(address ^ seed::mix(counter)))
}

fn word(sector: &[u8], index: usize) -> u64 {
    u64::from_le_bytes(sector[index * 8..index * 8 + 8].try_into().expect("8 bytes"))
}

/// Returns the digest of a sector behind its header.
fn digest_of_body(sector: &[u8]) -> u64 {
    let words = HEAD / 8..sector.len() / 8;
    words.fold(KEY, |sum, index| seed::mix(sum ^ word(sector, index)))
}

/// Returns `true` if assay wrote this whole sector. Another sector looks like that with a chance of
/// 2^-64.
pub(crate) fn is_sealed(sector: &[u8]) -> bool {
    sector.len() == SECTOR
        && word(sector, 3) == seal([word(sector, 0), word(sector, 1), word(sector, 2)])
        && word(sector, 2) == digest_of_body(sector)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_aligned_distinct_and_filled_differently() {
        let mut region = Region::new(3, Bytes(5000)).unwrap();
        assert_eq!(region.stride(), 8192);
        region.fill(7);
        assert_eq!(region.slot(1) as usize % PAGE, 0);
        assert_eq!(region.slot(2) as usize - region.slot(1) as usize, 8192);
        let bytes = region.bytes();
        assert_ne!(bytes[..8192], bytes[8192..16384]);
        let ones: u32 = bytes.iter().map(|b| b.count_ones()).sum();
        let share = f64::from(ones) / (bytes.len() as f64 * 8.0);
        assert!((share - 0.5).abs() < 0.01, "half of the bits of noise are set, not {share}");
    }

    #[test]
    fn every_sector_is_sealed_whatever_is_stamped_and_no_other_is() {
        let mut region = Region::new(1, Bytes(8192)).unwrap();
        assert!(!is_sealed(&region.bytes()[..SECTOR]), "zeros are nobody's");
        region.fill(3);
        for length in [512, 1024, 8192] {
            // SAFETY: nothing is in flight.
            unsafe { region.stamp(0, Bytes(77 << 9), length, 5) };
            assert!(region.bytes().chunks_exact(SECTOR).all(is_sealed));
        }
        for at in [0, 15, 16, 31, 32, 511] {
            region.bytes()[at] ^= 1;
            assert!(!is_sealed(&region.bytes()[..SECTOR]));
            region.bytes()[at] ^= 1;
        }
        assert!(!is_sealed(&[0; 100]));
    }

    #[test]
    fn every_page_of_a_write_carries_its_address() {
        let mut region = Region::new(1, Bytes(12288)).unwrap();
        // SAFETY: nothing is in flight.
        unsafe { region.stamp(0, Bytes(1 << 20), 8192, 9) };
        let word = |b: &[u8], at: usize| u64::from_le_bytes(b[at..at + 8].try_into().unwrap());
        let bytes = region.bytes();
        assert_eq!([word(bytes, 0), word(bytes, 8)], [1 << 20, 9]);
        assert_eq!([word(bytes, 4096), word(bytes, 4104)], [(1 << 20) + 4096, 9]);
        assert_eq!(word(bytes, 8192), 0, "beyond the length nothing is stamped");
    }

    #[test]
    fn an_impossible_size_is_an_error() {
        assert!(Region::new(u32::MAX, Bytes(u64::MAX)).is_err());
        assert!(Region::new(2, Bytes(1 << 62)).is_err());
    }
}
