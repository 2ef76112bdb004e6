//! What a job works on: elevators, the array, the file system.

use super::{FilesystemSetup, MOUNT, MdSetup, Place, StorageSetup, run, write};
use crate::error::{Error, Result};
use rustix::mount::{MountFlags, mount};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of the `index`-th drive.
pub(super) fn drive_name(index: usize) -> String {
    let letter = |i: usize| char::from(b'a' + (i % 26) as u8);
    match index {
        0..26 => format!("vd{}", letter(index)),
        _ => format!("vd{}{}", letter(index / 26 - 1), letter(index)),
    }
}

/// Makes it all.
pub(super) fn prepare(storage: &StorageSetup) -> Result<Place> {
    for (index, rotational) in storage.rotational.iter().enumerate() {
        let queue = format!("/sys/block/{}/queue", drive_name(index));
        let scheduler = storage.scheduler.as_deref().unwrap_or("none");
        write(&format!("{queue}/scheduler"), scheduler)?;
        write(&format!("{queue}/rotational"), if *rotational { "1" } else { "0" })?;
        // Elevators sort what waits; a drive that takes one at a time would leave them two.
        if scheduler != "none" {
            write(&format!("{queue}/nr_requests"), "128")?;
        }
    }
    let device = match &storage.array {
        Some(array) => assemble(array, storage.rotational.len())?,
        None => PathBuf::from(format!("/dev/{}", drive_name(0))),
    };
    if let Some(kib) = storage.readahead_kib {
        let name = device.file_name().unwrap_or_default().to_string_lossy().into_owned();
        write(&format!("/sys/block/{name}/queue/read_ahead_kb"), &kib.to_string())?;
    }
    let directory = match &storage.filesystem {
        None => None,
        Some(filesystem) => {
            make_filesystem(filesystem, &device, storage.rotational.len())?;
            if filesystem.kind != "zfs" {
                mount_filesystem(filesystem, &device)?;
            }
            Some(PathBuf::from(MOUNT))
        }
    };
    Ok(Place { device, directory, filesystem: storage.filesystem.clone() })
}

fn assemble(array: &MdSetup, drives: usize) -> Result<PathBuf> {
    let all: Vec<String> = (0..drives).map(|i| format!("/dev/{}", drive_name(i))).collect();
    if array.level == "01" {
        // The kernel has no such level; two stripes that are mirrored are one.
        let (left, right) = all.split_at(drives / 2);
        let stripe = MdSetup { level: "0".to_owned(), missing: 0, ..array.clone() };
        create("/dev/md1", &stripe, left)?;
        create("/dev/md2", &stripe, right)?;
        let mirror = MdSetup { level: "1".to_owned(), chunk_kib: None, ..array.clone() };
        create("/dev/md0", &mirror, &["/dev/md1".to_owned(), "/dev/md2".to_owned()])?;
    } else {
        create("/dev/md0", array, &all)?;
    }
    Ok(PathBuf::from("/dev/md0"))
}

/// Makes an array of drives; the contents of new ones agree, for all are zeros.
fn create(device: &str, array: &MdSetup, drives: &[String]) -> Result<()> {
    let level = format!("--level={}", array.level);
    let count = format!("--raid-devices={}", drives.len());
    let chunk = array.chunk_kib.map(|kib| format!("--chunk={kib}"));
    let mut words = vec!["--create", device, "--run", "--metadata=1.0", "--name=assay"];
    words.extend([level.as_str(), count.as_str()]);
    words.extend(chunk.as_deref());
    if !matches!(array.level.as_str(), "0" | "linear") {
        words.extend(["--assume-clean", "--bitmap=none"]);
    }
    // Of pairs, one of each; of others, the first.
    let step = if array.level == "10" { 2 } else { 1 };
    let gone = |i: usize| i.is_multiple_of(step) && i / step < array.missing as usize;
    let name = |(i, drive)| if gone(i) { "missing" } else { drive };
    words.extend(drives.iter().map(String::as_str).enumerate().map(name));
    run("mdadm", &words)
}

