//! Files of this machine, held by descriptors.
//!
//! A name can be given to another file between two system calls. So each path is looked up once,
//! and the file found then is the one that is examined, written, replaced or removed later,
//! whatever has become of the name. `docs/safety.md` says what this guarantees.

#![forbid(unsafe_code)]

mod device;
mod directory;
mod draft;
mod node;
mod owner;
mod scratch;

pub use device::DeviceNumber;
pub use directory::{Directory, Entry, EntryKind};
pub use draft::{Draft, Replace, is_draft};
pub use node::{InodeId, Node, NodeKind, random_name, remove};
pub use owner::changeable_by_others;
pub use scratch::{Makes, Scratch};
