//! Opens the inputs of an import that a user names: files, the standard input, and the files of all
//! processors of a trace.

use super::source::{Input, WAY, unreadable};
use crate::error::{Error, Result};
use crate::read::{self, Unread};
use crate::stop;
use assay_fs::Node;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// The standard input, for which the user may have to wait, and may not want to any more.
struct StandardInput(File);

impl Read for StandardInput {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        const LOOK_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        while !stop::is_interrupted() {
            let mut files = [PollFd::new(&self.0, PollFlags::IN)];
            if !matches!(poll(&mut files, Some(&LOOK_AGAIN)), Ok(0) | Err(Errno::INTR)) {
                return self.0.read(buffer);
            }
        }
        Err(std::io::Error::other("interrupted"))
    }
}

/// Opens the inputs that the user has named: files, `-` for the standard input, and the names of
/// traces whose files are called `NAME.blktrace.0` and so on.
///
/// # Errors
/// If an input does not exist or is named twice.
pub fn open(names: &[String]) -> Result<Vec<Input>> {
    let mut inputs = Vec::new();
    let mut seen = Vec::new();
    for name in names {
        if name == "-" {
            let file = std::io::stdin().as_fd().try_clone_to_owned().map(File::from);
            let file = file.map_err(|e| unreadable("-", e))?;
            let id = Node::of_file(&file).ok().map(|node| node.id);
            inputs.push((id, Input::new("-", Box::new(StandardInput(file)))));
            continue;
        }
        for path in files_of(name)? {
            let file = read::file(&path).map_err(|e| unread(&path, e))?;
            let id = Node::of_file(&file).ok().map(|node| node.id);
            inputs.push((id, Input::new(&path.display().to_string(), Box::new(file))));
        }
    }
    for (id, input) in &inputs {
        let before = seen.iter().find(|(seen, _)| id.is_some() && *seen == id);
        if let Some((_, before)) = before {
            let text = match input.name() {
                name if name == *before => format!("{name} is named twice"),
                name => format!("{before} and {name} are the same file"),
            };
            return Err(Error::usage(
                "trace-twice",
                text,
                "name it once: otherwise its events would count twice",
            ));
        }
        seen.push((id, input.name()));
    }
    Ok(inputs.into_iter().map(|(_, input)| input).collect())
}

/// Returns the files that a name stands for: itself, or one for each processor.
fn files_of(name: &str) -> Result<Vec<PathBuf>> {
    let path = Path::new(name);
    if path.is_file() || (path.exists() && !path.is_dir()) {
        return Ok(vec![path.to_owned()]);
    }
    let base = name.trim_end_matches('.').trim_end_matches(".blktrace");
    let (folder, stem) = match base.rsplit_once('/') {
        Some((folder, stem)) => (if folder.is_empty() { "/" } else { folder }, stem),
        None => (".", base),
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| entry.ok());
    let number = |entry: &std::fs::DirEntry| {
        let name = entry.file_name();
        let number = name.to_str()?.strip_prefix(stem)?.strip_prefix(".blktrace.")?;
        number.parse::<u32>().ok()
    };
    let mut files: Vec<(u32, PathBuf)> =
        entries.filter_map(|entry| Some((number(&entry)?, entry.path()))).collect();
    files.sort();
    if let Some(gap) = (0..).zip(&files).find_map(|(n, (number, _))| (n != *number).then_some(n)) {
        let text = format!("{base}.blktrace.{gap} is missing among the files of {name}");
        let hint = "name the files one by one if that processor was off";
        return Err(Error::usage("trace-missing", text, hint));
    }
    // blktrace leaves empty files for processors without events. What is no file is refused later.
    let is_empty = |path: &PathBuf| path.metadata().is_ok_and(|m| m.is_file() && m.len() == 0);
    let files: Vec<PathBuf> =
        files.into_iter().map(|(_, path)| path).filter(|path| !is_empty(path)).collect();
    if !files.is_empty() && !stem.is_empty() {
        return Ok(files);
    }
    let (text, hint) = match path.is_dir() {
        true => (format!("{name} is a directory"), "name the trace in it: `DIR/NAME`"),
        false => (
            format!("there is no {name}, and no {base}.blktrace.0 with something in it"),
            "name a file, `-`, or NAME for all files NAME.blktrace.N",
        ),
    };
    Err(Error::usage("trace-missing", text, hint))
}

fn unread(path: &Path, e: Unread) -> Error {
    let text = format!("{} cannot be read", path.display());
    let hint = e.hint(WAY);
    Error::environment("trace-unreadable", text, hint).caused_by(e.error)
}
