//! The declaration of a disk: platters, arm, controller, cache, queue.
//!
//! The words follow DiskSim's parameter manual (CMU-PDL-08-101) where it has one for the
//! mechanism, so that its parameter files can be imported (`crate::disksim`). What a spec leaves
//! out falls back to the plain case, said at each field.

mod decode;
mod shingled;
mod zones;

pub(super) use decode::decode;
pub use shingled::ShingledSpec;

use crate::units::{Bytes, Nanos};

/// Bytes of a sector.
pub const SECTOR: u64 = 512;

/// A disk.
#[derive(Clone, Debug)]
pub struct HddSpec {
    /// Revolutions a minute.
    pub rpm: u32,
    /// Surfaces with a head.
    pub heads: u32,
    /// Whether the heads are used back and forth: the last head of one cylinder is the first of
    /// the next. Else every cylinder begins with the first head.
    pub serpentine: bool,
    /// Cylinders that share their spare sectors, counted from the start of a zone; 0: the zone.
    pub spare_range: u32,
    /// Zones from the outer edge in.
    pub zones: Vec<ZoneSpec>,
    /// The arm.
    pub seek: SeekSpec,
    /// Changing to another head on the same cylinder.
    pub head_switch: Nanos,
    /// Extra settling before a write, after every move.
    pub write_settle: Nanos,
    /// What the controller does before the first byte moves.
    pub overhead: OverheadSpec,
    /// Cache for read-ahead and written data.
    pub cache: CacheSpec,
    /// The order in which waiting commands are served.
    pub order: OrderSpec,
    /// Tracks that overlap, if they do.
    pub shingled: Option<ShingledSpec>,
}

/// Cylinders with the same number of sectors on a track.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneSpec {
    /// Its outermost cylinder; cylinders between zones hold nothing.
    pub first_cylinder: u32,
    /// Cylinders in the zone.
    pub cylinders: u32,
    /// 512-byte sectors on a track.
    pub sectors_per_track: u32,
    /// Skews; if absent, as much as the head switch and the shortest seek take.
    pub skew: Option<SkewSpec>,
    /// Sectors at the front of the zone that the drive keeps for itself.
    pub front: u64,
    /// Sectors of each spare range that the host does not see; the slipped ones are among them.
    pub spares: u32,
    /// Bad sectors that the numbering skips, counted from the start of the zone, ascending.
    pub slips: Vec<u64>,
    /// Bad sectors and the sectors that stand in for them, counted from the start of the zone.
    pub remaps: Vec<(u64, u64)>,
}

/// By how many sectors the numbering is turned on, so that sequential access loses no turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkewSpec {
    /// From one head to the next of a cylinder.
    pub track: u32,
    /// From one cylinder to the next.
    pub cylinder: u32,
    /// Where the first sector of the zone lies.
    pub offset: u32,
}

impl ZoneSpec {
    /// Sectors the host sees of it.
    pub fn sectors(&self, heads: u32, spare_range: u32) -> u64 {
        let ranges =
            if spare_range == 0 { 1 } else { u64::from(self.cylinders / spare_range.max(1)) };
        let held_back = self.front + u64::from(self.spares) * ranges;
        self.physical(heads).saturating_sub(held_back)
    }

    /// Sectors on its tracks.
    pub fn physical(&self, heads: u32) -> u64 {
        u64::from(self.cylinders) * u64::from(heads) * u64::from(self.sectors_per_track)
    }
}

/// The time of a seek over a distance in cylinders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeekSpec {
    /// `a + b·√d` up to a third of the stroke, then linear.
    ThreePoint {
        /// One cylinder.
        single: Nanos,
        /// The average, taken as a third of the full stroke.
        average: Nanos,
        /// All cylinders.
        full: Nanos,
    },
    /// Measured points (cylinders, time), linear in between and beyond.
    Table(Vec<(u32, Nanos)>),
}

/// Time in the controller per command, on top of `link.command`; after a read and after a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverheadSpec {
    /// A read whose first sector is in the cache.
    pub read_hit: [Nanos; 2],
    /// A read that needs the arm.
    pub read_miss: [Nanos; 2],
    /// A write.
    pub write: [Nanos; 2],
    /// From the last byte of a read to its completion.
    pub read_end: Nanos,
    /// From the last byte of a write to its completion.
    pub write_end: Nanos,
}

/// How far the head reads on when nothing else is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAhead {
    /// Not at all.
    None,
    /// To the end of the track.
    Track,
    /// To the end of the cylinder.
    Cylinder,
    /// Until the segment, or `read_ahead_limit`, is full.
    Segment,
    /// To the end of the track, and of the next one if the data so far began on an earlier one.
    Sequential,
}

/// The cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSpec {
    /// All of it.
    pub size: Bytes,
    /// Parts of equal size, each for one stream or one extent of written data.
    pub segments: u32,
    /// How far to read ahead.
    pub read_ahead: ReadAhead,
    /// Most to read ahead of a request.
    pub read_ahead_limit: Bytes,
    /// Whether a read that begins at the sector being read ahead waits for it rather than seeking.
    pub join_read_ahead: bool,
    /// Whether the track is read from where the head lands, into the cache.
    pub read_whole_track: bool,
    /// Whether requested sectors are taken in the order they pass under the head.
    pub read_on_arrival: bool,
    /// Whether sectors are written in the order they pass under the head.
    pub write_on_arrival: bool,
    /// Whether reads are answered from written data.
    pub read_written: bool,
    /// Whether writes are acknowledged from the cache.
    pub write_cache: bool,
    /// Segments that may hold data not yet written.
    pub write_segments: u32,
    /// Writes that wait beside the segments, each taking as much of the cache as it has; 0: they
    /// wait in segments.
    pub write_extents: u32,
    /// Whether a write that continues the one before shares its segment.
    pub combine_writes: bool,
    /// How many cached writes the drive orders by position.
    pub destage_window: u32,
    /// How long the drive is left alone before it destages, unless it must.
    pub destage_after: Nanos,
}

/// The order of waiting commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderSpec {
    /// As they came.
    Fcfs,
    /// Shortest positioning time first; one that waits longer than the limit goes first.
    Sptf {
        /// Longest wait that is not preferred.
        age_limit: Nanos,
    },
}

impl HddSpec {
    /// Bytes the host may see.
    pub fn raw(&self) -> Bytes {
        let sectors = self.zones.iter().map(|z| z.sectors(self.heads, self.spare_range));
        Bytes(sectors.sum::<u64>() * SECTOR)
    }

    /// Cylinders from the first of the first zone to the last of the last.
    pub fn cylinders(&self) -> u32 {
        self.zones.last().map_or(0, |z| z.first_cylinder + z.cylinders)
    }
}
