//! Parsers of the kernel's tables of mounts and swap.
//!
//! The formats are those of proc_pid_mountinfo(5) and `/proc/swaps`. *Invariant.* No input causes a
//! panic; a line that does not have the documented format is left out. In paths, both tables escape
//! space, tab, newline and backslash as three octal digits.

use assay_fs::DeviceNumber;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The options of an overlay that name a layer each, and the one that lists lower layers.
const UPPER: &[&[u8]] = &[b"upperdir="];
const LOWER_LIST: &[u8] = b"lowerdir=";
const LOWER_EACH: &[&[u8]] = &[b"lowerdir+=", b"datadir+="];
/// The options that name further devices, of XFS and of reiserfs.
const FURTHER: &[&[u8]] = &[b"logdev=", b"rtdev=", b"jdev="];

/// The options of an overlay that answers a sync without writing anything.
const VOLATILE: [&[u8]; 2] = [b"volatile", b"fsync=volatile"];

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// The number of its device, or an anonymous one (major 0) for btrfs, overlays and the like.
    pub(crate) number: DeviceNumber,
    /// The mount point.
    pub(crate) point: PathBuf,
    /// The directory of the file system that is mounted there: `/`, but for bind mounts.
    pub(crate) root: PathBuf,
    /// The directories of an overlay's layers, the upper one first, as they were named when it was
    /// mounted.
    pub(crate) layers: Vec<PathBuf>,
    /// Further devices: those of a journal or of a part for large files.
    pub(crate) further: Vec<PathBuf>,
    /// Whether it is an overlay that answers a sync without writing anything.
    pub(crate) is_volatile: bool,
    /// The type, e.g. `ext4`.
    pub(crate) kind: String,
    /// The mounted source, mostly a device node.
    pub(crate) source: PathBuf,
    /// The process whose table has it, as `/proc` names it.
    pub(crate) process: String,
}

/// Parses the `mountinfo` table of `process`.
pub(crate) fn mounts(table: &[u8], process: &str) -> Vec<Mount> {
    table.split(|b| *b == b'\n').filter_map(|line| mount(line, process)).collect()
}

fn mount(line: &[u8], process: &str) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|b| *b == b' ').collect();
    let (number, point) = (fields.get(2)?, fields.get(4)?);
    // The optional fields, in varying number, end with a lone dash.
    let dash = 6 + fields.get(6..)?.iter().position(|field| *field == b"-")?;
    let options = fields.get(dash + 3).copied().unwrap_or_default();
    Some(Mount {
        number: DeviceNumber::parse(std::str::from_utf8(number).ok()?)?,
        point: path(point),
        root: path(fields.get(3)?),
        layers: [named(options, UPPER), listed(options), named(options, LOWER_EACH)].concat(),
        further: named(options, FURTHER),
        is_volatile: options.split(|b| *b == b',').any(|option| VOLATILE.contains(&option)),
        kind: String::from_utf8_lossy(fields.get(dash + 1)?).into_owned(),
        source: path(fields.get(dash + 2)?),
        process: process.to_owned(),
    })
}

/// Returns the paths that `options` gives for `keys`, one each.
fn named(options: &[u8], keys: &[&[u8]]) -> Vec<PathBuf> {
    let value = |option| keys.iter().find_map(|key| <[u8]>::strip_prefix(option, *key));
    let values = options.split(|b| *b == b',').filter_map(value);
    values.filter(|name| !name.is_empty()).map(path).collect()
}

/// Returns the lower layers that `options` lists. Between them are colons; one in a name has a
/// backslash before it or, as some kernels show it, is escaped as `\072`.
fn listed(options: &[u8]) -> Vec<PathBuf> {
    const BACKSLASH: &[u8] = b"\\134";
    let value = |option| <[u8]>::strip_prefix(option, LOWER_LIST);
    let Some(mut rest) = options.split(|b| *b == b',').find_map(value) else { return Vec::new() };
    let (mut names, mut name) = (Vec::new(), Vec::new());
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        if first == b':' {
            names.push(std::mem::take(&mut name));
        } else if let Some(after) = [&[first], tail].concat().strip_prefix(BACKSLASH) {
            // The next character is itself; if it is a backslash, the table escapes it, too.
            let length = if after.starts_with(BACKSLASH) { BACKSLASH.len() } else { 1 };
            let length = length.min(after.len());
            name.extend(&after[..length]);
            rest = &tail[BACKSLASH.len() - 1 + length..];
        } else {
            name.push(first);
        }
    }
    names.push(name);
    names.iter().filter(|name| !name.is_empty()).map(|name| path(name)).collect()
}

