//! Finds processes that can write to a device or file without an exclusive open, which the kernel
//! would report: zfs-fuse, databases on raw devices, virtual machines.
//!
//! Open files are found in three places: the descriptors of each thread of a process, its mappings
//! (of files that may be closed by now), and the files that it has registered with an io_uring. Of
//! descriptors that wait in a socket the kernel shows only the number: they could be of any file.
//!
//! *Invariants.* Reads only `/proc`. This process does not count. Only root sees the processes of
//! other users; for files, the lease ([`super::lease`]) notices them, too.

use super::store::{Birth, Store};
use super::tables;
use assay_fs::DeviceNumber;
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};
use rustix::io::Errno;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A process that may write to a device or file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Writer {
    /// The device or file.
    pub(crate) store: Store,
    /// Its birth time, where the file system keeps one.
    pub(crate) born: Option<Birth>,
    /// The way in which it can write, as the words between the store and the process in a message.
    pub(crate) how: &'static str,
    /// The number and name of the process, for messages.
    pub(crate) process: String,
}

/// The devices and files that other processes can write to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writers {
    /// All block devices and regular files, each with its process.
    pub(crate) known: Vec<Writer>,
    /// A process with descriptors waiting in its sockets, if there is one.
    pub(crate) in_flight: Option<String>,
    /// A process whose descriptors this one may not examine, if there is one.
    pub(crate) hidden: Option<String>,
}

/// The number of the first process, which some machines hide even from root. It is taken to use no
/// devices.
const FIRST: &str = "1";

/// Finds the devices and files that other processes can write to.
pub(crate) fn writers() -> Writers {
    let own = fs::read_link("/proc/self").unwrap_or_default();
    let mut found = Writers::default();
    let all = processes().unwrap_or_else(|_| {
        found.hidden = Some("/proc".to_owned());
        Vec::new()
    });
    for process in all.into_iter().filter(|number| own.as_os_str() != number.as_str()) {
        let directory = Path::new("/proc").join(&process);
        let mut known = Vec::new();
        let mut open = OpenDescriptors::default();
        match threads(&directory) {
            Ok(threads) => threads.iter().for_each(|t| open_in(t, &mut known, &mut open)),
            Err(e) => open.is_hidden |= !is_gone(&e),
        }
        open.is_hidden |= mapped_in(&directory, &mut known).is_err_and(|e| !is_gone(&e));
        open.is_hidden &= process != FIRST;
        if known.is_empty() && !open.in_flight && !open.is_hidden {
            continue;
        }
        let process = name(&directory, &process);
        if open.in_flight {
            found.in_flight.get_or_insert(process.clone());
        }
        if open.is_hidden {
            found.hidden.get_or_insert(process.clone());
        }
        let writer = |(seen, how): (Seen, _)| Writer {
            store: seen.store,
            born: seen.born,
            how,
            process: process.clone(),
        };
        found.known.extend(known.into_iter().map(writer));
    }
    found
}

/// Returns the numbers of all processes.
///
/// # Errors
/// If they cannot all be listed.
pub(super) fn processes() -> io::Result<Vec<String>> {
    numbers(Path::new("/proc"))
}

fn numbers(directory: &Path) -> io::Result<Vec<String>> {
    let entries: Vec<fs::DirEntry> = fs::read_dir(directory)?.collect::<io::Result<_>>()?;
    let names = entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(names.filter(|name| name.bytes().all(|b| b.is_ascii_digit())).collect())
}

/// Returns the `/proc` directories of those threads of a process that do not share the descriptors
/// of an earlier thread: mostly only that of the first thread.
///
/// # Errors
/// If they cannot be listed.
fn threads(process: &Path) -> io::Result<Vec<PathBuf>> {
    let tasks = process.join("task");
    let mut found: Vec<libc::pid_t> = Vec::new();
    for number in numbers(&tasks)?.iter().filter_map(|name| name.parse().ok()) {
        if !found.iter().any(|other| share_descriptors(*other, number)) {
            found.push(number);
        }
    }
    Ok(found.into_iter().map(|number| tasks.join(number.to_string())).collect())
}

/// Returns `true` for the error of a look at a process, thread or descriptor that has ended since.
pub(super) fn is_gone(e: &io::Error) -> bool {
    e.kind() == ErrorKind::NotFound || e.raw_os_error() == Some(libc::ESRCH)
}

/// Returns `true` if kcmp(2) says that two threads share a table of descriptors.
fn share_descriptors(one: libc::pid_t, other: libc::pid_t) -> bool {
    const KCMP_FILES: libc::c_int = 2;
    // SAFETY: the call compares by plain numbers and takes no pointer.
    unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_FILES, 0, 0) == 0 }
}

/// Facts about the descriptors of a process.
#[derive(Default)]
struct OpenDescriptors {
    /// Whether descriptors wait in its sockets.
    in_flight: bool,
    /// Whether some may not be examined.
    is_hidden: bool,
}

