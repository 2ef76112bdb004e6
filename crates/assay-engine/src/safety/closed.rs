//! Notices programs that have had a device or file open for writing and have closed it, by
//! inotify(7): a look at the open files of all processes comes too late for them.
//!
//! A file on an overlay is watched together with the file of the upper layer, where assay finds it.
//! *Not noticed* are writers that still have it open, which the look at open files finds, and
//! writers that reach it by another inode: a second node of a device.

use super::overlay;
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use std::io;
use std::iter::successors;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The most overlays that the kernel puts on one another.
const DEPTH: usize = 2;

/// A watch over devices and files.
#[derive(Debug)]
pub(super) struct ClosedWriters {
    /// The kernel's queue; `None` if there is nothing to watch. A user may have only few of them.
    queue: Option<OwnedFd>,
    /// The paths of the watched devices and files, by the kernel's number of the watch.
    names: Vec<(i32, PathBuf)>,
}

impl ClosedWriters {
    /// Begins to watch the devices and files at `paths`.
    ///
    /// # Errors
    /// If the kernel gives no watch: `fs.inotify` limits their number.
    pub(super) fn watch(paths: &[PathBuf]) -> io::Result<ClosedWriters> {
        let mut names = Vec::new();
        if paths.is_empty() {
            return Ok(ClosedWriters { queue: None, names });
        }
        let queue = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        for path in paths {
            let number = add_watch(&queue, path, WatchFlags::CLOSE_WRITE)?;
            // A path such as `/proc/self/fd/7` tells nobody anything.
            names.push((number, path.canonicalize().unwrap_or_else(|_| path.clone())));
            for upper in successors(overlay::below(path), |path| overlay::below(path)).take(DEPTH) {
                names.push((add_watch(&queue, &upper, WatchFlags::CLOSE_WRITE)?, upper));
            }
        }
        Ok(ClosedWriters { queue: Some(queue), names })
    }

    /// Returns the name of a device or file that somebody had open for writing, if there is one.
    pub(super) fn next(&self) -> Option<&Path> {
        let mut buffer = [MaybeUninit::uninit(); 256];
        let mut events = Reader::new(self.queue.as_ref()?, &mut buffer);
        while let Ok(event) = events.next() {
            if event.events().contains(ReadFlags::CLOSE_WRITE) {
                let name = self.names.iter().find(|(number, _)| *number == event.wd())?;
                return Some(&name.1);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn writers_are_noticed_when_they_close_and_readers_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (dir.path().join("one"), dir.path().join("other"));
        fs::write(&one, "x").unwrap();
        fs::write(&other, "x").unwrap();
        let watch = ClosedWriters::watch(std::slice::from_ref(&one)).unwrap();
        fs::read(&one).unwrap();
        fs::write(&other, "y").unwrap();
        assert_eq!(watch.next(), None);
        let open = fs::OpenOptions::new().append(true).open(&one).unwrap();
        assert_eq!(watch.next(), None);
        drop(open);
        assert_eq!(watch.next(), Some(one.as_path()));
        assert_eq!(watch.next(), None);
    }
}
