//! Checks that this process sees what the kernel knows of processes, mounts and devices: an empty
//! list may have been emptied by a namespace or a mount.
//!
//! *Invariants.* It only looks. Mounts over parts of `/proc` and `/sys` that are not read here do
//! not matter: container run-times cover many.

use super::tables;
use rustix::fs::{FsWord, PROC_SUPER_MAGIC, statfs};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// The inode numbers that the kernel gives its first namespaces of processes and of users
/// (`PROC_PID_INIT_INO`, `PROC_USER_INIT_INO`).
const FIRST_PROCESSES: u64 = 0xEFFF_FFFC;
const FIRST_USERS: u64 = 0xEFFF_FFFD;

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

/// Returns why it is unknown who else uses a device; `None` if it is known.
pub(super) fn obstacle() -> Option<String> {
    let is = |path, magic| statfs(path).is_ok_and(|found| found.f_type == magic);
    if !is("/proc", PROC_SUPER_MAGIC) {
        return Some("/proc is not the kernel's".to_owned());
    }
    if !is("/sys", SYSFS_MAGIC) {
        return Some("/sys is not the kernel's".to_owned());
    }
    let own = fs::read_link("/proc/self").unwrap_or_default();
    if own.as_os_str() != std::process::id().to_string().as_str()
        || !is_first("pid", FIRST_PROCESSES)
    {
        return Some("a pid namespace hides other processes".to_owned());
    }
    // Every kernel with devices has it, but not a /proc with `subset=pid`.
    if fs::metadata("/proc/partitions").is_err() {
        return Some("/proc shows processes alone".to_owned());
    }
    if may_not_look() {
        return Some("root may not look into other processes here".to_owned());
    }
    let mounts = tables::mounts(&fs::read("/proc/self/mountinfo").unwrap_or_default(), true);
    let devices = device_folders();
    let covered = mounts.iter().find(|mount| hides(&mount.point, &devices))?;
    Some(format!("a mount covers {}", covered.point.display()))
}

/// Returns `true` if everything is in this process's namespace of this kind or in one below it.
fn is_first(kind: &str, first: u64) -> bool {
    match fs::metadata(format!("/proc/self/ns/{kind}")) {
        Ok(found) => found.ino() == first,
        // The kernel has no namespaces.
        Err(e) => e.kind() == io::ErrorKind::NotFound,
    }
}

/// Returns `true` if this is root without the right to look into every process, as in a container,
/// a service or a user namespace. Any other user is known not to see everything.
fn may_not_look() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    // In a namespace of users, the right does not hold for processes outside of it.
    let may_look = has_right_to_trace(&status) && is_first("user", FIRST_USERS);
    rustix::process::geteuid().is_root() && !may_look
}

/// Returns `true` if `status`, of a process, has `CAP_SYS_PTRACE` among its effective capabilities.
fn has_right_to_trace(status: &str) -> bool {
    const CAP_SYS_PTRACE: u32 = 19;
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    effective.is_some_and(|bits| bits >> CAP_SYS_PTRACE & 1 == 1)
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

/// Returns `true` if a mount at `point` hides anything that is read here; `devices` are the
/// directories of devices.
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
    fn the_right_to_look_into_processes_is_one_bit() {
        assert!(has_right_to_trace("Name:\tx\nCapEff:\t0000000000080000\n"));
        assert!(!has_right_to_trace("CapPrm:\t000001ffffffffff\nCapEff:\t000001fffff7ffff\n"));
        assert!(!has_right_to_trace(""));
    }

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
