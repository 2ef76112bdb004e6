//! Does a device hold anything? Looks for what file systems, partition tables, volume managers,
//! encryption, RAID and swap leave at known places.
//!
//! Offsets and magics as in the formats' own headers and in libblkid's table. *Invariant:* it errs
//! on the side of finding: magics of two bytes (MBR, ext, nilfs2) are taken at face value, so
//! noise is
//! mistaken for a signature about once in 20,000 devices. Not an identification: the first thing
//! found may belong to an older use of the device, which is still worth a refusal.

use crate::target::uring::buffers::Region;
use assay_spec::Bytes;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// What is read from the start: up to the VMFS header at 1 MiB.
const HEAD: u64 = (1 << 20) + (64 << 10);
/// What is read from the end: two ZFS labels and their alignment.
const TAIL: u64 = 1 << 20;
const ZFS_LABEL: u64 = 256 << 10;

/// Name, offset from the start, magic.
const MAGICS: &[(&str, u64, &[u8])] = &[
    ("a GPT partition table", 512, b"EFI PART"),
    ("a GPT partition table", 4096, b"EFI PART"),
    ("an NTFS file system", 3, b"NTFS    "),
    ("an exFAT file system", 3, b"EXFAT   "),
    ("BitLocker", 3, b"-FVE-FS-"),
    ("a FAT file system", 54, b"FAT"),
    ("a FAT file system", 82, b"FAT32"),
    ("an MBR partition table or boot sector", 510, &[0x55, 0xaa]),
    ("an ext2/3/4 file system", 0x438, &[0x53, 0xef]),
    ("an XFS file system", 0, b"XFSB"),
    ("a btrfs file system", 0x1_0040, b"_BHRfS_M"),
    ("an f2fs file system", 1024, &[0x10, 0x20, 0xf5, 0xf2]),
    ("a ReiserFS file system", 0x1_0034, b"ReIsEr"),
    ("a ReiserFS file system", 0x2034, b"ReIsEr"),
    ("a JFS file system", 0x8000, b"JFS1"),
    ("a nilfs2 file system", 1030, &[0x34, 0x34]),
    ("a GFS2 file system", 0x1_0000, &[0x01, 0x16, 0x19, 0x70]),
    ("an OCFS2 file system", 0x400, b"OCFSV2"),
    ("an OCFS2 file system", 0x800, b"OCFSV2"),
    ("an OCFS2 file system", 0x1000, b"OCFSV2"),
    ("an HFS+ file system", 1024, b"H+\0\x04"),
    ("an HFS+ file system", 1024, b"HX\0\x05"),
    ("an APFS container", 32, b"NXSB"),
    ("a squashfs file system", 0, b"hsqs"),
    ("an EROFS file system", 1024, &[0xe2, 0xe1, 0xf5, 0xe0]),
    ("an ISO 9660 file system", 0x8001, b"CD001"),
    ("a VMFS volume", 0x10_0000, &[0x0d, 0xd0, 0x01, 0xc0]),
    ("LUKS encryption", 0, b"LUKS\xba\xbe"),
    ("LUKS encryption", 0x4000, b"SKUL\xba\xbe"),
    ("an LVM physical volume", 0, b"LABELONE"),
    ("an LVM physical volume", 512, b"LABELONE"),
    ("an LVM physical volume", 1024, b"LABELONE"),
    ("an LVM physical volume", 1536, b"LABELONE"),
    ("a Linux RAID member", 0, &[0xfc, 0x4e, 0x2b, 0xa9]),
    ("a Linux RAID member", 4096, &[0xfc, 0x4e, 0x2b, 0xa9]),
    ("bcache", 4096 + 24, &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca]),
    ("a bcachefs file system", 4096 + 24, &[0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9]),
    ("a Ceph BlueStore", 0, b"bluestore block device"),
    ("a VDO volume", 0, b"dmvdo001"),
    ("dm-integrity", 0, b"integrt\0"),
    ("dm-verity", 0, b"verity\0\0"),
    ("an Oracle ASM disk", 32, b"ORCLDISK"),
];

/// Swap headers end with their page, whatever its size on the machine that made them.
const SWAP_PAGES: [u64; 5] = [4096, 8192, 16384, 32768, 65536];
const SWAP_MAGICS: [&[u8; 10]; 5] =
    [b"SWAPSPACE2", b"SWAP-SPACE", b"S1SUSPEND\0", b"S2SUSPEND\0", b"ULSUSPEND\0"];

/// A piece of the device, addressed as on the device.
struct Window {
    start: u64,
    data: Vec<u8>,
}

impl Window {
    fn has(&self, at: u64, magic: &[u8]) -> bool {
        let start = at.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
        start.and_then(|at| self.data.get(at..)).is_some_and(|data| data.starts_with(magic))
    }
}

/// What `file` holds, each thing once; empty if nothing is recognised.
///
/// # Errors
///
/// If the start or the end cannot be read: then nobody knows what is there.
pub(crate) fn probe(file: &File, size: Bytes, block: Bytes) -> io::Result<Vec<&'static str>> {
    let head = read(file, 0, size.0.min(HEAD), block)?;
    let start = (size.0 - size.0 % ZFS_LABEL).saturating_sub(TAIL);
    let tail = read(file, start, size.0 - start, block)?;
    Ok(find(&head, &tail, size.0))
}

