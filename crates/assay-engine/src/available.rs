//! The memory and the processors that this process may use, and how often its control groups kept
//! it from using them.

use assay_spec::Bytes;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns how much of the machine's memory this process may use.
pub(crate) fn available_memory() -> Bytes {
    let table = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = table.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse().ok());
    let machine = kibibytes.map_or(u64::MAX, |n: u64| n << 10);
    let stated = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse().ok();
    let limits = group_files(&own_groups(), "memory", "memory.max", "memory.limit_in_bytes");
    let group = limits.into_iter().filter_map(stated).min().unwrap_or(u64::MAX);
    let left = |name, used| Some(limit(name)?.saturating_sub(taken(used)));
    let limits = [left(ADDRESS_SPACE, "VmSize:"), left("Max data size", "VmData:")];
    let limit = limits.into_iter().flatten().min().unwrap_or(u64::MAX);
    Bytes(machine.min(group).min(limit))
}

const ADDRESS_SPACE: &str = "Max address space";

/// Makes all threads share one heap if the address space of this process is limited. Otherwise the
/// C library reserves 64 MiB of it for each thread. Ignores the user's size of stacks, which may be
/// too small.
///
/// Call it before a second thread is started.
pub fn prepare_for_threads() {
    // SAFETY: no other thread reads the environment now.
    unsafe { std::env::remove_var("RUST_MIN_STACK") };
    if cfg!(target_env = "gnu") && limit(ADDRESS_SPACE).is_some() {
        // SAFETY: it changes a number of the C library's, which no other thread reads now. If it
        // fails, nothing changes.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}

/// Returns the bytes that this process has taken of a kind that `/proc/self/status` names, or 0 if
/// it does not say.
fn taken(name: &str) -> u64 {
    let table = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = table.lines().find_map(|line| line.strip_prefix(name));
    let kibibytes = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse().ok());
    kibibytes.map_or(0, |n: u64| n << 10)
}

/// Returns a limit of this process by its name in `/proc/self/limits`, if it has such a limit.
/// `getrlimit` of rustix panics where a filter of system calls refuses it.
pub(crate) fn limit(name: &str) -> Option<u64> {
    let table = fs::read_to_string("/proc/self/limits").ok()?;
    let line = table.lines().find_map(|line| line.strip_prefix(name))?;
    // The soft limit is first; `unlimited` is no number.
    line.split_whitespace().next()?.parse().ok()
}

/// Returns how many times the quotas of this process's control groups have stopped their processes
/// until the next period.
pub(crate) fn throttles() -> u64 {
    let stated = |path: PathBuf| -> Option<u64> {
        let text = fs::read_to_string(path).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("nr_throttled "));
        line?.trim().parse().ok()
    };
    group_files(&own_groups(), "cpu", "cpu.stat", "cpu.stat").into_iter().filter_map(stated).sum()
}

/// Returns the control groups of this process, as `/proc/self/cgroup` has them.
fn own_groups() -> String {
    fs::read_to_string("/proc/self/cgroup").unwrap_or_default()
}

/// Returns the files of a controller in the control groups that `groups` names and in all above
/// them: `unified` in groups of version 2, `legacy` in those of version 1. In a container the path
/// may be one of the host, but the root is the container's.
fn group_files(groups: &str, controller: &str, unified: &str, legacy: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (root, file) = match controllers {
            "" => (PathBuf::from("/sys/fs/cgroup"), unified),
            _ if controllers.split(',').any(|name| name == controller) => {
                (Path::new("/sys/fs/cgroup").join(controller), legacy)
            }
            _ => continue,
        };
        let path = Path::new(path.trim_start_matches('/'));
        files.extend(path.ancestors().map(|above| root.join(above).join(file)));
    }
    files
}

/// Returns the number of processors that this process may use.
pub(crate) fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_read_by_its_name() {
        assert!(limit("Max open files").is_some_and(|most| most >= 3));
        assert_eq!(limit("Max sleep"), None);
        assert!(taken("VmSize:") > taken("VmRSS:") && taken("VmRSS:") > 0);
        assert_eq!(taken("VmSleep:"), 0);
    }

    #[test]
    fn the_limits_of_both_kinds_of_groups_are_found() {
        let files = |groups| -> Vec<String> {
            group_files(groups, "memory", "memory.max", "memory.limit_in_bytes")
                .iter()
                .map(|file| file.display().to_string())
                .collect()
        };
        assert_eq!(
            files("0::/user/app\n"),
            [
                "/sys/fs/cgroup/user/app/memory.max",
                "/sys/fs/cgroup/user/memory.max",
                "/sys/fs/cgroup/memory.max"
            ]
        );
        assert_eq!(
            files("4:cpu,memory:/a\n1:name=systemd:/b\nx\n"),
            [
                "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes"
            ]
        );
    }
}
