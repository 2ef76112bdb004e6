//! Device specs: the parts of a drive, every value with its source.
//!
//! A value in `devices/*.toml` is a small table: the value and its origin. Exactly one of `source`
//! (a key of the file's `[sources]`), `derived` (how) or `assumed` (why) must be present:
//!
//! ```toml
//! read = { value = "50us", source = "table1" }
//! shift = { value = "40MB/s", derived = "25 ns a byte, S-12", from_claim = ["S-12"] }
//! ```
//!
//! `from_claim` names the published claims that were known when the value was chosen.

mod controller;
mod ecc;
mod endurance;
mod fact;
mod ftl;
mod hdd;
mod hybrid;
mod link;
mod map;
mod nand;
mod power;
mod processor;
mod slc;
mod ssd;
mod thermal;
mod values;
mod volume;
mod wear;

pub use controller::ControllerSpec;
pub use ecc::EccSpec;
pub use endurance::EnduranceSpec;
pub use fact::{Fact, Origin};
pub use ftl::{
    Allocation, BackgroundSpec, CollectionSpec, CopyPath, EraseTime, Frontiers, FtlSpec, Pace,
    PageMapSpec, VictimSpec,
};
pub use hdd::{
    CacheSpec, HddSpec, OrderSpec, OverheadSpec, ReadAhead, SeekSpec, ShingledSpec, SkewSpec,
    ZoneSpec,
};
pub use hybrid::{HybridSpec, LogOpens, Logs, UnitReads};
pub use link::LinkSpec;
pub use map::least_map_cache;
pub use nand::{NandSpec, PlaneMode, ProgramTime, SlcSpec, SuspendSpec};
pub use power::PowerSpec;
pub use processor::{ProcessorSpec, WorkCosts};
pub use slc::SlcCacheSpec;
pub use ssd::{
    BufferSpec, Direction, FlushSpec, LazySpec, Reach, ReadAheadSpec, ReadBuffered, SsdSpec,
};
pub use thermal::ThermalSpec;
pub use volume::{RateSpec, VolumeSpec};
pub use wear::WearSpec;

use crate::decode::{Decoded, Section, Source, document, with_hint};
use crate::diagnostic::Kind;
use crate::name::{bad_name, is_name};
use crate::units::Bytes;
use values::Values;

/// The declaration of a drive.
#[derive(Clone, Debug)]
pub struct DeviceSpec {
    /// The name that is used in `sim:NAME`.
    pub name: String,
    /// Other names of the same drive.
    pub aliases: Vec<String>,
    /// The title, for people.
    pub title: String,
    /// The addressable size.
    pub capacity: Bytes,
    /// The link to the host.
    pub link: LinkSpec,
    /// The kind of drive, with its parts.
    pub kind: DeviceKind,
    /// Every value with its origin, in the order of decoding.
    pub facts: Vec<Fact>,
}

/// The kind of drive, with its parts.
#[derive(Clone, Debug)]
pub enum DeviceKind {
    /// A flash drive.
    Ssd(Box<SsdSpec>),
    /// A disk.
    Hdd(HddSpec),
    /// A cloud volume.
    Volume(VolumeSpec),
}

impl DeviceSpec {
    /// Decodes a device file.
    pub fn parse(source: Source<'_>) -> Decoded<DeviceSpec> {
        document(source, "device", decode_device)
    }

    /// Switches the write cache on or off, as `hdparm -W` does. Without it, a write completes when
    /// its data is on the medium.
    pub fn set_write_cache(&mut self, on: bool) {
        match &mut self.kind {
            DeviceKind::Ssd(ssd) => {
                // A protected buffer survives a power cut, so its data counts as being on the
                // medium.
                if let BufferSpec::Dram { write_back, protected: false, .. } = &mut ssd.buffer {
                    *write_back = on;
                }
            }
            DeviceKind::Hdd(hdd) => hdd.cache.write_cache = on,
            DeviceKind::Volume(_) => {}
        }
    }

    /// Returns `true` if `name` is the name or an alias of the drive.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|a| a == name)
    }
}

fn decode_device(top: &mut Section<'_>) -> Decoded<DeviceSpec> {
    let (name, name_span) = top.string_at("name")?;
    if !is_name(&name) {
        return Err(bad_name(top, name_span, &name));
    }
    let title = top.string("title")?;
    let aliases = top.strings("aliases")?.into_iter().map(|(s, _)| s).collect();
    let kind = top.choice("kind", &["ssd", "hdd", "volume"])?;
    let mut values = Values::new(top)?;
    let capacity = values.size(top, "", "capacity")?;
    if !(Bytes::MIB..=Bytes(1 << 50)).contains(&capacity) {
        let message = format!("a drive cannot have a capacity of {capacity}");
        let e = top.error(Kind::OutOfRange, top.span_of("capacity"), message, "from 1MiB to 1PiB");
        let near = capacity.clamp(Bytes::MIB, Bytes(1 << 50));
        return Err(with_hint(e, format!("the nearest possible value is `value = \"{near}\"`")));
    }
    let link_spec = link::decode(top, &mut values, kind == 0)?;
    let own: [&[&'static str]; 3] = [
        &[
            "nand",
            "ftl",
            "buffer",
            "readahead",
            "collection",
            "background",
            "wear",
            "slc",
            "endurance",
            "power",
            "thermal",
            "ecc",
        ],
        &["disk", "seek", "overhead", "cache", "queue"],
        &["volume", "operations", "throughput"],
    ];
    let words = ["kind `ssd`", "kind `hdd`", "kind `volume`"];
    for other in (0..own.len()).filter(|other| *other != kind) {
        top.goes_with(own[other], words[other]);
    }
    let kind = match kind {
        0 => DeviceKind::Ssd(Box::new(ssd::decode::decode(top, &mut values, capacity, link_spec)?)),
        1 => DeviceKind::Hdd(hdd::decode::decode(top, &mut values, capacity)?),
        _ => DeviceKind::Volume(volume::decode(top, &mut values)?),
    };
    Ok(DeviceSpec { name, aliases, title, capacity, link: link_spec, kind, facts: values.facts })
}
