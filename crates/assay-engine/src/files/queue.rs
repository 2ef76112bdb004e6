//! Reads how long requests took in the kernel's queue and in the drive. The kernel counts these
//! times for the device that a directory lies on, from the creation of a request to its end, after
//! merging.

use std::fs;
use std::os::linux::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The kernel's counts of a device's requests.
pub(super) struct Queue {
    /// The path of the device's `stat` file.
    stat: PathBuf,
    /// The counts of reads and writes at the last mark.
    before: [Direction; 2],
}

/// The number of ended requests in one direction, and the sum of their times in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Direction {
    requests: u64,
    ms: u64,
}

impl Queue {
    /// Finds the counts of the device that `directory` lies on. Returns `None` if its file system
    /// has no block device's number, like btrfs and tmpfs.
    pub(super) fn of(directory: &Path) -> Option<Queue> {
        let device = fs::metadata(directory).ok()?.st_dev();
        let (major, minor) = (libc::major(device), libc::minor(device));
        let stat = PathBuf::from(format!("/sys/dev/block/{major}:{minor}/stat"));
        let before = read(&stat)?;
        Some(Queue { stat, before })
    }

    /// Notes the present counts, from which [`Queue::told`] counts.
    pub(super) fn mark(&mut self) {
        self.before = read(&self.stat).unwrap_or(self.before);
    }

    /// Returns the mean times of reads, of writes and of both since [`Queue::mark`], in ns, with
    /// their names. Omits kinds of which there were none.
    pub(super) fn told(&self) -> Vec<(String, f64)> {
        let now = read(&self.stat).unwrap_or(self.before);
        let since = |i: usize| Direction {
            requests: now[i].requests.saturating_sub(self.before[i].requests),
            ms: now[i].ms.saturating_sub(self.before[i].ms),
        };
        let [read, write] = [since(0), since(1)];
        let both = Direction { requests: read.requests + write.requests, ms: read.ms + write.ms };
        let named = [("queue_read_time", read), ("queue_write_time", write), ("queue_time", both)];
        let mean = |d: Direction| 1e6 * d.ms as f64 / d.requests as f64;
        let happened = named.into_iter().filter(|(_, d)| d.requests > 0);
        happened.map(|(name, d)| (name.to_owned(), mean(d))).collect()
    }
}

/// Reads a device's `stat` file, which `Documentation/block/stat.rst` describes: requests, merges,
/// sectors and milliseconds of reads, then of writes.
fn read(stat: &Path) -> Option<[Direction; 2]> {
    parse(&fs::read_to_string(stat).ok()?)
}

fn parse(text: &str) -> Option<[Direction; 2]> {
    let numbers: Vec<u64> = text.split_whitespace().map_while(|n| n.parse().ok()).collect();
    let at = |i: usize| Some(Direction { requests: *numbers.get(i)?, ms: *numbers.get(i + 3)? });
    Some([at(0)?, at(4)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_counts_are_read() {
        let text = " 100 3 8000 250 40 5 640 9000 0 300 9250 0 0 0 0 7 12\n";
        let expected = [Direction { requests: 100, ms: 250 }, Direction { requests: 40, ms: 9000 }];
        assert_eq!(parse(text), Some(expected));
        assert_eq!(parse("1 2 3"), None);
        assert_eq!(parse("no numbers"), None);
    }
}
