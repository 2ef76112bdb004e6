//! How long requests were with the kernel's queue and the drive, as the kernel itself counts it for
//! the device that a directory lies on: from a request's making to its end, after merging.

use std::fs;
use std::os::linux::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The device's own count of its requests.
pub(super) struct Queue {
    stat: PathBuf,
    before: [Direction; 2],
}

/// Requests that have ended, and their times together, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Direction {
    requests: u64,
    ms: u64,
}

impl Queue {
    /// That of the device of `directory`; `None` if that is none of the kernel's.
    pub(super) fn of(directory: &Path) -> Option<Queue> {
        let device = fs::metadata(directory).ok()?.st_dev();
        let (major, minor) = (libc::major(device), libc::minor(device));
        let stat = PathBuf::from(format!("/sys/dev/block/{major}:{minor}/stat"));
        let before = read(&stat)?;
        Some(Queue { stat, before })
    }

    /// Counts from now on.
    pub(super) fn mark(&mut self) {
        self.before = read(&self.stat).unwrap_or(self.before);
    }

    /// The mean times since [`Queue::mark`], in ns; of what did not happen there is none.
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

/// `Documentation/block/stat.rst`: for reads and then for writes, requests, merges, sectors, ms.
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
