//! Checks that reads of a file go past the page cache, as `O_DIRECT` demands. Some file systems
//! accept the flag and ignore it: ext4 with `data=journal`, btrfs for compressed data.

use super::opened::{Kind, Opened, refuse_holes};
use crate::aligned::Aligned;
use crate::error::{Error, Result};
use assay_spec::Bytes;
use rustix::fs::fstatfs;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

/// The types that statfs(2) reports for file systems whose reads from a device the kernel counts in
/// `/proc/thread-self/io`: ext2 to ext4, XFS, btrfs, F2FS.
const COUNTED: [u64; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010];
/// The number of places in the file that are read.
const PLACES: u64 = 16;

/// Checks that reads of a file come from its drive, not from memory. Accepts devices, and files
/// for which the kernel counts nothing.
pub(super) fn check_direct(opened: &Opened) -> Result<()> {
    let kind = fstatfs(&opened.file).map_or(0, |stat| stat.f_type as u64);
    let is_file = opened.kind == Kind::File;
    if !is_file || !COUNTED.contains(&kind) {
        return Ok(());
    }
    let unit = opened.granularity.0.max(4096);
    let last = (opened.capacity.0 / unit).saturating_sub(1);
    for place in 0..PLACES {
        let offset = last * place / (PLACES - 1) * unit;
        match is_answered_from_memory(&opened.file, offset, Bytes(unit)) {
            Ok(true) => {
                // Reads of a hole come from memory, too.
                refuse_holes(&opened.identity.path, opened.capacity.0, &opened.file)?;
                return Err(not_direct(opened));
            }
            Ok(false) => {}
            // A read that fails here fails in the run, too; without counts nothing is known.
            Err(_) => return Ok(()),
        }
    }
    Ok(())
}

fn not_direct(opened: &Opened) -> Error {
    let path = opened.identity.path.display();
    let message = format!("reads of {path} come from memory in spite of O_DIRECT");
    let hint = "name a file on another file system, or the device: ext4 with data=journal and \
                btrfs with compressed data ignore O_DIRECT";
    Error::environment("no-direct-io", message, hint)
}

/// Reads a block twice and returns whether the second read went to no device.
fn is_answered_from_memory(file: &File, offset: u64, unit: Bytes) -> io::Result<bool> {
    let mut memory = Aligned::new(unit.0 as usize)?;
    file.read_exact_at(memory.slice(), offset)?;
    let before = read_from_devices()?;
    file.read_exact_at(memory.slice(), offset)?;
    Ok(read_from_devices()? - before < unit.0)
}

/// Returns the number of bytes that the kernel has read from devices for this thread.
fn read_from_devices() -> io::Result<u64> {
    let counts = fs::read_to_string("/proc/thread-self/io")?;
    let line = counts.lines().find_map(|line| line.strip_prefix("read_bytes: "));
    line.and_then(|count| count.trim().parse().ok()).ok_or(io::ErrorKind::Unsupported.into())
}
