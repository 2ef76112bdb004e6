//! Opens the file or block device that an experiment runs on, as safely as possible.
//!
//! *Invariants.* Nothing is created under `/dev`; nothing that exists is written to or truncated
//! before the checks of [`crate::safety`] have passed, some of which need it open for writing: the
//! claim on a device, the lease on a file. The path is looked up once; the inode found then is
//! checked, opened and written, whatever becomes of its name. As long as [`Opened`] lives, nobody
//! can mount a device that will be written to, nobody can open a file for writing without stopping
//! the run, and anybody who reaches the bytes in another way is noticed.
//!
//! Modelled drives, which have no file, are not opened here.

use crate::error::{Error, Result};
use crate::safety::device_node;
use crate::safety::in_use::Machine;
use crate::safety::intent::{Intent, check_write};
use crate::safety::lease::is_held_by_another_run;
use crate::safety::loops::{BEFORE_WRITES, check_answers};
use crate::safety::loss::check_contents;
use crate::safety::refusal::{AsOpened, refusal, unknown_users};
use crate::safety::sysfs::Device;
use crate::safety::watch::Watch;
use assay_fs::{DeviceNumber, Node, NodeKind};
use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::path::Path;

mod create;
mod descriptor;
mod direct;
mod file;
mod image;
mod new_file;
mod opened;
mod untouched;

use descriptor::{cannot_open, claim, lock, locked, watched};
use file::open_file;
pub(crate) use image::{Image, open_image};
use opened::describe;
pub use opened::{Identity, Kind, Opened};

/// Opens `path` for what `intent` allows; begins a new file if there is none.
///
/// # Errors
///
/// All errors have an id with an entry in [`EXPLANATIONS`](crate::safety::EXPLANATIONS). After any
/// of them, an existing target is as it was (a file that a killed run left half made may be gone),
/// and no new one is there.
pub fn open(path: &Path, intent: &Intent) -> Result<Opened> {
    let node = match Node::find(path) {
        Ok(node) => node,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return create::begin(path, intent);
        }
        Err(error) => return Err(cannot_open(path, error)),
    };
    match node.kind {
        NodeKind::File(_) if is_held_by_another_run(node.id) => Err(locked(path)),
        NodeKind::File(size) if create::is_half_made(&node, size, intent) => {
            if !intent.only_shown {
                create::remove_half_made(&node).map_err(|e| cannot_open(path, e))?;
            }
            create::begin(path, intent)
        }
        NodeKind::File(size) => open_file(path, &node, size, intent),
        NodeKind::Block(number) => open_device(path, &node, number, intent),
        NodeKind::Directory | NodeKind::Other => {
            let message = format!("{} is neither a file nor a block device", path.display());
            let hint = "name a file or a block device, e.g. ./scratch.img or /dev/nvme0n1 (not \
                        /dev/nvme0)";
            Err(Error::environment("not-a-target", message, hint))
        }
    }
}

fn open_device(path: &Path, node: &Node, number: DeviceNumber, intent: &Intent) -> Result<Opened> {
    if !intent.writes {
        let file = node.open(OFlags::RDONLY | OFlags::DIRECT).map_err(|e| cannot_open(path, e))?;
        lock(path, &file)?;
        let opened = describe(path, node, file)?;
        return Ok(Opened { watch: watch_for_other_bytes(path, number)?, ..opened });
    }
    let device = Device::find(number).ok_or_else(|| unknown_device(path))?;
    check_answers(BEFORE_WRITES)?;
    let fatal = refusal(&device);
    check_write(path, node, intent, fatal.as_ref().map(|e| e.message.as_str()))?;
    if let Some(error) = fatal {
        return Err(error);
    }
    // Without O_CREAT, O_EXCL on a block device is a claim: EBUSY if anyone else has one.
    let file = claim(node).map_err(|e| cannot_open(path, e))?;
    lock(path, &file)?;
    let claims = claim_beside(&device)?;
    let opened = describe(path, node, file)?;
    // The second check sees users who came between the first one and the claim.
    if let Some(error) = refusal(&device) {
        return Err(error);
    }
    let opened = Opened { _claims: claims, ..opened }.with_writes_counted(&device)?;
    // What is examined from here on is what will be written.
    let claimed = AsOpened::of(device);
    check_contents(&claimed.device, &opened.file, intent)?;
    let watch = watched(path, &opened.below(), move || claimed.refusal())?;
    let opened = Opened { watch, ..opened };
    opened.check_untouched()?;
    Ok(opened)
}

/// Watches a device that is only read: somebody may put other bytes behind a loop device.
fn watch_for_other_bytes(path: &Path, number: DeviceNumber) -> Result<Option<Watch>> {
    let Some(device) = Device::find(number) else { return Ok(None) };
    let read = AsOpened::of(device);
    if !read.is_on_loop() {
        return Ok(None);
    }
    watched(path, &[], move || read.other_bytes(&Machine::devices_alone()))
}

/// Returns the error for a device that is missing in `/sys`, where a mount may cover it.
fn unknown_device(path: &Path) -> Error {
    unknown_users(&Machine::read(), &path.display().to_string()).unwrap_or_else(|| {
        let message = format!("the kernel has no device behind {}", path.display());
        Error::environment("no-such-device", message, "`assay devices` lists the devices")
    })
}

/// Claims the devices that share the bytes of `device` and that the kernel does not claim with it:
/// those behind loop devices, and other paths to its disk. Such a claim fails if a device is
/// mounted, even where no table lists that (an external journal, a namespace without processes).
fn claim_beside(device: &Device) -> Result<Vec<File>> {
    let beside = Machine::devices_alone().unclaimed_with(device.number);
    let claim = |number| {
        let Some(other) = Device::find(number) else { return Ok(None) };
        let file = device_node::open(&other, OFlags::RDONLY | OFlags::EXCL);
        file.map(Some).map_err(|e| cannot_open(&other.node(), e))
    };
    beside.into_iter().filter_map(|number| claim(number).transpose()).collect()
}
