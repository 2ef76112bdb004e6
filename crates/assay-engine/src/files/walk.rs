//! Reads a tree once, file by file, as `tar` does: in the order of the directories, or sorted by
//! inode number or by place on the device.

use super::records::lay_out;
use super::stage::{Content, Done, Meter, Stage, forget, refused};
use super::tree;
use crate::error::Result;
use crate::generate::Random;
use assay_fs::{Directory, Entry, EntryKind};
use assay_spec::experiment::{CacheReset, ReadOrder, Walk};
use assay_spec::{Bytes, Op};
use rustix::fs::OFlags;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// The name of the tree's root directory.
pub(super) const TREE: &str = "tree";
/// The name of the large file in it.
pub(super) const LARGE: &str = "large";

/// Creates and ages the tree, then reads it; each file is an operation.
pub(super) fn run(stage: &mut Stage<'_>, work: &Walk) -> Result<Done> {
    let mut random = Random::new(stage.seed);
    let root = stage.root()?.make_all(Path::new(TREE)).map_err(|e| refused("a directory", &e))?;
    if work.large > Bytes::ZERO {
        lay_out(&root, LARGE, work.large, stage.work_dir.content)?;
    }
    let mut lengths = tree::create(&root, &work.tree, &mut random, stage.work_dir.content)?;
    for _ in 0..work.age {
        age(&root, work, &mut random, stage.work_dir.content, &mut lengths)?;
    }
    if stage.work_dir.remount.is_none() {
        forget_all(&root)?;
    }
    drop(root);
    if stage.work_dir.remount.is_some() {
        stage.forget(CacheReset::Remount, &[])?;
    }
    let root = stage.root()?.below(TREE).map_err(|e| refused("a directory", &e))?;
    let mut meter = stage.begin();
    // Orders other than that of the directories are of all files together, so all directories
    // are listed first. The time for that counts.
    let mut directories = vec![PathBuf::new()];
    let mut listed = Vec::new();
    let mut is_over = false;
    while let Some(directory) = directories.pop() {
        let (mut below, mut files) =
            list(&root, &directory).map_err(|e| refused("a directory", &e))?;
        directories.append(&mut below);
        listed.append(&mut files);
        if work.order == ReadOrder::Directory || directories.is_empty() {
            let files = std::mem::take(&mut listed);
            let files = sorted(&root, files, work.order).map_err(|e| refused("a directory", &e))?;
            let written = |path: &Path| match work.large > Bytes::ZERO && path == Path::new(LARGE) {
                true => Some(work.large.0),
                false => lengths.get(tree::index(&work.tree, path)? as usize).copied(),
            };
            is_over |= read_each(&root, &files, written, &mut meter)?;
        }
    }
    let elapsed = meter.end();
    let all = u64::from(work.tree.files) + u64::from(work.large > Bytes::ZERO);
    let cut = meter.operations() < all;
    if cut && !is_over {
        let gone = io::Error::new(io::ErrorKind::NotFound, "files that the work made are missing");
        return Err(refused("reading a tree", &gone));
    }
    let warnings = if cut {
        vec!["the time was over before the whole tree was read".into()]
    } else {
        Vec::new()
    };
    Ok(Done { elapsed, is_whole: !cut, warnings, ..Done::default() })
}

/// Replaces up to a third of the files: removes old ones, and creates new ones in the space that
/// has become free. Changes their `lengths`.
fn age(
    root: &Directory,
    work: &Walk,
    random: &mut Random,
    content: Content<'_>,
    lengths: &mut [u64],
) -> Result<()> {
    let draw = |_| random.below(u64::from(work.tree.files)) as u32;
    let mut chosen: Vec<u32> = (0..work.tree.files / 3).map(draw).collect();
    chosen.sort_unstable();
    chosen.dedup();
    for index in &chosen {
        let name = tree::name(&work.tree, *index);
        root.remove_file(name).map_err(|e| refused("ageing a tree", &e))?;
    }
    // They are created in another order than they were removed.
    chosen.sort_by_key(|index| assay_spec::seed::mix(u64::from(*index)));
    for index in chosen {
        lengths[index as usize] = tree::write(root, &work.tree, index, random, content)?;
    }
    Ok(())
}

/// A file with the number by which it is sorted: inode or place.
type Keyed = (u64, PathBuf);

