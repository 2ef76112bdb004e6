//! The declaration of a disk: platters, arm, controller, cache, queue.
//!
//! The words follow DiskSim's parameter manual (CMU-PDL-08-101) where it has one for the mechanism,
//! so that its parameter files can be imported (`crate::disksim`). An optional key that a spec
//! leaves out takes the plain case, which the doc of its field states.

pub(super) mod decode;
mod shingled;
mod zones;

use crate::units::{Bytes, Nanos};

/// The number of bytes of a sector.
pub const SECTOR: u64 = 512;

/// The declaration of a disk.
#[derive(Clone, Debug)]
pub struct HddSpec {
    /// The number of revolutions a minute.
    pub rpm: u32,
    /// The number of surfaces with a head.
    pub heads: u32,
    /// Whether the heads are used back and forth: the last head of one cylinder is the first of the
    /// next. Otherwise every cylinder begins with the first head.
    pub serpentine: bool,
    /// The number of cylinders that share their spare sectors, counted from the start of a zone; 0
    /// for the whole zone.
    pub spare_range: u32,
    /// The zones, from the outer edge inwards.
    pub zones: Vec<ZoneSpec>,
    /// The seek times of the arm.
    pub seek: SeekSpec,
    /// The time to change to another head on the same cylinder.
    pub head_switch: Nanos,
    /// The additional settling time before a write, after every move.
    pub write_settle: Nanos,
    /// The time that the controller takes for a command before the first byte moves.
    pub overhead: OverheadSpec,
    /// The cache for read-ahead and written data.
    pub cache: CacheSpec,
    /// The order in which waiting commands are served.
    pub order: OrderSpec,
    /// The overlapping tracks, if the disk is shingled.
    pub shingled: Option<ShingledSpec>,
}

/// Consecutive cylinders with the same number of sectors on a track.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneSpec {
    /// The outermost cylinder of the zone. Cylinders between zones hold no data.
    pub first_cylinder: u32,
    /// The number of cylinders in the zone.
    pub cylinders: u32,
    /// The number of 512-byte sectors on a track.
    pub sectors_per_track: u32,
    /// The skews. If absent, the skew is the time of the head switch and of the shortest seek.
    pub skew: Option<SkewSpec>,
    /// The number of sectors at the front of the zone that the drive keeps for itself.
    pub front: u64,
    /// The number of sectors of each spare range that the host does not see, including the slipped
    /// ones.
    pub spares: u32,
    /// The bad sectors that the numbering skips, counted from the start of the zone, ascending.
    pub slips: Vec<u64>,
    /// The bad sectors with the sectors that replace them, counted from the start of the zone.
    pub remaps: Vec<(u64, u64)>,
}

/// The number of sectors by which the numbering is shifted, so that sequential access loses no
/// revolution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkewSpec {
    /// The shift from one head to the next of a cylinder.
    pub track: u32,
    /// The shift from one cylinder to the next.
    pub cylinder: u32,
    /// The position of the first sector of the zone.
    pub offset: u32,
}

impl ZoneSpec {
    /// Returns the number of sectors of the zone that the host sees.
    pub fn sectors(&self, heads: u32, spare_range: u32) -> u64 {
        let ranges =
            if spare_range == 0 { 1 } else { u64::from(self.cylinders / spare_range.max(1)) };
        let held_back = self.front + u64::from(self.spares) * ranges;
        self.physical(heads).saturating_sub(held_back)
    }

    /// Returns the number of sectors on the tracks of the zone.
    pub fn physical(&self, heads: u32) -> u64 {
        u64::from(self.cylinders) * u64::from(heads) * u64::from(self.sectors_per_track)
    }
}

/// The time of a seek as a function of its distance in cylinders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeekSpec {
    /// `a + b·√d` up to a third of the full stroke, then linear.
    ThreePoint {
        /// The time of a seek over one cylinder.
        single: Nanos,
        /// The average seek time, which is taken as that of a third of the full stroke.
        average: Nanos,
        /// The time of a seek over all cylinders.
        full: Nanos,
    },
    /// Measured points (cylinders, time), with linear interpolation between them and beyond.
    Table(Vec<(u32, Nanos)>),
}

