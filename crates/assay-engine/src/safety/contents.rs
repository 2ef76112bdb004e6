//! The contents of a device or file, examined before it is written to.
//!
//! There are two checks. The first finds known formats, by libblkid's probes (`blkid -p`) and by
//! [`super::signatures`], which knows formats that libblkid does not. The second finds data that
//! assay did not write: a block with a sector that is neither zeros nor sealed ([`is_sealed`]).
//! It needs no knowledge of formats. It reads all of a device up to 256 MiB; of a larger one the
//! first and last megabytes, the places of mirrors, and [`SAMPLES`] blocks between.
//!
//! *Invariants.* In doubt there are contents: also if `blkid` is missing or fails. Everything is
//! read through the given descriptor.

use super::signatures::{self, Window};
use crate::stop;
use crate::target::uring::buffers::{Region, SECTOR, is_sealed};
use assay_linux::child::{brief, tool};
use assay_linux::kernel::tool_path;
use assay_spec::{Bytes, seed};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::process::Stdio;
use std::time::Duration;

/// The number of blocks sampled between head and tail of a device too large to be read whole.
const SAMPLES: u64 = 256;
/// The size of a device up to which all of it is read, and the size of one read.
const WHOLE: u64 = 256 << 20;
const CHUNK: usize = 4 << 20;
/// The longest time to wait for `blkid`. A device that does not answer counts as one with contents.
const PATIENCE: Duration = Duration::from_secs(30);
/// The size of a block.
const BLOCK: u64 = 4096;
/// The number of bytes read from the start: most signatures lie within 64 KiB, VMFS's at 2 MiB.
const HEAD: u64 = (2 << 20) + (64 << 10);
/// The number of bytes read from the end: RAID controllers keep their data within 1.6 MiB.
const TAIL: u64 = 2 << 20;
/// The offsets of the second and third superblock of btrfs.
const MIRRORS: [u64; 2] = [64 << 20, 256 << 30];

/// The contents of a device or file, as far as they were examined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    /// Descriptions of the formats that were recognised.
    pub(crate) kinds: Vec<String>,
    /// The offset of the first examined block that assay did not write.
    pub(crate) foreign: Option<u64>,
    /// Whether some examined byte is not zero.
    pub(crate) has_data: bool,
}

impl Contents {
    /// Describes the contents that would be lost. Returns an empty list if there are none.
    pub(crate) fn words(&self) -> Vec<String> {
        match (self.kinds.is_empty(), self.foreign) {
            (true, Some(at)) => {
                vec![format!("data of an unknown kind, at byte {at} for one")]
            }
            _ => self.kinds.clone(),
        }
    }

    /// Records whether `window` has data, and its first block that assay did not write.
    fn note(&mut self, window: &Window) {
        let starts = (window.start..).step_by(BLOCK as usize);
        let mut blocks = window.data.chunks(BLOCK as usize).zip(starts);
        let found = blocks.find(|(data, _)| is_foreign(data)).map(|(_, at)| at);
        self.foreign = [self.foreign, found].into_iter().flatten().min();
        self.has_data |= window.data.iter().any(|byte| *byte != 0);
    }

    /// Returns `true` if assay wrote everything that was examined, and no format was recognised.
    pub(crate) fn is_ours(&self) -> bool {
        self.kinds.is_empty() && self.foreign.is_none()
    }
}

/// Examines what `file` holds: `size` bytes, in logical blocks of `block` bytes.
///
/// # Errors
/// If a place cannot be read.
pub(crate) fn look(file: &File, size: Bytes, block: Bytes) -> io::Result<Contents> {
    let mut contents = Contents::default();
    let [known, between] = places(size.0);
    let mut windows = Vec::new();
    for place in known {
        let window = read(file, place, block)?;
        contents.note(&window);
        windows.push(window);
    }
    contents.kinds.extend(signatures::find(&windows, size.0).into_iter().map(str::to_owned));
    for place in between {
        contents.note(&read(file, place, block)?);
    }
    Ok(contents)
}

