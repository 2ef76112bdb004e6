//! Checks that this process sees all processes, mounts and devices of the machine: a namespace or a
//! mount can hide some.
//!
//! *Invariants.* It only reads. Mounts over parts of `/proc` and `/sys` that assay does not read do
//! not matter: container run-times cover many.

use super::tables;
use rustix::fs::{FsWord, PROC_SUPER_MAGIC, statfs};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// The inode number that the kernel gives its first pid namespace (`PROC_PID_INIT_INO`).
const FIRST_NAMESPACE: u64 = 0xEFFF_FFFC;

/// The type that statfs(2) reports for the kernel's own `/sys`.
const SYSFS_MAGIC: FsWord = 0x6265_6572;

/// The directories of `/sys` in which devices and their users are found.
const ASKED: [&str; 8] = [
    "/sys/block",
    "/sys/class",
    "/sys/class/block",
    "/sys/dev",
    "/sys/dev/block",
    "/sys/devices",
    "/sys/fs",
    "/sys/fs/btrfs",
];

/// Returns why it is unknown who else uses a device, or `None` if it is known.
pub(super) fn obstacle() -> Option<String> {
    let is = |path, magic| statfs(path).is_ok_and(|found| found.f_type == magic);
    if !is("/proc", PROC_SUPER_MAGIC) {
        return Some("/proc is not a file system of the kernel".to_owned());
    }
    if !is("/sys", SYSFS_MAGIC) {
        return Some("/sys is not a file system of the kernel".to_owned());
    }
    let own = fs::read_link("/proc/self").unwrap_or_default();
    if own.as_os_str() != std::process::id().to_string().as_str() || !is_first_namespace() {
        return Some("a pid namespace hides other processes".to_owned());
    }
    // Every kernel with block devices has this file, but a /proc with `subset=pid` does not.
    if fs::metadata("/proc/partitions").is_err() {
        return Some("/proc shows only processes".to_owned());
    }
    let mounts = tables::mounts(&fs::read("/proc/self/mountinfo").unwrap_or_default(), "self");
    let devices = device_folders();
    let covered = mounts.iter().find(|mount| hides(&mount.point, &devices))?;
    Some(format!("a mount covers {}", covered.point.display()))
}

/// Returns `true` if all processes are in this process's namespace or in one below it.
fn is_first_namespace() -> bool {
    match fs::metadata("/proc/self/ns/pid") {
        Ok(found) => found.ino() == FIRST_NAMESPACE,
        // The kernel has no namespaces.
        Err(e) => e.kind() == io::ErrorKind::NotFound,
    }
}

/// Returns the directories of devices in `/sys`, even if something covers them.
fn device_folders() -> Vec<PathBuf> {
    let links = fs::read_dir("/sys/dev/block").into_iter().flatten().flatten();
    let targets = links.filter_map(|link| fs::read_link(link.path()).ok());
    let down = |target: PathBuf| {
        let names = target.components().filter(|part| matches!(part, Component::Normal(_)));
        Path::new("/sys").join(names.collect::<PathBuf>())
    };
    targets.map(down).collect()
}

/// Returns `true` if a mount at `point` hides a file or directory that assay reads. `devices` are
/// the directories of devices.
fn hides(point: &Path, devices: &[PathBuf]) -> bool {
    if let Ok(below) = point.strip_prefix("/proc") {
        let first = below.components().next().map(|part| part.as_os_str().to_string_lossy());
        return first.is_some_and(|name| {
            name.bytes().all(|b| b.is_ascii_digit()) || name == "swaps" || name == "partitions"
        });
    }
    let is_below_sys = point.strip_prefix("/sys").is_ok_and(|below| below != Path::new(""));
    let on_the_way =
        || devices.iter().any(|device| device.starts_with(point) || point.starts_with(device));
    is_below_sys && (ASKED.iter().any(|asked| point == Path::new(asked)) || on_the_way())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_hide_what_they_cover_and_nothing_else() {
        let devices = [PathBuf::from("/sys/devices/virtual/block/loop0")];
        for point in [
            "/proc/1",
            "/proc/17/fd",
            "/proc/swaps",
            "/sys/block",
            "/sys/dev/block",
            "/sys/devices",
            "/sys/devices/virtual",
            "/sys/devices/virtual/block/loop0",
            "/sys/devices/virtual/block/loop0/holders",
        ] {
            assert!(hides(Path::new(point), &devices), "{point}");
        }
        for point in [
            "/",
            "/proc",
            "/proc/sys/fs/binfmt_misc",
            "/proc/kcore",
            "/sys",
            "/sys/fs/cgroup",
            "/sys/kernel/debug",
            "/sys/devices/virtual/powercap",
            "/sys/devices/virtual/block/loop01",
            "/mnt/sys/block",
        ] {
            assert!(!hides(Path::new(point), &devices), "{point}");
        }
    }

    #[test]
    fn the_folders_of_devices_are_where_sysfs_has_them() {
        for folder in device_folders() {
            assert_eq!(fs::canonicalize(&folder).unwrap(), folder);
        }
    }
}
