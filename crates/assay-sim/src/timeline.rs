//! A timeline of a drive: what each of its resources does when, as bars recorded from the model.
//!
//! A [`Recorder`] is an observer: the drive reports every step to it, and it computes no times. It
//! finds the request that a step is done for: the flash knows only pages, but each flash command
//! follows from what the controller or the link did right before.
//!
//! *Invariants.* Bars of one resource do not overlap (`tests` checks that for every kind of drive),
//! and their lengths add up to the drive's own counters of busy time.

mod owner;
pub mod parts;

use crate::lpn::Lpn;
use crate::nand::{Cause, FlashCommand, Observed, Observer, Operation, Step};
use crate::work::{Activity, Work};
use assay_spec::Nanos;
use assay_spec::device::{DeviceKind, DeviceSpec, NandSpec, PlaneMode};
use owner::{Owner, Owners};
use std::sync::{Arc, Mutex, PoisonError};

/// A part of a drive that does one thing at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// The link between host and drive.
    Link,
    /// The firmware of an SSD, which processes commands.
    Firmware,
    /// A bus that several dies share.
    Channel(u32),
    /// The cells of a die, or of a plane if each plane works on its own.
    Array(u32),
    /// A disk's arm and its heads.
    Arm,
    /// A disk's controller at work on one command. No other command waits for it.
    Own,
}

/// What a resource did during a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The controller processes a command.
    Command,
    /// Data moves into the drive or the flash.
    In,
    /// Data moves out of the flash or the drive.
    Out,
    /// Data moves to the host out of a disk's cache.
    CacheHit,
    /// The arm moves.
    Seek,
    /// The head waits for the platter to turn.
    Turn,
    /// Cells or sectors are read.
    Read,
    /// Cells or sectors are read before they are requested.
    ReadAhead,
    /// Cells or sectors are written.
    Write,
    /// Pages move within the flash: a merge, a collection, wear levelling.
    Copy,
    /// A block is erased.
    Erase,
}

impl Kind {
    /// Returns the name for tables.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Command => "command",
            Kind::In => "transfer in",
            Kind::Out => "transfer out",
            Kind::CacheHit => "cache hit",
            Kind::Seek => "seek",
            Kind::Turn => "rotation",
            Kind::Read => "read",
            Kind::ReadAhead => "read ahead",
            Kind::Write => "write",
            Kind::Copy => "copy",
            Kind::Erase => "erase",
        }
    }
}

/// A stretch of time in which a resource did one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bar {
    /// The resource.
    pub resource: Resource,
    /// For a transfer on a bus, its array; for a step of an array, its bus. It may wait for either.
    pub beside: Option<Resource>,
    /// What the resource did.
    pub kind: Kind,
    /// The cause, for steps of the flash and its buses.
    pub cause: Option<Cause>,
    /// The request it was done for, or whose arrival made it necessary.
    pub request: Option<u32>,
    /// The logical page or the sector, if it is known.
    pub page: Option<u64>,
    /// The physical page, for steps of the flash and its buses.
    pub physical: Option<u32>,
    /// The number of operations that the bar stands for.
    pub count: u32,
    /// When it began.
    pub start: Nanos,
    /// When it ended.
    pub end: Nanos,
}

impl Bar {
    /// Returns the time it took.
    pub fn length(&self) -> Nanos {
        self.end - self.start
    }

    /// Returns `true` if `next` directly continues this bar, so that one bar can stand for both.
    fn goes_on(&self, next: &Bar) -> bool {
        let same = |bar: &Bar| (bar.resource, bar.kind, bar.cause, bar.request);
        self.kind == Kind::Copy && same(self) == same(next) && self.end == next.start
    }
}

/// Returns the resources of a drive in the order in which they are shown, each with its name and
/// the number of its group. Group 0 is before the flash; each channel is a group with its dies.
pub fn resources(spec: &DeviceSpec) -> Vec<(Resource, String, u32)> {
    let mut all = vec![(Resource::Link, "link".to_owned(), 0)];
    match &spec.kind {
        DeviceKind::Hdd(_) => all.push((Resource::Arm, "arm, head".to_owned(), 1)),
        DeviceKind::Ssd(ssd) => {
            all.push((Resource::Firmware, "firmware".to_owned(), 0));
            for channel in 0..ssd.nand.channels {
                all.push((Resource::Channel(channel), format!("bus {channel}"), channel + 1));
                let of_channel = |a: &u32| a % ssd.nand.channels == channel;
                let mut arrays: Vec<u32> = (0..arrays(&ssd.nand)).filter(of_channel).collect();
                // Planes of a die are shown together, though their numbers are not consecutive.
                let dies = ssd.nand.channels * ssd.nand.dies_per_channel;
                arrays.sort_by_key(|array| (array % dies, *array));
                all.extend(arrays.into_iter().map(|array| {
                    (Resource::Array(array), array_name(&ssd.nand, array), channel + 1)
                }));
            }
        }
        DeviceKind::Volume(_) => {}
    }
    all
}

