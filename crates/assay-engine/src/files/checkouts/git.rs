//! Runs git without the user's settings.

use crate::error::{Error, Result};
use crate::guest::memory::may_fork;
use crate::stop::{interrupted, is_interrupted};
use assay_linux::c_library::TUNABLES;
use assay_linux::child::{output, tool};
use rustix::process::{Signal, set_parent_process_death_signal};
use std::io;
use std::os::unix::process::{CommandExt, parent_id};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The name of the list of object ids whose sizes git reports.
pub(in crate::files) const IDS: &str = "history.ids";

/// The name of git's settings for the clone.
pub(in crate::files) const SETTINGS: &str = "history.gitconfig";

pub(super) fn git(mut command: Command, words: &[&str]) -> Result<()> {
    let output = finish(command.args(words))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().replace('\n', "; ");
    let message = format!("`git {}` failed: {said}", words.join(" "));
    Err(Error::environment("files-git", message, "check that the file system has free space"))
}

/// Checks that `tag` is checked out in `root`, because a program called `git` may end well without
/// having done anything. Not for a measured phase: it reads files.
pub(super) fn check_head(root: &Path, tag: &str) -> Result<()> {
    let mut parse = command(root);
    parse.args(["rev-parse", "HEAD", &format!("{tag}^{{commit}}"), "--abbrev-ref", "HEAD"]);
    let output = finish(&mut parse)?;
    let ids = String::from_utf8_lossy(&output.stdout);
    match ids.lines().collect::<Vec<_>>()[..] {
        // After a checkout HEAD is on no branch; before, it may be on one that is at this tag.
        [head, wanted, "HEAD"] if output.status.success() && head == wanted => Ok(()),
        _ => {
            let message =
                format!("`git checkout {tag}` reported success, but {tag} is not checked out");
            let hint = "check that the `git` on `PATH` is the real one (`git --version`)";
            Err(Error::environment("files-git", message, hint))
        }
    }
}

/// Runs a `git` command to its end; kills it if the user interrupts the run.
///
/// # Errors
/// If git cannot be run, or the run is interrupted.
pub(super) fn finish(command: &mut Command) -> Result<Output> {
    let ended = match stop() {
        Some(stop) => output(command, |_| stop()),
        None => command.output(),
    };
    ended.map_err(|e| not_run(&e))
}

/// Returns the function that says whether git is to be stopped. There is none in a guest, which
/// nobody interrupts: asking it again and again would take time there, which is measured.
pub(super) fn stop() -> Option<fn() -> bool> {
    may_fork().then_some(is_interrupted)
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
    if may_fork() {
        end_with_this_process(&mut command);
    } else if let Some(value) = std::env::var_os(TUNABLES) {
        // A guest's, so that git does not depend on the processor.
        command.env(TUNABLES, value);
    }
    command.stdin(Stdio::null());
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

/// Lets the kernel kill the program when this process ends, even by a signal. The thread that
/// starts the program must wait for it, because the end of that thread counts.
fn end_with_this_process(command: &mut Command) {
    let this = std::process::id();
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended just before.
        if parent_id() == this { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    };
    // SAFETY: between fork and exec `ask` makes two system calls and allocates nothing.
    unsafe { command.pre_exec(ask) };
}

/// Returns the error for a `git` that could not be run to its end.
pub(super) fn not_run(e: &io::Error) -> Error {
    if is_interrupted() {
        return interrupted();
    }
    let hint = "install it; on Debian: `apt-get install git`";
    let cause = io::Error::new(e.kind(), e.to_string());
    Error::environment("files-git", "`git` cannot be run", hint).caused_by(cause)
}
