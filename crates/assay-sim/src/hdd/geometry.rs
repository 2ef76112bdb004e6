//! The places of sectors: zones, skews, serpentine heads, slipped, spare and remapped sectors.
//!
//! Sectors are numbered along a track, track by track through a cylinder, cylinder by cylinder
//! inwards, in zones (DiskSim's parameter manual, layout G1). Every zone is divided into spare
//! ranges: the last sectors of a range are spares, and a slipped (bad) sector moves the rest of its
//! range on by one, into the spares. A remapped sector has a stand-in anywhere in its zone. Sectors
//! that a drive reserves for itself have numbers behind those of the host.
//!
//! *Invariants.* Numbers and places are one to one. Angles are times within a revolution, in
//! integer nanoseconds: sector k of a track begins `k·turn/sectors` after its start, rounded down,
//! so that pieces of a track add up to the nanosecond.

use assay_spec::device::{HddSpec, SeekSpec};

/// The place of a sector, and the run of sectors from it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SectorPlace {
    /// The cylinder, counted from the outer edge.
    pub cylinder: u32,
    /// The head, which selects the surface.
    pub head: u32,
    /// The time in a revolution at which the sector begins, in nanoseconds.
    pub angle: u32,
    /// The index of the sector on its track.
    pub index: u32,
    /// The time from the start of the track to the sector, in nanoseconds.
    pub pass: u32,
    /// The number of sectors of the track.
    pub per_track: u32,
    /// The sectors of the track from this one on whose numbers follow each other.
    pub run: u32,
}

/// A zone. Places in it are counted from its first sector, with spare and bad sectors.
struct Zone {
    first_sector: u64,
    sectors: u64,
    first_cylinder: u32,
    cylinders: u32,
    per_track: u32,
    /// The sectors at the front that the drive reserves for itself.
    front: u64,
    /// The places in a spare range.
    range: u64,
    /// The places in a spare range that are not spares.
    usable: u64,
    /// The number of ranges with spares; the rest at the end of the zone has none.
    ranges: u64,
    /// The places of slipped sectors, ascending.
    slips: Vec<u64>,
    /// By slip: the first number (in the zone, the front included) that it moves on.
    slip_keys: Vec<u64>,
    /// Remapped places with those of their stand-ins, ascending.
    remaps: Vec<(u64, u64)>,
    skew: Skew,
}

/// The skew of tracks: in sectors if the spec has them, else in nanoseconds.
#[derive(Clone, Copy)]
struct Skew {
    in_sectors: bool,
    /// The skew from one head to the next of a cylinder.
    track: u64,
    /// The additional skew from one cylinder to the next.
    cylinder: u64,
    /// The start of the first track of the zone.
    offset: u64,
}

/// The geometry of a disk.
pub(crate) struct DiskGeometry {
    zones: Vec<Zone>,
    /// By bucket of 2^shift sectors: the zone of its first sector.
    buckets: Vec<u16>,
    shift: u32,
    heads: u32,
    serpentine: bool,
    /// The time of a revolution, in nanoseconds.
    turn: u32,
}