/// Returns the number of arrays.
fn arrays(nand: &NandSpec) -> u32 {
    match nand.plane_mode {
        PlaneMode::Independent => nand.planes(),
        _ => nand.channels * nand.dies_per_channel,
    }
}

/// Returns the name of an array: its channel and die and, if planes work independently, its plane.
/// Numbers of arrays run over the channels first, then the dies, then the planes of a die.
fn array_name(nand: &NandSpec, array: u32) -> String {
    let dies = nand.channels * nand.dies_per_channel;
    let (channel, die, plane) = (array % nand.channels, array % dies / nand.channels, array / dies);
    match nand.plane_mode {
        PlaneMode::Independent if nand.planes_per_die > 1 => {
            format!("die {channel}.{die} plane {plane}")
        }
        _ => format!("die {channel}.{die}"),
    }
}

/// A recorder of bars, which records from [`Recorder::begin`] on. Clones share one recording: the
/// drive gets one of them as its observer.
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<Mutex<Tape>>,
}

/// The recording that the clones of a [`Recorder`] share.
struct Tape {
    is_running: bool,
    channels: u32,
    arrays: u32,
    is_disk: bool,
    owners: Owners,
    bars: Vec<Bar>,
    /// By channel, then by array: the index of its last bar.
    last: Vec<Option<usize>>,
    /// By array: the bar of its suspended operation, to continue when that is resumed.
    left: Vec<Option<Bar>>,
}

impl Recorder {
    /// Creates a recorder for a drive of `spec`. All its requests must have different tags.
    pub fn new(spec: &DeviceSpec) -> Recorder {
        let (channels, arrays, is_disk) = match &spec.kind {
            DeviceKind::Ssd(ssd) => (ssd.nand.channels, arrays(&ssd.nand), false),
            DeviceKind::Hdd(_) => (0, 0, true),
            DeviceKind::Volume(_) => (0, 0, false),
        };
        let tape = Tape {
            is_running: false,
            channels,
            arrays,
            is_disk,
            owners: Owners::default(),
            bars: Vec::new(),
            last: vec![None; (channels + arrays) as usize],
            left: vec![None; arrays as usize],
        };
        Recorder { shared: Arc::new(Mutex::new(tape)) }
    }

    /// Begins to record.
    pub fn begin(&self) {
        self.tape(|tape| tape.is_running = true);
    }

    /// Takes the bars recorded so far, in the order of their starts.
    pub fn bars(&self) -> Vec<Bar> {
        let mut bars = self.tape(|tape| std::mem::take(&mut tape.bars));
        self.tape(|tape| tape.last.fill(None));
        bars.sort_by_key(|bar| (bar.start, bar.resource, bar.end));
        bars
    }