fn find(head: &Window, tail: &Window, size: u64) -> Vec<&'static str> {
    let mut found = Vec::new();
    let mut note = |name: &'static str, is_there: bool| {
        if is_there && !found.contains(&name) {
            found.push(name);
        }
    };
    for (name, at, magic) in MAGICS {
        note(name, head.has(*at, magic));
    }
    for page in SWAP_PAGES {
        note("swap space", SWAP_MAGICS.iter().any(|magic| head.has(page - 10, *magic)));
    }
    for back in [512, 4096] {
        let at = size.saturating_sub(back);
        note("the backup of a GPT partition table", tail.has(at, b"EFI PART"));
    }
    // Version 0.90 lies in the last whole 64 KiB but one, 1.0 at least 8 KiB from the end.
    let old = (size & !0xffff).saturating_sub(0x1_0000);
    let at_end = (size / 512).saturating_sub(16) / 8 * 8 * 512;
    for magic in [[0xfc, 0x4e, 0x2b, 0xa9], [0xa9, 0x2b, 0x4e, 0xfc]] {
        note("a Linux RAID member", tail.has(old, &magic) || tail.has(at_end, &magic));
    }
    let near_end = |back: u64, magic: &[u8]| tail.has(size.saturating_sub(back), magic);
    note("an Intel RAID member", near_end(1024, b"Intel Raid ISM Cfg Sig. "));
    note("a DDF RAID member", near_end(512, &[0xde, 0x11, 0xde, 0x11]));
    let last = size / ZFS_LABEL * ZFS_LABEL;
    for label in [0, ZFS_LABEL, last.saturating_sub(2 * ZFS_LABEL), last.saturating_sub(ZFS_LABEL)]
    {
        note("a ZFS pool member", has_uberblock(head, label) || has_uberblock(tail, label));
    }
    found
}

/// A ZFS label keeps a ring of uberblocks in its second half, in either byte order.
fn has_uberblock(window: &Window, label: u64) -> bool {
    let magic = 0x00ba_b10c_u64;
    let places = (label + ZFS_LABEL / 2..label + ZFS_LABEL).step_by(1024);
    places
        .into_iter()
        .any(|at| window.has(at, &magic.to_le_bytes()) || window.has(at, &magic.to_be_bytes()))
}

/// Reads through an aligned buffer, as O_DIRECT wants it. Stops at the end of the device.
fn read(file: &File, start: u64, length: u64, block: Bytes) -> io::Result<Window> {
    let unit = block.0.max(1);
    let first = start / unit * unit;
    let length = (start + length - first).next_multiple_of(unit);
    let mut region = Region::new(1, Bytes(length))?;
    let buffer = &mut region.bytes()[..length as usize];
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], first + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) => return Err(error),
        }
    }
    Ok(Window { start: first, data: buffer[..done].to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = (8 << 20) + 3 * 4096;

    /// What is found on a device with `magic` at `at` and nothing else.
    fn with(at: u64, magic: &[u8]) -> Vec<&'static str> {
        let mut file = tempfile::tempfile().unwrap();
        file.set_len(SIZE).unwrap();
        file.write_all_at(magic, at).unwrap();
        io::Seek::rewind(&mut file).unwrap();
        probe(&file, Bytes(SIZE), Bytes(512)).unwrap()
    }

    #[test]
    fn every_magic_is_found_at_its_place_and_not_beside_it() {
        for (name, at, magic) in MAGICS {
            assert!(with(*at, magic).contains(name), "{name} at {at}");
            let beside = with(at + (2 << 20), magic);
            assert_eq!(beside, [""; 0], "{name} in the middle is somebody's data");
        }
    }

    #[test]
    fn signatures_at_the_end_are_found() {
        assert_eq!(with(SIZE - 512, b"EFI PART"), ["the backup of a GPT partition table"]);
        let raid = [0xfc, 0x4e, 0x2b, 0xa9];
        assert_eq!(with((SIZE & !0xffff) - 0x1_0000, &raid), ["a Linux RAID member"]);
        assert_eq!(with((SIZE - 8192) & !4095, &raid), ["a Linux RAID member"]);
        let zfs = 0x00ba_b10c_u64.to_be_bytes();
        assert_eq!(with((8 << 20) - (256 << 10) + (200 << 10), &zfs), ["a ZFS pool member"]);
        assert_eq!(with((8 << 20) - (512 << 10) + (128 << 10), &zfs), ["a ZFS pool member"]);
        assert_eq!(with(130 << 10, &zfs), ["a ZFS pool member"]);
    }

    #[test]
    fn swap_of_any_page_size_is_found_and_an_empty_device_has_nothing() {
        for page in SWAP_PAGES {
            assert_eq!(with(page - 10, b"SWAPSPACE2"), ["swap space"]);
        }
        assert_eq!(with(0, &[]), [""; 0]);
    }

    #[test]
    fn devices_smaller_than_any_header_do_not_panic() {
        let file = tempfile::tempfile().unwrap();
        for size in [0, 512, 4096, 65536, 300 << 10] {
            file.set_len(size).unwrap();
            assert_eq!(probe(&file, Bytes(size), Bytes(512)).unwrap(), [""; 0]);
        }
    }
}
