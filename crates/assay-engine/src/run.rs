//! A run: its directory, its cells, and resuming it after an interruption.
//!
//! `run.json` is written first and never changes. Each finished cell is added to `cells.json`,
//! which is replaced as a whole (written beside, synced, renamed), so that a reader sees only
//! complete files, even after a crash. Modelled targets run side by side; targets on the wall clock
//! run alone, one after the other.

mod apart;
pub(crate) mod directory;
mod made;
mod measure;
mod needs;
mod order;
mod places;
mod planned;
mod text;

pub use assay_fs::Replace;
pub use directory::RunDirectory;
pub use measure::Observer;
pub use needs::{Needs, check_guest_memory, guest_memory};
pub use planned::{Asked, Run};
pub use text::write_text;
