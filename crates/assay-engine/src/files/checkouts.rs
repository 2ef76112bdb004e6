//! Checks out the tags of a history, one after the other, with the real `git`.
//!
//! `git fast-import` makes the history, so that it is one pack, as after a clone: a tree of which
//! some files change at each tag. Or the history is a clone of the user's repository. Each checkout
//! is recorded as one operation.

mod clone;
pub(super) mod git;

use super::stage::{Done, Meter, Stage, refused};
use super::tree;
use crate::error::{Error, Result};
use crate::generate::Random;
use crate::guest::memory::{may_fork, touch_stack};
use crate::stop::{interrupted, is_interrupted};
use assay_fs::{Directory, changeable_by_others};
use assay_linux::child::feed;
use assay_spec::experiment::{CacheReset, Checkouts, History, Made};
use assay_spec::{Bytes, Nanos, Op, seed};
use git::{check_head, command, git, not_run, program};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The name of the work tree.
pub(super) const HISTORY: &str = "history";
/// The name of the log that the background writer fills.
pub(super) const LOG: &str = "log";

/// Makes or clones the history, then checks out its tags.
pub(super) fn run(stage: &mut Stage<'_>, work: &Checkouts) -> Result<Done> {
    let above = stage.root()?;
    // git finds its repository by a name again and again. In a guest, which is its user's alone,
    // even this look would be among what the drives do.
    if may_fork()
        && let Some(open) = changeable_by_others(&above.path())
    {
        let message =
            format!("another user may change {}, in which git would work", open.display());
        let hint = "name a directory that only root can change, or run assay as the user who owns \
                    this one";
        return Err(Error::environment("directory-unusable", message, hint));
    }
    let made = above.make_all(Path::new(HISTORY)).map_err(|e| refused("a directory", &e))?;
    let root = made.path();
    let tags = match &work.history {
        History::Made(made) => {
            git(program(&root), &["init", "--quiet", "."])?;
            let changed = import(&root, made, work.tags, stage.seed)?;
            (1..).zip(changed).map(|(i, bytes)| (format!("v{i}"), bytes)).collect()
        }
        History::Repository(path) => clone::tags(&above, &root, Path::new(path), work.tags)?,
    };
    git(command(&root), &["checkout", "--quiet", &tags[0].0])?;
    drop((above, made));
    stage.forget(CacheReset::Remount, &[])?;
    let over = AtomicBool::new(false);
    let above = stage.root()?;
    let made = above.below(HISTORY).map_err(|e| refused("a directory", &e))?;
    let root = made.path();
    let compute = if stage.work_dir.is_free { work.compute } else { Nanos::ZERO };
    let mut meter = stage.begin();
    let done = std::thread::scope(|scope| {
        if work.background {
            let writer = std::thread::Builder::new();
            let writer = writer.spawn_scoped(scope, || background(&above, &over));
            writer.map_err(|e| refused("starting to write beside it", &e))?;
        }
        let done = each_tag(&root, &tags[1..], compute, &mut meter);
        over.store(true, Ordering::Relaxed);
        done
    });
    done?;
    let (elapsed, done, all) = (meter.end(), meter.operations(), tags.len() as u64 - 1);
    // In a guest it would be among what the drives do.
    if may_fork() {
        check_head(&root, &tags[done as usize].0)?;
    }
    let is_whole = done == all;
    let cut = || format!("only {done} of {all} checkouts were done: the time was over");
    let warnings = if is_whole { Vec::new() } else { vec![cut()] };
    Ok(Done { elapsed, is_whole, warnings, ..Done::default() })
}

/// Checks out `tags`, which come with the number of bytes that a checkout writes. Adds the time
/// `compute` to each.
fn each_tag(
    root: &Path,
    tags: &[(String, u64)],
    compute: Nanos,
    meter: &mut Meter<'_>,
) -> Result<()> {
    for (tag, changed) in tags {
        if meter.is_over()? {
            break;
        }
        git(command(root), &["checkout", "--quiet", tag])?;
        std::thread::sleep(Duration::from_nanos(compute.0));
        meter.record(Op::Write, Bytes::ZERO, Bytes(*changed));
    }
    Ok(())
}

/// Writes and syncs a line of a log every second until `over` is set, like the system whose disk
/// this is.
fn background(root: &Directory, over: &AtomicBool) {
    const EVERY: Nanos = Nanos::from_secs(1);
    touch_stack();
    let clock = crate::clock::Clock::start();
    let Ok(mut file) = root.create(LOG) else { return };
    for second in 1.. {
        clock.sleep_until(Nanos(EVERY.0 * second));
        if over.load(Ordering::Relaxed) {
            return;
        }
        // The log is load, not data: if a write fails there is less load, and the measurement goes
        // on.
        let _ = file.write_all(&[b'.'; 120]).and_then(|()| file.sync_data());
    }
}

