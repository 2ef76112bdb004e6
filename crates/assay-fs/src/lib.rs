//! Files of this machine, held by descriptors.
//!
//! A name can be given to another file between two system calls. Here a path is looked up once;
//! what is looked at, written, replaced or removed afterwards is what it led to then, whatever the
//! names have become. `docs/safety.md` says what is promised with it.

#![forbid(unsafe_code)]

mod device;
mod directory;
mod draft;
mod node;
mod scratch;

pub use device::DeviceNumber;
pub use directory::{Directory, Entry, EntryKind};
pub use draft::{Draft, Replace, is_draft};
pub use node::{InodeId, Node, NodeKind, random_name, remove};
pub use scratch::{Makes, Scratch};
