//! The safety layer: decides which devices and files may be written to, and gives the reasons.
//!
//! Reading is the default and always allowed. Writing to a device needs `--write` with its path. A
//! device in use or under the running system is always refused; a device with contents is refused
//! unless `--destroy` names its serial number. An existing file is written only if assay made it
//! and it holds nothing else. `docs/safety.md` says what assay guarantees.
//!
//! *Invariants.* One and the same inode, held by a descriptor ([`assay_fs::Node`]), is checked,
//! examined and written; names are looked up once. Devices are compared by number and files by
//! inode, never by name. Nothing here writes to a target. After the checks, the exclusive open of a
//! device or the lease on a file keeps others away for the whole run.

mod closed;
pub(crate) mod contents;
pub(crate) mod device_node;
pub(crate) mod disks;
mod explain;
pub(crate) mod identity;
pub(crate) mod in_use;
pub(crate) mod intent;
pub(crate) mod layers;
pub(crate) mod lease;
pub(crate) mod loops;
pub(crate) mod loss;
pub(crate) mod mark;
pub(crate) mod memory;
mod mounts;
mod namespaces;
mod overlay;
mod paths;
pub(crate) mod refusal;
mod signatures;
mod stack;
pub(crate) mod store;
mod survey;
pub(crate) mod sysfs;
mod system;
mod tables;
mod view;
pub(crate) mod watch;
mod writers;
pub(crate) mod writes;

pub use explain::EXPLANATIONS;
pub use intent::Intent;
pub use survey::{DeviceSurvey, May, survey};
