//! Runs git without the user's settings.

use crate::error::{Error, Result};
use assay_linux::child::tool;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// The name of the list of object ids whose sizes git reports.
pub(in crate::files) const IDS: &str = "history.ids";

/// The name of git's settings for the clone.
pub(in crate::files) const SETTINGS: &str = "history.gitconfig";

pub(super) fn git(mut command: Command, words: &[&str]) -> Result<()> {
    command.args(words).stdin(Stdio::null());
    let output = command.output().map_err(|e| no_git(&e))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let message = format!("`git {}` failed: {}", words.join(" "), said.trim());
    Err(Error::environment("files-git", message, "is there room on the file system?"))
}

/// Checks that `tag` is checked out in `root`, because a program called `git` may end well without
/// having done anything. Not for a measured phase: it reads files.
pub(super) fn check_head(root: &Path, tag: &str) -> Result<()> {
    let mut parse = command(root);
    parse.args(["rev-parse", "HEAD", &format!("{tag}^{{commit}}"), "--abbrev-ref", "HEAD"]);
    parse.stdin(Stdio::null());
    let output = parse.output().map_err(|e| no_git(&e))?;
    let ids = String::from_utf8_lossy(&output.stdout);
    match ids.lines().collect::<Vec<_>>()[..] {
        // After a checkout HEAD is on no branch; before, it may be on one that is at this tag.
        [head, wanted, "HEAD"] if output.status.success() && head == wanted => Ok(()),
        _ => {
            let message = format!("`git checkout {tag}` ended well, but {tag} is not checked out");
            let hint = "is the `git` on `PATH` the real one? `git --version` says";
            Err(Error::environment("files-git", message, hint))
        }
    }
}

/// Returns a `git` command for the repository in `root`; git does not look in directories above.
pub(super) fn command(root: &Path) -> Command {
    let mut command = program(root);
    command.env("GIT_DIR", ".git").env("GIT_WORK_TREE", ".");
    command
}

/// Returns a `git` command in `root` that ignores the user's settings, so that it does the same
/// everywhere.
pub(super) fn program(root: &Path) -> Command {
    let mut command = tool("git");
    command.current_dir(root).env("HOME", "/nonexistent").env("GIT_CONFIG_NOSYSTEM", "1");
    command.args(["-c", "core.hooksPath=/dev/null", "-c", "init.templateDir="]);
    for (key, value) in
        [("NAME", "assay"), ("EMAIL", "assay@localhost"), ("DATE", "1262304000 +0000")]
    {
        command.env(format!("GIT_AUTHOR_{key}"), value).env(format!("GIT_COMMITTER_{key}"), value);
    }
    command.args(["-c", "gc.auto=0", "-c", "advice.detachedHead=false"]);
    // Git of 2009 synced nothing and had one thread.
    command.args(["-c", "core.fsync=none", "-c", "core.preloadIndex=false"]);
    command.args(["-c", "index.threads=1", "-c", "checkout.workers=1"]);
    command.args(["-c", "safe.directory=*", "-c", "init.defaultBranch=main"]);
    command
}

pub(super) fn no_git(e: &io::Error) -> Error {
    let hint = "install it; on Debian: `apt-get install git`";
    let cause = io::Error::new(e.kind(), e.to_string());
    Error::environment("files-git", "`git` cannot be run", hint).caused_by(cause)
}
