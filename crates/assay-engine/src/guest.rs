//! Runs guests, Linux in virtual time on modelled drives, and does assay's work inside them.
//!
//! The host builds the models, boots the kernel, and counts the requests to the drives. The guest
//! runs the same code as on any real target, by its own clock. Its result goes back to the host as
//! text; log and series lie in the directory that it shares with the host.

pub(crate) mod memory;

use crate::cell::in_guest;
use crate::error::{Error, Result};
use crate::measure::Sample;
use crate::measure::log::LogWriter;
use crate::plan::{LinuxSetup, switch_caches_off};
use crate::target::block::{Image, open_image};
use assay_linux::boot::{Boot, Outcome, boot};
use assay_linux::clock::Schedule;
use assay_linux::console::Console;
use assay_linux::disks::{DiskSetup, Disks, TAGS_PER_PROCESS, Traced, Watch};
use assay_linux::guest::{Job, Place};
use assay_linux::limits::Limits;
use assay_linux::store::Store;
use assay_sim::{Array, ArraySetup, Drive, Host, MemberDrive, MemberSetup, Past};
use assay_spec::device::DeviceKind;
use assay_spec::experiment::HostSpec;
use assay_spec::linux::Settings;
use assay_spec::{Bytes, Op};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

/// A repeat of a cell, as the host describes it to a guest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The text of the experiment.
    pub experiment: String,
    /// The name of the workload.
    pub workload: String,
    /// The seed of the repeat.
    pub seed: u64,
    /// Whether the guest writes a log.
    pub log: bool,
    /// The name of its files without the ending.
    pub stem: String,
}

/// Runs assay as the program of a guest.
pub fn main() {
    assay_linux::guest::main(memory::move_heap, work);
}

/// Runs `task` inside a guest; returns the record of the repeat as JSON.
///
/// # Errors
/// If the repeat fails.
fn work(task: &str, place: &Place) -> assay_linux::Result<String> {
    let failed = |e: Error| {
        let message = e.to_string();
        assay_linux::Error { id: e.id, message, hint: e.hint, source: None }
    };
    let task: Task = serde_json::from_str(task).expect("the host writes what the guest reads");
    let record = in_guest(&task, place).map_err(failed)?;
    Ok(serde_json::to_string(&record).expect("records are plain data"))
}

/// The initial state of a guest's drives, and the limits of the guest.
pub struct Start {
    /// The state in which its flash drives begin.
    pub past: Past,
    /// Whether the write caches of its drives are on.
    pub cached: bool,
    /// Whether requests to the drives are counted only from the guest's signal on; otherwise they
    /// are counted from the start.
    pub watches_itself: bool,
    /// The limits of its time.
    pub limits: Limits,
    /// The way in which host and guest exchange times.
    pub schedule: Schedule,
    /// Files with the contents of the first drives; the others begin with zeros.
    pub images: Vec<PathBuf>,
    /// An image that assay did not make but may change.
    pub write: Option<PathBuf>,
    /// The terminal of the guest, if it has one.
    pub console: Option<Console>,
}

/// The results of a guest that has ended.
pub struct Guest {
    /// The results that it left.
    pub outcome: Outcome,
    /// The counts of requests to its drives, and the drives' own counters: (name, value).
    pub drives: Vec<(String, f64)>,
}

