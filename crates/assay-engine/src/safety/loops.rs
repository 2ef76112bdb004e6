//! Loop devices, and the files and devices behind them.
//!
//! The kernel asks the file system of the file behind a loop device, and a program or server that
//! serves it (FUSE, NFS) may not answer. So assay asks only about the devices that a decision
//! depends on, and Ctrl-C ends each question. Before assay writes to a target,
//! [`check_answers`] makes sure that there is an answer about each device.

use super::device_node;
use super::store::{Birth, Extent, Store};
use super::sysfs::Device;
use super::writers::found_at;
use crate::error::{Error, Result};
use crate::stop;
use assay_fs::DeviceNumber;
use rustix::fs::OFlags;
use std::cell::OnceCell;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The longest wait for the answers about all loop devices before assay writes, and after it has
/// written: then a measurement would be lost.
pub(crate) const BEFORE_WRITES: Duration = Duration::from_secs(5);
pub(crate) const AFTER_WRITES: Duration = Duration::from_secs(30);
/// The time between two looks for an interrupt.
const TICK: Duration = Duration::from_millis(50);

/// A loop device and the file or device behind it.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    pub(crate) device: Device,
    /// The name that the kernel shows for the file or device behind it.
    pub(crate) name: PathBuf,
    /// What is behind it, once that has been asked.
    found: OnceCell<Behind>,
}

/// What is behind a loop device.
#[derive(Clone, Debug, Default)]
struct Behind {
    /// The bytes; `None` if they are unknown, as for a file in another namespace.
    extent: Option<Extent>,
    /// The birth time of the file, if its name still leads to it.
    born: Option<Birth>,
    /// Whether the device was detached before the question.
    is_detached: bool,
}

impl Loop {
    /// Returns the bytes behind it; `None` if they are unknown, as for a file in another namespace,
    /// or if the user interrupted a question that had no answer.
    pub(crate) fn behind(&self) -> Option<&Extent> {
        self.found().extent.as_ref()
    }

    /// Returns the birth time of the file behind it, if its name still leads to it.
    pub(super) fn born(&self) -> Option<Birth> {
        self.found().born
    }

    /// Returns `true` if something is behind it, and nobody says what.
    pub(super) fn is_unknown(&self) -> bool {
        self.behind().is_none() && !self.found().is_detached
    }

    /// Returns the bytes behind it, if they are known without another question.
    pub(super) fn known(&self) -> Option<&Extent> {
        self.found.get()?.extent.as_ref()
    }

    fn found(&self) -> &Behind {
        let ask = || {
            let (device, name) = (self.device.clone(), self.name.clone());
            stop::unless_interrupted(move || Behind::find(&device, &name)).unwrap_or_default()
        };
        self.found.get_or_init(ask)
    }

    /// Returns `true` if a file of `size` bytes can be behind it. Without a size limit, the device
    /// reaches to the end of the file.
    pub(super) fn fits(&self, size: u64) -> bool {
        let number = |attribute| self.device.number_at(attribute).unwrap_or(0);
        let end = number("loop/offset").saturating_add(self.device.size().0);
        if number("loop/sizelimit") == 0 { end / 512 == size / 512 } else { end <= size }
    }
}

impl Behind {
    /// Finds what is behind `device`; `name` is what the kernel calls it.
    fn find(device: &Device, name: &Path) -> Behind {
        let extent = loop_status(device).or_else(|| loop_by_name(device, name));
        let store = extent.as_ref().map(|extent| extent.store);
        let named = found_at(name).filter(|(named, _)| Some(*named) == store);
        let is_detached = extent.is_none() && device.is_detached();
        Behind { extent, born: named.and_then(|(_, born)| born), is_detached }
    }
}

/// Returns all loop devices that are set up, without asking what is behind them.
pub(crate) fn loops() -> Vec<Loop> {
    let of = |device: Device| {
        let name = device.backing_file()?;
        Some(Loop { device, name, found: OnceCell::new() })
    };
    Device::all().into_iter().filter_map(of).collect()
}

