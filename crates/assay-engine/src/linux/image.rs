//! The images of a run: archives of the files that programs begin with.
//!
//! An image depends on its script, its user, its variables, the run's seed, and the memory and the
//! date of the target's guest: it is made in a guest of its own, on the same drive and file system
//! for all targets. So every target begins with the same files, and it does not matter which cell
//! is measured first.

use super::task::{ImageTask, Task};
use super::{Start, run_guest};
use crate::error::{Error, Result};
use crate::plan::{PlanError, open_drives};
use crate::stop::is_interrupted;
use assay_linux::boot::{Directory, Programs};
use assay_linux::guest::{self, FilesystemSetup, GuestOutcome, Job};
use assay_sim::InitialState;
use assay_spec::experiment::{ProgramWork, UserTime};
use assay_spec::linux::Settings;
use assay_spec::seed;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The drive and the file system on which images are made.
const DRIVE: &str = "sim:optane-p4800x";
const FILESYSTEM: &str = "ext4";

/// The images of a run. They are removed with this value.
#[derive(Debug, Default)]
pub struct Images(Mutex<Vec<(Key, Arc<Mutex<Slot>>)>>);

/// What an image is made from, and its guest.
type Key = (ImageTask, Settings);

/// The place of an image: empty, or with the image, or the id, message and hint of the error that
/// there was.
type Slot = Option<std::result::Result<Directory, (&'static str, String, String)>>;

impl Images {
    /// Returns the directory with the image of a program for a guest with the memory and the date
    /// of `target`, or `None` if the program wants none. Makes the image if there is none yet, and
    /// meanwhile lets others wait for it.
    ///
    /// # Errors
    /// If it cannot be made.
    pub(crate) fn of(
        &self,
        work: &ProgramWork,
        run_seed: u64,
        target: &Settings,
    ) -> Result<Option<PathBuf>> {
        let Some(script) = work.image.clone() else { return Ok(None) };
        let seed = seed::derive(run_seed, &["image", &script]);
        let (user, environment) = (work.user.clone(), work.image_environment());
        let task = ImageTask { script, user, environment, seed };
        let settings = Settings {
            memory: target.memory,
            date: target.date,
            filesystem: Some(FILESYSTEM),
            ..Settings::default()
        };
        let slot = self.slot((task.clone(), settings.clone()));
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.is_none() {
            *slot = Some(match make(task, settings) {
                Err(e) if is_interrupted() => return Err(e),
                made => made.map_err(|e| (e.id, e.message, e.hint)),
            });
        }
        match slot.as_ref().expect("it was made") {
            Ok(directory) => Ok(Some(directory.shared())),
            Err((id, message, hint)) => Err(Error::environment(id, message, hint.clone())),
        }
    }

    fn slot(&self, key: Key) -> Arc<Mutex<Slot>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.iter().find(|(other, _)| *other == key) {
            Some((_, slot)) => Arc::clone(slot),
            None => {
                let slot = Arc::default();
                all.push((key, Arc::clone(&slot)));
                slot
            }
        }
    }
}

/// Boots a guest that makes an image. Returns the guest's directory, which has the image.
///
/// # Errors
/// If the guest breaks off, or its script fails.
fn make(task: ImageTask, settings: Settings) -> Result<Directory> {
    let setup = open_drives(&[DRIVE.to_owned()], settings).map_err(|e| match e {
        PlanError::Engine(e) => e,
        PlanError::Spec(mistake) => unreachable!("a bundled drive: {mistake}"),
    })?;
    let filesystem =
        FilesystemSetup { kind: FILESYSTEM.to_owned(), mkfs: Vec::new(), mount: String::new() };
    let storage = guest::StorageSetup {
        rotational: vec![false],
        filesystem: Some(filesystem),
        ..guest::StorageSetup::default()
    };
    let programs = Programs { image: None, seed: task.seed, user_time: UserTime::default() };
    let task = serde_json::to_string(&Task::Image(task)).expect("plain data");
    let job = Job::new(storage, guest::Task::Own(task)).with_programs();
    let start = Start::in_run(InitialState::New, true, Some(programs));
    let outcome = run_guest(&setup, &job, start, None)?.outcome;
    let failed = |message: String, hint: String| {
        let message = format!("in the guest of the image: {message}");
        Error::environment("linux-guest", message, hint)
    };
    match serde_json::from_str(&outcome.result) {
        Ok(GuestOutcome::Done(_)) => Ok(outcome.directory),
        Ok(GuestOutcome::Failed(message, hint)) => Err(failed(message, hint)),
        Err(e) => Err(failed(e.to_string(), "run it again".to_owned())),
    }
}
