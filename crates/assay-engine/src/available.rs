//! The memory and the processors that this process may use.

use assay_spec::Bytes;
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns how much of the machine's memory this process may use.
pub(crate) fn available_memory() -> Bytes {
    let table = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = table.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse().ok());
    let machine = kibibytes.map_or(u64::MAX, |n: u64| n << 10);
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let stated = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse().ok();
    let group = limit_files(&groups).into_iter().filter_map(stated).min().unwrap_or(u64::MAX);
    let limits = [Resource::As, Resource::Data].map(|of| getrlimit(of).current);
    let limit = limits.into_iter().flatten().min().unwrap_or(u64::MAX);
    Bytes(machine.min(group).min(limit))
}

/// Returns the files with the memory limits of control groups: of those that `groups`, the text of
/// `/proc/self/cgroup`, names, and of all above them. In a container the path may be one of the
/// host, but the root is the container's.
fn limit_files(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let path = Path::new(path.trim_start_matches('/'));
        files.extend(path.ancestors().map(|above| Path::new(root).join(above).join(file)));
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
    fn the_limits_of_both_kinds_of_groups_are_found() {
        let files = |groups| -> Vec<String> {
            limit_files(groups).iter().map(|file| file.display().to_string()).collect()
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