/// Adds files that a thread has open for writing.
fn open_in(thread: &Path, known: &mut Vec<(Seen, &'static str)>, open: &mut OpenDescriptors) {
    let listed = fs::read_dir(thread.join("fd"));
    open.is_hidden |= listed.as_ref().is_err_and(|e| !is_gone(e));
    for entry in listed.into_iter().flatten() {
        let Ok(entry) = entry else {
            open.is_hidden = true;
            continue;
        };
        let looked = look(&entry.path());
        if matches!(looked, Looked::Other) {
            continue;
        }
        let about = match fs::read(thread.join("fdinfo").join(entry.file_name())) {
            Ok(about) => String::from_utf8_lossy(&about).into_owned(),
            Err(e) => {
                open.is_hidden |= !is_gone(&e);
                continue;
            }
        };
        match looked {
            Looked::Store(seen) if writes(&about) => known.push((seen, "is open for writing in")),
            Looked::Socket => open.in_flight |= waiting(&about) > 0,
            Looked::Hidden => open.is_hidden = true,
            Looked::Nameless => {
                let ring = registered(&about);
                known.extend(ring.into_iter().map(|seen| (seen, "is open in an io_uring of")));
            }
            Looked::Store(_) | Looked::Other => {}
        }
    }
}

/// Adds files that a process has mapped as shared memory and may write to in this way.
///
/// # Errors
/// If its mappings cannot be read.
fn mapped_in(process: &Path, known: &mut Vec<(Seen, &'static str)>) -> io::Result<()> {
    let table = |directory: &Path| fs::read(directory.join("maps"));
    let mut maps = table(process)?;
    if maps.is_empty() {
        // If the first thread has ended before the others, its own table is empty.
        let tasks = process.join("task");
        for number in numbers(&tasks)? {
            match table(&tasks.join(number)) {
                Ok(found) if !found.is_empty() => {
                    maps = found;
                    break;
                }
                Err(e) if !is_gone(&e) => return Err(e),
                _ => {}
            }
        }
    }
    for line in maps.split(|b| *b == b'\n') {
        let Some(Mapping { range, on_disk, path }) = shared(line) else { continue };
        let link = process.join("map_files").join(range);
        // A mapping of a file that was opened for writing can be made writable at any time.
        if fs::symlink_metadata(&link).is_ok_and(|link| link.mode() & 0o200 == 0) {
            continue;
        }
        let named = || match look(&path) {
            // Without permission to follow the link only the name is known, which may lead
            // elsewhere.
            Looked::Store(seen) if seen.inode == on_disk.1 => seen,
            _ => Seen { store: Store::File(on_disk.0, on_disk.1), born: None, inode: on_disk.1 },
        };
        let seen = if let Looked::Store(seen) = look(&link) { seen } else { named() };
        if known.last().is_none_or(|(last, _)| last.store != seen.store) {
            known.push((seen, "is mapped for writing in"));
        }
    }
    Ok(())
}

/// A line of `/proc/PID/maps`.
struct Mapping<'a> {
    range: &'a str,
    on_disk: (DeviceNumber, u64),
    path: PathBuf,
}

/// Parses a line of `maps`. Returns `None` unless it is a shared mapping of a file or device.
fn shared(line: &[u8]) -> Option<Mapping<'_>> {
    let mut fields = line.splitn(6, |b| *b == b' ');
    let mut word = || std::str::from_utf8(fields.next()?).ok();
    let (range, rights, _, device, inode) = (word()?, word()?, word()?, word()?, word()?);
    let (major, minor) = device.split_once(':')?;
    let number = |text| u32::from_str_radix(text, 16).ok();
    let device = DeviceNumber { major: number(major)?, minor: number(minor)? };
    let inode = inode.parse().ok().filter(|inode| *inode != 0)?;
    let path = tables::path(fields.next().unwrap_or_default().trim_ascii());
    rights.ends_with('s').then_some(Mapping { range, on_disk: (device, inode), path })
}

/// A device or file that a process has open.
#[derive(Clone, Copy, Debug)]
struct Seen {
    store: Store,
    born: Option<Birth>,
    /// The inode number of its node, also for a device.
    inode: u64,
}

/// The object that a descriptor or a path leads to.
enum Looked {
    Store(Seen),
    Socket,
    /// A kernel object that is in no file system.
    Nameless,
    /// An object that this process may not examine.
    Hidden,
    Other,
}

