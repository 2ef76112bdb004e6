//! The work of a guest, as its host describes it.

use serde::{Deserialize, Serialize};

/// The work of a guest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Task {
    /// A repeat of a cell.
    Repeat(RepeatTask),
    /// An image of files for other guests.
    Image(ImageTask),
}

/// An image, as the host describes it to the guest that makes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageTask {
    /// The script that makes the files.
    pub script: String,
    /// The user that it runs as; `None` is root.
    pub user: Option<String>,
    /// The names and values of its variables, beside those that each script has.
    pub environment: Vec<(String, String)>,
    /// The seed that it gets.
    pub seed: u64,
}

/// A repeat of a cell, as the host describes it to a guest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RepeatTask {
    /// The text of the experiment.
    pub experiment: String,
    /// The name of the workload.
    pub workload: String,
    /// The seed of the repeat.
    pub seed: u64,
    /// Whether the guest writes a log.
    pub log: bool,
    /// The name of its files without the ending.
    pub stem: String,
}
