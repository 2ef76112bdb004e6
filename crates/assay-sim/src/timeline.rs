//! What each part of a drive does when: bars over time, recorded from the running model.
//!
//! A [`Recorder`] is an observer; attached, it is told every step that the event machine takes, and
//! it computes no time of its own. It works out for which request a step is done: the chips know
//! only pages, and what they are asked for follows from what the controller or the link did last.
//!
//! *Invariant.* Bars of one resource do not overlap (`tests` holds every drive to it), and their
//! lengths add up to the drive's own counters of busy time.

mod owner;
pub mod parts;

use crate::nand::{Cause, FlashCommand, Observer, Operation, Step};
use crate::work::{Activity, Work};
use assay_spec::Nanos;
use assay_spec::device::{DeviceKind, DeviceSpec, NandSpec, PlaneMode};
use owner::{Owner, Owners};
use std::sync::{Arc, Mutex, PoisonError};

/// Something that does one thing at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// Between host and drive.
    Link,
    /// What looks at the commands of an SSD.
    Firmware,
    /// A bus that dies share.
    Channel(u32),
    /// The cells of a die, or of a plane if each works on its own.
    Array(u32),
    /// A disk's arm and the head it carries.
    Arm,
    /// Nothing others could wait for: what a disk's controller spends on a command.
    Own,
}

/// What a bar stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The controller looks at a command.
    Command,
    /// Data on its way into the drive or the flash.
    In,
    /// Data on its way out.
    Out,
    /// Data out of a disk's cache.
    CacheHit,
    /// The arm moves.
    Seek,
    /// The head waits for the platter to turn.
    Turn,
    /// Cells or sectors are read.
    Read,
    /// The same, before somebody asks.
    ReadAhead,
    /// Cells or sectors are written.
    Write,
    /// Pages move within the flash: a merge, a collection, wear levelling.
    Copy,
    /// A block is erased.
    Erase,
}

impl Kind {
    /// A word for tables.
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

/// One thing a resource did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bar {
    /// What did it.
    pub resource: Resource,
    /// The array of a transfer on a bus, the bus of an array: a step may wait for either.
    pub beside: Option<Resource>,
    /// What was done.
    pub kind: Kind,
    /// Why, on the flash and its buses.
    pub cause: Option<Cause>,
    /// The request it was done for, or whose coming made it necessary.
    pub request: Option<u32>,
    /// The logical page or the sector, if it is known.
    pub page: Option<u64>,
    /// The physical page.
    pub physical: Option<u32>,
    /// How many operations in a row.
    pub count: u32,
    /// When it began.
    pub start: Nanos,
    /// When it ended.
    pub end: Nanos,
}

impl Bar {
    /// How long it took.
    pub fn length(&self) -> Nanos {
        self.end - self.start
    }

    /// Whether `next` only goes on with this.
    fn goes_on(&self, next: &Bar) -> bool {
        let same = |bar: &Bar| (bar.resource, bar.kind, bar.cause, bar.request);
        self.kind == Kind::Copy && same(self) == same(next) && self.end == next.start
    }
}

/// The resources of a drive in the order in which they are shown: what stands before the flash,
/// then each channel with its dies. The second is a name, the third says which belong together.
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
                // Planes of a die stand together, though they are numbered apart.
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

fn arrays(nand: &NandSpec) -> u32 {
    match nand.plane_mode {
        PlaneMode::Independent => nand.planes(),
        _ => nand.channels * nand.dies_per_channel,
    }
}

/// Planes are numbered over the channels first, then the dies, then the planes of a die.
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

/// Collects bars, from `begin` on. Clones are handles to one collection: one goes to the
/// drive as its observer.
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<Mutex<Tape>>,
}

/// The collection.
struct Tape {
    is_running: bool,
    channels: u32,
    arrays: u32,
    is_disk: bool,
    owners: Owners,
    bars: Vec<Bar>,
    /// Per channel and array, the index of its last bar.
    last: Vec<Option<usize>>,
    /// Per array, what it has left for reads.
    left: Vec<Option<Bar>>,
}

impl Recorder {
    /// For a drive of `spec`, whose requests have tags that differ.
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

    /// The picture begins: what is done from now on is recorded.
    pub fn begin(&self) {
        self.tape(|tape| tape.is_running = true);
    }

    /// What has been recorded, in the order of beginning.
    pub fn bars(&self) -> Vec<Bar> {
        let mut bars = self.tape(|tape| std::mem::take(&mut tape.bars));
        self.tape(|tape| tape.last.fill(None));
        bars.sort_by_key(|bar| (bar.start, bar.resource, bar.end));
        bars
    }

    fn tape<T>(&self, f: impl FnOnce(&mut Tape) -> T) -> T {
        f(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Something is done: if the picture has begun, `f` records it.
    fn record(&self, f: impl FnOnce(&mut Tape)) {
        self.tape(|tape| {
            if tape.is_running {
                f(tape);
            }
        });
    }
}

impl Tape {
    /// A step on a channel or an array.
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

/// What a step is called, by what it is for.
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
            // The rest of it is none of its own.
            tape.left[array as usize] = Some(Bar { count: 0, ..*bar });
        });
    }

    fn resumed(&mut self, operation: &Operation) {
        self.record(|tape| {
            let array = operation.plane % tape.arrays;
            // Others that are one with it come with it.
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

    fn resumes(&mut self, page: Option<u32>) {
        self.record(|tape| tape.owners.resumes(page));
    }
}

#[cfg(test)]
#[path = "timeline/tests.rs"]
mod tests;