/// Boots Linux on the drives of `setup`, runs `job`, and logs the requests to the drives.
///
/// # Errors
/// If the guest cannot be booted or breaks off.
pub fn run_guest(
    setup: &LinuxSetup,
    job: &Job,
    start: Start,
    log: Option<LogWriter>,
) -> Result<Guest> {
    let settings = &setup.spec.settings;
    // The kernel has one queue depth for all its drives, and a terminal always has a read in
    // flight.
    let least = if start.console.is_some() { 2 } else { 1 };
    let guest = Boot {
        kernel: setup.kernel.as_ref().expect("what has no kernel is skipped"),
        job: job.text(),
        memory: settings.memory,
        queue_depth: match settings.historical() {
            // Twice the old kernels' `nr_requests` of 128, which limited each direction, so that
            // the elevator has as many requests to choose from.
            Some(_) => 256,
            None => settings.queue_depth.unwrap_or_else(|| depth(&setup.drives)).max(least),
        },
        sector: Bytes(512),
        schedule: start.schedule,
        limits: start.limits,
        watches_itself: start.watches_itself,
    };
    let seen = Rc::new(RefCell::new(Seen { count: [0; 4], bytes: [0; 4], time: [0; 4], log }));
    let watch = Rc::clone(&seen);
    let opened = start.images.iter().map(|path| open_image(path, start.write.as_deref()));
    let mut images = opened.collect::<Result<Vec<Image>>>()?;
    let watch = Box::new(move |traced: &Traced| watch.borrow_mut().take(traced));
    let disks = drives(setup, &start, &images, watch)?;
    let (outcome, mut machine) = boot(&guest, disks, start.console)?;
    images.iter_mut().for_each(Image::keep);
    let models = machine.disks().models();
    let several = models.len() > 1;
    let mut drives = Vec::new();
    for (index, model) in models.iter().enumerate() {
        let prefix = if several { format!("member_{}_", index + 1) } else { String::new() };
        let counters = model.counters().into_iter();
        drives.extend(counters.map(|(name, value)| (prefix.clone() + &name, value)));
    }
    drop(machine);
    for (image, path) in images.iter().zip(&start.images) {
        image.save(path)?;
    }
    let seen = Rc::into_inner(seen).expect("the machine is gone").into_inner();
    drives.extend(seen.finish()?);
    Ok(Guest { outcome, drives })
}

/// The requests that the drives got while they were watched, by kind; `time` is in ns.
struct Seen {
    count: [u64; Op::ALL.len()],
    bytes: [u64; Op::ALL.len()],
    time: [u64; Op::ALL.len()],
    log: Option<LogWriter>,
}

impl Seen {
    fn take(&mut self, traced: &Traced) {
        let op = traced.op as usize;
        self.count[op] += 1;
        self.bytes[op] += traced.length.0;
        self.time[op] += (traced.complete - traced.submit).0;
        if let Some(log) = &mut self.log {
            let Traced { disk, op, offset, length, submit, complete, error } = *traced;
            let job = disk as u32;
            log.push(Sample { submit, complete, offset, length, op, job, error });
        }
    }

    /// Ends the log; returns counts, bytes and mean times in ns: (name, value).
    fn finish(self) -> Result<Vec<(String, f64)>> {
        if let Some(log) = self.log {
            log.finish()?;
        }
        let mut told = Vec::new();
        let names = ["drive_reads", "drive_writes", "drive_trims", "drive_flushes"];
        for (op, name) in Op::ALL.into_iter().zip(names) {
            let count = self.count[op as usize];
            told.push((name.to_owned(), count as f64));
            if matches!(op, Op::Read | Op::Write) {
                let name = op.name();
                told.push((format!("drive_{name}_bytes"), self.bytes[op as usize] as f64));
                if count > 0 {
                    let mean = self.time[op as usize] as f64 / count as f64;
                    told.push((format!("drive_{name}_time"), mean));
                }
            }
        }
        let (reads, writes) = (Op::Read as usize, Op::Write as usize);
        let count = self.count[reads] + self.count[writes];
        if count > 0 {
            let time = self.time[reads] + self.time[writes];
            told.push(("drive_time".to_owned(), time as f64 / count as f64));
        }
        Ok(told)
    }
}

/// Returns, for each drive, `true` if it is a disk.
pub fn rotational(setup: &LinuxSetup) -> Vec<bool> {
    let turns = |m: &MemberSetup| match &m.drive {
        MemberDrive::Device(spec) => matches!(spec.kind, DeviceKind::Hdd(_)),
        MemberDrive::Array(array) => array.has_disk(),
    };
    setup.drives.members.iter().map(turns).collect()
}