/// Makes the history; returns the number of bytes that each tag changes in the tree.
fn import(root: &Path, made: &Made, tags: u32, seed: u64) -> Result<Vec<u64>> {
    let mut import = command(root);
    import.args(["fast-import", "--quiet", "--date-format=raw", "--depth=5"]);
    import.stdout(Stdio::null());
    let fed = feed(&mut import, git::stop(), |input| {
        history(&mut BufWriter::new(input), made, tags, seed)
    });
    let (status, wrote) = fed.map_err(|e| not_run(&e))?;
    match wrote {
        Ok(changed) if status.success() => Ok(changed),
        Ok(_) => {
            let hint = "check that the file system has free space";
            Err(Error::environment("files-git", "`git fast-import` failed", hint))
        }
        Err(_) if is_interrupted() => Err(interrupted()),
        Err(e) => Err(refused("git fast-import", &e)),
    }
}

/// Writes the history in the format of `git fast-import`; returns the number of bytes that each tag
/// changes. The versions of files come first, those of one file together, so that each is packed as
/// a delta to the one before; then come the commits.
fn history(out: &mut impl Write, made: &Made, tags: u32, seed: u64) -> io::Result<Vec<u64>> {
    let mut random = Random::new(seed);
    let changes = changes(made, tags, &mut random);
    let mut versions: Vec<Vec<u32>> = vec![Vec::new(); made.tree.files as usize];
    for (tag, files) in (1..).zip(&changes) {
        files.iter().for_each(|file| versions[*file as usize].push(tag));
    }
    let mut changed = vec![0; changes.len()];
    for (file, versions) in (0..).zip(&versions) {
        let mut text = text(tree::length(&made.tree, &mut random), seed, file);
        for tag in versions {
            if *tag > 1 {
                edit(&mut text, &mut random);
            }
            changed[*tag as usize - 1] += text.len() as u64;
            writeln!(out, "blob\nmark :{}\ndata {}", mark(made, tags, *tag, file), text.len())?;
            out.write_all(&text)?;
            writeln!(out)?;
        }
    }
    for (tag, files) in (1..).zip(&changes) {
        writeln!(out, "commit refs/heads/main\nmark :{tag}")?;
        writeln!(out, "committer assay <assay@localhost> {} +0000", 1_262_304_000 + tag)?;
        writeln!(out, "data 1\nv")?;
        if tag > 1 {
            writeln!(out, "from :{}", tag - 1)?;
        }
        for file in files {
            let name = tree::name(&made.tree, *file);
            writeln!(out, "M 100644 :{} {}", mark(made, tags, tag, *file), name.display())?;
        }
        writeln!(out, "reset refs/tags/v{tag}\nfrom :{tag}\n")?;
    }
    writeln!(out, "done")?;
    out.flush()?;
    Ok(changed)
}

/// Returns the mark of the version of `file` at `tag`. The first `tags` marks are those of the
/// commits.
fn mark(made: &Made, tags: u32, tag: u32, file: u32) -> u64 {
    u64::from(tag) * u64::from(made.tree.files) + u64::from(file) + u64::from(tags) + 1
}

/// Returns the files that change at each tag: all of them at the first.
fn changes(made: &Made, tags: u32, random: &mut Random) -> Vec<Vec<u32>> {
    let mut all = vec![(0..made.tree.files).collect()];
    for tag in 2..=tags {
        let merged = made.merge.filter(|(_, every)| tag % every == 2 % every);
        let count = merged.map_or(made.changes, |(changes, _)| changes);
        let draw = |_| random.below(u64::from(made.tree.files)) as u32;
        let mut files: Vec<u32> = (0..count).map(draw).collect();
        files.sort_unstable();
        files.dedup();
        all.push(files);
    }
    all
}

/// Returns text that compresses to about a third, like source code: lines with hexadecimal numbers.
fn text(length: usize, seed: u64, file: u32) -> Vec<u8> {
    let mut text = Vec::with_capacity(length + 32);
    let mut state = seed::mix(seed ^ u64::from(file));
    while text.len() < length {
        state = seed::mix(state);
        let _ = writeln!(text, "    value_{:04x} = {:06x};", state as u16, (state >> 40) as u32);
    }
    text.truncate(length);
    text
}

/// Replaces some words in several places, as a patch does.
fn edit(text: &mut [u8], random: &mut Random) {
    const PLACES: u64 = 6;
    const LINE: usize = 64;
    for _ in 0..PLACES {
        let at = random.below(text.len() as u64) as usize;
        let end = text.len().min(at + LINE);
        text[at..end].iter_mut().for_each(|b| *b = b'a' + random.below(26) as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::experiment::Tree;

    #[test]
    fn after_a_release_more_files_change() {
        let tree = Tree { files: 1000, directories: 10, length: Bytes(100) };
        let merge = Some((300, 4));
        let made = Made { tree, changes: 10, merge };
        let changed = changes(&made, 9, &mut Random::new(1));
        assert_eq!((changed.len(), changed[0].len()), (9, 1000));
        let merged: Vec<usize> = (1..9).filter(|i| changed[*i].len() > 10).map(|i| i + 1).collect();
        assert_eq!(merged, [2, 6], "the first tag after the first, and every fourth from there");
        let marks =
            changed.iter().zip(1..).flat_map(|(files, tag)| files.iter().map(move |f| (tag, *f)));
        let mut marks: Vec<u64> = marks.map(|(tag, file)| mark(&made, 9, tag, file)).collect();
        let all = marks.len();
        marks.sort_unstable();
        marks.dedup();
        assert!(marks.len() == all && marks[0] > 9, "each version is itself");
    }
}