/// Examines a descriptor or a path. Asks no network file server, which might not answer.
fn look(link: &Path) -> Looked {
    let mask = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let found = match statx(CWD, link, AtFlags::STATX_DONT_SYNC, mask) {
        Ok(found) => found,
        Err(Errno::ACCESS | Errno::PERM | Errno::NOMEM | Errno::NFILE) => return Looked::Hidden,
        Err(_) => return Looked::Other,
    };
    let has_birth = found.stx_mask & StatxFlags::BTIME.bits() != 0;
    let born = has_birth.then_some((found.stx_btime.tv_sec, found.stx_btime.tv_nsec));
    let number = |major, minor| DeviceNumber { major, minor };
    let store = match FileType::from_raw_mode(found.stx_mode.into()) {
        FileType::BlockDevice => Store::Device(number(found.stx_rdev_major, found.stx_rdev_minor)),
        FileType::RegularFile => {
            Store::File(number(found.stx_dev_major, found.stx_dev_minor), found.stx_ino)
        }
        FileType::Socket => return Looked::Socket,
        FileType::Unknown => return Looked::Nameless,
        _ => return Looked::Other,
    };
    Looked::Store(Seen { store, born, inode: found.stx_ino })
}

/// Returns the device or file at `path` and its birth time.
pub(super) fn found_at(path: &Path) -> Option<(Store, Option<Birth>)> {
    match look(path) {
        Looked::Store(seen) => Some((seen.store, seen.born)),
        _ => None,
    }
}

/// Returns `true` if `about`, the `fdinfo` of a descriptor, says that it is open for writing.
fn writes(about: &str) -> bool {
    let flags = about.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|octal| i32::from_str_radix(octal.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
}

/// Returns the number of descriptors that wait in a socket, by its `fdinfo`.
fn waiting(about: &str) -> u64 {
    let number = about.lines().find_map(|line| line.strip_prefix("scm_fds:"));
    number.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

/// Returns the files that are registered with an io_uring, from its `fdinfo`. They can be open
/// without a descriptor.
fn registered(about: &str) -> Vec<Seen> {
    let lines = about.lines().skip_while(|line| !line.starts_with("UserFiles:")).skip(1);
    let names = lines.map_while(|line| line.strip_prefix(' ')?.split_once(": "));
    let looked = names.map(|(_, name)| look(&tables::path(name.as_bytes())));
    let store = |looked| match looked {
        Looked::Store(seen) => Some(seen),
        _ => None,
    };
    looked.filter_map(store).collect()
}

fn name(directory: &Path, number: &str) -> String {
    let name = fs::read_to_string(directory.join("comm")).unwrap_or_default();
    format!("process {number} ({})", name.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
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
            let found = writers().known.into_iter().find(|w| w.store == store);
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(found.is_some(), is_writer);
            if let Some(found) = found {
                assert_eq!(found.process, format!("process {} (sleep)", child.id()));
            }
        }
    }

    #[test]
    fn shared_memory_is_told_from_private_and_nameless() {
        let line = b"7fc6-7fc7 rw-s 00000000 fe:10 94                         /dev/my loop\\0120";
        let Mapping { range, on_disk, path } = shared(line).unwrap();
        assert_eq!((range, on_disk.0.major, on_disk.1), ("7fc6-7fc7", 0xfe, 94));
        assert_eq!(path, Path::new("/dev/my loop\n0"));
        for line in [
            &b"7fc6-7fc7 rw-p 00000000 00:06 94                         /dev/loop0"[..],
            b"7fc6-7fc7 rw-s 00000000 00:01 0 ",
            b"7fc6-7fc7 rw-s",
            b"",
            b"\xff",
        ] {
            assert!(shared(line).is_none(), "{line:?}");
        }
    }

    #[test]
    fn what_the_kernel_says_of_sockets_and_rings_is_read() {
        assert_eq!(waiting("pos:\t0\nscm_fds: 3\n"), 3);
        assert_eq!(waiting("pos:\t0\nflags:\t02\n"), 0);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a b");
        fs::write(&path, "x").unwrap();
        let escaped = path.display().to_string().replace(' ', "\\040");
        let about =
            format!("SqMask:\t0x3\nUserFiles:\t2\n    1: {escaped}\nUserBufs:\t0\n    9: /\n");
        let found = registered(&about);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].inode, fs::metadata(&path).unwrap().ino());
        assert!(registered("SqMask:\t0x3\n").is_empty());
    }

    #[test]
    fn threads_with_one_table_are_looked_at_once_and_those_with_their_own_too() {
        let own = Path::new("/proc").join(std::process::id().to_string());
        let over = std::sync::Barrier::new(3);
        let (ready, is_ready) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            for is_apart in [false, true] {
                let (ready, over) = (ready.clone(), &over);
                scope.spawn(move || {
                    // SAFETY: the thread gets a copy of its descriptors and opens none after that.
                    let left = !is_apart || unsafe { libc::unshare(libc::CLONE_FILES) } == 0;
                    ready.send(left).unwrap();
                    over.wait();
                });
            }
            let left = [is_ready.recv().unwrap(), is_ready.recv().unwrap()];
            let found = threads(&own).unwrap();
            over.wait();
            assert_eq!((left, found.len()), ([true; 2], 2));
        });
    }
}
