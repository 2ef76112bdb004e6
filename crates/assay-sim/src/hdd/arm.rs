//! The arm over the turning platter: moving, waiting for a sector, reading and writing along.
//!
//! The platter turns for ever from angle 0 at time 0. A move takes the seek or the head switch,
//! whichever is longer, and before a write the settling; then the head waits until the sector
//! begins. *Invariant.* Streaming in pieces ends at the same nanosecond as in one.

use super::geometry::{Geometry, Place};
use super::seek::SeekCurve;
use assay_spec::Nanos;
use assay_spec::device::HddSpec;

/// The arm, its position, and the geometry under it.
pub(crate) struct Arm {
    pub geometry: Geometry,
    curve: SeekCurve,
    turn: u32,
    head_switch: u32,
    write_settle: u32,
    cylinder: u32,
    head: u32,
    /// When the arm has done what it was told.
    pub free: Nanos,
    /// What the arm and the heads did when, if somebody wants to know.
    pub spans: Option<Vec<Span>>,
}

/// Moving, waiting for a sector, or sectors passing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub part: Part,
    pub start: Nanos,
    pub end: Nanos,
}

/// A part of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Moving,
    Waiting,
    Passing,
}

/// What is to be read or written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub first: u64,
    pub sectors: u64,
    pub write: bool,
    /// Whether sectors are taken in the order they pass under the head.
    pub on_arrival: bool,
    /// The first sector is not read or written before this time.
    pub not_before: Nanos,
    /// What the link takes for a sector, and when it would be done with what came before.
    pub per_sector: Nanos,
    pub link: Nanos,
}

/// When an access had got how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    /// The head was over the first track.
    pub over: Nanos,
    /// The first sector was there.
    pub first: Nanos,
    /// The last sector had been read or written.
    pub end: Nanos,
    /// The head is past the last sector, where the next one begins.
    pub past: Nanos,
    /// A link that gives the sectors on in their order would be done.
    pub delivered: Nanos,
    /// The place of the next sector, if it follows in place.
    pub next: Option<Place>,
}

/// The head reads on: it is at sector `next` at `at`, or comes from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    pub next: u64,
    pub at: Nanos,
    /// The place of `next`, if it is known.
    pub place: Option<Place>,
}

impl Arm {
    pub(crate) fn new(spec: &HddSpec) -> Arm {
        let geometry = Geometry::new(spec);
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
    fn note(&mut self, part: Part, start: Nanos, end: Nanos) {
        if let Some(spans) = self.spans.as_mut().filter(|_| end > start) {
            spans.push(Span { part, start, end });
        }
    }

    /// How long the move to the track of `place` takes.
    fn moving(&self, place: &Place, write: bool) -> u32 {
        let mut time = self.curve.time(self.cylinder.abs_diff(place.cylinder));
        if self.head != place.head {
            time = time.max(self.head_switch);
        }
        if write && time > 0 { time + self.write_settle } else { time }
    }

    /// The angle under the heads.
    pub(crate) fn phase(&self, at: Nanos) -> u32 {
        (at.0 % u64::from(self.turn)) as u32
    }

    fn wait(&self, phase: u32, angle: u32) -> u32 {
        if angle >= phase { angle - phase } else { angle + self.turn - phase }
    }

    /// How long until `place` begins to pass under its head, if the arm starts at angle `phase`;
    /// or `None` if moving there alone takes as long as `bound`.
    pub(crate) fn positioning(
        &self,
        phase: u32,
        place: &Place,
        write: bool,
        bound: u32,
    ) -> Option<u32> {
        let moving = self.moving(place, write);
        (moving < bound)
            .then(|| moving + self.wait((phase + moving) % self.turn, place.angle))
            .filter(|t| *t < bound)
    }

    /// Moves to the track of `place` from `from` on; returns when the head is there.
    fn go(&mut self, from: Nanos, place: &Place, write: bool) -> Nanos {
        let over = from + Nanos(u64::from(self.moving(place, write)));
        (self.cylinder, self.head) = (place.cylinder, place.head);
        self.note(Part::Moving, from, over);
        over
    }

    /// When the sector of `place` begins after `over`.
    fn begins(&self, over: Nanos, place: &Place) -> Nanos {
        over + Nanos(u64::from(self.wait(self.phase(over), place.angle)))
    }

    /// From the beginning of the sector of `place` to the end of `sectors` of them.
    fn passing(&self, place: &Place, sectors: u32) -> Nanos {
        let pass = self.geometry.pass(place.index + sectors, place.per_track);
        Nanos(u64::from(pass - place.pass))
    }

    /// How many whole sectors from `place` on pass within `time`; rounded up if `up`.
    fn passed(&self, place: &Place, time: Nanos, up: bool) -> u32 {
        // The largest k with floor(k·turn/sectors of the track) ≤ limit.
        let limit = time.0 + u64::from(place.pass);
        let k = ((limit + 1) * u64::from(place.per_track) - 1) / u64::from(self.turn);
        let sectors = k as u32 - place.index;
        if up && self.passing(place, sectors) < time { sectors + 1 } else { sectors }
    }

    /// Reads or writes, starting from where the arm is at `from`; `place` is that of the first.
    pub(crate) fn access(&mut self, from: Nanos, place: Place, access: &Access) -> Passed {
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
            self.note(Part::Waiting, arrived, begin);
            self.note(Part::Passing, begin, done.end);
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

    /// The place `sectors` after `place`, if it is still of the same run.
    /// They take `passing`.
    fn along(&self, place: &Place, sectors: u32, passing: Nanos) -> Option<Place> {
        if sectors >= place.run {
            return None;
        }
        let passing = passing.0 as u32;
        let angle = place.angle + passing;
        Some(Place {
            angle: if angle >= self.turn { angle - self.turn } else { angle },
            index: place.index + sectors,
            pass: place.pass + passing,
            run: place.run - sectors,
            ..*place
        })
    }

    /// Reads on to `limit` or until `until`. If `stop`, the sector under the head and a move begun
    /// are finished, else they are not counted.
    pub(crate) fn stream(&mut self, from: Stream, limit: u64, until: Nanos, stop: bool) -> Stream {
        let Stream { mut next, mut at, place: mut known } = from;
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
            self.note(Part::Waiting, at, begin);
            self.note(Part::Passing, begin, begin + passing);
            at = begin + passing;
            next += u64::from(run);
            known = self.along(&place, run, passing);
        }
        Stream { next, at, place: known }
    }
}

#[cfg(test)]
#[path = "tests/arm.rs"]
mod tests;