fn make_filesystem(filesystem: &FilesystemSetup, device: &Path, drives: usize) -> Result<()> {
    let device = device.to_string_lossy();
    if filesystem.kind == "zfs" {
        return make_pool(filesystem, &device, drives);
    }
    let tool = format!("mkfs.{}", filesystem.kind);
    // Each asks before it begins, unless told otherwise in words of its own.
    let quiet: &[&str] = match filesystem.kind.as_str() {
        "ext2" | "ext3" | "ext4" => &["-q", "-F"],
        "reiserfs" => &["-q", "-ff"],
        "jfs" => &["-q"],
        _ => &["-f"],
    };
    let mut words: Vec<&str> = quiet.to_vec();
    words.extend(filesystem.mkfs.iter().map(String::as_str));
    words.push(&device);
    run(&tool, &words)
}

/// Links to the drives and nothing else: looking for pools among all devices would wait for some.
pub(super) const DISKS: &str = "/run/disks";

/// Starts the process that is the file system, and makes a pool of the device, or of all drives if
/// there are several and no array of them.
fn make_pool(filesystem: &FilesystemSetup, device: &str, drives: usize) -> Result<()> {
    // It keeps its socket and what it knows of pools where the machine would, which is read-only.
    for place in ["/etc/zfs", "/var/lib/zfs"] {
        if Path::new(place).is_dir() {
            let tmpfs = mount("tmpfs", place, "tmpfs", MountFlags::empty(), None);
            tmpfs.map_err(|e| Error::system(place, e.into()))?;
        }
    }
    run(ZFS, &["--no-kstat-mount"])?;
    let all: Vec<String> = (0..drives).map(|i| format!("/dev/{}", drive_name(i))).collect();
    super::make(DISKS)?;
    for path in all.iter().map(String::as_str).chain([device]) {
        let link = Path::new(DISKS).join(Path::new(path).file_name().unwrap_or_default());
        // The first drive may be the device, too.
        let _ = std::os::unix::fs::symlink(path, link);
    }
    let mut words = vec!["create", "-f", "-o", "cachefile=none", "-m", MOUNT];
    words.extend(filesystem.mkfs.iter().map(String::as_str));
    words.push("pool");
    match device {
        "/dev/vda" if drives > 1 => {
            words.push("raidz");
            words.extend(all.iter().map(String::as_str));
        }
        device => words.push(device),
    }
    ask_of_pool(&words)
}

/// Asks for something of the process, which answers a moment after it has started.
fn ask_of_pool(words: &[&str]) -> Result<()> {
    let mut tried = run("zpool", words);
    for _ in 0..20 {
        if tried.is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
        tried = run("zpool", words);
    }
    tried
}

/// Has the file system's process write back what is dirty, and ends it with all that it has cached.
/// It cannot be asked to give the pool up: its threads may then call `sync` without end, in which
/// no time passes.
pub(super) fn leave_pool() -> Result<()> {
    super::drop_caches()?;
    std::thread::sleep(WRITTEN_BACK);
    run("pkill", &["-KILL", "-x", ZFS])?;
    // A job may have unmounted it itself.
    drop(run("umount", &["-l", MOUNT]));
    super::drop_caches()
}

/// Starts another process for the pool that one has left.
pub(super) fn return_to_pool() -> Result<()> {
    run(ZFS, &["--no-kstat-mount"])?;
    ask_of_pool(&["import", "-f", "-o", "cachefile=none", "-d", DISKS, "pool"])
}

/// The process that is ZFS.
const ZFS: &str = "zfs-fuse";
/// It writes what is dirty back in groups, the last of which takes no longer.
const WRITTEN_BACK: Duration = Duration::from_secs(15);

/// Mounts it.
pub(super) fn mount_filesystem(filesystem: &FilesystemSetup, device: &Path) -> Result<()> {
    let device = device.to_string_lossy();
    let mut words = vec!["-t", &filesystem.kind];
    if !filesystem.mount.is_empty() {
        words.extend(["-o", &filesystem.mount]);
    }
    words.extend([device.as_ref(), MOUNT]);
    run("mount", &words)
}