    /// Calls `f` with the recording, locked.
    fn tape<T>(&self, f: impl FnOnce(&mut Tape) -> T) -> T {
        f(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Calls `f` with the recording if [`Recorder::begin`] has been called.
    fn record(&self, f: impl FnOnce(&mut Tape)) {
        self.tape(|tape| {
            if tape.is_running {
                f(tape);
            }
        });
    }
}

impl Tape {
    /// Adds a step of channel or array number `index` of `last`. Merges it with the last bar there
    /// if it continues a copy, or if planes of a die do the same at the same time.
    fn put(&mut self, index: usize, bar: Bar) {
        let last = self.last[index].map(|i| &mut self.bars[i]);
        match last {
            Some(last) if last.goes_on(&bar) => {
                last.end = bar.end;
                last.count += bar.count;
            }
            // Planes of one die that program together are one program of the die.
            Some(last) if (last.start, last.end, last.kind) == (bar.start, bar.end, bar.kind) => {
                last.count += 1;
            }
            _ => {
                self.last[index] = Some(self.bars.len());
                self.bars.push(bar);
            }
        }
    }
}

/// Returns the kind of bar for a step with this cause.
fn kind(step: Step, cause: Cause) -> Kind {
    let moves = matches!(cause, Cause::Collect | Cause::Wear | Cause::Map | Cause::Fold);
    match step {
        Step::TransferIn => Kind::In,
        Step::TransferOut => Kind::Out,
        Step::Erase => Kind::Erase,
        Step::Sense | Step::Program if moves => Kind::Copy,
        Step::Sense if cause == Cause::Ahead => Kind::ReadAhead,
        Step::Sense => Kind::Read,
        Step::Program => Kind::Write,
    }
}

impl Observer for Recorder {
    fn observe(&mut self, observed: Observed) {
        match observed {
            Observed::Command(cause, command) => self.command(cause, &command),
            Observed::Operation(operation) => self.operation(&operation),
            Observed::Suspended(operation) => self.suspended(&operation),
            Observed::Resumed(operation) => self.resumed(&operation),
            Observed::Work(work) => self.work(&work),
            Observed::Resumes(page) => self.resumes(page.map(Lpn)),
            Observed::UsedAs { .. } | Observed::Trimmed(_) | Observed::Records(_) => {}
        }
    }
}

impl Recorder {
    fn command(&mut self, cause: Cause, command: &FlashCommand) {
        self.record(|tape| tape.owners.command(cause, command));
    }

    fn operation(&mut self, operation: &Operation) {
        let Operation { step, cause, plane, page, start, end } = *operation;
        self.record(|tape| {
            let Owner { request, page: logical } = tape.owners.of(step, cause, page);
            let on_bus = matches!(step, Step::TransferIn | Step::TransferOut);
            let (channel, array) = (plane % tape.channels, plane % tape.arrays);
            let (bus, cells) = (Resource::Channel(channel), Resource::Array(array));
            let (resource, beside, index) = match on_bus {
                true => (bus, Some(cells), channel),
                false => (cells, Some(bus), tape.channels + array),
            };
            // The two steps of a copy are one page, and count as one.
            let is_half = kind(step, cause) == Kind::Copy && step == Step::Sense;
            let bar = Bar {
                resource,
                beside,
                kind: kind(step, cause),
                cause: Some(cause),
                request,
                page: logical.map(u64::from),
                physical: Some(page),
                count: u32::from(!is_half),
                start,
                end,
            };
            tape.put(index as usize, bar);
        });
    }

    fn suspended(&mut self, operation: &Operation) {
        self.record(|tape| {
            let array = operation.plane % tape.arrays;
            let Some(bar) = tape.last[(tape.channels + array) as usize] else { return };
            let bar = &mut tape.bars[bar];
            bar.end = operation.end;
            // The rest counts as no further operation.
            tape.left[array as usize] = Some(Bar { count: 0, ..*bar });
        });
    }

    fn resumed(&mut self, operation: &Operation) {
        self.record(|tape| {
            let array = operation.plane % tape.arrays;
            // Planes of one die are resumed together; the first of them has taken the bar.
            let Some(left) = tape.left[array as usize].take() else { return };
            let bar = Bar { start: operation.start, end: operation.end, ..left };
            tape.last[(tape.channels + array) as usize] = Some(tape.bars.len());
            tape.bars.push(bar);
        });
    }

    fn work(&mut self, work: &Work) {
        let Work { activity, tag, first, start, end } = *work;
        self.record(|tape| {
            tape.owners.works(activity, tag, first);
            let (resource, kind) = match activity {
                Activity::Command if tape.is_disk => (Resource::Own, Kind::Command),
                Activity::Command => (Resource::Firmware, Kind::Command),
                Activity::FromHost => (Resource::Link, Kind::In),
                Activity::ToHost => (Resource::Link, Kind::Out),
                Activity::CacheHit => (Resource::Link, Kind::CacheHit),
                Activity::Seek => (Resource::Arm, Kind::Seek),
                Activity::Turn => (Resource::Arm, Kind::Turn),
                Activity::Read => (Resource::Arm, Kind::Read),
                Activity::ReadAhead => (Resource::Arm, Kind::ReadAhead),
                Activity::Write => (Resource::Arm, Kind::Write),
            };
            let request = tag.or_else(|| tape.owners.writer(first));
            if end > start {
                tape.bars.push(Bar {
                    resource,
                    beside: None,
                    kind,
                    cause: None,
                    request,
                    page: first,
                    physical: None,
                    count: 1,
                    start,
                    end,
                });
            }
        });
    }

    fn resumes(&mut self, page: Option<Lpn>) {
        self.record(|tape| tape.owners.resumes(page));
    }
}

#[cfg(test)]
#[path = "timeline/tests.rs"]
mod tests;
