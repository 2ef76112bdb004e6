//! The drive as a state machine.
//!
//! *Contract.* `submit` takes a request or says the queue is full; `next_event` is the time of the
//! next thing that will happen; `advance(to, …)` lets everything up to and including `to` happen,
//! in order, and appends the completions. Time never runs back. What happens does not depend on how
//! often, or how far, a drive is advanced.

use crate::ftl::history::RandomWrites;
use crate::ftl::page::scaled_drive::Shape;
use crate::hdd::Hdd;
use crate::nand::{Flash, Observer};
use crate::ssd::{self, Snapshot};
use crate::volume::Volume;
use assay_spec::device::{DeviceKind, DeviceSpec, FtlSpec};
use assay_spec::seed::mix;
use assay_spec::{Bytes, Completion, Nanos, Request};

/// What a drive says to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accept {
    /// A completion will follow.
    Accepted,
    /// The queue is full.
    QueueFull,
}

/// A drive, or anything that behaves as one: arrays and elevators stack by the same interface.
pub trait Drive {
    /// Addressable size.
    fn capacity(&self) -> Bytes;
    /// Hands a request over at `now`.
    fn submit(&mut self, now: Nanos, request: Request) -> Accept;
    /// Time of the next thing that happens, if any; it need not be a completion.
    fn next_event(&self) -> Option<Nanos>;
    /// Everything up to `to` happens; completions are appended in order of time.
    fn advance(&mut self, to: Nanos, completions: &mut Vec<Completion>);
    /// Numbers the drive tells of itself since the last call of `mark`; (name, value).
    fn counters(&self) -> Vec<(String, f64)>;
    /// From now on flash drives time what requests wait for, and tell it.
    fn time_waits(&mut self) {}
    /// What each flash drive in it tells of the time `now`, to which everything has happened; of
    /// one that has failed, nothing.
    fn snapshots(&self, _now: Nanos) -> Vec<Option<Snapshot>> {
        Vec::new()
    }
    /// Starts counting afresh, at the start of a measured phase.
    fn mark(&mut self);

    /// Lets events happen until a request has ended, or up to `until`; returns the time reached.
    /// With nothing to happen and no end to wait for, time stands still.
    fn run(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        let before = completions.len();
        let mut now = Nanos::ZERO;
        while completions.len() == before {
            let next = self.next_event().filter(|at| *at <= until);
            if next.is_none() && until == Nanos::NEVER {
                break;
            }
            now = next.unwrap_or(until);
            self.advance(now, completions);
            if next.is_none() {
                break;
            }
        }
        now
    }

    /// What begins at `offset` will be asked for soon: the drive may fetch its tables into the
    /// processor's cache. Changes no result.
    fn prefetch_hint(&mut self, _offset: Bytes) {}

    /// Tells every flash operation to `observer`, if there is flash.
    ///
    /// # Panics
    ///
    /// A flash drive does if it has been asked for anything before.
    fn observe(&mut self, _observer: Box<dyn Observer>) {}

    /// The power of a flash drive fails, and what has been advanced to has happened. Returns when
    /// it is dark: now, or when a buffer that survives power cuts is in the cells. Nothing that has
    /// not come over the link yet is let in. Of arrays and disks nothing is known.
    fn lose_power(&mut self, now: Nanos) -> Nanos {
        now
    }

    /// A flash drive that is built unfilled and has done nothing takes over what another has left
    /// on its flash; false if its kind cannot. It takes no time before what it asks the flash for.
    fn recover(&mut self, _flash: &Flash) -> bool {
        false
    }

    /// Panics unless every invariant of the drive holds. May walk everything.
    fn check(&self) {}
}

impl<D: Drive + ?Sized> Drive for Box<D> {
    fn capacity(&self) -> Bytes {
        (**self).capacity()
    }
    fn submit(&mut self, now: Nanos, request: Request) -> Accept {
        (**self).submit(now, request)
    }
    fn next_event(&self) -> Option<Nanos> {
        (**self).next_event()
    }
    fn advance(&mut self, to: Nanos, completions: &mut Vec<Completion>) {
        (**self).advance(to, completions);
    }
    fn counters(&self) -> Vec<(String, f64)> {
        (**self).counters()
    }
    fn time_waits(&mut self) {
        (**self).time_waits();
    }
    fn snapshots(&self, now: Nanos) -> Vec<Option<Snapshot>> {
        (**self).snapshots(now)
    }
    fn mark(&mut self) {
        (**self).mark();
    }
    fn run(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        (**self).run(until, completions)
    }
    fn prefetch_hint(&mut self, offset: Bytes) {
        (**self).prefetch_hint(offset);
    }
    fn observe(&mut self, observer: Box<dyn Observer>) {
        (**self).observe(observer);
    }
    fn lose_power(&mut self, now: Nanos) -> Nanos {
        (**self).lose_power(now)
    }
    fn recover(&mut self, flash: &Flash) -> bool {
        (**self).recover(flash)
    }
    fn check(&self) {
        (**self).check();
    }
}

/// What a drive of flash has been through when it is built; to others it makes no difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Past {
    /// Nothing.
    New,
    /// It was written from start to end, again and again.
    Filled,
    /// It was written at random until that changed nothing any more. Only drives for which
    /// `can_be_steady` can be built like that.
    Steady(RandomWrites),
}

impl Past {
    /// What member `index` of an array has been through that has been through this.
    pub fn of_member(self, index: usize) -> Past {
        match self {
            Past::Steady(writes) => Past::Steady(writes.seeded(mix(writes.seed ^ !(index as u64)))),
            past => past,
        }
    }
}

/// Whether the state that random writes lead to can be built; why not, if so.
///
/// # Errors
/// In words: pages are mapped each on its own, and there are too few blocks, or spare pages, for
/// the drive to be like a smaller one.
pub fn can_be_steady(spec: &DeviceSpec) -> Result<(), &'static str> {
    let DeviceKind::Ssd(ssd) = &spec.kind else { return Ok(()) };
    let map = match &ssd.ftl {
        FtlSpec::Page(map) => map,
        // The last of what was written is enough, or it leaves nothing.
        FtlSpec::Hybrid(_) | FtlSpec::InPlace => return Ok(()),
    };
    let logical = (spec.capacity.0 / ssd.nand.page.0) as u32;
    Shape::of(&ssd.nand, map, logical).map(|_| ())
}

/// Builds the drive of `spec`.
///
/// # Panics
/// If it is to be steady and cannot be built so: `can_be_steady`.
pub fn build(spec: &DeviceSpec, past: Past) -> Box<dyn Drive + Send> {
    if let (Past::Steady(_), Err(why)) = (past, can_be_steady(spec)) {
        panic!("{} cannot be built steady: {why}", spec.name);
    }
    match &spec.kind {
        DeviceKind::Ssd(ssd) => ssd::build(ssd, spec.link, spec.capacity, past),
        DeviceKind::Hdd(hdd) => Box::new(Hdd::new(hdd, spec.link, spec.capacity)),
        DeviceKind::Volume(volume) => Box::new(Volume::new(volume, spec.link, spec.capacity)),
    }
}
