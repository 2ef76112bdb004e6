//! The reader of the `.diskspecs` file: controller, cache and queue (`disksim_disk`).

use super::error::ImportError;
use super::syntax::{What, parse};
use super::take::Take;
use crate::device::ReadAhead;
use crate::units::Nanos;

/// The parameters of a specs file.
pub(super) struct Specs {
    pub name: String,
    pub per_request: Nanos,
    pub per_sector: Nanos,
    pub queue: u64,
    pub fcfs: bool,
    pub cache: CacheSpecs,
    pub overheads: Overheads,
    /// The parameters that are set and that our model does not have.
    pub unmodelled: Vec<String>,
}

/// The parameters of the cache.
pub(super) struct CacheSpecs {
    pub segments: u64,
    pub write_segments: u64,
    pub segment_sectors: u64,
    pub read_ahead: ReadAhead,
    pub most_ahead: u64,
    pub almost: bool,
    pub any_free: bool,
    pub read_on_arrival: bool,
    pub write_on_arrival: bool,
    pub read_written: bool,
    pub fast_write: u64,
    pub combine: bool,
}

/// The overheads of commands: pairs are those after a read and after a write.
pub(super) struct Overheads {
    pub read_hit: [Nanos; 2],
    pub read_miss: [Nanos; 2],
    pub write: [Nanos; 2],
    pub read_end: Nanos,
    pub write_end: Nanos,
}

const FILE: &str = "specs";

/// The parameters that have no meaning in our model. The output names those that are not zero.
const UNMODELLED: &[&str] = &[
    "Hold bus entire read xfer",
    "Hold bus entire write xfer",
    "Allow write prebuffering",
    "Preseeking level",
    "Never disconnect",
    "Use separate write segment",
    "Low (write) water mark",
    "High (read) water mark",
    "Minimum read-ahead (blks)",
    "Read-ahead on idle hit",
    "Stop prefetch in sector",
    "Disconnect write if seek",
    "Data preparation overhead",
    "First reselect overhead",
    "Other reselect overhead",
    "Read disconnect afterread",
    "Read disconnect afterwrite",
    "Write disconnect overhead",
    "Extra write disconnect",
    "Minimum seek delay",
];

pub(super) fn read(text: &str) -> Result<Specs, ImportError> {
    let blocks = parse(FILE, text)?;
    let Some(disk) = blocks.iter().find(|b| b.kind == "disksim_disk") else {
        let message = "no block `disksim_disk`".to_owned();
        return Err(ImportError { file: FILE, line: 1, message });
    };
    let disk = Take { file: FILE, block: disk };
    let read_ahead = match disk.whole("Buffer continuous read", 9)? {
        0 => ReadAhead::None,
        1 => ReadAhead::Track,
        2 => ReadAhead::Cylinder,
        3 => ReadAhead::Segment,
        4 => ReadAhead::Sequential,
        n => {
            let line = disk.value("Buffer continuous read")?.line;
            return Err(disk.error(line, format!("read-ahead of kind {n} is not known")));
        }
    };
    let scale = disk.factor("Time scale for overheads")?;
    let pair = |read: &str, write: &str| -> Result<[Nanos; 2], ImportError> {
        let scaled = |time: Nanos| Nanos((time.0 as f64 * scale).round() as u64);
        Ok([scaled(disk.time(read)?), scaled(disk.time(write)?)])
    };
    let fast_write = disk.whole("Fast write level", 2)?;
    let write = match fast_write {
        0 => pair("Write miss over. after read", "Write miss over. after write")?,
        _ => pair("Write hit over. after read", "Write hit over. after write")?,
    };
    let [read_end, write_end] = pair("Read completion overhead", "Write completion overhead")?;
    Ok(Specs {
        name: disk.block.name.clone(),
        per_request: disk.time("Per-request overhead time")?,
        per_sector: disk.time("Bulk sector transfer time")?,
        queue: disk.whole("Max queue length", 1024)?.max(1),
        fcfs: disk.block("Scheduler")?.whole("Scheduling policy", 1000)? == 1,
        cache: CacheSpecs {
            segments: disk.whole("Number of buffer segments", 4096)?.max(1),
            write_segments: disk.whole("Maximum number of write segments", 4096)?.max(1),
            segment_sectors: disk.whole("Segment size (in blks)", 1 << 30)?.max(1),
            read_ahead,
            most_ahead: disk.whole("Maximum read-ahead (blks)", 1 << 30)?,
            almost: disk.yes("Allow almost read hits")?,
            any_free: disk.yes("Read any free blocks")?,
            read_on_arrival: disk.yes("Immediate buffer read")?,
            write_on_arrival: disk.yes("Immediate buffer write")?,
            read_written: disk.yes("Allow read hits on write data")?,
            fast_write,
            combine: disk.yes("Combine seq writes")?,
        },
        overheads: Overheads {
            read_hit: pair("Read hit over. after read", "Read hit over. after write")?,
            read_miss: pair("Read miss over. after read", "Read miss over. after write")?,
            write,
            read_end,
            write_end,
        },
        unmodelled: unmodelled(&disk),
    })
}

fn unmodelled(disk: &Take<'_>) -> Vec<String> {
    let set = |name: &&&str| match disk.block.get(name).map(|v| &v.what) {
        Some(What::Text(text)) => text.parse::<f64>().is_ok_and(|n| n != 0.0),
        _ => false,
    };
    UNMODELLED.iter().filter(set).map(|name| (*name).to_owned()).collect()
}
