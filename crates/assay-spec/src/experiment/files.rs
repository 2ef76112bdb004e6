//! File workloads: what a program does with files, not what a drive is asked for.
//!
//! A key `file`, such as `file = "random-write"`, makes one, and so does `command`. They run where
//! there are files: in a directory, or on a file system of `linux(…)`.

use super::program::{self, ProgramWork};
use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::Kind;
use crate::units::{self, Bytes, Nanos, Rate};

/// The work on files.
#[derive(Clone, Debug, PartialEq)]
pub enum FileWork {
    /// One file, record by record: a cell of iozone's matrix.
    Records(Records),
    /// Clients that each read a file of their own at a rate.
    Clients(Clients),
    /// A tree of files, read once.
    Walk(Walk),
    /// The tags of a history, checked out one after the other.
    Checkouts(Checkouts),
    /// A program of the user's.
    Program(ProgramWork),
}

/// Work of one process on one file, record by record.
#[derive(Clone, Debug, PartialEq)]
pub struct Records {
    /// The operation on the records.
    pub operation: Operation,
    /// The length of the file.
    pub length: Bytes,
    /// The length of a record.
    pub record: Bytes,
    /// The time at which written data is synced. The duration of the sync counts.
    pub sync: Sync,
    /// What happens between laying out the file and measuring.
    pub between: CacheReset,
    /// Whether the work bypasses the page cache.
    pub is_direct: bool,
    /// Whether the work tells the kernel in which order records come.
    pub is_advised: bool,
    /// The longest duration of the work; `None` if it lasts until all records are done.
    pub time: Option<Nanos>,
}

/// An operation on the records of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Writes a new file, from start to end.
    Write,
    /// Writes an existing file, from start to end.
    Rewrite,
    /// Reads the file, from start to end.
    Read,
    /// Reads the file for the second time, from start to end.
    Reread,
    /// Reads each record once, in random order.
    RandomRead,
    /// Writes each record once, in random order.
    RandomWrite,
}

impl Operation {
    /// Returns `true` if the operation writes.
    pub fn writes(self) -> bool {
        matches!(self, Operation::Write | Operation::Rewrite | Operation::RandomWrite)
    }

    /// Returns `true` if the records come in random order.
    pub fn is_random(self) -> bool {
        matches!(self, Operation::RandomRead | Operation::RandomWrite)
    }
}

/// The time at which written data is synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// At the end.
    End,
    /// At the end; but the writeback of each record starts at once.
    Start,
    /// After each record.
    Each,
    /// Never.
    Never,
}

/// What happens between laying out a file and measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheReset {
    /// The file system is unmounted and mounted again; outside a guest the same as `Drop`.
    Remount,
    /// The cached pages of the file are dropped.
    Drop,
    /// Nothing.
    Nothing,
}

/// Clients that read at a rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Clients {
    /// The number of clients.
    pub count: u32,
    /// The rate of each client.
    pub rate: Rate,
    /// The length of each client's file.
    pub length: Bytes,
    /// The size of a read.
    pub record: Bytes,
    /// The duration.
    pub time: Nanos,
}

/// A tree of files.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// The number of files.
    pub files: u32,
    /// The number of directories.
    pub directories: u32,
    /// The mean length of a file. Lengths are distributed log-normally.
    pub length: Bytes,
}

/// A tree that is read once, file by file.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// The tree.
    pub tree: Tree,
    /// The length of an additional large file, such as the pack of a clone.
    pub large: Bytes,
    /// The order in which the files are read.
    pub order: ReadOrder,
    /// The number of times that a third of the files is replaced before.
    pub age: u32,
}

/// The order in which the files of a tree are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOrder {
    /// Directory by directory, in the order in which each lists its files.
    Directory,
    /// By inode number.
    Inode,
    /// By the position of the first block.
    Physical,
}

/// The tags of a history, checked out one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkouts {
    /// The history.
    pub history: History,
    /// The number of tags. Of a repository the last ones are used, at most as many as it has.
    pub tags: u32,
    /// The time of git's own work for a checkout. In a guest, where a program's own work takes no
    /// time, the workload waits for it.
    pub compute: Nanos,
    /// Whether a log is written and synced beside the checkouts, as on the disk of a running
    /// system.
    pub background: bool,
}

