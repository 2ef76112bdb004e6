//! The safety layer: decides which devices and files may be written to, and gives the reasons.
//!
//! Reading is the default and always allowed. Writing to a device needs `--write` with its path. A
//! device in use or under the running system is always refused; a device with contents is refused
//! unless `--destroy` names its serial number. An existing file is written only if assay made it
//! and it holds nothing else. `docs/safety.md` says what assay guarantees.
//!
//! *Invariants.* One and the same inode, held by a descriptor ([`Node`]), is checked, examined and
//! written; names are looked up once. Devices are compared by number and files by inode, never by
//! name. Nothing here writes to a target. After the checks, the exclusive open of a device or the
//! lease on a file keeps others away for the whole run.

use crate::error::{Error, Result};
use crate::load_loop;
use assay_linux::kernel::tool_path;
use assay_spec::{Bytes, seed};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) mod contents;
mod explain;
pub(crate) mod identity;
pub(crate) mod lease;
pub(crate) mod machine;
pub(crate) mod mark;
pub(crate) mod memory;
mod overlay;
mod paths;
mod signature;
pub(crate) mod stack;
mod survey;
pub(crate) mod sysfs;
mod tables;
mod view;
pub(crate) mod watch;
mod writers;
pub(crate) mod writes;

pub use explain::EXPLANATIONS;
pub use survey::{DeviceSurvey, May, survey};

use assay_fs::Node;
use contents::Contents;
use machine::Machine;
use sysfs::Device;

/// The user's options about writing to one target.
#[derive(Clone, Debug, Default)]
pub struct Intent {
    /// `--write PATH`, which must name the target again.
    pub write: Option<PathBuf>,
    /// `--destroy SERIAL`: the serial number of a device whose contents may be lost; for a device
    /// without one, its kernel name and a digest, e.g. `loop3-5f21ab90`.
    pub destroy: Option<String>,
    /// `--size`, for a file that does not exist.
    pub size: Option<Bytes>,
    /// Whether the plan contains writes (or trims).
    pub writes: bool,
    /// Whether the plan writes to the target if that is a file that assay makes.
    pub writes_if_new: bool,
    /// Whether the plan is only shown: no file is made.
    pub only_shown: bool,
}

/// The number of checks, and their interval, before a use by a program counts: tools such as
/// losetup and udev open a new device for a moment.
const LOOKS: u32 = 5;
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Calls `look` up to [`LOOKS`] times, as long as its flag says that a program causes the error,
/// because such a use may end in a moment. Returns the last error.
pub(crate) fn patiently(look: impl Fn() -> Option<(Error, bool)>) -> Option<Error> {
    let mut refused = look();
    for _ in 1..LOOKS {
        if !refused.as_ref().is_some_and(|(_, is_program)| *is_program) {
            break;
        }
        std::thread::sleep(LOOK_AGAIN);
        refused = look();
    }
    refused.map(|(error, _)| error)
}

/// Returns why `device` must not be written to, whatever the options are, or `None` if it may be.
pub(crate) fn refusal(device: &Device) -> Option<Error> {
    refusal_on(Machine::read, device)
}

/// Returns why `device`, which this run has opened exclusively, must not be written to any more.
pub(crate) fn new_refusal(device: &Device) -> Option<Error> {
    refusal_on(|| Machine::read().without_what_is_in_flight(), device)
}

fn refusal_on(read: impl Fn() -> Machine, device: &Device) -> Option<Error> {
    patiently(|| {
        let machine = read();
        let usage = machine.use_of_device(device.number);
        Some((refusal_now(&machine, device)?, usage.is_some_and(|usage| usage.is_program)))
    })
}

/// Returns why `device` must not be written to, by the tables in `machine`.
pub(crate) fn refusal_now(machine: &Machine, device: &Device) -> Option<Error> {
    let name = device.title();
    if machine.is_system(device) {
        let message = format!("{name} belongs to the disk that carries this system");
        let hint = "the system's own disk is never written to; reading it is allowed. \
                    To write on this disk's speed, use a new file: `./scratch.img --size 1GiB`";
        return Some(Error::environment("device-system", message, hint));
    }
    if let Some(usage) = machine.use_of_device(device.number) {
        let message = format!("{name} {}", usage.text);
        let hint = match usage.is_program {
            true => "end that program first, or choose another device",
            false => {
                "release it first (umount, swapoff, losetup -d, dmsetup remove, mdadm --stop), \
                 or choose another device"
            }
        };
        return Some(Error::environment("device-mounted", message, hint));
    }
    if let Some(error) = unknown_users(machine, &name) {
        return Some(error);
    }
    if device.is_read_only() || device.disk().is_read_only() {
        let message = format!("{name} is read-only");
        let hint = "check the write-protect switch, or `blockdev --setrw` if it was set by hand";
        return Some(Error::environment("device-readonly", message, hint));
    }
    None
}

/// Returns why it is unknown who else uses the device `name`, if it is.
pub(crate) fn unknown_users(machine: &Machine, name: &str) -> Option<Error> {
    let hint = "run assay outside of the container or namespace, with /proc and /sys as the kernel \
                shows them (`--pid=host --cap-add=SYS_PTRACE` of a container); or write to a new \
                file: `./scratch.img --size 1GiB`";
    let why = match (machine.obstacle(), machine.unknown_loop()) {
        (Some(obstacle), _) => obstacle.to_owned(),
        (None, Some(device)) => format!("nobody says what is behind {device}"),
        (None, None) => return None,
    };
    let message = format!("nobody can say who else uses {name}: {why}");
    Some(Error::environment("users-unknown", message, hint))
}

/// Checks that `--write` was given and names `path`.
///
/// `fatal` is the reason why the target would be refused even with `--write`, so that the hint must
/// not suggest it.
pub(crate) fn check_write(
    path: &Path,
    node: &Node,
    intent: &Intent,
    fatal: Option<&str>,
) -> Result<()> {
    let Some(write) = &intent.write else {
        let message = format!("the plan writes to {}, which exists", path.display());
        let hint = match fatal {
            Some(reason) => format!("choose another target: {reason}"),
            None => format!("what is there would be lost; allow it: --write {}", path.display()),
        };
        return Err(Error::environment("write-not-allowed", message, hint));
    };
    if write == path || Node::find(write).is_ok_and(|named| named.is_same(node)) {
        return Ok(());
    }
    let message = format!("--write names {}, the target is {}", write.display(), path.display());
    let hint = "repeat the path of the target after --write";
    Err(Error::environment("write-mismatch", message, hint))
}

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
    let hint = "assay writes to a device only if it can read all of it; check dmesg";
    Error::environment("device-unreadable", message, hint).caused_by(cause)
}

/// Refuses a device with contents that assay did not write, unless `--destroy` names it.
pub(crate) fn check_contents(device: &Device, file: &fs::File, intent: &Intent) -> Result<()> {
    let word = destroy_word(device, file).map_err(|cause| unreadable(device, cause))?;
    let named = intent.destroy.as_ref();
    if let Some(named) = named.filter(|named| **named != word) {
        let message = format!("--destroy names {named}, but {} is {word}", device.title());
        let hint = "check which device is meant: `assay devices` shows what to name";
        return Err(Error::environment("destroy-mismatch", message, hint));
    }
    let found = contents_of(device, file)?;
    if load_loop::is_interrupted() {
        return Err(load_loop::interrupted());
    }
    if named.is_some() || found.is_ours() {
        return Ok(());
    }
    let message = format!("{} holds {}", device.title(), found.words().join(", "));
    let hint = format!("if all of it may be lost: --destroy {word}");
    Err(Error::environment("device-signature", message, hint))
}