/// Returns `true` if a drive in it has a model of flash wear.
fn wears_out(drive: &MemberDrive) -> bool {
    match drive {
        MemberDrive::Device(spec) => match &spec.kind {
            DeviceKind::Ssd(ssd) => ssd.endurance.is_some(),
            _ => false,
        },
        MemberDrive::Array(array) => array.members.iter().any(|m| wears_out(&m.drive)),
    }
}

/// Returns the number of requests that each drive takes at a time, at most 128.
fn depth(setup: &ArraySetup) -> u32 {
    let each = setup.members.iter().map(|m| match &m.drive {
        MemberDrive::Device(spec) => spec.link.queue_depth,
        MemberDrive::Array(array) => {
            array.front.map_or_else(|| depth(array), |card| array.controllers[card].queue_depth)
        }
    });
    each.min().unwrap_or(1).min(128)
}

/// Builds the models, and the drives that the guest sees on them.
fn drives<'w>(
    setup: &LinuxSetup,
    start: &Start,
    images: &[Image],
    watch: Watch<'w>,
) -> Result<Disks<'w>> {
    let mut all = setup.drives.clone();
    if !start.cached {
        switch_caches_off(&mut all);
    }
    let past = start.past;
    let sizes: Vec<Bytes> = all.members.iter().map(|m| m.drive.capacity()).collect();
    let is_flash: Vec<bool> = rotational(setup).into_iter().map(|turns| !turns).collect();
    let settings = &setup.spec.settings;
    let elevator = settings.historical();
    let hosted = |drive: Box<dyn Drive>| -> Box<dyn Drive> {
        if !settings.costs() && elevator.is_none() {
            return drive;
        }
        // An array accepts any number of requests, which then wait for its members. The host
        // limits them to what the members can work on, so that the elevator has a choice.
        let deepest = settings.queue_depth.unwrap_or_else(|| depth(&setup.drives));
        let queue_depth = elevator.is_some().then_some(deepest);
        let Settings { gap, copy, prepare, .. } = *settings;
        let spec = HostSpec { gap, copy, prepare, queue_depth, ..HostSpec::default() };
        let mut host = Host::new(drive, spec, elevator.unwrap_or_default());
        host.set_processes(TAGS_PER_PROCESS);
        Box::new(host)
    };
    // Drives that share a card or a host are one model; otherwise each drive is a model.
    let shared = !all.controllers.is_empty() || settings.costs();
    let least = sizes.iter().copied().min().unwrap_or(Bytes::ZERO);
    let models: Vec<Box<dyn Drive>> = match shared {
        true => vec![hosted(Box::new(Array::new(&all, past)))],
        false => {
            let build = |(i, m): (usize, &MemberSetup)| hosted(m.drive.build(past.of_member(i)));
            all.members.iter().enumerate().map(build).collect()
        }
    };
    let disk = |(index, size): (usize, &Bytes)| -> Result<DiskSetup> {
        let capacity = if shared { least } else { *size };
        let capacity = settings.partition.map_or(capacity, |part| part.min(capacity));
        let store = match images.get(index) {
            Some(image) => {
                let no_file = |e| {
                    let message = "an image cannot be opened twice";
                    Error::environment("linux-image", message, "close some files").caused_by(e)
                };
                let file = image.file.try_clone().map_err(no_file)?;
                Store::in_file(file, &start.images[index], capacity)?
            }
            None => Store::in_memory(capacity).map_err(|e| {
                let hint = "free some, or keep the contents in files: `--image`";
                Error::environment("linux-system", "no memory for a drive", hint).caused_by(e)
            })?,
        };
        Ok(DiskSetup {
            model: if shared { 0 } else { index },
            base: if shared { least * index as u64 } else { Bytes::ZERO },
            capacity,
            discards: settings.discard && is_flash[index],
            wears_out: wears_out(&all.members[index].drive),
            store,
        })
    };
    let disks = sizes.iter().enumerate().map(disk).collect::<Result<Vec<DiskSetup>>>()?;
    let disks = Disks::new(models, disks, watch);
    Ok(if elevator.is_some() { disks.by_process() } else { disks })
}