/// Parses `/proc/swaps`, and returns the paths of active swap files and devices.
pub(crate) fn swaps(table: &[u8]) -> Vec<PathBuf> {
    let lines = table.split(|b| *b == b'\n').skip(1);
    let names = lines.filter_map(|line| line.split(|b| matches!(b, b' ' | b'\t')).next());
    names.filter(|name| !name.is_empty()).map(path).collect()
}

/// Converts a path from the form in which the kernel's tables escape it.
pub(super) fn path(escaped: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(unescape(escaped)))
}

/// Replaces `\040` and the like by the bytes they stand for.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, tail)) = rest.split_first() {
        match (first, tail) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                out.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                rest = after;
            }
            _ => {
                out.push(first);
                rest = tail;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mountinfo_with_optional_fields_and_escapes() {
        let table = b"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n\
            36 35 98:0 /mnt1 /mnt/a\\040b rw,noatime master:1 shared:2 - ext3 /dev/my\\134root rw\n\
            50 1 0:45 / /data rw - btrfs /dev/sdb1 rw,subvol=/\n\
            49 1 8:1 / /x rw - xfs /dev/sda1 rw,logdev=/dev/sdc1,rtdev=/dev/sdd\n\
            51 1 0:46 /sub /o rw - overlay o rw,lowerdir=/l:/k,upperdir=/u\\054p,workdir=/w\n";
        let mounts = mounts(table, "self");
        assert_eq!(mounts.len(), 5);
        assert_eq!(mounts[0].number, DeviceNumber { major: 254, minor: 0 });
        assert_eq!(mounts[1].point, PathBuf::from("/mnt/a b"));
        assert_eq!(mounts[1].source, PathBuf::from("/dev/my\\root"));
        assert_eq!((mounts[2].kind.as_str(), mounts[2].number.major), ("btrfs", 0));
        assert!(mounts[2].layers.is_empty());
        assert_eq!(mounts[3].further, ["/dev/sdc1", "/dev/sdd"].map(PathBuf::from));
        assert_eq!(mounts[4].root, PathBuf::from("/sub"));
        assert_eq!(mounts[4].layers, ["/u,p", "/l", "/k"].map(PathBuf::from));
    }

    #[test]
    fn names_with_colons() {
        let line = b"51 1 0:46 / /o rw - overlay o rw,lowerdir=/l\\134:x:/k::/d,upperdir=/u:p\n\
            52 1 0:48 / /o rw - overlay o rw,lowerdir=/l\\072x:/a\\134\\134b\\040c:/k\\134\n\
            52 1 0:47 / /o rw - overlay o rw,lowerdir+=/l:x,lowerdir+=/k,datadir+=/d\n\
            53 1 8:1 / /x rw - xfs /dev/sda1 rw,logdev=/dev/disk/by-path/pci-0000:00\n";
        let mounts = mounts(line, "self");
        assert_eq!(mounts[0].layers, ["/u:p", "/l:x", "/k", "/d"].map(PathBuf::from));
        assert_eq!(mounts[1].layers, ["/l:x", "/a\\b c", "/k"].map(PathBuf::from));
        assert_eq!(mounts[2].layers, ["/l:x", "/k", "/d"].map(PathBuf::from));
        assert_eq!(mounts[3].further, [PathBuf::from("/dev/disk/by-path/pci-0000:00")]);
    }

    #[test]
    fn any_bytes_parse() {
        for table in [&b""[..], b"\n\n", b"1 2 3", b"1 2 x:y / / rw - a b", b"\xff \\ \\04 - - -"] {
            assert_eq!(mounts(table, "self"), []);
        }
        // A good line, cut anywhere, gives an entry or none, and never a panic.
        let line = b"36 35 98:0 / /mnt rw shared:2 - ext3 /dev/root rw";
        for end in 0..line.len() {
            assert!(mounts(&line[..end], "self").len() <= 1);
        }
        assert!(swaps(b"").is_empty());
    }

    #[test]
    fn swaps_with_escapes_and_deleted_files() {
        let table = b"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
            /dev/sda2                               partition\t8388604\t\t0\t\t-2\n\
            /my\\040swap\\040file                     file\t\t1024\t\t0\t\t-3\n";
        assert_eq!(swaps(table), [PathBuf::from("/dev/sda2"), PathBuf::from("/my swap file")]);
    }

    #[test]
    fn only_whole_octal_escapes_are_replaced() {
        assert_eq!(unescape(b"a\\040b\\011\\134"), b"a b\t\\");
        assert_eq!(unescape(b"\\04 \\999 \\777 \\"), b"\\04 \\999 \\777 \\");
    }
}