/// A history of versions.
#[derive(Clone, Debug, PartialEq)]
pub enum History {
    /// A history that is made for the workload.
    Made(Made),
    /// The history of a git repository, by its path.
    Repository(String),
}

/// A history that is made for the workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// The tree at the first tag.
    pub tree: Tree,
    /// The number of files that change from tag to tag.
    pub changes: u32,
    /// The merges (changes, every): every `every`-th tag changes `changes` files instead.
    pub merge: Option<(u32, u32)>,
}

impl FileWork {
    /// Returns one line about the work.
    pub fn summary(&self) -> String {
        match self {
            FileWork::Records(r) => {
                let way = match r.operation {
                    Operation::Write => "write a file",
                    Operation::Rewrite => "rewrite a file",
                    Operation::Read => "read a file",
                    Operation::Reread => "read a file again",
                    Operation::RandomRead => "random read in a file",
                    Operation::RandomWrite => "random write in a file",
                };
                let direct = if r.is_direct { ", direct" } else { "" };
                let sync = match (r.operation.writes(), r.sync) {
                    (true, Sync::End) => ", fsync at the end",
                    (true, Sync::Start) => ", each begun at once, fsync at the end",
                    (true, Sync::Each) => ", fsync after each",
                    _ => "",
                };
                let time = r.time.map_or(String::new(), |time| format!(", {time} at most"));
                format!("{way} of {}, {}{direct}{sync}{time}", r.length, r.record)
            }
            FileWork::Clients(c) => {
                format!("{} clients read {} each, {}", c.count, c.rate, c.record)
            }
            FileWork::Walk(w) => {
                let order = match w.order {
                    ReadOrder::Directory => "directory",
                    ReadOrder::Inode => "inode",
                    ReadOrder::Physical => "physical",
                };
                format!("read a tree of {} files in {order} order", w.tree.files)
            }
            FileWork::Checkouts(Checkouts { history: History::Made(made), tags, .. }) => {
                format!("git checkout of {tags} tags, {} files", made.tree.files)
            }
            FileWork::Checkouts(Checkouts { tags, .. }) => {
                format!("git checkout of {tags} tags of a repository")
            }
            FileWork::Program(program) => program.summary(),
        }
    }
}

const KINDS: [&str; 9] =
    ["write", "rewrite", "read", "reread", "random-read", "random-write", "clients", "walk", "git"];

/// The keys of all kinds.
const KEYS: [&str; 21] = [
    "size",
    "length",
    "sync",
    "between",
    "direct",
    "advise",
    "clients",
    "rate",
    "time",
    "order",
    "files",
    "directories",
    "age",
    "large",
    "tags",
    "changes",
    "merge_changes",
    "merge_every",
    "repository",
    "compute",
    "background",
];

/// Takes a file workload, if the section is one.
pub(super) fn decode(s: &mut Section<'_>) -> Decoded<Option<FileWork>> {
    if let Some(program) = program::decode(s)? {
        return Ok(Some(FileWork::Program(program)));
    }
    if !s.has("file") {
        s.may_have(&["file"]);
        return Ok(None);
    }
    let kind = s.choice("file", &KINDS)?;
    s.goes_with(&KEYS, "another kind of `file`");
    let operation = match kind {
        0 => Operation::Write,
        1 => Operation::Rewrite,
        2 => Operation::Read,
        3 => Operation::Reread,
        4 => Operation::RandomRead,
        5 => Operation::RandomWrite,
        6 => return clients(s).map(|c| Some(FileWork::Clients(c))),
        7 => return walk(s).map(|w| Some(FileWork::Walk(w))),
        _ => return checkouts(s).map(|c| Some(FileWork::Checkouts(c))),
    };
    records(s, operation).map(|r| Some(FileWork::Records(r)))
}

