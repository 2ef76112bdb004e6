//! The arm over the turning platter: seeks, rotational latency, and sectors read or written.
//!
//! The platter turns for ever, from angle 0 at time 0. A move takes as long as the seek or the head
//! switch, whichever is longer, and before a write also the settle time; then the head waits until
//! the sector begins.
//!
//! *Invariant.* An access in pieces ends at the same nanosecond as in one.

use super::geometry::{DiskGeometry, SectorPlace};
use super::seek::SeekCurve;
use assay_spec::Nanos;
use assay_spec::device::HddSpec;

/// The arm, its position, and the geometry under it.
pub(crate) struct Arm {
    pub geometry: DiskGeometry,
    curve: SeekCurve,
    turn: u32,
    head_switch: u32,
    write_settle: u32,
    cylinder: u32,
    head: u32,
    /// When the last access ends.
    pub free: Nanos,
    /// The arm's work since the last report, if there is an observer.
    pub spans: Option<Vec<Span>>,
}

/// A stretch of time in which the arm did one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub part: ArmPart,
    pub start: Nanos,
    pub end: Nanos,
}

/// A part of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArmPart {
    Moving,
    Waiting,
    Passing,
}

/// A run of sectors to read or write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub first: u64,
    pub sectors: u64,
    pub write: bool,
    /// Whether sectors are taken in the order in which they pass under the head.
    pub on_arrival: bool,
    /// The earliest time at which the first sector is read or written.
    pub not_before: Nanos,
    /// The time that the link takes for a sector.
    pub per_sector: Nanos,
    /// When the link is free for this access.
    pub link: Nanos,
}

/// The times of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    /// When the head is over the first track.
    pub over: Nanos,
    /// When the first sector has been read or written.
    pub first: Nanos,
    /// When all sectors have been read or written.
    pub end: Nanos,
    /// When the head is past the last sector, where the next one begins.
    pub past: Nanos,
    /// When a link that moves the sectors in order has moved the last one.
    pub delivered: Nanos,
    /// The place of the next sector, if it directly follows on the track.
    pub next: Option<SectorPlace>,
}

/// The progress of a sequential read: all before sector `next` is read by time `at`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeadStream {
    pub next: u64,
    pub at: Nanos,
    /// The place of `next`, if it is known.
    pub place: Option<SectorPlace>,
}

impl Arm {
    pub(crate) fn new(spec: &HddSpec) -> Arm {
        let geometry = DiskGeometry::new(spec);
        let cylinders = geometry.cylinders();
        Arm {
            turn: geometry.turn(),
            geometry,
            curve: SeekCurve::new(&spec.seek, cylinders),
            head_switch: spec.head_switch.0 as u32,
            write_settle: spec.write_settle.0 as u32,
            cylinder: 0,
            head: 0,
            free: Nanos::ZERO,
            spans: None,
        }
    }

    #[inline]
    fn note(&mut self, part: ArmPart, start: Nanos, end: Nanos) {
        if let Some(spans) = self.spans.as_mut().filter(|_| end > start) {
            spans.push(Span { part, start, end });
        }
    }

    /// Returns the time of a move to the track of `place`, in nanoseconds.
    fn moving(&self, place: &SectorPlace, write: bool) -> u32 {
        let mut time = self.curve.time(self.cylinder.abs_diff(place.cylinder));
        if self.head != place.head {
            time = time.max(self.head_switch);
        }
        if write && time > 0 { time + self.write_settle } else { time }
    }

    /// Returns the angle of the platter under the heads, in nanoseconds of a revolution.
    pub(crate) fn phase(&self, at: Nanos) -> u32 {
        (at.0 % u64::from(self.turn)) as u32
    }

    /// Returns the time from angle `phase` to the next `angle`, in nanoseconds.
    fn wait(&self, phase: u32, angle: u32) -> u32 {
        if angle >= phase { angle - phase } else { angle + self.turn - phase }
    }

    /// Returns the nanoseconds until `place` begins to pass under its head, if the arm starts at
    /// angle `phase`, or `None` if it takes `bound` or longer. Avoids work for far places.
    pub(crate) fn positioning(
        &self,
        phase: u32,
        place: &SectorPlace,
        write: bool,
        bound: u32,
    ) -> Option<u32> {
        let moving = self.moving(place, write);
        (moving < bound)
            .then(|| moving + self.wait((phase + moving) % self.turn, place.angle))
            .filter(|t| *t < bound)
    }

    /// Moves to the track of `place` from `from` on; returns when the head is there.
    fn go(&mut self, from: Nanos, place: &SectorPlace, write: bool) -> Nanos {
        let over = from + Nanos(u64::from(self.moving(place, write)));
        (self.cylinder, self.head) = (place.cylinder, place.head);
        self.note(ArmPart::Moving, from, over);
        over
    }

