//! The declaration of a disk.

use super::Values;
use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::Kind;
use crate::units::{Bytes, Nanos};

/// A disk: platters, arm, cache.
#[derive(Clone, Debug)]
pub struct HddSpec {
    /// Revolutions a minute.
    pub rpm: u32,
    /// Surfaces with a head.
    pub heads: u32,
    /// Zones from the outer edge in.
    pub zones: Vec<ZoneSpec>,
    /// The arm.
    pub seek: SeekSpec,
    /// Changing to another head on the same cylinder.
    pub head_switch: Nanos,
    /// Extra settling before a write.
    pub write_settle: Nanos,
    /// Cache for read-ahead and written data.
    pub cache: Bytes,
    /// Whether writes are acknowledged from the cache.
    pub write_cache: bool,
    /// How many cached writes the drive orders by position.
    pub destage_window: u32,
}

/// Cylinders with the same number of sectors on a track.
#[derive(Clone, Copy, Debug)]
pub struct ZoneSpec {
    /// Cylinders in the zone.
    pub cylinders: u32,
    /// 512-byte sectors on a track.
    pub sectors_per_track: u32,
}

/// Seek time over distance d in cylinders: `a + b·√d` up to `knee`, then linear up to the full
/// stroke.
#[derive(Clone, Copy, Debug)]
pub struct SeekSpec {
    /// One cylinder.
    pub single: Nanos,
    /// The average, taken as a third of the full stroke.
    pub average: Nanos,
    /// All cylinders.
    pub full: Nanos,
}

impl HddSpec {
    /// Bytes on all surfaces.
    pub fn raw(&self) -> Bytes {
        let sectors = self.zones.iter().map(|z| {
            u64::from(z.cylinders) * u64::from(z.sectors_per_track) * u64::from(self.heads)
        });
        Bytes(sectors.sum::<u64>() * 512)
    }
    /// Cylinders of all zones.
    pub fn cylinders(&self) -> u32 {
        self.zones.iter().map(|z| z.cylinders).sum()
    }
}

pub(super) fn decode(
    top: &mut Section<'_>,
    values: &mut Values,
    capacity: Bytes,
) -> Decoded<HddSpec> {
    let mut s = top.section("disk", "disk")?;
    let rpm = values.count(&mut s, "disk", "rpm", 60..100_001)?;
    let heads = values.count(&mut s, "disk", "heads", 1..65)?;
    let zones = decode_zones(&mut s, values)?;
    let head_switch = values.time(&mut s, "disk", "head_switch")?;
    let write_settle = values.time(&mut s, "disk", "write_settle")?;
    s.finish()?;
    let mut s = top.section("seek", "seek")?;
    let seek = SeekSpec {
        single: values.time(&mut s, "seek", "single")?,
        average: values.time(&mut s, "seek", "average")?,
        full: values.time(&mut s, "seek", "full")?,
    };
    if !(seek.single < seek.average && seek.average < seek.full) {
        let message = "seek times do not grow with distance".to_owned();
        let e = s.error(Kind::Impossible, s.span(), message, "single < average < full");
        return Err(with_hint(e, "`average` is the time over a third of the full stroke"));
    }
    s.finish()?;
    let mut s = top.section("cache", "cache")?;
    let spec = HddSpec {
        rpm,
        heads,
        zones,
        seek,
        head_switch,
        write_settle,
        cache: values.size(&mut s, "cache", "size")?,
        write_cache: values.boolean(&mut s, "cache", "write_cache")?,
        destage_window: values.count(&mut s, "cache", "destage_window", 1..1025)?,
    };
    s.finish()?;
    if spec.raw() < capacity || !capacity.is_multiple_of(Bytes(512)) {
        let e = top.error(
            Kind::Impossible,
            top.span_of("capacity"),
            format!("the tracks hold {} and the drive promises {capacity}", spec.raw()),
            "at most what the tracks hold, in whole sectors",
        );
        return Err(with_hint(e, "raise the cylinders or sectors of `disk.zones`"));
    }
    Ok(spec)
}

/// Zones are a list of `[cylinders, sectors_per_track]` pairs with one origin for all.
fn decode_zones(s: &mut Section<'_>, values: &mut Values) -> Decoded<Vec<ZoneSpec>> {
    use toml::de::DeValue;
    let mut inner = values.open(s, "disk", "zones")?;
    let span = inner.span_of("value");
    let expected = "a list of `[cylinders, sectors_per_track]`, from the outer edge in";
    let wrong = inner.error(Kind::WrongType, span, "`zones` is not a list of pairs", expected);
    let Some(value) = inner.take("value") else { return Err(wrong) };
    let DeValue::Array(items) = value.get_ref() else { return Err(wrong) };
    let mut zones = Vec::new();
    for item in items.iter() {
        let numbers: Option<Vec<u32>> = match item.get_ref() {
            DeValue::Array(pair) => pair
                .iter()
                .map(|v| match v.get_ref() {
                    DeValue::Integer(i) => u32::from_str_radix(i.as_str(), i.radix()).ok(),
                    _ => None,
                })
                .collect(),
            _ => None,
        };
        match numbers.as_deref() {
            Some([cylinders @ 1..=1_000_000, sectors_per_track @ 1..=100_000]) => zones
                .push(ZoneSpec { cylinders: *cylinders, sectors_per_track: *sectors_per_track }),
            _ => {
                return Err(inner.error(
                    Kind::WrongType,
                    item.span(),
                    "not a pair of positive whole numbers",
                    expected,
                ));
            }
        }
    }
    if zones.is_empty() || zones.len() > 1000 {
        return Err(wrong);
    }
    inner.finish()?;
    Ok(zones)
}
