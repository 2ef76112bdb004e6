//! The reader of the `.model` file: geometry and mechanics (`dm_disk` with layout G1 and mechanics
//! G1).

use super::error::ImportError;
use super::syntax::{What, parse};
use super::take::Take;
use crate::device::{SkewSpec, ZoneSpec};
use crate::units::Nanos;

/// The parameters of a model file.
pub(super) struct Model {
    pub name: String,
    pub heads: u64,
    pub blocks: u64,
    pub serpentine: bool,
    pub spare_range: u64,
    pub zones: Vec<ZoneSpec>,
    pub rpm: u64,
    pub head_switch: Nanos,
    pub write_settle: Nanos,
}

const FILE: &str = "model";
const SECTORS: u64 = u32::MAX as u64;

pub(super) fn read(text: &str) -> Result<Model, ImportError> {
    let blocks = parse(FILE, text)?;
    let Some(disk) = blocks.iter().find(|b| b.kind == "dm_disk") else {
        let message = "no block `dm_disk`".to_owned();
        return Err(ImportError { file: FILE, line: 1, message });
    };
    let disk = Take { file: FILE, block: disk };
    let heads = disk.whole("Number of data surfaces", 64)?.max(1);
    let layout = disk.block("Layout Model")?;
    let serpentine = match layout.whole("LBN-to-PBN mapping scheme", 9)? {
        0 => false,
        1 => true,
        n => return Err(unsupported(&layout, "LBN-to-PBN mapping scheme", n)),
    };
    let sparing = Sparing::read(&layout)?;
    let zones = layout.list("Zones")?.iter().map(|value| match &value.what {
        What::Block(block) => zone(Take { file: FILE, block }, &sparing, heads),
        _ => Err(layout.error(value.line, "a zone is not a block")),
    });
    let mechanics = disk.block("Mechanical Model")?;
    expect(&mechanics, "Access time type", "trackSwitchPlusRotation")?;
    expect(&mechanics, "Seek type", "extracted")?;
    Ok(Model {
        name: disk.block.name.clone(),
        heads,
        blocks: disk.whole("Block count", 1 << 40)?,
        serpentine,
        spare_range: sparing.range,
        zones: zones.collect::<Result<_, _>>()?,
        rpm: mechanics.whole("Rotation speed (in rpms)", 100_000)?.max(60),
        head_switch: mechanics.time("Head switch time")?,
        write_settle: mechanics.time("Add. write settling delay")?,
    })
}

fn unsupported(take: &Take<'_>, name: &str, value: impl std::fmt::Display) -> ImportError {
    let line = take.value(name).map_or(take.block.line, |v| v.line);
    take.error(line, format!("`{name}` = {value} is not one this importer knows"))
}

fn expect(take: &Take<'_>, name: &str, word: &str) -> Result<(), ImportError> {
    match take.text(name)? {
        (text, _) if text == word => Ok(()),
        (text, _) => Err(unsupported(take, name, text)),
    }
}

/// The layout of spares: the number of cylinders that share them (0 for a zone), whether there are
/// spares, and whether every slip takes a sector in addition to the spares.
struct Sparing {
    range: u64,
    has_spares: bool,
    beside: bool,
}

impl Sparing {
    fn read(layout: &Take<'_>) -> Result<Sparing, ImportError> {
        let range = layout.whole("Rangesize for sparing", 1_000_000)?;
        let (range, has_spares, beside) = match layout.whole("Sparing scheme used", 99)? {
            0 => (0, false, false),
            // Every cylinder has its own spares.
            2 => (1, true, false),
            // In DiskSim, slips shift all following sectors up to the end of the disk; here, of the
            // zone.
            7 => (0, false, true),
            8 => (range.max(1), true, false),
            9 => (0, true, false),
            10 => (0, true, true),
            n => return Err(unsupported(layout, "Sparing scheme used", n)),
        };
        Ok(Sparing { range, has_spares, beside })
    }
}

fn zone(take: Take<'_>, sparing: &Sparing, heads: u64) -> Result<ZoneSpec, ImportError> {
    if let Some(units) = take.block.get("Skew units")
        && units.what != What::Text("sectors".to_owned())
    {
        return Err(take.error(units.line, "skews in other units than sectors"));
    }
    let number = |name| take.whole(name, 10_000_000).map(|n| n as u32);
    let first_cylinder = number("First cylinder number")?;
    let last = number("Last cylinder number")?;
    let sectors_per_track = take.whole("Blocks per track", 100_000)?.max(1) as u32;
    let line = take.block.line;
    let cylinders = last.checked_sub(first_cylinder).map(|n| n + 1);
    let Some(cylinders) = cylinders else {
        return Err(take.error(line, "the last cylinder of the zone is before the first"));
    };
    let mut slips = take.wholes("slips", SECTORS)?;
    slips.sort_unstable();
    slips.dedup();
    let mut spares = if sparing.has_spares { take.whole("Number of spares", SECTORS)? } else { 0 };
    spares += if sparing.beside { slips.len() as u64 } else { 0 };
    let whole = u64::from(cylinders) * heads * u64::from(sectors_per_track);
    if whole > SECTORS || spares >= whole {
        return Err(take.error(line, "the zone is too large, or has nothing but spares"));
    }
    let defects = take.wholes("defects", SECTORS)?;
    if !defects.len().is_multiple_of(2) {
        let line = take.value("defects")?.line;
        return Err(take.error(line, "`defects` are not pairs of a bad sector and its stand-in"));
    }
    let pairs = defects.chunks(2).map(|pair| (pair[0], pair[1]));
    Ok(ZoneSpec {
        first_cylinder,
        cylinders,
        sectors_per_track,
        skew: Some(SkewSpec {
            track: take.whole_or("Skew for track switch", 99_999, 0)? as u32,
            cylinder: take.whole_or("Skew for cylinder switch", 99_999, 0)? as u32,
            offset: take.whole_or("Offset of first block", 99_999, 0)? as u32,
        }),
        front: take.whole("Empty space at zone front", SECTORS)?,
        spares: spares as u32,
        slips,
        // A sector that is remapped to itself is an ordinary sector.
        remaps: pairs.filter(|(bad, good)| bad != good).collect(),
    })
}
