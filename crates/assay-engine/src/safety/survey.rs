//! The block devices of this machine and the operations allowed on each, for `assay devices`.
//!
//! *Invariants.* No device is opened for writing or exclusively. The answer holds for this moment;
//! a run checks again. Partitions are not listed on their own.

use super::device_node;
use super::in_use::Machine;
use super::loops::{BEFORE_WRITES, check_answers};
use super::loss::{contents_of, destroy_word};
use super::refusal::refusal_now;
use super::sysfs::Device;
use crate::error::Error;
use assay_spec::Bytes;
use rustix::fs::OFlags;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// A block device of this machine.
#[derive(Clone, Debug)]
pub struct DeviceSurvey {
    /// The kernel's name, e.g. `nvme0n1`.
    pub name: String,
    /// The path of its node, e.g. `/dev/nvme0n1`.
    pub path: PathBuf,
    /// Its capacity.
    pub size: Bytes,
    /// The model name, where the driver tells it.
    pub model: Option<String>,
    /// The serial number, where the driver tells it.
    pub serial: Option<String>,
    /// Whether it is a rotating disk, where the kernel knows.
    pub rotational: Option<bool>,
    /// The operations allowed on it.
    pub may: May,
}

/// The operations allowed on a device. Reading is, except with `Nothing`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum May {
    /// None: this user may not even read it.
    Nothing {
        /// The system's error.
        reason: String,
    },
    /// Reading, and writing with `--write PATH`.
    Write {
        /// The path to repeat.
        path: PathBuf,
    },
    /// Reading; writing also needs `--destroy`, because the device holds something.
    Destroy {
        /// The path to repeat.
        path: PathBuf,
        /// The word for `--destroy`.
        word: String,
        /// Descriptions of the contents that would be lost.
        holds: Vec<String>,
    },
    /// Only reading: writing is refused whatever the options.
    Refused {
        /// The id of the error that writing would give, e.g. `device-mounted`.
        id: &'static str,
        /// The reason in words.
        reason: String,
    },
}

impl fmt::Display for May {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            May::Nothing { reason } => write!(f, "nothing: {reason}"),
            May::Write { path } => write!(f, "read; write with --write {}", path.display()),
            May::Destroy { path, word, holds } => {
                let (path, holds) = (path.display(), holds.join(", "));
                write!(f, "read; write with --write {path} --destroy {word}: holds {holds}")
            }
            May::Refused { reason, .. } => write!(f, "read; write refused: {reason}"),
        }
    }
}

/// Returns all block devices that have a capacity, sorted by name.
pub fn survey() -> Vec<DeviceSurvey> {
    let machine = check_answers(BEFORE_WRITES).map(|()| Machine::read());
    let devices = Device::all().into_iter().filter(|device| device.size() > Bytes::ZERO);
    devices.map(|device| describe(machine.as_ref(), &device)).collect()
}

/// Describes `device` by the tables in `machine`, or the error that prevented them.
fn describe(machine: Result<&Machine, &Error>, device: &Device) -> DeviceSurvey {
    DeviceSurvey {
        name: device.name.clone(),
        path: device.node(),
        size: device.size(),
        model: device.model(),
        serial: device.serial(),
        rotational: device.is_rotational(),
        may: permission(machine, device),
    }
}

fn permission(machine: Result<&Machine, &Error>, device: &Device) -> May {
    let path = device.node();
    let file = match device_node::open(device, OFlags::RDONLY) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return May::Nothing { reason: "no permission".to_owned() };
        }
        Err(error) => return May::Nothing { reason: error.to_string() },
    };
    let machine = match machine {
        Ok(machine) => machine,
        Err(error) => return May::Refused { id: error.id, reason: error.message.clone() },
    };
    if let Some(error) = refusal_now(machine, device) {
        return May::Refused { id: error.id, reason: error.message };
    }
    match contents_of(device, &file).map(|contents| contents.words()) {
        Ok(holds) if holds.is_empty() => May::Write { path },
        Ok(holds) => match destroy_word(device, &file) {
            Ok(word) => May::Destroy { path, word, holds },
            Err(error) => May::Nothing { reason: error.to_string() },
        },
        Err(error) => May::Refused { id: error.id, reason: error.to_string() },
    }
}