impl DiskGeometry {
    pub(crate) fn new(spec: &HddSpec) -> DiskGeometry {
        let turn = (60_000_000_000 / u64::from(spec.rpm)) as u32;
        let (mut first_sector, mut angle) = (0, 0);
        let mut zones = Vec::with_capacity(spec.zones.len());
        let steps = natural_skew(spec);
        for z in &spec.zones {
            let per_cylinder = u64::from(spec.heads) * u64::from(z.sectors_per_track);
            let (range, ranges) = match spec.spare_range {
                0 => (u64::from(z.cylinders) * per_cylinder, 1),
                n => (u64::from(n) * per_cylinder, u64::from(z.cylinders / n)),
            };
            let skew = match z.skew {
                Some(s) => Skew {
                    in_sectors: true,
                    track: u64::from(s.track),
                    cylinder: u64::from(s.cylinder),
                    offset: u64::from(s.offset),
                },
                None => {
                    Skew { in_sectors: false, track: steps.0, cylinder: steps.1, offset: angle }
                }
            };
            let cylinders = u64::from(z.cylinders);
            let a_cylinder = u64::from(spec.heads - 1) * steps.0 + steps.1;
            angle = (angle + cylinders * (a_cylinder % u64::from(turn))) % u64::from(turn);
            let sectors = z.sectors(spec.heads, spec.spare_range);
            let mut zone = Zone {
                first_sector,
                sectors,
                first_cylinder: z.first_cylinder,
                cylinders: z.cylinders,
                per_track: z.sectors_per_track,
                front: z.front,
                range,
                usable: range - u64::from(z.spares),
                ranges,
                slips: z.slips.clone(),
                slip_keys: Vec::new(),
                remaps: z.remaps.clone(),
                skew,
            };
            zone.number_slips();
            zone.remaps.sort_unstable();
            zones.push(zone);
            first_sector += sectors;
        }
        let shift = first_sector.max(1024).ilog2() - 9;
        let bucket = |b: u64| zones.partition_point(|z: &Zone| z.first_sector <= b << shift) - 1;
        let buckets = (0..=first_sector >> shift).map(|b| bucket(b) as u16).collect();
        let (heads, serpentine) = (spec.heads, spec.serpentine);
        DiskGeometry { zones, buckets, shift, heads, serpentine, turn }
    }

    /// Returns the time of a revolution, in nanoseconds.
    pub(crate) fn turn(&self) -> u32 {
        self.turn
    }

    /// Returns the number of sectors of all zones.
    #[cfg(test)]
    pub(crate) fn sectors(&self) -> u64 {
        self.zones.last().map_or(0, |z| z.first_sector + z.sectors)
    }

    fn zone(&self, sector: u64) -> &Zone {
        let mut index = usize::from(self.buckets[(sector >> self.shift) as usize]);
        while sector >= self.zones[index].first_sector + self.zones[index].sectors {
            index += 1;
        }
        &self.zones[index]
    }

    /// Returns the place of `sector`.
    pub(crate) fn place(&self, sector: u64) -> SectorPlace {
        let zone = self.zone(sector);
        let (physical, run) = zone.physical(sector - zone.first_sector);
        self.at(zone, physical, run)
    }

    /// Returns the place number `physical` of a zone. `run` sectors follow each other from there,
    /// as far as the track goes.
    fn at(&self, zone: &Zone, physical: u64, run: u64) -> SectorPlace {
        // Zones are smaller than 2^32 sectors, and 32-bit divisions are faster.
        let (physical, per_track) = (physical as u32, zone.per_track);
        let (track, index) = (physical / per_track, physical % per_track);
        let (cylinder, order) = (track / self.heads, track % self.heads);
        let back = self.serpentine && cylinder % 2 == 1;
        let head = if back { self.heads - 1 - order } else { order };
        let start = zone.track_start(self, cylinder, order);
        let pass = self.pass(index, per_track);
        let angle = start + pass;
        SectorPlace {
            cylinder: zone.first_cylinder + cylinder,
            head,
            angle: if angle >= self.turn { angle - self.turn } else { angle },
            index,
            pass,
            per_track,
            run: run.min(u64::from(per_track - index)) as u32,
        }
    }

    /// Returns the nanoseconds from the start of a track to sector `index` of it.
    pub(crate) fn pass(&self, index: u32, per_track: u32) -> u32 {
        (u64::from(index) * u64::from(self.turn) / u64::from(per_track)) as u32
    }

    /// Returns the first sector of the track of a sector, and the first of the next track.
    pub(crate) fn track(&self, sector: u64) -> (u64, u64) {
        let zone = self.zone(sector);
        let (physical, _) = zone.physical(sector - zone.first_sector);
        let start = physical - physical % u64::from(zone.per_track);
        let bounds = (zone.number(start), zone.number(start + u64::from(zone.per_track)));
        // A stand-in lies on a track that its number does not belong to.
        if (bounds.0..bounds.1).contains(&sector) { bounds } else { (sector, sector + 1) }
    }

