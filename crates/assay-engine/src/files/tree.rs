//! A tree of files like a source tree: many small files and a few large ones in directories.

use super::stage::{Content, refused};
use crate::error::Result;
use crate::generate::Random;
use assay_fs::Directory;
use assay_spec::experiment::Tree;
use std::f64::consts::TAU;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The standard deviation of the logarithm of lengths: the largest of thirty thousand files is then
/// about fifty times the mean, as in a source tree.
const SIGMA: f64 = 1.2;

/// The number of directories in a directory, about as in a source tree.
const FAN: u32 = 20;

/// Returns the path of file `index`, relative to the root of its tree.
pub(super) fn name(tree: &Tree, index: u32) -> PathBuf {
    let mut directory = index % tree.directories;
    let mut path = PathBuf::new();
    loop {
        path.push(format!("d{:02}", directory % FAN));
        directory /= FAN;
        if directory == 0 {
            return path.join(format!("f{index}"));
        }
    }
}

/// Draws the length of a file, in bytes: log-normal, with the tree's mean.
pub(super) fn length(tree: &Tree, random: &mut Random) -> usize {
    let normal = (-2.0 * libm::log(1.0 - random.unit())).sqrt() * libm::cos(TAU * random.unit());
    let mean = tree.length.0 as f64;
    let length = mean * libm::exp(SIGMA * normal - SIGMA * SIGMA / 2.0);
    (length as usize).clamp(1, 64 * tree.length.0.max(1) as usize)
}

/// Creates file `index` of a tree, and the directories above it. Returns its random length.
pub(super) fn write(
    root: &Directory,
    tree: &Tree,
    index: u32,
    random: &mut Random,
    content: Content<'_>,
) -> Result<u64> {
    content.check()?;
    let length = length(tree, random);
    let path = name(tree, index);
    let all = || -> io::Result<()> {
        if let Some(directory) = path.parent() {
            root.make_all(directory)?;
        }
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            let piece = content.bytes.len().min(length - bytes.len());
            bytes.extend_from_slice(&content.bytes[..piece]);
        }
        root.create(&path)?.write_all(&bytes)
    };
    all().map_err(|e| refused("writing a tree", &e))?;
    Ok(length as u64)
}

/// Creates a whole tree, one directory after the other, as copying or unpacking does. Returns the
/// lengths of its files, by their indices.
pub(super) fn create(
    root: &Directory,
    tree: &Tree,
    random: &mut Random,
    content: Content<'_>,
) -> Result<Vec<u64>> {
    let mut files: Vec<u32> = (0..tree.files).collect();
    files.sort_by_cached_key(|index| name(tree, *index));
    let mut lengths = vec![0; files.len()];
    for index in files {
        lengths[index as usize] = write(root, tree, index, random, content)?;
    }
    Ok(lengths)
}

/// Returns the index of the file at `path`, if it is one of the tree.
pub(super) fn index(tree: &Tree, path: &Path) -> Option<u32> {
    let index = path.file_name()?.to_str()?.strip_prefix('f')?.parse().ok()?;
    (name(tree, index) == path).then_some(index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::Bytes;
    use std::collections::BTreeSet;

    #[test]
    fn files_have_names_of_their_own_in_as_many_directories() {
        let tree = Tree { files: 5000, directories: 450, length: Bytes(1000) };
        let names: BTreeSet<PathBuf> = (0..tree.files).map(|i| name(&tree, i)).collect();
        assert_eq!(names.len(), 5000);
        assert!((0..tree.files).all(|i| index(&tree, &name(&tree, i)) == Some(i)));
        assert_eq!(index(&tree, Path::new("d00/d01/f5")), None);
        let directories: BTreeSet<_> = names.iter().filter_map(|n| n.parent()).collect();
        assert_eq!(directories.len(), 450);
    }
}
