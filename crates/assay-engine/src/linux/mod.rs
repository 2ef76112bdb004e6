//! Runs guests: Linux in virtual time on modelled drives.
//!
//! The host builds the models, boots the kernel, and counts the requests to the drives. What runs
//! in the guest is in [`crate::guest`]. Its result comes back as text; log and series lie in the
//! directory that it shares with the host.

mod drives;
pub(crate) mod image;
pub(crate) mod setup;
pub(crate) mod task;
mod traffic;

pub use setup::{LinuxSetup, rotational};

use crate::error::Result;
use crate::measure::log::LogWriter;
use crate::stop::is_interrupted;
use crate::target::block::{Image, open_image};
use assay_linux::boot::{Boot, Outcome, Programs, boot};
use assay_linux::clock::Schedule;
use assay_linux::console::Console;
use assay_linux::disks::Traced;
use assay_linux::guest::Job;
use assay_linux::limits::Limits;
use assay_sim::InitialState;
use assay_spec::device::ProcessorSpec;
use assay_spec::{Bytes, Nanos};
use drives::drives;
use setup::depth;
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;
use traffic::DriveTraffic;

/// The initial state of a guest's drives, and the limits of the guest.
pub struct Start {
    /// The state in which its flash drives begin.
    pub past: InitialState,
    /// Whether the write caches of its drives are on.
    pub cached: bool,
    /// What concerns programs of the user's in a cell; `None` if there are none.
    pub programs: Option<Programs>,
    /// Whether requests to the drives are counted only from the guest's signal on; otherwise they
    /// are counted from the start.
    pub watches_itself: bool,
    /// The limits of its time.
    pub limits: Limits,
    /// The way in which host and guest exchange times.
    pub schedule: Schedule,
    /// Files with the contents of the first drives; the others begin with zeros.
    pub images: Vec<PathBuf>,
    /// An existing image that assay did not make as one but may change.
    pub write: Option<PathBuf>,
    /// The terminal of the guest, if it has one.
    pub console: Option<Console>,
}

impl Start {
    /// Returns the start of a guest of a run, which has no terminal and keeps no images.
    pub(crate) fn in_run(past: InitialState, cached: bool, programs: Option<Programs>) -> Start {
        Start {
            past,
            cached,
            programs,
            watches_itself: true,
            limits: RUN_LIMITS,
            schedule: Schedule::Shared,
            images: Vec::new(),
            write: None,
            console: None,
        }
    }
}

/// The limits of a guest of a run. On its own clock it may take a month. It may compute for half an
/// hour without its clock moving: `git` packs a history of some gigabytes in minutes, and asks for
/// neither the time nor a drive meanwhile.
const RUN_LIMITS: Limits = Limits {
    time: Nanos::from_secs(31 * 24 * 3600),
    silence: Duration::from_secs(30 * 60),
    stop: is_interrupted,
};

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
        work: setup.processor.as_ref().map(ProcessorSpec::costs),
        programs: start.programs,
        queue_depth: match settings.historical() {
            // Twice the old kernels' `nr_requests` of 128, which limited each direction, so that
            // the elevator has as many requests to choose from.
            Some(_) => 256,
            None => settings.queue_depth.unwrap_or_else(|| depth(&setup.drives)).max(least),
        },
        sector: Bytes(512),
        schedule: start.schedule,
        date: settings.date,
        limits: start.limits,
        watches_itself: start.watches_itself,
    };
    let traffic = Rc::new(RefCell::new(DriveTraffic::new(log)));
    let watch = Rc::clone(&traffic);
    let opened = start.images.iter().map(|path| open_image(path, start.write.as_deref()));
    let mut images = opened.collect::<Result<Vec<Image>>>()?;
    let watch = Box::new(move |traced: &Traced| watch.borrow_mut().take(traced));
    let disks = drives(setup, start.past, start.cached, &start.images, &images, watch)?;
    let (outcome, mut machine) = boot(&guest, disks, start.console)?;
    images.iter_mut().for_each(Image::keep);
    let counters = machine.disks().counters();
    let several = counters.len() > 1;
    let mut drives = Vec::new();
    for (index, counters) in counters.into_iter().enumerate() {
        let prefix = if several { format!("member_{}_", index + 1) } else { String::new() };
        drives.extend(counters.into_iter().map(|(name, value)| (prefix.clone() + &name, value)));
    }
    let models = machine.disks().models();
    let capacities: Vec<Bytes> = models.iter().map(|model| model.capacity()).collect();
    drop(machine);
    for ((image, path), capacity) in images.iter().zip(&start.images).zip(capacities) {
        image.save(path, capacity)?;
    }
    let traffic = Rc::into_inner(traffic).expect("the machine is gone").into_inner();
    drives.extend(traffic.finish()?);
    Ok(Guest { outcome, drives })
}
