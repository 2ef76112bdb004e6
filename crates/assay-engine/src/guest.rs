//! Does assay's work inside guests.
//!
//! A guest runs the same code as any real target is measured by, by its own clock. Its result goes
//! back to the host ([`crate::linux`]) as text; log and series lie in the directory that it shares
//! with the host.

pub(crate) mod memory;
mod repeat;

use crate::error::Error;
use crate::linux::task::Task;
use assay_linux::guest::Place;

/// Runs assay as the program of a guest.
pub fn main() {
    assay_linux::guest::main(memory::move_heap, work);
}

/// Runs `task` inside a guest; returns the record of the repeat as JSON.
///
/// # Errors
/// If the repeat fails.
fn work(task: &str, place: &Place) -> assay_linux::Result<String> {
    let failed = |e: Error| {
        let message = e.to_string();
        assay_linux::Error { id: e.id, message, hint: e.hint, source: None }
    };
    let task: Task = serde_json::from_str(task).expect("the host writes what the guest reads");
    let record = repeat::run(&task, place).map_err(failed)?;
    Ok(serde_json::to_string(&record).expect("records are plain data"))
}
