//! Signatures that file systems, partition tables, volume managers, encryption, RAID and swap leave
//! at known places.
//!
//! Offsets and magics are those of the formats' own headers and of libblkid's table. *Invariant.*
//! In doubt it finds a signature: magics of two bytes (MBR, ext, nilfs2 …) are not verified
//! further, so noise is mistaken for a signature about once in 10,000 devices. It does not identify
//! a device: a signature may come from an older use, which still is a reason to refuse.

/// Signatures at an offset from the start: name, offset, magic.
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
    ("the mirror of a btrfs file system", (64 << 20) + 0x40, b"_BHRfS_M"),
    ("the mirror of a btrfs file system", (256 << 30) + 0x40, b"_BHRfS_M"),
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
    ("a Reiser4 file system", 0x1_0000, b"ReIsEr4"),
    ("a ReFS file system", 3, b"ReFS\0\0\0\0"),
    ("a BFS file system", 0, &[0xce, 0xfa, 0xad, 0x1b]),
    ("a cramfs file system", 0, &[0x45, 0x3d, 0xcd, 0x28]),
    ("a UDF file system", 0x8001, b"BEA01"),
    ("a UDF file system", 0x8801, b"NSR0"),
    ("an HFS file system", 1024, b"BD"),
    ("a VxFS file system", 1024, &[0xf5, 0xfc, 0x01, 0xa5]),
    ("an HPFS file system", 8192, &[0x49, 0xe8, 0x95, 0xf9]),
    ("a BeFS file system", 32, b"1SFB"),
    ("a BeFS file system", 544, b"1SFB"),
    ("an Apple partition map", 512, b"PM\0\0"),
    ("a BSD disk label", 64, &[0x57, 0x45, 0x56, 0x82]),
    ("a BSD disk label", 512, &[0x57, 0x45, 0x56, 0x82]),
    ("a Sun disk label", 508, &[0xda, 0xbe]),
    ("a Stratis device", 512, b"!Stra0tis\x86\xff\x02^\x41rh"),
    ("an external XFS log", 0, &[0xfe, 0xed, 0xba, 0xbe]),
    ("a zonefs file system", 0, b"SFOZ"),
];

/// Signatures at a distance from the end: name, distance, magic.
const FROM_END: &[(&str, u64, &[u8])] = &[
    ("the backup of a GPT partition table", 512, b"EFI PART"),
    ("the backup of a GPT partition table", 4096, b"EFI PART"),
    ("an Intel RAID member", 1024, b"Intel Raid ISM Cfg Sig. "),
    ("a DDF RAID member", 512, &[0xde, 0x11, 0xde, 0x11]),
    ("an Adaptec RAID member", 512, &[0x37, 0xfc, 0x4d, 0x1e]),
    ("a JMicron RAID member", 512, b"JM"),
];

/// The page sizes of machines that may have made a swap header, which ends with its page.
const SWAP_PAGES: [u64; 5] = [4096, 8192, 16384, 32768, 65536];
const SWAP_MAGICS: [&[u8; 10]; 5] =
    [b"SWAPSPACE2", b"SWAP-SPACE", b"S1SUSPEND\0", b"S2SUSPEND\0", b"ULSUSPEND\0"];

/// The size of a ZFS label.
const ZFS_LABEL: u64 = 256 << 10;

/// A part of the device that was read.
pub(crate) struct Window {
    /// The offset of its first byte on the device.
    pub(crate) start: u64,
    /// Its bytes.
    pub(crate) data: Vec<u8>,
}

impl Window {
    fn has(&self, at: u64, magic: &[u8]) -> bool {
        let start = at.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
        start.and_then(|at| self.data.get(at..)).is_some_and(|data| data.starts_with(magic))
    }
}