fn records(s: &mut Section<'_>, operation: Operation) -> Decoded<Records> {
    let record = block(s)?;
    let length_at = s.span_of("length");
    let length = s.size("length")?;
    if length < record || !length.is_multiple_of(record) {
        let message = format!("a file of {length} is not a whole number of records of {record}");
        let e = s.error(Kind::Impossible, length_at, message, "whole records, at least one");
        return Err(with_hint(
            e,
            "change `length`, the size of the file, or `size`, the size of a record",
        ));
    }
    let sync = match s.optional_choice("sync", &["end", "start", "each", "never"])? {
        Some(1) => Sync::Start,
        Some(2) => Sync::Each,
        Some(3) => Sync::Never,
        _ => Sync::End,
    };
    let between = match s.optional_choice("between", &["remount", "drop", "nothing"])? {
        Some(1) => CacheReset::Drop,
        Some(2) => CacheReset::Nothing,
        _ => CacheReset::Remount,
    };
    let is_direct = s.boolean("direct", false)?;
    let is_advised = s.boolean("advise", false)?;
    let time = s.has("time").then(|| s.time("time")).transpose()?;
    Ok(Records { operation, length, record, sync, between, is_direct, is_advised, time })
}

/// Takes the size of a read or write.
fn block(s: &mut Section<'_>) -> Decoded<Bytes> {
    let at = s.span_of("size");
    let size = s.size("size")?;
    let fits = Bytes(512)..=Bytes::MIB * 64;
    if fits.contains(&size) && size.is_multiple_of(Bytes(512)) {
        return Ok(size);
    }
    let message = format!("`size` = {size} is out of range");
    let e = s.error(Kind::OutOfRange, at, message, "a multiple of 512B up to 64MiB");
    Err(with_hint(
        e,
        "use e.g. 4KiB, the size of a memory page and the usual block of a file system",
    ))
}

fn clients(s: &mut Section<'_>) -> Decoded<Clients> {
    let count = s.count("clients", 1..1001, None)?;
    let (text, span) = s.string_at("rate")?;
    let Some(rate) = units::rate(&text) else {
        let message = format!("`{text}` is not a rate");
        let e = s.error(Kind::BadUnit, span, message, "bytes a second, e.g. `1MB/s`");
        return Err(with_hint(e, "write the rate at which each client shall read"));
    };
    let record = block(s)?;
    let length = s.size("length")?;
    let time = s.time("time")?;
    Ok(Clients { count, rate, length, record, time })
}

fn tree(s: &mut Section<'_>) -> Decoded<Tree> {
    let files = s.count("files", 1..1_000_001, None)?;
    let directories = s.count("directories", 1..100_001, Some(1))?;
    let length = s.size("length")?;
    Ok(Tree { files, directories, length })
}

fn walk(s: &mut Section<'_>) -> Decoded<Walk> {
    let tree = tree(s)?;
    let order = match s.choice("order", &["directory", "inode", "physical"])? {
        0 => ReadOrder::Directory,
        1 => ReadOrder::Inode,
        _ => ReadOrder::Physical,
    };
    let age = s.count("age", 0..1001, Some(0))?;
    let large = s.optional_size("large")?.unwrap_or(Bytes::ZERO);
    Ok(Walk { tree, large, order, age })
}

fn checkouts(s: &mut Section<'_>) -> Decoded<Checkouts> {
    let tags = s.count("tags", 2..10_001, None)?;
    let history = match s.optional_string("repository")? {
        Some((path, span)) => {
            if !path.starts_with('/') {
                let message = format!("`{path}` is not an absolute path");
                let e = s.error(Kind::OutOfRange, span, message, "a path that begins with `/`");
                return Err(with_hint(
                    e,
                    "write an absolute path, or give any path with `assay run FILE --repo PATH`",
                ));
            }
            // The file may also describe a history to make for runs without a repository.
            if s.has("files") {
                made(s)?;
            }
            History::Repository(path)
        }
        None => History::Made(made(s)?),
    };
    let compute = s.pause("compute", Nanos::from_secs(60))?;
    let background = s.boolean("background", false)?;
    Ok(Checkouts { history, tags, compute, background })
}

fn made(s: &mut Section<'_>) -> Decoded<Made> {
    let tree = tree(s)?;
    let changes = s.count("changes", 1..1_000_001, None)?;
    let merge = match s.has("merge_changes") {
        false => None,
        true => {
            let changes = s.count("merge_changes", 1..1_000_001, None)?;
            Some((changes, s.count("merge_every", 2..1001, None)?))
        }
    };
    Ok(Made { tree, changes, merge })
}
