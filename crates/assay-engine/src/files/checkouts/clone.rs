//! Clones the user's repository, and finds its last tags.

use super::git::{IDS, SETTINGS, command, finish, program};
use crate::error::{Error, Result};
use crate::files::stage::refused;
use assay_fs::Directory;
use rustix::fs::OFlags;
use rustix::io::{FdFlags, fcntl_setfd};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::process::Command;

/// Clones the repository at `path` into `root`, a directory in `above`, as one pack. Returns its
/// last tags, at most `most` of them, in the order of creation, each with the number of bytes in
/// files that the tag before does not have.
///
/// # Errors
/// If git fails, or there are fewer than two tags.
pub(super) fn tags(
    above: &Directory,
    root: &Path,
    path: &Path,
    most: u32,
) -> Result<Vec<(String, u64)>> {
    let settings = settings(above).map_err(|e| refused("git's settings", &e))?;
    let mut clone = program(root);
    clone.env("GIT_CONFIG_GLOBAL", format!("/proc/self/fd/{}", settings.as_raw_fd()));
    clone.args(["clone", "--quiet", "--no-local"]);
    said(clone.arg("--no-checkout").arg(path).arg("."))?;
    // Full names, because a tag could look like an option: `refs/tags/--output=x` does not.
    let format = "--format=%(refname) %(objecttype) %(*objecttype)";
    let mut list = command(root);
    // git compares by the last key first.
    list.args(["for-each-ref", "--sort=version:refname", "--sort=creatordate"]);
    list.args([format, "refs/tags"]);
    let list = said(&mut list)?;
    let commits = list.lines().filter_map(|line| {
        let (name, kinds) = line.split_once(' ')?;
        kinds.split(' ').any(|kind| kind == "commit").then(|| name.to_owned())
    });
    let all: Vec<String> = commits.collect();
    if all.iter().any(|name| name == "refs/tags/HEAD") {
        let message = format!("{} has a tag called HEAD", path.display());
        let hint = "clone the repository and remove that tag there (`git tag -d HEAD`): git cannot \
                    tell it from the commit that is checked out";
        return Err(Error::usage("files-git", message, hint));
    }
    let last = &all[all.len().saturating_sub(most as usize)..];
    if last.len() < 2 {
        let message = format!("{} has {} tags", path.display(), last.len());
        return Err(Error::usage(
            "files-git",
            message,
            "name a repository with at least two tags: checkouts go from tag to tag",
        ));
    }
    let changed = changed(above, root, last)?;
    let first = std::iter::once(0);
    Ok(last.iter().cloned().zip(first.chain(changed)).collect())
}

/// Writes settings with which git clones a repository of another user; it takes this one only from
/// a file. Child processes inherit the descriptor, because another file could get the name.
fn settings(above: &Directory) -> io::Result<OwnedFd> {
    above.create(SETTINGS)?.write_all(b"[safe]\n\tdirectory = *\n")?;
    let file = OwnedFd::from(above.open_file(SETTINGS, OFlags::RDONLY)?);
    fcntl_setfd(&file, FdFlags::empty())?;
    Ok(file)
}

/// Returns, for each tag but the first, the number of bytes in files that the tag before does not
/// have.
fn changed(above: &Directory, root: &Path, tags: &[String]) -> Result<Vec<u64>> {
    let (mut ids, mut counts) = (String::new(), Vec::new());
    for pair in tags.windows(2) {
        let mut differences = command(root);
        differences.args(["diff-tree", "-r", "--no-renames", "--raw", "--no-abbrev"]).args(pair);
        let before = ids.len();
        for line in said(&mut differences)?.lines() {
            // The format is `:old-mode new-mode old-id new-id status`, a tab, and the path.
            ids.extend(line.split(' ').nth(3));
            ids.push('\n');
        }
        counts.push(ids[before..].lines().count());
    }
    let written = above.create(IDS).and_then(|mut file| file.write_all(ids.as_bytes()));
    let file = written.and_then(|()| above.open_file(IDS, OFlags::RDONLY));
    let file = file.map_err(|e| refused("a list of files", &e))?;
    let mut sizes = command(root);
    let sizes = said(sizes.args(["cat-file", "--batch-check=%(objectsize)"]).stdin(file))?;
    // Removed files and submodules have no size here.
    let mut sizes = sizes.lines().map(|line| line.parse::<u64>().unwrap_or(0));
    Ok(counts.into_iter().map(|count| sizes.by_ref().take(count).sum()).collect())
}

/// Runs a `git` command and returns its output.
///
/// # Errors
/// If git cannot be run or fails.
fn said(command: &mut Command) -> Result<String> {
    let output = finish(command)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    let hint = "name a git repository with `--repo`; it must not be below /run or /dev, which a \
                guest does not share with this machine";
    let why = why.trim().replace('\n', "; ");
    Err(Error::environment("files-git", format!("`git` failed: {why}"), hint))
}

#[cfg(test)]
mod tests {
    use super::super::git::git;
    use super::*;
    use std::fs;

    #[test]
    fn the_last_tags_and_what_changes_at_each() {
        let directory = tempfile::tempdir().expect("made");
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        fs::create_dir_all(&from).expect("made");
        fs::create_dir_all(&to).expect("made");
        git(program(&from), &["init", "--quiet", "."]).expect("a repository");
        let above = Directory::open(directory.path()).expect("there");
        let refused = tags(&above, &to, &from, 9).expect_err("no tags");
        assert!(refused.message.contains("has 0 tags"), "{refused}");
        fs::remove_dir_all(&to).expect("empty");
        for (second, tag, length) in [(1, "v1.9", 10), (2, "v1.10", 100), (3, "v1.1", 1000)] {
            fs::create_dir_all(&to).expect("made");
            fs::write(from.join(tag), vec![b'x'; length]).expect("written");
            fs::write(from.join("same"), "always").expect("written");
            git(command(&from), &["add", "."]).expect("added");
            // One of the tags is annotated.
            let word: &[&str] = if second == 2 { &["-m", "word"] } else { &[] };
            for words in [&["commit", "--quiet", "-m", tag], &[&["tag", tag], word].concat()[..]] {
                let mut command = command(&from);
                command.env("GIT_COMMITTER_DATE", format!("{} +0000", 1_262_304_000 + second));
                said(command.args(words)).expect("done");
            }
        }
        // If the test runs as root, the repository becomes another user's, which git clones only
        // with `safe.directory`.
        let _ = std::os::unix::fs::chown(from.join(".git"), Some(65534), None);
        let _ = std::os::unix::fs::chown(&from, Some(65534), None);
        let forget = || {
            for name in [IDS, SETTINGS] {
                let _ = above.remove_file(name);
            }
        };
        forget();
        let found = tags(&above, &to, &from, 2).expect("three");
        assert_eq!(found, [("refs/tags/v1.10".to_owned(), 0), ("refs/tags/v1.1".to_owned(), 1000)]);
        fs::remove_dir_all(&to).expect("there");
        fs::create_dir_all(&to).expect("made");
        forget();
        let found = tags(&above, &to, &from, 9).expect("three");
        assert_eq!(found.iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>(), [0, 100, 1000]);
        fs::remove_dir_all(&to).expect("there");
        fs::create_dir_all(&to).expect("made");
        forget();
        git(command(&from), &["update-ref", "refs/tags/HEAD", "v1.1"]).expect("another tag");
        let refused = tags(&above, &to, &from, 9).expect_err("HEAD means two commits");
        assert!(refused.message.ends_with("has a tag called HEAD"), "{refused}");
    }
}
