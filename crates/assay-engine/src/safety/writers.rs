//! Who has a device or file open for writing without a claim that the kernel keeps: programs that
//! forgo `O_EXCL`, such as zfs-fuse, databases on raw devices, virtual machines.
//!
//! *Invariants.* Reads `/proc` only. This process does not count. Another user's processes are seen
//! by root alone; for files the lease ([`super::lease`]) sees them, too.

use super::stack::Store;
use assay_fs::DeviceNumber;
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};
use std::fs;
use std::path::Path;

/// A process that may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Writer {
    /// What it may write to.
    pub(crate) store: Store,
    /// Its number and name, for people.
    pub(crate) process: String,
}

/// All block devices and regular files that other processes have open for writing.
pub(crate) fn writers() -> Vec<Writer> {
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for process in processes().filter(|number| *number != own) {
        let directory = Path::new("/proc").join(&process);
        let Ok(open) = fs::read_dir(directory.join("fd")) else { continue };
        for entry in open.flatten() {
            let Some(store) = store(&entry.path()) else { continue };
            if writes(&directory.join("fdinfo").join(entry.file_name())) {
                found.push(Writer { store, process: name(&directory, &process) });
            }
        }
    }
    found
}

/// The numbers of all processes.
pub(super) fn processes() -> impl Iterator<Item = String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.bytes().all(|b| b.is_ascii_digit()))
}

/// What an open descriptor leads to. Asks no file server, which might not answer.
fn store(link: &Path) -> Option<Store> {
    let found = statx(CWD, link, AtFlags::STATX_DONT_SYNC, StatxFlags::BASIC_STATS).ok()?;
    match FileType::from_raw_mode(found.stx_mode.into()) {
        FileType::BlockDevice => Some(Store::Device(DeviceNumber {
            major: found.stx_rdev_major,
            minor: found.stx_rdev_minor,
        })),
        FileType::RegularFile => Some(Store::File(
            DeviceNumber { major: found.stx_dev_major, minor: found.stx_dev_minor },
            found.stx_ino,
        )),
        _ => None,
    }
}

/// Whether the descriptor described at `info` is open for writing.
fn writes(info: &Path) -> bool {
    let text = fs::read_to_string(info).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|octal| i32::from_str_radix(octal.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
}

fn name(directory: &Path, number: &str) -> String {
    let name = fs::read_to_string(directory.join("comm")).unwrap_or_default();
    format!("process {number} ({})", name.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use std::process::{Command, Stdio};

    #[test]
    fn a_child_that_has_a_file_open_for_writing_is_seen_and_a_reader_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "x").unwrap();
        let stat = fs::metadata(&path).unwrap();
        let store = Store::File(DeviceNumber::from_raw(stat.dev()), stat.ino());
        for (is_writer, file) in [
            (true, fs::OpenOptions::new().append(true).open(&path).unwrap()),
            (false, fs::File::open(&path).unwrap()),
        ] {
            let mut command = Command::new("sleep");
            let mut child = command.arg("60").stdin(Stdio::from(file)).spawn().unwrap();
            drop(command);
            let found = writers().into_iter().find(|w| w.store == store);
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(found.is_some(), is_writer);
            if let Some(found) = found {
                assert_eq!(found.process, format!("process {} (sleep)", child.id()));
            }
        }
    }
}