    /// Returns the first sector after the cylinder of a sector.
    pub(crate) fn cylinder_end(&self, sector: u64) -> u64 {
        let zone = self.zone(sector);
        let (physical, _) = zone.physical(sector - zone.first_sector);
        let per_cylinder = u64::from(zone.per_track) * u64::from(self.heads);
        let end = zone.number(physical - physical % per_cylinder + per_cylinder);
        end.max(sector + 1)
    }

    /// Returns the number of cylinders from the outer edge to the last one with data.
    pub(crate) fn cylinders(&self) -> u32 {
        self.zones.last().map_or(1, |z| z.first_cylinder + z.cylinders)
    }
}

/// Returns the track and cylinder skews with which a sequential access loses no revolution: the
/// nanoseconds of a head switch and of the shortest seek, each with the settle time.
fn natural_skew(spec: &HddSpec) -> (u64, u64) {
    let single = match &spec.seek {
        SeekSpec::ThreePoint { single, .. } => single.0,
        SeekSpec::Table(points) => points[0].1.0,
    };
    let settle = spec.write_settle.0;
    (spec.head_switch.0 + settle, single.max(spec.head_switch.0) + settle)
}

impl Zone {
    /// Returns the place of a number in the zone, and how many numbers follow each other in place
    /// from it on.
    fn physical(&self, number: u64) -> (u64, u64) {
        let number = number + self.front;
        let range = if number < self.usable { 0 } else { number / self.usable }.min(self.ranges);
        let within = number - range * self.usable;
        let end = if range < self.ranges { self.usable } else { self.range };
        let mut run = end - within;
        let mut place = range * self.range + within;
        if !self.slips.is_empty() {
            let passed = self.slip_keys.partition_point(|k| *k <= number);
            let before = self.slip_keys[..passed].partition_point(|k| *k < range * self.usable);
            place += (passed - before) as u64;
            run = self.slip_keys.get(passed).map_or(run, |k| run.min(k - number));
        }
        if !self.remaps.is_empty() {
            let next = self.remaps.partition_point(|(bad, _)| *bad < place);
            match self.remaps.get(next) {
                Some((bad, stand_in)) if *bad == place => return (*stand_in, 1),
                Some((bad, _)) => run = run.min(bad - place),
                None => {}
            }
        }
        (place, run)
    }

    /// Finds the key of each slip: the first number that it moves on. Drops slips among the unused
    /// spares, which move none.
    fn number_slips(&mut self) {
        let (mut slips, mut keys) = (Vec::new(), Vec::new());
        for slip in &self.slips {
            let (range, within) = (slip / self.range, slip % self.range);
            let before = slips.iter().rev().take_while(|s| *s / self.range == range).count();
            let key = within - before as u64;
            if key < self.usable {
                slips.push(*slip);
                keys.push(range * self.usable + key);
            }
        }
        (self.slips, self.slip_keys) = (slips, keys);
    }

    /// Returns the number, counted over the disk, of the first sector at or after `place`.
    fn number(&self, place: u64) -> u64 {
        let (range, within) = (place / self.range, place % self.range);
        let first = self.slips.partition_point(|s| *s < range * self.range);
        let slipped = self.slips.partition_point(|s| *s < place) - first;
        let end = if range < self.ranges { self.usable } else { self.range };
        let number = range * self.usable + (within - slipped as u64).min(end);
        self.first_sector + number.saturating_sub(self.front).min(self.sectors)
    }

    /// Returns the time in a revolution at which a track of the zone begins, in nanoseconds.
    fn track_start(&self, geometry: &DiskGeometry, cylinder: u32, order: u32) -> u32 {
        let (cylinder, order) = (u64::from(cylinder), u64::from(order));
        let switches = order + u64::from(geometry.heads - 1) * cylinder;
        let skew = self.skew.offset + switches * self.skew.track + cylinder * self.skew.cylinder;
        match self.skew.in_sectors {
            true => geometry.pass((skew % u64::from(self.per_track)) as u32, self.per_track),
            false => (skew % u64::from(geometry.turn)) as u32,
        }
    }
}

#[cfg(test)]
#[path = "tests/geometry.rs"]
mod tests;