    /// Returns when the sector of `place` next begins to pass under the head, at `over` or later.
    fn begins(&self, over: Nanos, place: &SectorPlace) -> Nanos {
        over + Nanos(u64::from(self.wait(self.phase(over), place.angle)))
    }

    /// Returns the time in which `sectors` from `place` on pass under the head.
    fn passing(&self, place: &SectorPlace, sectors: u32) -> Nanos {
        let pass = self.geometry.pass(place.index + sectors, place.per_track);
        Nanos(u64::from(pass - place.pass))
    }

    /// Returns the number of whole sectors from `place` on that pass within `time`; with `up`, one
    /// that passes in part counts, too.
    fn passed(&self, place: &SectorPlace, time: Nanos, up: bool) -> u32 {
        // The largest k with floor(k·turn/sectors of the track) ≤ limit.
        let limit = time.0 + u64::from(place.pass);
        let k = ((limit + 1) * u64::from(place.per_track) - 1) / u64::from(self.turn);
        let sectors = k as u32 - place.index;
        if up && self.passing(place, sectors) < time { sectors + 1 } else { sectors }
    }

    /// Reads or writes sectors with the arm from `from` on. `place` is that of the first one.
    pub(crate) fn access(&mut self, from: Nanos, place: SectorPlace, access: &Access) -> Passed {
        debug_assert!(access.sectors > 0);
        let (mut place, mut next, mut at) = (place, access.first, from);
        let end = access.first + access.sectors;
        let mut done = Passed {
            over: from,
            first: from,
            end: from,
            past: from,
            delivered: access.link,
            next: None,
        };
        loop {
            let mut over = self.go(at, &place, access.write);
            let arrived = over;
            if next == access.first {
                done.over = over;
                over = over.max(access.not_before);
            }
            let begin = self.begins(over, &place);
            let run = u64::from(place.run).min(end - next) as u32;
            // A head that lands within the run may take the rest of it first.
            let gone = Nanos(u64::from(self.turn)) - (begin - over);
            let passing = self.passing(&place, run);
            let last = match access.on_arrival && gone < passing {
                true => self.passed(&place, gone, true),
                false => run,
            };
            done.end = begin + if last == run { passing } else { self.passing(&place, last) };
            done.past = begin + passing;
            self.note(ArmPart::Waiting, arrived, begin);
            self.note(ArmPart::Passing, begin, done.end);
            let first = begin + self.passing(&place, 1);
            if next == access.first {
                done.first = first;
            }
            let link = access.per_sector;
            done.delivered = (done.delivered.max(first) + link * u64::from(run))
                .max(done.end + link * u64::from(run - last + 1));
            next += u64::from(run);
            if next == end {
                done.next = self.along(&place, run, passing);
                break;
            }
            at = done.end;
            place = self.geometry.place(next);
        }
        self.free = done.end;
        done
    }

    /// Returns the place `sectors` after `place`, if it is in the same run. The sectors take
    /// `passing` to pass.
    fn along(&self, place: &SectorPlace, sectors: u32, passing: Nanos) -> Option<SectorPlace> {
        if sectors >= place.run {
            return None;
        }
        let passing = passing.0 as u32;
        let angle = place.angle + passing;
        Some(SectorPlace {
            angle: if angle >= self.turn { angle - self.turn } else { angle },
            index: place.index + sectors,
            pass: place.pass + passing,
            run: place.run - sectors,
            ..*place
        })
    }

    /// Continues to read up to sector `limit` or time `until`. With `stop`, the sector under the
    /// head at `until` is finished; otherwise it does not count yet. A move is always finished.
    pub(crate) fn stream(
        &mut self,
        from: HeadStream,
        limit: u64,
        until: Nanos,
        stop: bool,
    ) -> HeadStream {
        let HeadStream { mut next, mut at, place: mut known } = from;
        while next < limit && at < until {
            let place = match known {
                Some(place) => place,
                None => self.geometry.place(next),
            };
            known = Some(place);
            at = self.go(at, &place, false);
            let begin = self.begins(at, &place);
            if begin >= until {
                break;
            }
            let run = u64::from(place.run).min(limit - next) as u32;
            let whole = self.passing(&place, run);
            let (run, passing) = match begin + whole <= until {
                true => (run, whole),
                false => {
                    let run = self.passed(&place, until - begin, stop).min(run);
                    (run, self.passing(&place, run))
                }
            };
            if run == 0 {
                break;
            }
            self.note(ArmPart::Waiting, at, begin);
            self.note(ArmPart::Passing, begin, begin + passing);
            at = begin + passing;
            next += u64::from(run);
            known = self.along(&place, run, passing);
        }
        HeadStream { next, at, place: known }
    }
}

#[cfg(test)]
#[path = "tests/arm.rs"]
mod tests;