/// Returns the names of the signatures in `windows` of a device of `size` bytes, each once.
pub(crate) fn find(windows: &[Window], size: u64) -> Vec<&'static str> {
    let has = |at: u64, magic: &[u8]| windows.iter().any(|window| window.has(at, magic));
    let mut found = Vec::new();
    let mut note = |name: &'static str, is_there: bool| {
        if is_there && !found.contains(&name) {
            found.push(name);
        }
    };
    for (name, at, magic) in MAGICS {
        note(name, has(*at, magic));
    }
    for page in SWAP_PAGES {
        note("swap space", SWAP_MAGICS.iter().any(|magic| has(page - 10, *magic)));
    }
    for (name, back, magic) in FROM_END {
        note(name, size.checked_sub(*back).is_some_and(|at| has(at, magic)));
    }
    // Version 0.90 lies in the last whole 64 KiB, 1.0 at least 8 KiB from the end.
    let old = (size & !0xffff).saturating_sub(0x1_0000);
    let at_end = (size / 512).saturating_sub(16) / 8 * 8 * 512;
    for magic in [[0xfc, 0x4e, 0x2b, 0xa9], [0xa9, 0x2b, 0x4e, 0xfc]] {
        note("a Linux RAID member", has(old, &magic) || has(at_end, &magic));
    }
    let last = size / ZFS_LABEL * ZFS_LABEL;
    for label in [0, ZFS_LABEL, last.saturating_sub(2 * ZFS_LABEL), last.saturating_sub(ZFS_LABEL)]
    {
        let is_there = windows.iter().any(|w| has_uberblock(w, label) || has_names(w, label));
        note("a ZFS pool member", is_there);
    }
    found
}

/// Returns `true` if a ZFS label has the names of a pool's properties, in XDR, from 16 KiB on.
fn has_names(window: &Window, label: u64) -> bool {
    let start = (label + (16 << 10)).checked_sub(window.start).map(|at| at as usize);
    let names = start.and_then(|at| window.data.get(at..at + 1024));
    let has = |word: &[u8]| names.is_some_and(|names| names.windows(word.len()).any(|w| w == word));
    has(b"version") && has(b"name") && has(b"pool_guid")
}

/// Returns `true` if a ZFS label has an uberblock, in either byte order. The second half of a label
/// is a ring of uberblocks.
fn has_uberblock(window: &Window, label: u64) -> bool {
    let magic = 0x00ba_b10c_u64;
    let places = (label + ZFS_LABEL / 2..label + ZFS_LABEL).step_by(1024);
    places
        .into_iter()
        .any(|at| window.has(at, &magic.to_le_bytes()) || window.has(at, &magic.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = (8 << 20) + 3 * 4096;

    /// Returns what is found on a device of `size` bytes that holds only `magic`, at `at`.
    fn on(size: u64, at: u64, magic: &[u8]) -> Vec<&'static str> {
        let start = at / 4096 * 4096;
        let mut data = vec![0; 256 << 10];
        let place = (at - start) as usize;
        data[place..place + magic.len()].copy_from_slice(magic);
        find(&[Window { start, data }], size)
    }

    fn with(at: u64, magic: &[u8]) -> Vec<&'static str> {
        on(SIZE, at, magic)
    }

    #[test]
    fn every_magic_is_found_at_its_place_and_not_beside_it() {
        for (name, at, magic) in MAGICS {
            assert!(with(*at, magic).contains(name), "{name} at {at}");
            let beside = with(at + (3 << 20), magic);
            assert_eq!(beside, [""; 0], "{name} in the middle is somebody's data");
        }
    }

    #[test]
    fn signatures_at_the_end_are_found() {
        for (name, back, magic) in FROM_END {
            assert!(with(SIZE - back, magic).contains(name), "{name}");
        }
        let raid = [0xfc, 0x4e, 0x2b, 0xa9];
        assert_eq!(with((SIZE & !0xffff) - 0x1_0000, &raid), ["a Linux RAID member"]);
        assert_eq!(with((SIZE - 8192) & !4095, &raid), ["a Linux RAID member"]);
        let zfs = 0x00ba_b10c_u64.to_be_bytes();
        assert_eq!(with((8 << 20) - (256 << 10) + (200 << 10), &zfs), ["a ZFS pool member"]);
        assert_eq!(with((8 << 20) - (512 << 10) + (128 << 10), &zfs), ["a ZFS pool member"]);
        assert_eq!(with(130 << 10, &zfs), ["a ZFS pool member"]);
    }

    #[test]
    fn a_zfs_label_without_uberblocks_is_found_by_its_names() {
        let names = b"\x01\x01\0\0....version.......name....pool......pool_guid....";
        assert_eq!(with(16 << 10, names), ["a ZFS pool member"]);
        assert_eq!(with(16 << 10, b"version and name"), [""; 0]);
    }

    #[test]
    fn swap_of_any_page_size_is_found_and_an_empty_device_has_nothing() {
        for page in SWAP_PAGES {
            assert_eq!(with(page - 10, b"SWAPSPACE2"), ["swap space"]);
        }
        assert_eq!(find(&[], SIZE), [""; 0]);
        for size in [0, 1, 511, 512, 4096] {
            assert_eq!(find(&[], size), [""; 0]);
        }
    }
}
