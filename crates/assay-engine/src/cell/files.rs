//! A repeat of a workload of files.

use super::repeat::{Repeat, writes_lost};
use crate::clock::BusyTime;
use crate::error::{Error, Result};
use crate::files::{self, Content, WorkDir};
use crate::measure::series::write_series;
use crate::measure::{Recorded, Recorder};
use crate::safety::layers::OpenLayers;
use crate::stop;
use assay_fs::{Directory, Entry, EntryKind, Scratch};
use assay_spec::experiment::FileWork;
use assay_spec::record::RepeatRecord;
use assay_spec::seed;
use rustix::fs::{OFlags, syncfs};
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Runs a workload of files in a new directory in `path`, which is removed afterwards.
///
/// # Errors
/// If the directory cannot be made, the work fails, or what it wrote does not reach the drive.
pub(super) fn run_in_directory(repeat: &Repeat<'_>, path: &Path) -> Result<RepeatRecord> {
    let work = repeat.workload.files.as_ref().expect("others are skipped");
    let directory = Scratch::new(path, "assay", crate::files::makes).map_err(|e| {
        let message = format!("no directory can be made in {}", path.display());
        let hint = "name a directory of files that you may write to";
        Error::environment("directory-unusable", message, hint).caused_by(e)
    })?;
    let mut content = vec![0; 1 << 20];
    fill(&mut content, repeat.seed);
    let until = repeat.limit.map(|limit| Instant::now() + Duration::from_nanos(limit.0));
    let work_dir = WorkDir {
        directory: &directory.directory().path(),
        remount: None,
        is_free: false,
        content: Content { bytes: &content, until },
        limit: repeat.limit,
    };
    // Opened before the work: `syncfs` reports the writes that failed since.
    let opened = File::open(directory.directory().path());
    let below = directory.directory().node().map(OpenLayers::below);
    let result = run_on_files(repeat, work, &work_dir, &mut || {}).and_then(|record| {
        let made = directory.directory().try_clone();
        let keep = move || {
            let opened = opened?;
            keep_on_fuse(&made?, &opened)?;
            syncfs(&opened)?;
            below
        };
        let below = stop::unless_interrupted(keep)?.map_err(|e| writes_lost(path, e))?;
        below?.flush(|e| writes_lost(path, e))?;
        Ok(record)
    });
    let whole = directory.path().parent().unwrap_or(directory.path()).to_owned();
    let Err(e) = directory.close() else { return result };
    match result {
        Ok(mut record) => {
            // Records hold no paths.
            let name = whole.file_name().unwrap_or_default().to_string_lossy();
            let left = format!("{name} could not be removed from the directory of the target: {e}");
            record.warnings.push(left);
            Ok(record)
        }
        Err(error) => {
            let left = format!("{} could not be removed: {e}", whole.display());
            Err(Error { message: format!("{}; {left}", error.message), ..error })
        }
    }
}

/// Asks a program that serves a file system (FUSE) to keep each file in `directory`, which is open
/// as `opened`: to most of them, the kernel does not pass `syncfs` on.
fn keep_on_fuse(directory: &Directory, opened: &File) -> io::Result<()> {
    const FUSE: u64 = 0x6573_5546;
    if rustix::fs::fstatfs(opened)?.f_type as u64 != FUSE {
        return Ok(());
    }
    for Entry { name, kind, .. } in directory.entries()? {
        let name = Path::new(&name);
        match kind {
            EntryKind::Directory => keep_on_fuse(&directory.below(name)?, opened)?,
            EntryKind::File => directory.open_file(name, OFlags::RDONLY)?.sync_all()?,
            _ => {}
        }
    }
    Ok(())
}

/// Fills `content` with pseudo-random bytes, which no drive can compress.
fn fill(content: &mut [u8], seed: u64) {
    let mut state = seed;
    for word in content.chunks_mut(8) {
        state = seed::mix(state.wrapping_add(1));
        word.copy_from_slice(&state.to_le_bytes()[..word.len()]);
    }
}

/// Runs `work` in `work_dir` and records it. Calls `before_measure` when the measured phase
/// begins.
pub(crate) fn run_on_files(
    repeat: &Repeat<'_>,
    work: &FileWork,
    work_dir: &WorkDir<'_>,
    before_measure: &mut dyn FnMut(),
) -> Result<RepeatRecord> {
    let mut recorder = Recorder::new(repeat.log_writer()?).keeping(repeat.workload.first);
    let mut busy = BusyTime::default();
    let mut begin = || {
        before_measure();
        busy = BusyTime::start();
    };
    let done = files::run(work, work_dir, repeat.seed, &mut recorder, &mut begin)?;
    let busy = busy.end();
    let Recorded { ops, seconds, fine, first } = recorder.finish()?;
    if let Some(directory) = repeat.directory {
        write_series(directory.series()?, &format!("{}.parquet", repeat.stem), &fine)?;
    }
    let mut told = done.told;
    told.extend(busy);
    if done.is_whole {
        let full = done.elapsed.0 as f64 / repeat.scale.as_f64();
        told.push(("full_time".to_owned(), full));
    }
    Ok(RepeatRecord {
        seed: repeat.seed,
        elapsed: done.elapsed,
        ops,
        series: seconds,
        first,
        steady: None,
        device: told,
        program: done.metrics,
        warnings: done.warnings,
    })
}
