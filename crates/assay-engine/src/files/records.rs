//! Reads or writes one file, record by record: a cell of iozone's matrix.
//!
//! The work follows iozone 3 (`-i 0 -i 1 -i 2`, with `-e`: the time of `fsync` counts, and `-U`:
//! the file system is mounted again before each test). As in iozone, random work takes each record
//! once, in a shuffled order.

use super::stage::{Content, Done, Stage, forget, refused};
use crate::aligned::Aligned;
use crate::error::Result;
use crate::generate::Shuffled;
use assay_fs::{Directory, Node, NodeKind};
use assay_spec::experiment::{CacheReset, Operation, Records, Sync};
use assay_spec::{Bytes, Op};
use rustix::fs::OFlags;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// The name of the file.
pub(super) const FILE: &str = "file";

/// Lays out the file, reads or writes its records, and records each as an operation.
pub(super) fn run(stage: &mut Stage<'_>, work: &Records) -> Result<Done> {
    let mut laid_out = None;
    if work.operation != Operation::Write {
        let file = lay_out(&stage.root()?, FILE, work.length, stage.work_dir.content)?;
        if work.operation == Operation::Reread {
            read_all(&file).map_err(|e| refused("read", &e))?;
        }
        if work.between == CacheReset::Remount && stage.work_dir.remount.is_some() {
            drop(file);
            stage.forget(work.between, &[])?;
        } else {
            stage.forget(work.between, &[&file])?;
            laid_out = Some(file);
        }
    }
    let file = open(&stage.root()?, work).map_err(|e| refused("open", &e))?;
    if let Some(laid_out) = laid_out {
        is_the_same(&laid_out, &file).map_err(|e| refused("open", &e))?;
    }
    if work.is_advised {
        advise(&file, work.operation.is_random())?;
    }
    let record = work.record.0 as usize;
    let mut buffer = Aligned::new(record).map_err(|e| refused("memory", &e))?;
    buffer
        .slice()
        .iter_mut()
        .zip(stage.work_dir.content.bytes.iter().cycle())
        .for_each(|(b, c)| *b = *c);
    let count = work.length.0 / work.record.0;
    let shuffled = Shuffled::new(count, stage.seed);
    let mut meter = stage.begin();
    let mut done = 0;
    let is_enough = |last| work.time.is_some_and(|time| last >= time);
    while done < count && !is_enough(meter.last_end()) && !meter.is_over()? {
        let index = if work.operation.is_random() { shuffled.at(done) } else { done };
        let offset = work.record * index;
        let op = one(&file, work, offset, buffer.slice()).map_err(|e| refused("I/O", &e))?;
        meter.record(op, offset, work.record);
        done += 1;
    }
    if work.operation.writes() && matches!(work.sync, Sync::End | Sync::Start) {
        file.sync_all().map_err(|e| refused("fsync", &e))?;
        meter.record(Op::Flush, Bytes::ZERO, Bytes::ZERO);
    }
    let elapsed = meter.end();
    let length = match work.operation {
        Operation::Write => work.record * done,
        _ => work.length,
    };
    is_whole(&file, length).map_err(|e| refused("the file", &e))?;
    let cut = format!("only {done} of {count} records were done: the time was over");
    let is_cut = done < count && !is_enough(meter.last_end());
    let warnings = if is_cut { vec![cut] } else { Vec::new() };
    Ok(Done { elapsed, is_whole: done == count, warnings, ..Done::default() })
}

/// Reads or writes the record at `offset`; returns the kind of operation.
fn one(file: &File, work: &Records, offset: Bytes, buffer: &mut [u8]) -> io::Result<Op> {
    if !work.operation.writes() {
        file.read_exact_at(buffer, offset.0)?;
        return Ok(Op::Read);
    }
    file.write_all_at(buffer, offset.0)?;
    match work.sync {
        Sync::Each => file.sync_data()?,
        Sync::Start => begin_writing(file, offset, work.record)?,
        Sync::End | Sync::Never => (),
    }
    Ok(Op::Write)
}

/// Starts the writeback of what was written, with sync_file_range(2), without waiting for its end.
fn begin_writing(file: &File, offset: Bytes, length: Bytes) -> io::Result<()> {
    let (fd, flags) = (file.as_raw_fd(), libc::SYNC_FILE_RANGE_WRITE);
    // SAFETY: the descriptor is open for as long as `file` lives, and no memory is passed.
    let code = unsafe { libc::sync_file_range(fd, offset.0 as i64, length.0 as i64, flags) };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Tells the kernel, with posix_fadvise(2), whether the file will be used in random order.
fn advise(file: &File, is_random: bool) -> Result<()> {
    let advice = if is_random { libc::POSIX_FADV_RANDOM } else { libc::POSIX_FADV_SEQUENTIAL };
    // SAFETY: the descriptor is open for as long as `file` lives, and no memory is passed.
    let code = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, advice) };
    match code {
        0 => Ok(()),
        code => Err(refused("fadvise", &io::Error::from_raw_os_error(code))),
    }
}

/// Opens the file for `work`; creates it if the work is writing a new one.
fn open(root: &Directory, work: &Records) -> io::Result<File> {
    let made = (work.operation == Operation::Write).then(|| root.create(FILE)).transpose()?;
    let direct = if work.is_direct { OFlags::DIRECT } else { OFlags::empty() };
    let access = if work.operation.writes() { OFlags::RDWR } else { OFlags::RDONLY };
    let file = root.open_file(FILE, access | direct)?;
    made.map_or(Ok(()), |made| is_the_same(&made, &file))?;
    Ok(file)
}

/// Checks that `file` is the file that was `made`, and not another one that has got its name since.
fn is_the_same(made: &File, file: &File) -> io::Result<()> {
    let (made, file) = (Node::of_file(made)?, Node::of_file(file)?);
    match file.is_same(&made) {
        true => Ok(()),
        false => Err(io::Error::other("another file has the name of the measured file now")),
    }
}

/// Checks that nobody has removed the file or cut it short, because then other work was measured.
fn is_whole(file: &File, length: Bytes) -> io::Result<()> {
    let found = Node::of_file(file)?;
    let what = match found.kind {
        _ if found.names == 0 => "the file was removed while it was measured",
        NodeKind::File(now) if now < length.0 => "the file was cut short while it was measured",
        _ => return Ok(()),
    };
    Err(io::Error::other(what))
}

/// Creates the file `name` in `root`, writes `length` from start to end in large pieces, and syncs
/// it to the drive.
pub(crate) fn lay_out(
    root: &Directory,
    name: &str,
    length: Bytes,
    content: Content<'_>,
) -> Result<File> {
    let failed = |e: io::Error| refused(&format!("laying out {length}"), &e);
    let mut file = root.create(name).map_err(failed)?;
    let mut left = length.0 as usize;
    while left > 0 {
        content.check()?;
        let piece = left.min(content.bytes.len());
        file.write_all(&content.bytes[..piece]).map_err(failed)?;
        left -= piece;
    }
    file.sync_all().map_err(failed)?;
    Ok(file)
}

fn read_all(file: &File) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 20];
    let mut at = 0;
    loop {
        match file.read_at(&mut buffer, at)? {
            0 => return Ok(()),
            n => at += n as u64,
        }
    }
}

/// Lays out a file and drops it from the page cache at once, for work that needs many files.
pub(super) fn lay_out_cold(
    root: &Directory,
    name: &str,
    length: Bytes,
    content: Content<'_>,
) -> Result<()> {
    forget(&lay_out(root, name, length, content)?)
}
