//! Does assay's work inside guests.
//!
//! A guest runs the same code as any real target is measured by, by its own clock. Its result goes
//! back to the host ([`crate::linux`]) as text; log and series lie in the directory that it shares
//! with the host.

pub(crate) mod memory;
mod repeat;

use crate::error::Error;
use crate::files::make_image;
use crate::linux::task::{ImageTask, Task};
use assay_linux::guest::{Place, start_work};
use assay_linux::program::{PROGRAM_SIZE, WINDOW};

/// Returns `true` if this process is the program of a guest: only there does the program lie in
/// memory that the host has laid out.
pub fn is_here() -> bool {
    (WINDOW..WINDOW + PROGRAM_SIZE).contains(&(is_here as fn() -> bool as usize as u64))
}

/// Runs assay as the program of a guest. Call it before anything else: memory that is taken before
/// is the guest's, and how much that is must not depend on the build.
pub fn main() {
    assay_linux::guest::main(memory::move_heap, work);
}

/// Does `task` inside a guest; returns the record of a repeat as JSON, or nothing.
///
/// # Errors
/// If it fails.
fn work(task: &str, place: &Place) -> assay_linux::Result<String> {
    let failed = |e: Error| {
        let message = e.to_string();
        assay_linux::Error { id: e.id, message, hint: e.hint, source: None }
    };
    let task: Task = serde_json::from_str(task).expect("the host writes what the guest reads");
    match task {
        Task::Repeat(task) => {
            let record = repeat::run(&task, place).map_err(failed)?;
            Ok(serde_json::to_string(&record).expect("records are plain data"))
        }
        Task::Image(ImageTask { script, user, environment, seed }) => {
            let directory = place.directory.as_deref().expect("the host asked for a file system");
            start_work()?;
            make_image(directory, &script, user.as_deref(), &environment, seed).map_err(failed)?;
            Ok(String::new())
        }
    }
}
