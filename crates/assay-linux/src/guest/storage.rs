//! The storage of a job: sets up I/O schedulers, the array and the file system.

use super::job::{FilesystemSetup, MdSetup, StorageSetup};
use super::tools::{MOUNT, drop_caches, end_process, make, run, work_takes_time, write};
use crate::error::{Error, Result};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::Pid;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The device and the directory that a task works on.
#[derive(Clone, Debug)]
pub struct Place {
    /// The device: the first drive, or the array of all.
    pub device: PathBuf,
    /// The mount point of its file system, if it has one.
    pub directory: Option<PathBuf>,
    pub(super) filesystem: Option<FilesystemSetup>,
}

impl Place {
    /// Unmounts the file system, drops all caches, and mounts it again, so that reads then go to
    /// the drives. Without a file system, only drops the caches. Meanwhile the kernel's work takes
    /// no time, but its requests do.
    ///
    /// # Errors
    /// If a tool fails.
    pub fn remount(&self) -> Result<()> {
        work_takes_time(false)?;
        let remounted = self.remount_by_tools();
        work_takes_time(true)?;
        remounted
    }

    fn remount_by_tools(&self) -> Result<()> {
        if let Some(filesystem) = &self.filesystem {
            if filesystem.kind == "zfs" {
                leave_pool()?;
                return return_to_pool();
            }
            run("umount", &[MOUNT])?;
            drop_caches()?;
            return mount_filesystem(filesystem, &self.device);
        }
        drop_caches()
    }
}

/// Unmounts the file systems that programs have mounted on drives and arrays, the last first. What
/// is busy stays mounted.
pub(super) fn unmount_drives() {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let places = mounts.lines().filter_map(|line| {
        let (device, rest) = line.split_once(' ')?;
        // `/proc/mounts` writes a blank in a name as an octal number; such a place stays mounted.
        device.starts_with("/dev/").then(|| rest.split(' ').next()).flatten()
    });
    for place in places.collect::<Vec<_>>().into_iter().rev() {
        let _ = unmount(place, UnmountFlags::empty());
    }
}

/// Returns the kernel's name of the drive `index`, counted from 0.
pub(super) fn drive_name(index: usize) -> String {
    let letter = |i: usize| char::from(b'a' + (i % 26) as u8);
    match index {
        0..26 => format!("vd{}", letter(index)),
        _ => format!("vd{}{}", letter(index / 26 - 1), letter(index)),
    }
}

