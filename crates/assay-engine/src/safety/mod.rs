//! What may be written to, and why not.
//!
//! Reading is the default and always allowed. Writing to a device needs `--write` with its path; a
//! device in use or under the running system is always refused; one with something on it is refused
//! unless `--destroy` names its serial number. An existing file is written only if assay made it.
//!
//! *Invariants.* Devices are compared by number, files by device and inode, never by name. Nothing
//! here writes to a target. The checks look at one moment; what keeps a device ours from then on is
//! the exclusive open in `target::block`, held for the whole run.

use crate::error::{Error, Result};
use assay_spec::Bytes;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

mod explain;
pub(crate) mod machine;
pub(crate) mod mark;
pub(crate) mod signature;
mod survey;
pub(crate) mod sysfs;
mod tables;

pub use explain::EXPLANATIONS;
pub use survey::{DeviceSurvey, May, survey};

use machine::Machine;
use sysfs::Device;

/// What the user said about writing to one target.
#[derive(Clone, Debug, Default)]
pub struct Intent {
    /// `--write DEVICE`: must name the target again.
    pub write: Option<PathBuf>,
    /// `--destroy SERIAL`: the serial number of a device whose contents may go; for a device
    /// without one, its kernel name, e.g. `loop3`.
    pub destroy: Option<String>,
    /// `--size`, for a file that does not exist.
    pub size: Option<Bytes>,
    /// Whether the plan contains writes (or trims).
    pub writes: bool,
}

/// Why `device` is never written to, whatever the user says; `None` if it may be.
pub(crate) fn refusal(machine: &Machine, device: &Device) -> Option<Error> {
    let (name, system) = (device.title(), machine.system());
    let disk = device.disk();
    if system.contains(&device.number) || system.contains(&disk.number) {
        let message = format!("{name} belongs to the disk that carries this system");
        let hint = "the system's own disk is never written to; reading it is allowed. \
                    To write on this disk's speed, use a new file: `./scratch.img --size 1GiB`";
        return Some(Error::environment("device-system", message, hint));
    }
    if let Some(usage) = machine.use_of(device) {
        let message = format!("{name} {usage}");
        let hint = "release it first (umount, swapoff, losetup -d, dmsetup remove, mdadm --stop), \
                    or choose another device";
        return Some(Error::environment("device-mounted", message, hint));
    }
    if device.is_read_only() || disk.is_read_only() {
        let message = format!("{name} is read-only");
        let hint = "check the write-protect switch, or `blockdev --setrw` if it was set by hand";
        return Some(Error::environment("device-readonly", message, hint));
    }
    None
}

/// Checks that `--write` was given and names `path`.
///
/// `fatal` is the reason why it would not help: the hint must not ask for what will be refused.
pub(crate) fn check_write(path: &Path, intent: &Intent, fatal: Option<&str>) -> Result<()> {
    let Some(write) = &intent.write else {
        let message = format!("the plan writes to {}, which exists", path.display());
        let hint = match fatal {
            Some(reason) => format!("choose another target: {reason}"),
            None => format!("what is there would be lost; allow it: --write {}", path.display()),
        };
        return Err(Error::environment("write-not-allowed", message, hint));
    };
    if write == path || is_same(write, path) {
        return Ok(());
    }
    let message = format!("--write names {}, the target is {}", write.display(), path.display());
    let hint = "repeat the path of the target after --write";
    Err(Error::environment("write-mismatch", message, hint))
}

/// True if both paths lead to the same device, or to the same file.
fn is_same(a: &Path, b: &Path) -> bool {
    let (Ok(a), Ok(b)) = (fs::metadata(a), fs::metadata(b)) else { return false };
    match (a.file_type().is_block_device(), b.file_type().is_block_device()) {
        (true, true) => a.rdev() == b.rdev(),
        (false, false) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

/// The word that `--destroy` must repeat: the serial number, or the kernel's name without one.
pub(crate) fn destroy_word(device: &Device) -> String {
    device.serial().unwrap_or_else(|| device.name.clone())
}

/// What would be lost on `device`, open as `file`: signatures, and partitions the kernel knows.
pub(crate) fn contents(device: &Device, file: &fs::File) -> Result<Vec<String>> {
    let block = device.block_size().unwrap_or(Bytes(4096));
    let found = signature::probe(file, device.size(), block).map_err(|cause| {
        let message = format!("cannot read what is on {}", device.title());
        let hint = "a device whose start and end cannot be read is not written to; check dmesg";
        Error::environment("device-unreadable", message, hint).caused_by(cause)
    })?;
    let mut found: Vec<String> = found.into_iter().map(str::to_owned).collect();
    let parts: Vec<String> = device.partitions().into_iter().map(|part| part.name).collect();
    if !parts.is_empty() {
        found.push(format!("partitions ({})", parts.join(", ")));
    }
    Ok(found)
}

/// Refuses a device with something on it unless `--destroy` names it.
pub(crate) fn check_contents(device: &Device, file: &fs::File, intent: &Intent) -> Result<()> {
    let word = destroy_word(device);
    if let Some(named) = &intent.destroy {
        if *named == word {
            return Ok(());
        }
        let message = format!("--destroy names {named}, but {} is {word}", device.title());
        let hint = "check which device is meant: `assay devices` shows the serial numbers";
        return Err(Error::environment("destroy-mismatch", message, hint));
    }
    let found = contents(device, file)?;
    if found.is_empty() {
        return Ok(());
    }
    let message = format!("{} holds {}", device.title(), found.join(", "));
    let hint = format!("if all of it may be lost: --destroy {word}");
    Err(Error::environment("device-signature", message, hint))
}
