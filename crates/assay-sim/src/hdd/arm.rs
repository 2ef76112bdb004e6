//! Where the head is and when a sector passes under it.
//!
//! Sectors are laid out cylinder by cylinder, head by head, zones from the outer edge in. Tracks
//! are skewed by the time a head switch or a one-cylinder seek takes, so that sequential reading
//! loses no turn. Angles are kept as time within a revolution, in nanoseconds: exact integers.

use assay_spec::Nanos;
use assay_spec::device::{HddSpec, SeekSpec};

/// The arm, its position, and the geometry under it.
pub(crate) struct Arm {
    zones: Vec<Zone>,
    heads: u64,
    turn: u64,
    seek: SeekCurve,
    head_switch: Nanos,
    write_settle: Nanos,
    cylinder: u64,
    head: u64,
    free: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct Zone {
    first_sector: u64,
    first_cylinder: u64,
    per_track: u64,
    /// First track of the zone, counted over all zones, and the skew (ns) at its start.
    skew_start: u64,
}

/// The place of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spot {
    cylinder: u64,
    head: u64,
    /// When in a revolution the sector begins, ns.
    angle: u64,
    /// Sectors of its track.
    per_track: u64,
    /// Sectors from here to the end of the track, this one included.
    left: u64,
}

/// `a + b·√d` through one cylinder and a third of the stroke, then linear to the full stroke
/// (Ruemmler and Wilkes, IEEE Computer 1994).
#[derive(Clone, Copy, Debug)]
struct SeekCurve {
    single: Nanos,
    a: f64,
    b: f64,
    knee: f64,
    at_knee: f64,
    slope: f64,
}

impl SeekCurve {
    fn new(spec: &SeekSpec, cylinders: u64) -> SeekCurve {
        let full = (cylinders.max(4) - 1) as f64;
        let knee = (full / 3.0).max(2.0);
        let b = (spec.average.0 - spec.single.0) as f64 / (knee.sqrt() - 1.0);
        SeekCurve {
            single: spec.single,
            a: spec.single.0 as f64 - b,
            b,
            knee,
            at_knee: spec.average.0 as f64,
            slope: (spec.full.0 - spec.average.0) as f64 / (full - knee),
        }
    }

    fn time(&self, distance: u64) -> Nanos {
        let d = distance as f64;
        match distance {
            0 => Nanos::ZERO,
            1 => self.single,
            _ if d <= self.knee => Nanos((self.a + self.b * libm::sqrt(d)) as u64),
            _ => Nanos((self.at_knee + self.slope * (d - self.knee)) as u64),
        }
    }
}

impl Arm {
    pub(crate) fn new(spec: &HddSpec) -> Arm {
        let turn = 60_000_000_000 / u64::from(spec.rpm);
        let heads = u64::from(spec.heads);
        let cylinders = u64::from(spec.cylinders());
        let (mut sector, mut cylinder, mut skew) = (0, 0, 0_u64);
        let mut zones = Vec::new();
        let per_cylinder = (heads - 1) * spec.head_switch.0 + spec.seek.single.0;
        for z in &spec.zones {
            let per_track = u64::from(z.sectors_per_track);
            let zone = Zone {
                first_sector: sector,
                first_cylinder: cylinder,
                per_track,
                skew_start: skew,
            };
            zones.push(zone);
            sector += u64::from(z.cylinders) * heads * per_track;
            cylinder += u64::from(z.cylinders);
            skew = (skew + u64::from(z.cylinders) % turn * (per_cylinder % turn)) % turn;
        }
        Arm {
            zones,
            heads,
            turn,
            seek: SeekCurve::new(&spec.seek, cylinders),
            head_switch: spec.head_switch,
            write_settle: spec.write_settle,
            cylinder: 0,
            head: 0,
            free: Nanos::ZERO,
        }
    }

    /// When the arm has done what it was told.
    pub(crate) fn free_at(&self) -> Nanos {
        self.free
    }

    /// The arm does nothing before `at`.
    pub(crate) fn wait_until(&mut self, at: Nanos) {
        self.free = self.free.max(at);
    }

    fn spot(&self, sector: u64) -> Spot {
        let index = self.zones.partition_point(|z| z.first_sector <= sector) - 1;
        let zone = &self.zones[index];
        let track = (sector - zone.first_sector) / zone.per_track;
        let in_track = (sector - zone.first_sector) % zone.per_track;
        let (cylinder, head) = (track / self.heads, track % self.heads);
        // Every head switch and every cylinder step turns the start of the track on by its time.
        let steps = track - cylinder;
        let single = self.seek.time(1).0;
        let skew = zone.skew_start + steps * self.head_switch.0 + cylinder * single;
        Spot {
            cylinder: zone.first_cylinder + cylinder,
            head,
            angle: (skew + in_track * self.turn / zone.per_track) % self.turn,
            per_track: zone.per_track,
            left: zone.per_track - in_track,
        }
    }