/// Sets up the kernel and the drives, makes the array and the file system, and mounts it.
pub(super) fn prepare(storage: &StorageSetup) -> Result<Place> {
    for (name, value) in &storage.sysctl {
        set(name, value)?;
    }
    for (index, rotational) in storage.rotational.iter().enumerate() {
        let queue = format!("/sys/block/{}/queue", drive_name(index));
        let scheduler = storage.scheduler.as_deref().unwrap_or("none");
        write(&format!("{queue}/scheduler"), scheduler)?;
        write(&format!("{queue}/rotational"), if *rotational { "1" } else { "0" })?;
        // Schedulers sort waiting requests; a drive with queue depth 1 would leave them two.
        if scheduler != "none" {
            write(&format!("{queue}/nr_requests"), "128")?;
        }
        if let Some(kib) = storage.max_request_kib {
            write(&format!("{queue}/max_sectors_kb"), &kib.to_string())?;
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

/// Gives a setting of the kernel a value.
fn set(name: &str, value: &str) -> Result<()> {
    let file = Path::new("/proc/sys").join(name.replace('.', "/"));
    fs::write(file, value).map_err(|e| {
        let message = format!("the guest's kernel refuses {value:?} for its setting `{name}`");
        let hint = "`assay linux run --drive sim:ssd-m -- sysctl -a` shows its settings";
        Error::new("linux-setting", message, hint).caused_by(e)
    })
}

/// Makes the array of all drives, and returns its device.
fn assemble(array: &MdSetup, drives: usize) -> Result<PathBuf> {
    let all: Vec<String> = (0..drives).map(|i| format!("/dev/{}", drive_name(i))).collect();
    if array.level == "01" {
        // The kernel has no such level: mirror two stripes.
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

/// Makes an array. It needs no resync, because all drives hold zeros.
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
    // In RAID 10, one drive of each pair is missing; in other levels, the first drives.
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
    // The options that keep each tool from asking questions.
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

/// A directory with links to the drives only: a search for pools in `/dev` would wait for some
/// devices.
pub(super) const DISKS: &str = "/run/disks";

/// Starts zfs-fuse, and makes a pool of the device, or a raidz of all drives if there are several
/// without an array.
fn make_pool(filesystem: &FilesystemSetup, device: &str, drives: usize) -> Result<()> {
    // zfs-fuse writes its socket and its cache of pools there, but the host's files are read-only.
    for place in ["/etc/zfs", "/var/lib/zfs"] {
        if Path::new(place).is_dir() {
            let tmpfs = mount("tmpfs", place, "tmpfs", MountFlags::empty(), None);
            tmpfs.map_err(|e| Error::system(place, e.into()))?;
        }
    }
    serve_zfs()?;
    let all: Vec<String> = (0..drives).map(|i| format!("/dev/{}", drive_name(i))).collect();
    make(DISKS)?;
    for path in all.iter().map(String::as_str).chain([device]) {
        let link = Path::new(DISKS).join(Path::new(path).file_name().unwrap_or_default());
        // This fails for the device if it is a drive, which has its link already.
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

/// Starts zfs-fuse.
fn serve_zfs() -> Result<()> {
    run(ZFS, &["--no-kstat-mount", "--pidfile", PID_FILE])
}

/// Lets zfs-fuse write dirty data back, then kills it, which drops its cache. An export of the pool
/// is not possible: the threads of zfs-fuse may then call `sync` without end, which takes no
/// virtual time.
pub(super) fn leave_pool() -> Result<()> {
    drop_caches()?;
    // The kernel's `sync` does not reach zfs-fuse. A property is set when the transaction group
    // that it is in is on the drives, and with it whatever was written before.
    run("zfs", &["set", "assay:left=yes", "pool"])?;
    kill_zfs()?;
    // The job may have unmounted it already.
    drop(run("umount", &["-l", MOUNT]));
    drop_caches()
}

/// Kills zfs-fuse, and waits for its end. No other can start before, or while the file has its
/// number.
fn kill_zfs() -> Result<()> {
    let text = fs::read_to_string(PID_FILE).map_err(|e| Error::system(PID_FILE, e))?;
    let id = text.trim().parse().ok().and_then(Pid::from_raw);
    let id = id.ok_or_else(|| Error::system(PID_FILE, std::io::ErrorKind::InvalidData.into()))?;
    end_process(id).map_err(|e| Error::system(ZFS, e.into()))?;
    fs::remove_file(PID_FILE).map_err(|e| Error::system(PID_FILE, e))
}

/// Starts zfs-fuse again and imports the pool. [`leave_pool`] must have been called before.
pub(super) fn return_to_pool() -> Result<()> {
    serve_zfs()?;
    ask_of_pool(&["import", "-f", "-o", "cachefile=none", "-d", DISKS, "pool"])
}

/// Runs `zpool` with `words`. Tries for two seconds, as zfs-fuse needs a moment to start.
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

/// The program that serves ZFS.
const ZFS: &str = "zfs-fuse";
/// The file with the number of its process.
const PID_FILE: &str = "/run/zfs-fuse.pid";

/// Mounts the file system of `device` at [`MOUNT`].
pub(super) fn mount_filesystem(filesystem: &FilesystemSetup, device: &Path) -> Result<()> {
    let device = device.to_string_lossy();
    let options = [quiet_options(&filesystem.kind), &filesystem.mount];
    let options: Vec<&str> = options.into_iter().filter(|text| !text.is_empty()).collect();
    let options = options.join(",");
    let mut words = vec!["-t", &filesystem.kind];
    if !options.is_empty() {
        words.extend(["-o", &options]);
    }
    words.extend([device.as_ref(), MOUNT]);
    run("mount", &words)
}

/// Returns the options that keep the kernel from work of its own after mounting a file system.
///
/// Since Linux 5.8 it reads all block bitmaps of ext3 and ext4, and since 2.6.37 it writes the
/// inode tables of ext4 that mkfs has left out. On a disk that disturbs the first minute of the
/// measured work, by chance more or less.
fn quiet_options(kind: &str) -> &'static str {
    match kind {
        "ext3" | "ext4" => "noinit_itable,no_prefetch_block_bitmaps",
        _ => "",
    }
}