/// Checks that the kernel can say what is behind each loop device, or that it is unknown, within
/// `patience`.
///
/// # Errors
/// If it does not say so in time, or the running phases are to end.
pub(crate) fn check_answers(patience: Duration) -> Result<()> {
    let all = loops();
    let (answer, answers) = mpsc::channel();
    let asked = all.clone();
    let ask = move || {
        for Loop { device, name, .. } in asked {
            let _ = Behind::find(&device, &name);
            if answer.send(()).is_err() {
                break;
            }
        }
    };
    // Without a thread, the questions that follow say who does not answer, or wait.
    let is_asked = std::thread::Builder::new().name("loops".into()).spawn(ask).is_ok();
    let begun = Instant::now();
    let mut answered = if is_asked { 0 } else { all.len() };
    while answered < all.len() && begun.elapsed() < patience && !stop::is_interrupted() {
        answered += usize::from(answers.recv_timeout(TICK).is_ok());
    }
    // After an interrupt, later questions would be given up.
    if stop::is_interrupted() {
        return Err(stop::interrupted());
    }
    let Some(Loop { device, name, .. }) = all.get(answered) else { return Ok(()) };
    let (device, name) = (&device.name, name.display());
    let message = format!("the file system of {name}, which is behind {device}, does not answer");
    let hint = "end the program or server of that file system, or wait until it answers: assay \
                must know what is behind each loop device before it writes";
    Err(Error::environment("users-unknown", message, hint))
}

/// Returns the names of all devices and partitions, and the attributes of attached loop devices.
/// They are cheap to read, and change with every attach, detach, change of a range, or partition.
pub(super) fn attached() -> Vec<[Vec<u8>; 4]> {
    let all = std::fs::read_dir("/sys/class/block").into_iter().flatten().flatten();
    let mut names: Vec<Vec<u8>> = all.map(|e| e.file_name().into_encoded_bytes()).collect();
    names.sort();
    let names = names.into_iter().map(|name| [name, Vec::new(), Vec::new(), Vec::new()]);
    let entries = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let of = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_encoded_bytes();
        let loops = entry.path().join("loop");
        let read = |attribute| std::fs::read(loops.join(attribute));
        let file = name.starts_with(b"loop").then(|| read("backing_file"))?.ok()?;
        Some([name, file, read("offset").ok()?, read("sizelimit").ok()?])
    };
    names.chain(entries.filter_map(of)).collect()
}

/// Asks the driver for the file or device behind a loop device. The answer is right even if the
/// file was renamed or removed. Needs permission to read the device.
fn loop_status(device: &Device) -> Option<Extent> {
    const LOOP_GET_STATUS64: libc::Ioctl = 0x4c05;
    let file = device_node::open(device, OFlags::RDONLY).ok()?;
    // `struct loop_info64`: device, inode, device behind, offset, limit, then names and numbers.
    let mut status = [0_u64; 32];
    // SAFETY: the descriptor is open, and the kernel writes 232 bytes to a buffer of 256.
    let got = unsafe { libc::ioctl(file.as_raw_fd(), LOOP_GET_STATUS64, status.as_mut_ptr()) };
    let [system, inode, behind, offset, limit, ..] = status;
    let store = match behind {
        0 => Store::File(DeviceNumber::from_kernel(system), inode),
        device => Store::Device(DeviceNumber::from_kernel(device)),
    };
    (got == 0).then(|| Extent { store, bytes: loop_range(offset, limit) })
}

/// Finds the file or device behind a loop device by the name in sysfs, for users who may not ask
/// the driver.
fn loop_by_name(device: &Device, name: &Path) -> Option<Extent> {
    let store = match DeviceNumber::of_node(name) {
        Some(number) => Store::Device(number),
        None => {
            let stat = std::fs::metadata(name).ok().filter(std::fs::Metadata::is_file)?;
            Store::File(DeviceNumber::from_raw(stat.dev()), stat.ino())
        }
    };
    let number = |attribute| device.number_at(attribute).unwrap_or(0);
    let range = loop_range(number("loop/offset"), number("loop/sizelimit"));
    Some(Extent { store, bytes: range })
}

/// Returns the range that a loop device covers: `limit` bytes from `offset` on, or all from there
/// if `limit` is 0.
fn loop_range(offset: u64, limit: u64) -> Range<u64> {
    let end = if limit == 0 { u64::MAX } else { offset.saturating_add(limit) };
    offset..end
}
