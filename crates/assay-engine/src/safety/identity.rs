//! The identity of a device or file, which is compared when a run is resumed.
//!
//! *Invariant.* A key that cannot be determined is left out, never guessed. A disk that was
//! replaced by another with the same identity goes unnoticed.

use super::in_use::Machine;
use super::store::Store;
use super::sysfs::Device;
use assay_fs::{Node, NodeKind};
use std::path::PathBuf;

/// The keys whose values must not have changed when a run is resumed.
pub const COMPARED: [&str; 8] =
    ["serial", "wwn", "mapping", "behind", "inode", "partition", "start", "model"];

/// Returns `true` if these keys alone identify the file or, unless `is_file`, the device.
pub fn is_sure(is_file: bool, identity: &[(String, String)]) -> bool {
    let sure: &[&str] = if is_file { &["inode"] } else { &["serial", "wwn", "mapping", "behind"] };
    identity.iter().any(|(key, _)| sure.contains(&key.as_str()))
}

/// Returns the known keys of the device or file, with their values.
pub(crate) fn of(node: &Node, device: Option<&Device>) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let mut note = |key, value: Option<String>| found.extend(value.map(|value| (key, value)));
    note("model", device.and_then(Device::model));
    note("serial", device.and_then(Device::serial));
    note("wwn", device.and_then(Device::world_wide_name));
    match node.kind {
        NodeKind::Block(_) => {
            note("mapping", device.and_then(Device::mapping_uuid));
            note("partition", device.and_then(Device::partition_uuid));
            note("start", device.and_then(|d| Some(d.number_at("start")?.to_string())));
            note("behind", device.and_then(behind));
        }
        _ => note("inode", Some(node.id.to_string())),
    }
    found
}

/// Identifies the store behind the loop device that `device` is, or that it is a partition of.
fn behind(device: &Device) -> Option<String> {
    let machine = Machine::devices_alone();
    let number = device.disk().number;
    let (store, bytes, name) = machine.behind(number)?;
    let range = format!("from byte {}", bytes.start);
    match store {
        Store::File(system, inode) => {
            let born = Node::find(&PathBuf::from(name)).ok();
            let born = born.filter(|n| (n.id.device, n.id.inode) == (system, inode));
            let file = born.map_or_else(
                || format!("device {}:{} inode {inode}", system.major, system.minor),
                |node| node.id.to_string(),
            );
            Some(format!("{file} {range}"))
        }
        Store::Device(number) => {
            let under = Device::find(number)?;
            let sure =
                under.serial().or_else(|| under.world_wide_name()).or_else(|| behind(&under));
            Some(format!("{} {range}", sure?))
        }
    }
}
