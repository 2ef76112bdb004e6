//! The work of a guest, as its host describes it.

use serde::{Deserialize, Serialize};

/// A repeat of a cell, as the host describes it to a guest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
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
