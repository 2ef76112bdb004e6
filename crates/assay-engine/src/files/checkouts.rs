//! Tags of a history, checked out one after the other by the real `git`.
//!
//! The history is made by `git fast-import`, so that it is one pack, as after a clone: a tree, and
//! at each tag some files with other content. Each checkout is recorded as one operation.

use super::{Done, Meter, Stage, refused, tree};
use crate::error::{Error, Result};
use crate::generate::Random;
use assay_spec::experiment::{Between, Checkouts};
use assay_spec::{Bytes, Nanos, Op, seed};
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

impl Stage<'_> {
    pub(super) fn checkouts(&mut self, work: &Checkouts) -> Result<Done> {
        let root = self.ground.directory.join("history");
        fs::create_dir_all(&root).map_err(|e| refused("a directory", &e))?;
        git(&root, &["init", "--quiet", "."])?;
        let changed = import(&root, work, self.seed)?;
        git(&root, &["checkout", "--quiet", "v1"])?;
        self.forget(Between::Remount, &[])?;
        let over = AtomicBool::new(false);
        let log = self.ground.directory.join("log");
        let mut meter = self.begin();
        let done = std::thread::scope(|scope| {
            if work.background {
                scope.spawn(|| background(&log, &over));
            }
            let done = each_tag(&root, work, &changed, &mut meter);
            over.store(true, Ordering::Relaxed);
            done
        });
        done.map(|()| Done { elapsed: meter.last, ..Done::default() })
    }
}

fn each_tag(root: &Path, work: &Checkouts, changed: &[u64], meter: &mut Meter<'_>) -> Result<()> {
    for tag in 2..=work.tags {
        if meter.is_over()? {
            break;
        }
        git(root, &["checkout", "--quiet", &format!("v{tag}")])?;
        meter.record(Op::Write, Bytes::ZERO, Bytes(changed[tag as usize - 1]));
    }
    Ok(())
}

/// What a system's own disk has to do besides: a line in a log every second, made safe.
fn background(path: &Path, over: &AtomicBool) {
    const EVERY: Nanos = Nanos::from_secs(1);
    let clock = crate::clock::Clock::start();
    let Ok(mut file) = fs::File::create(path) else { return };
    for second in 1.. {
        clock.sleep_until(Nanos(EVERY.0 * second));
        if over.load(Ordering::Relaxed) {
            return;
        }
        // It is load, not data: if it fails there is less load, and the measurement goes on.
        let _ = file.write_all(&[b'.'; 120]).and_then(|()| file.sync_data());
    }
}

fn git(root: &Path, words: &[&str]) -> Result<()> {
    let mut command = command(root);
    command.args(words).stdin(Stdio::null());
    let output = command.output().map_err(|e| no_git(&e))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let message = format!("`git {}` failed: {}", words.join(" "), said.trim());
    Err(Error::environment("files-git", message, "is there room on the file system?"))
}

/// `git` without what a user may have set, so that it is the same everywhere.
fn command(root: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(root).env("HOME", "/nonexistent").env("GIT_CONFIG_NOSYSTEM", "1");
    for (key, value) in
        [("NAME", "assay"), ("EMAIL", "assay@localhost"), ("DATE", "1262304000 +0000")]
    {
        command.env(format!("GIT_AUTHOR_{key}"), value).env(format!("GIT_COMMITTER_{key}"), value);
    }
    command.args(["-c", "gc.auto=0", "-c", "advice.detachedHead=false"]);
    command.args(["-c", "safe.directory=*", "-c", "init.defaultBranch=main"]);
    command
}

fn no_git(e: &io::Error) -> Error {
    let hint = "install it; on Debian: `apt-get install git`";
    let cause = io::Error::new(e.kind(), e.to_string());
    Error::environment("files-git", "`git` cannot be run", hint).caused_by(cause)
}

/// Makes the history; returns how many bytes of the tree each tag changes.
fn import(root: &Path, work: &Checkouts, seed: u64) -> Result<Vec<u64>> {
    let mut child = command(root)
        .args(["fast-import", "--quiet", "--date-format=raw"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|e| no_git(&e))?;
    let input = child.stdin.take().expect("it was asked for");
    let wrote = history(&mut BufWriter::new(input), work, seed);
    let status = child.wait().map_err(|e| refused("git fast-import", &e))?;
    match wrote {
        Ok(changed) if status.success() => Ok(changed),
        Ok(_) => {
            let hint = "is there room on the file system?";
            Err(Error::environment("files-git", "`git fast-import` failed", hint))
        }
        Err(e) => Err(refused("git fast-import", &e)),
    }
}

fn history(out: &mut impl Write, work: &Checkouts, seed: u64) -> io::Result<Vec<u64>> {
    let mut random = Random::new(seed);
    let mut changed = Vec::new();
    for tag in 1..=work.tags {
        writeln!(out, "commit refs/heads/main\nmark :{tag}")?;
        writeln!(out, "committer assay <assay@localhost> {} +0000", 1_262_304_000 + tag)?;
        writeln!(out, "data 1\nv")?;
        if tag > 1 {
            writeln!(out, "from :{}", tag - 1)?;
        }
        let mut bytes = 0;
        let files: Vec<u32> = match tag {
            1 => (0..work.tree.files).collect(),
            _ => {
                let draw = |_| random.below(u64::from(work.tree.files)) as u32;
                let mut files: Vec<u32> = (0..work.changes).map(draw).collect();
                files.sort_unstable();
                files.dedup();
                files
            }
        };
        for file in files {
            let text = text(tree::length(&work.tree, &mut random), seed, tag, file);
            bytes += text.len() as u64;
            let name = tree::name(&work.tree, file);
            writeln!(out, "M 100644 inline {}\ndata {}", name.display(), text.len())?;
            out.write_all(&text)?;
            writeln!(out)?;
        }
        writeln!(out, "reset refs/tags/v{tag}\nfrom :{tag}\n")?;
        changed.push(bytes);
    }
    writeln!(out, "done")?;
    out.flush()?;
    Ok(changed)
}

/// Text that packs to about a third, as source does: words of hexadecimal digits.
fn text(length: usize, seed: u64, tag: u32, file: u32) -> Vec<u8> {
    let mut text = Vec::with_capacity(length + 32);
    let mut state = seed::mix(seed ^ u64::from(tag) << 32 ^ u64::from(file));
    while text.len() < length {
        state = seed::mix(state);
        let _ = writeln!(text, "    value_{:04x} = {:06x};", state as u16, (state >> 40) as u32);
    }
    text.truncate(length);
    text
}