/// The time in the controller for each command, on top of `link.command`. Each pair holds the time
/// after a read and the time after a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverheadSpec {
    /// For a read whose first sector is in the cache.
    pub read_hit: [Nanos; 2],
    /// For a read that needs the arm.
    pub read_miss: [Nanos; 2],
    /// For a write.
    pub write: [Nanos; 2],
    /// The time from the last byte of a read to its completion.
    pub read_end: Nanos,
    /// The time from the last byte of a write to its completion.
    pub write_end: Nanos,
}

/// The distance that the head reads ahead when no command waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAhead {
    /// No read-ahead.
    None,
    /// To the end of the track.
    Track,
    /// To the end of the cylinder.
    Cylinder,
    /// Until the segment is full, or `read_ahead_limit` is reached.
    Segment,
    /// To the end of the track; also of the next track if the data so far began on an earlier one.
    Sequential,
}

/// The cache of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSpec {
    /// The size of the whole cache.
    pub size: Bytes,
    /// The number of segments of equal size. Each holds one stream or one extent of written data.
    pub segments: u32,
    /// The distance to read ahead.
    pub read_ahead: ReadAhead,
    /// The largest amount to read ahead of a request.
    pub read_ahead_limit: Bytes,
    /// Whether a read that begins at the sector being read ahead waits for it instead of seeking.
    pub join_read_ahead: bool,
    /// Whether the whole track is read into the cache, from where the head lands.
    pub read_whole_track: bool,
    /// Whether requested sectors are read in the order in which they pass under the head.
    pub read_on_arrival: bool,
    /// Whether sectors are written in the order in which they pass under the head.
    pub write_on_arrival: bool,
    /// Whether reads are answered from written data in the cache.
    pub read_written: bool,
    /// Whether writes are acknowledged from the cache.
    pub write_cache: bool,
    /// The number of segments that may hold data that is not yet written to the platter.
    pub write_segments: u32,
    /// The number of writes that may wait outside the segments; each takes only the size of its
    /// data from the cache. 0 if writes wait in segments.
    pub write_extents: u32,
    /// Whether a write that continues the previous one shares its segment.
    pub combine_writes: bool,
    /// The number of cached writes that the drive orders by position.
    pub destage_window: u32,
    /// The idle time after which the drive destages, unless it must destage sooner.
    pub destage_after: Nanos,
}

/// The order in which waiting commands are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderSpec {
    /// In the order of arrival.
    Fcfs,
    /// Shortest positioning time first. A command that waits longer than the limit goes first.
    Sptf {
        /// The longest time that a command may wait before it goes first.
        age_limit: Nanos,
    },
}

/// Bands of overlapping tracks, and the persistent cache for data that cannot be written to them at
/// once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShingledSpec {
    /// The size of a band: tracks that are written together, from the first to the last.
    pub band: Bytes,
    /// The size of the persistent cache, which lies behind the last sector of the host.
    pub cache: Bytes,
    /// The space that an entry of the log takes in addition to its data. It is not written.
    pub entry_overhead: Bytes,
    /// The number of extents that the map of the persistent cache holds.
    pub map_entries: u32,
    /// The number of write streams that the drive recognises at a time.
    pub streams: u32,
    /// The time after which a stream that is not continued has ended.
    pub stream_wait: Nanos,
    /// The idle time after which the drive cleans bands.
    pub clean_after: Nanos,
}

impl HddSpec {
    /// Returns the number of bytes that the host can see.
    pub fn raw(&self) -> Bytes {
        let sectors = self.zones.iter().map(|z| z.sectors(self.heads, self.spare_range));
        Bytes(sectors.sum::<u64>() * SECTOR)
    }

    /// Returns the number of cylinders from cylinder 0 to the last of the last zone.
    pub fn cylinders(&self) -> u32 {
        self.zones.last().map_or(0, |z| z.first_cylinder + z.cylinders)
    }
}
