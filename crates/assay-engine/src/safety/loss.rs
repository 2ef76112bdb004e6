//! What would be lost on a device, and the word that allows it.

use super::contents::{self, Contents};
use super::identity;
use super::intent::Intent;
use super::sysfs::Device;
use crate::error::{Error, Result};
use crate::stop;
use assay_fs::Node;
use assay_spec::{Bytes, seed};
use std::fs;
use std::io;

/// Returns the word that `--destroy` must repeat: the serial number of the device, which is open as
/// `file`. A device without one gets its kernel name and a digest of its identity and contents,
/// because another device may take over the name alone.
pub(crate) fn destroy_word(device: &Device, file: &fs::File) -> io::Result<String> {
    if let Some(serial) = device.serial() {
        return Ok(serial);
    }
    let mut known = identity::of(&Node::of_file(file)?, Some(device));
    known.push(("size", device.size().to_string()));
    let block = device.block_size().unwrap_or(Bytes(4096));
    let held = contents::digest(file, device.size(), block)?;
    let known = known.iter().flat_map(|(key, value)| [*key, value.as_str()]);
    let digest = seed::derive(held, &known.collect::<Vec<_>>()) as u32;
    Ok(format!("{}-{digest:08x}", device.name))
}

/// Returns what would be lost on `device`, open as `file`: its contents and the partitions that the
/// kernel knows.
pub(crate) fn contents_of(device: &Device, file: &fs::File) -> Result<Contents> {
    let block = device.block_size().unwrap_or(Bytes(4096));
    let looked = contents::look(file, device.size(), block);
    let mut found = looked.map_err(|cause| unreadable(device, cause))?;
    found.kinds.extend(contents::blkid(file));
    let parts: Vec<String> = device.partitions().into_iter().map(|part| part.name).collect();
    if !parts.is_empty() {
        found.kinds.push(format!("partitions ({})", parts.join(", ")));
    }
    Ok(found)
}

/// Returns the error for a device whose contents cannot be read.
fn unreadable(device: &Device, cause: io::Error) -> Error {
    let message = format!("cannot read what is on {}", device.title());
    let hint = "check `dmesg`: assay writes to a device only if it can read the parts that it \
                checks for data";
    Error::environment("device-unreadable", message, hint).caused_by(cause)
}

/// Refuses a device with contents that assay did not write, unless `--destroy` names it.
pub(crate) fn check_contents(device: &Device, file: &fs::File, intent: &Intent) -> Result<()> {
    let word = destroy_word(device, file).map_err(|cause| unreadable(device, cause))?;
    let named = intent.destroy.as_ref();
    if let Some(named) = named.filter(|named| **named != word) {
        let message =
            format!("--destroy names `{named}`, but the word for {} is `{word}`", device.title());
        let hint = "check which device you mean: `assay devices` shows the word of each device";
        return Err(Error::environment("destroy-mismatch", message, hint));
    }
    let found = contents_of(device, file)?;
    if stop::is_interrupted() {
        return Err(stop::interrupted());
    }
    if named.is_some() || found.is_ours() {
        return Ok(());
    }
    let message = format!("{} holds {}", device.title(), found.words().join(", "));
    let hint = format!("if all of its contents may be lost, add --destroy {word}");
    Err(Error::environment("device-signature", message, hint))
}