/// Lists the directories and the files, with their inode numbers, of the directory `path` in
/// `root`.
fn list(root: &Directory, path: &Path) -> io::Result<(Vec<PathBuf>, Vec<Keyed>)> {
    let (mut directories, mut files) = (Vec::new(), Vec::new());
    let below = match path.as_os_str().is_empty() {
        true => root.try_clone()?,
        false => root.below(path)?,
    };
    for Entry { name, kind, inode } in below.entries()? {
        match kind {
            EntryKind::Directory => directories.push(path.join(name)),
            _ => files.push((inode, path.join(name))),
        }
    }
    Ok((directories, files))
}

/// Returns the files in the order in which they are read.
fn sorted(root: &Directory, mut files: Vec<Keyed>, order: ReadOrder) -> io::Result<Vec<PathBuf>> {
    match order {
        ReadOrder::Directory => {}
        ReadOrder::Inode => files.sort(),
        ReadOrder::Physical => {
            for (key, path) in &mut files {
                *key = first_block(&root.open_file(path, OFlags::RDONLY)?)?;
            }
            files.sort();
        }
    }
    Ok(files.into_iter().map(|(_, path)| path).collect())
}

/// Reads `files`. `written` gives the length that a file was written with, if the work made it.
/// Returns `true` if the time was over before all were read.
fn read_each(
    root: &Directory,
    files: &[PathBuf],
    written: impl Fn(&Path) -> Option<u64>,
    meter: &mut Meter<'_>,
) -> Result<bool> {
    for path in files {
        if meter.is_over()? {
            return Ok(true);
        }
        let length = read(root, path).and_then(|length| whole(length, written(path)));
        let length = length.map_err(|e| refused("reading a tree", &e))?;
        meter.record(Op::Read, Bytes::ZERO, length);
    }
    Ok(false)
}

/// Returns the length that was read, unless it is not what was written.
fn whole(read: Bytes, written: Option<u64>) -> io::Result<Bytes> {
    if written.is_none_or(|written| written == read.0) {
        return Ok(read);
    }
    let told = "a file has not the length that it was written with";
    Err(io::Error::new(io::ErrorKind::UnexpectedEof, told))
}

fn read(root: &Directory, path: &Path) -> io::Result<Bytes> {
    let mut buffer = [0; 10_240];
    let mut file = root.open_file(path, OFlags::RDONLY)?;
    let mut length = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(Bytes(length)),
            n => length += n as u64,
        }
    }
}

/// Drops the cached pages of every file of a tree.
fn forget_all(root: &Directory) -> Result<()> {
    let mut directories = vec![PathBuf::new()];
    while let Some(directory) = directories.pop() {
        let (mut below, files) = list(root, &directory).map_err(|e| refused("a directory", &e))?;
        directories.append(&mut below);
        for (_, path) in files {
            let file = root.open_file(path, OFlags::RDONLY).map_err(|e| refused("a file", &e))?;
            forget(&file)?;
        }
    }
    Ok(())
}

/// Returns the byte offset of a file's first block on its device, or 0 if the file has none.
fn first_block(file: &File) -> io::Result<u64> {
    /// `struct fiemap` of `linux/fiemap.h`, with room for one extent.
    #[repr(C)]
    #[derive(Default)]
    struct Fiemap {
        start: u64,
        length: u64,
        flags: u32,
        mapped: u32,
        count: u32,
        reserved: u32,
        extent: [u64; 7],
    }
    const FS_IOC_FIEMAP: libc::c_ulong = 0xc020_660b;
    let mut map = Fiemap { length: u64::MAX, count: 1, ..Fiemap::default() };
    // SAFETY: `map` is as long as its header and the one extent it says there is room for, and
    // lives through the call.
    let code = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut map) };
    match code {
        0 if map.mapped > 0 => Ok(map.extent[1]),
        0 => Ok(0),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inode_order_sorts_and_directory_order_does_not() {
        let file = |ino, name: &str| (ino, PathBuf::from(name));
        let files = vec![file(9, "a"), file(3, "b"), file(5, "c")];
        let here = Directory::open(Path::new(".")).expect("there");
        let names = |order| -> Vec<String> {
            let sorted = sorted(&here, files.clone(), order).expect("no file is opened");
            sorted.iter().map(|p| p.display().to_string()).collect()
        };
        assert_eq!(names(ReadOrder::Directory), ["a", "b", "c"]);
        assert_eq!(names(ReadOrder::Inode), ["b", "c", "a"]);
    }
}