/// Returns `true` if assay wrote the first sector of `file`, which is not zeros.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn begins_sealed(file: &File) -> io::Result<bool> {
    let window = read(file, 0..BLOCK, Bytes(BLOCK))?;
    Ok(window.data.get(..SECTOR).is_some_and(is_sealed))
}

/// Returns `true` if assay wrote everything that `file`, of `size` bytes, holds; reads all of it.
///
/// # Errors
/// If a place cannot be read.
pub(crate) fn are_all_ours(file: &File, size: u64) -> io::Result<bool> {
    for start in (0..size).step_by(CHUNK) {
        let place = start..(start + CHUNK as u64).min(size);
        let window = read(file, place, Bytes(BLOCK))?;
        if stop::is_interrupted() || is_foreign(&window.data) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Hashes what a device of `size` bytes holds in the places that [`look`] examines.
///
/// # Errors
/// If a place cannot be read.
pub(crate) fn digest(file: &File, size: Bytes, block: Bytes) -> io::Result<u64> {
    let mut digest = 0;
    for place in places(size.0).into_iter().flatten() {
        for word in read(file, place, block)?.data.chunks(8) {
            let mut bytes = [0; 8];
            bytes[..word.len()].copy_from_slice(word);
            digest = seed::mix(digest ^ u64::from_le_bytes(bytes));
        }
    }
    Ok(digest)
}

/// Returns the ranges to examine on a device of `size` bytes: first those where signatures lie,
/// then those between.
fn places(size: u64) -> [Vec<Range<u64>>; 2] {
    let head = HEAD.min(size);
    let tail = size.saturating_sub(TAIL) / BLOCK * BLOCK;
    let single = |at: u64| (at < size).then(|| at..(at + BLOCK).min(size));
    let mut known = vec![0..head, tail..size];
    known.extend(MIRRORS.map(|mirror| mirror / BLOCK * BLOCK).into_iter().filter_map(single));
    let step = size / (SAMPLES + 1) / BLOCK * BLOCK;
    let between = match size {
        ..=WHOLE => {
            (head..tail).step_by(CHUNK).map(|at| at..(at + CHUNK as u64).min(tail)).collect()
        }
        _ => (1..=SAMPLES).filter_map(|i| single(i * step)).collect(),
    };
    known.retain(|place| !place.is_empty());
    [known, between]
}

/// Returns `true` if a sector of the block is neither zeros nor sealed.
fn is_foreign(block: &[u8]) -> bool {
    let is_foreign = |sector: &[u8]| sector.iter().any(|b| *b != 0) && !is_sealed(sector);
    block.chunks(SECTOR).any(is_foreign)
}

/// Reads `place`, extended to whole blocks, through an aligned buffer, as `O_DIRECT` requires.
/// Stops at the end of the file.
fn read(file: &File, place: Range<u64>, block: Bytes) -> io::Result<Window> {
    let unit = block.0.max(1);
    let first = place.start / unit * unit;
    let length = (place.end - first).next_multiple_of(unit);
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

/// Returns the formats that `blkid` recognises in `file`. If `blkid` is missing or fails, returns a
/// text about that, which counts as contents.
pub(crate) fn blkid(file: &File) -> Vec<String> {
    let Some(program) = tool_path("blkid") else {
        let text = "contents of an unknown kind: `blkid` (util-linux) is not installed to tell \
                    which";
        return vec![text.to_owned()];
    };
    let failed = || vec!["contents that `blkid` could not look at".to_owned()];
    let Ok(input) = file.try_clone() else { return failed() };
    let mut command = tool(program);
    // Opens the very inode again, whatever its names are.
    command.args(["-p", "-o", "export", "/proc/self/fd/0"]).stdin(Stdio::from(input));
    let Ok(output) = brief(&mut command, PATIENCE, stop::is_interrupted) else {
        return failed();
    };
    match (output.status.code(), output.stderr.is_empty()) {
        (Some(0), _) => named(&String::from_utf8_lossy(&output.stdout)),
        (Some(2), true) => Vec::new(),
        (Some(8), _) => vec!["signatures of several kinds at once, by blkid".to_owned()],
        _ => failed(),
    }
}

/// Returns the formats in blkid's list of KEY=VALUE. The keys that describe the partition itself,
/// not its contents, do not count.
fn named(list: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in list.lines() {
        match line.split_once('=') {
            Some(("TYPE", kind)) => found.push(format!("{kind}, by blkid")),
            Some(("PTTYPE", kind)) => found.push(format!("a partition table ({kind}), by blkid")),
            _ => {}
        }
    }
    let says_more = |line: &str| {
        let known = ["DEVNAME", "PART_ENTRY_", "ID_PART_ENTRY_", "BLOCK_SIZE", "PTUUID"];
        !line.trim().is_empty() && !known.iter().any(|key| line.starts_with(key))
    };
    if found.is_empty() && list.lines().any(says_more) {
        found.push("something, by blkid".to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = (8 << 20) + 3 * 4096;

    fn file(parts: &[(u64, &[u8])], size: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size).unwrap();
        for (at, bytes) in parts {
            file.write_all_at(bytes, *at).unwrap();
        }
        file
    }

    fn look_at(parts: &[(u64, &[u8])]) -> Contents {
        look(&file(parts, SIZE), Bytes(SIZE), Bytes(512)).unwrap()
    }

    #[test]
    fn nothing_and_noise_of_ours_hold_nothing() {
        assert_eq!(look_at(&[]), Contents::default());
        let mut region = Region::new(1, Bytes(SIZE)).unwrap();
        region.fill(1);
        let noise = file(&[(0, &region.bytes()[..SIZE as usize])], SIZE);
        let contents = look(&noise, Bytes(SIZE), Bytes(512)).unwrap();
        assert!(contents.is_ours() && contents.has_data);
    }

    #[test]
    fn a_byte_of_somebody_else_is_found_where_it_is_looked_for() {
        for at in [0, 511, 5000, HEAD - 1, HEAD, SIZE / 2, SIZE - TAIL, SIZE - 1] {
            let contents = look_at(&[(at, b"x")]);
            assert_eq!(contents.foreign, Some(at / BLOCK * BLOCK), "at {at}");
            assert!(!contents.is_ours());
            assert!(contents.words()[0].contains("unknown kind"), "{:?}", contents.words());
        }
    }

    #[test]
    fn devices_smaller_than_any_header_do_not_panic() {
        for size in [0, 512, 4096, 65536, 300 << 10] {
            let contents = look(&file(&[], size), Bytes(size), Bytes(512)).unwrap();
            assert_eq!(contents, Contents::default());
        }
        let [known, between] = places(u64::MAX);
        assert!(known.iter().chain(&between).all(|place| !place.is_empty()));
    }

    #[test]
    fn mirrors_are_looked_at_on_devices_that_are_large_enough() {
        let [known, between] = places(1 << 40);
        assert!(MIRRORS.iter().all(|mirror| known.contains(&(*mirror..mirror + BLOCK))));
        assert_eq!(between.len(), SAMPLES as usize);
    }

    #[test]
    fn what_blkid_says_is_contents_unless_it_is_of_the_partition() {
        assert_eq!(named("DEVNAME=/x\nUUID=1\nTYPE=ext4\nUSAGE=filesystem\n"), ["ext4, by blkid"]);
        assert_eq!(named("PTUUID=1\nPTTYPE=dos\n"), ["a partition table (dos), by blkid"]);
        assert_eq!(named("DEVNAME=/x\nPART_ENTRY_SCHEME=dos\nPART_ENTRY_SIZE=4\n"), [""; 0]);
        assert_eq!(named("LABEL=x\n"), ["something, by blkid"]);
    }
}
