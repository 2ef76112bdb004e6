//! The mounts of namespaces that no process is in, but that a mount keeps (`unshare --mount=FILE`,
//! snapd).

use super::tables::{self, Mount};
use rustix::fs::{Mode, OFlags, fstatfs, open, openat};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread;

/// Returns the mounts of the namespaces that mounts in `known` keep and that are not among `seen`,
/// and whether all of these namespaces could be read.
pub(super) fn kept(known: &[Mount], seen: BTreeSet<PathBuf>) -> (Vec<Mount>, bool) {
    let is_new = |mount: &&Mount| keeps_mounts(mount) && !seen.contains(&mount.root);
    let keepers: Vec<Mount> = known.iter().filter(is_new).cloned().collect();
    if keepers.is_empty() {
        return (Vec::new(), true);
    }
    // A thread cannot leave a namespace that it has entered, so another one enters.
    let entering = thread::Builder::new().spawn(move || read_all(&keepers, seen));
    let read = entering.ok().and_then(|thread| thread.join().ok()).and_then(Result::ok);
    read.unwrap_or((Vec::new(), false))
}

/// Returns `true` if the mount keeps a mount namespace.
fn keeps_mounts(mount: &Mount) -> bool {
    mount.kind == "nsfs" && mount.root.to_string_lossy().starts_with("mnt:[")
}

/// Enters the namespaces that `keepers` keep, and those that are kept within them. Afterwards, the
/// calling thread has a root and a working directory of its own.
fn read_all(
    keepers: &[Mount],
    mut seen: BTreeSet<PathBuf>,
) -> rustix::io::Result<(Vec<Mount>, bool)> {
    let thread: OwnedFd = open("/proc/thread-self", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let mut listed: BTreeSet<PathBuf> = keepers.iter().map(|keeper| keeper.root.clone()).collect();
    let from_here = |keeper: &Mount| {
        let root = Path::new("/proc").join(&keeper.process).join("root");
        let path = root.join(keeper.point.strip_prefix("/").ok()?);
        Some((keeper.root.clone(), open_namespace(&thread, &path)?))
    };
    // Often several mounts keep a namespace, and some are covered by other mounts.
    let mut found: Vec<(PathBuf, OwnedFd)> = keepers.iter().filter_map(from_here).collect();
    // SAFETY: this takes the thread's directory and root from the process, and no descriptors.
    unsafe { unshare_unsafe(UnshareFlags::FS) }?;
    let mut mounts = Vec::new();
    while let Some((name, namespace)) = found.pop() {
        let kind = Some(LinkNameSpaceType::Mount);
        if seen.contains(&name) || move_into_link_name_space(namespace.as_fd(), kind).is_err() {
            continue;
        }
        let table = openat(&thread, "mountinfo", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let mut text = Vec::new();
        if !table.is_ok_and(|table| File::from(table).read_to_end(&mut text).is_ok()) {
            continue;
        }
        seen.insert(name);
        // No process leads to the files that these lie on.
        let inside = tables::mounts(&text, "none");
        for keeper in inside.iter().filter(|mount| keeps_mounts(mount)) {
            listed.insert(keeper.root.clone());
            let namespace = open_namespace(&thread, &keeper.point);
            found.extend(namespace.map(|namespace| (keeper.root.clone(), namespace)));
        }
        mounts.extend(inside);
    }
    Ok((mounts, listed.is_subset(&seen)))
}

/// Opens the namespace at `path`, unless something else is there: another user can cover a mount
/// with a device or a FIFO. `thread` is the calling thread's directory in `/proc`.
fn open_namespace(thread: &OwnedFd, path: &Path) -> Option<OwnedFd> {
    const NSFS: u64 = 0x6e73_6673;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = open(path, flags, Mode::empty()).ok()?;
    if fstatfs(&found).ok()?.f_type as u64 != NSFS {
        return None;
    }
    let link = format!("fd/{}", found.as_raw_fd());
    openat(thread, link, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}