    /// When the head is over `spot` and it begins to pass, starting at `from` from where the arm
    /// is.
    fn arrive(&self, from: Nanos, spot: &Spot, write: bool) -> Nanos {
        let moved = match self.cylinder.abs_diff(spot.cylinder) {
            0 if self.head == spot.head => Nanos::ZERO,
            0 => self.head_switch,
            distance => self.seek.time(distance).max(self.head_switch),
        };
        let settle = if write { self.write_settle } else { Nanos::ZERO };
        let over = from + moved + settle;
        let wait = (spot.angle + self.turn - over.0 % self.turn) % self.turn;
        over + Nanos(wait)
    }

    /// When `sector` could begin to be read or written, without moving.
    pub(crate) fn reach(&self, from: Nanos, sector: u64, write: bool) -> Nanos {
        self.arrive(from, &self.spot(sector), write)
    }

    /// Reads or writes `sectors` from `first`; returns when the last has passed.
    pub(crate) fn access(&mut self, from: Nanos, first: u64, sectors: u64, write: bool) -> Nanos {
        let mut at = from;
        let (mut next, end) = (first, first + sectors);
        while next < end {
            let spot = self.spot(next);
            // Only the first move of a write pays the settling: along the tracks the head follows.
            at = self.arrive(at, &spot, write && next == first);
            (self.cylinder, self.head) = (spot.cylinder, spot.head);
            let run = spot.left.min(end - next);
            // From angle to angle: the next sector begins at the very nanosecond this one ends.
            let begin = spot.per_track - spot.left;
            let pass = |sector: u64| sector * self.turn / spot.per_track;
            at += Nanos(pass(begin + run) - pass(begin));
            next += run;
        }
        self.free = at;
        at
    }

    /// The head goes on from `next`, which it reached at `at`, to `end`; returns when it is there.
    /// An `end` behind it is there already.
    pub(crate) fn stream(&mut self, at: Nanos, next: u64, end: u64) -> Nanos {
        if end <= next {
            return at;
        }
        self.access(at, next, end - next, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::Bytes;
    use assay_spec::device::ZoneSpec;

    fn arm() -> Arm {
        Arm::new(&HddSpec {
            rpm: 6000,
            heads: 2,
            zones: vec![
                ZoneSpec { cylinders: 100, sectors_per_track: 100 },
                ZoneSpec { cylinders: 100, sectors_per_track: 50 },
            ],
            seek: SeekSpec {
                single: Nanos::from_millis(1),
                average: Nanos::from_millis(5),
                full: Nanos::from_millis(9),
            },
            head_switch: Nanos::from_micros(500),
            write_settle: Nanos::from_micros(200),
            cache: Bytes::MIB,
            write_cache: false,
            destage_window: 8,
        })
    }

    #[test]
    fn a_sector_waits_for_its_turn() {
        let mut a = arm();
        // 10 ms a turn, 100 sectors: sector 3 begins at 300 µs.
        assert_eq!(a.access(Nanos::ZERO, 3, 1, false), Nanos::from_micros(400));
        assert_eq!(a.reach(Nanos::from_micros(300), 3, false), Nanos::from_micros(300));
        let missed = a.reach(Nanos(300_001), 3, false);
        assert_eq!(missed, Nanos::from_micros(10_300), "one nanosecond late is one turn late");
    }

    #[test]
    fn sequential_tracks_lose_no_turn() {
        let mut a = arm();
        let end = a.access(Nanos::ZERO, 0, 400, false);
        // Four tracks, two head switches of 500 µs and one cylinder step of 1 ms.
        assert_eq!(end, Nanos::from_micros(4 * 10_000 + 2 * 500 + 1000));
    }

    #[test]
    fn reading_in_pieces_takes_as_long_as_in_one() {
        let whole = arm().access(Nanos::ZERO, 0, 25_000, false);
        for piece in [1, 7, 64, 333] {
            let (mut a, mut at, mut next) = (arm(), Nanos::ZERO, 0);
            while next < 25_000 {
                let run = piece.min(25_000 - next);
                at = a.stream(at, next, next + run);
                next += run;
            }
            assert_eq!(at, whole, "in pieces of {piece}, through a change of zones");
        }
    }

    #[test]
    fn inner_zones_are_slower() {
        let mut a = arm();
        let outer = a.access(Nanos::ZERO, 0, 100, false);
        let start = 100 * 2 * 100;
        let first = a.access(outer, start, 1, false);
        let inner = a.access(first, start + 1, 49, false);
        assert_eq!(inner - first, Nanos::from_micros(9800), "49 of 50 sectors of a 10 ms turn");
    }

    #[test]
    fn seeks_follow_the_curve() {
        let a = arm();
        assert_eq!(a.seek.time(1), Nanos::from_millis(1));
        assert_eq!(a.seek.time(199), Nanos::from_millis(9));
        let third = a.seek.time(66).0 as f64;
        assert!((third - 5e6).abs() < 5e4, "{third}");
        assert_eq!(a.seek.time(0), Nanos::ZERO);
    }

    #[test]
    fn a_write_settles_first() {
        let a = arm();
        let read = a.reach(Nanos::from_micros(100), 3, false);
        let write = a.reach(Nanos::from_micros(100), 3, true);
        assert_eq!((read, write), (Nanos::from_micros(300), Nanos::from_micros(300)));
        assert_eq!(a.reach(Nanos::from_micros(101), 3, true), Nanos::from_micros(10_300));
    }
}
