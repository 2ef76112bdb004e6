//! Opens a device by its node in `/dev`.
//!
//! *Invariant.* Nothing but the device itself is opened: another node may stand at its name, and to
//! open a FIFO waits for a writer.

use super::sysfs::Device;
use assay_fs::{Node, NodeKind};
use rustix::fs::OFlags;
use std::fs::File;
use std::io;

/// Opens `device` with `flags`.
///
/// # Errors
/// If its node cannot be opened, or is another device or none.
pub(crate) fn open(device: &Device, flags: OFlags) -> io::Result<File> {
    let path = device.node();
    let node = Node::find(&path)?;
    if node.kind != NodeKind::Block(device.number) {
        return Err(io::Error::other(format!("{} is another node", path.display())));
    }
    node.open(flags)
}
