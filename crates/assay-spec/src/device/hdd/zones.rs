//! The decoder of zones in a device file: pairs `[cylinders, sectors_per_track]`, or tables with
//! skews, spares, slipped and remapped sectors, with one origin for all.
//!
//! *Invariants* of the decoded zones: zones follow one another and do not overlap; slips and remaps
//! lie inside their zone; slips ascend; no spare range has more slips than spares.

use super::{SkewSpec, ZoneSpec};
use crate::decode::{Decoded, Section, with_hint};
use crate::device::values::Values;
use crate::diagnostic::Kind;
use toml::de::DeValue;

const EXPECTED: &str = "a list of `[cylinders, sectors_per_track]` or of tables with `cylinders` \
                        and `sectors_per_track`, from the outer edge in";
const CYLINDERS: u32 = 10_000_000;

fn number(value: &DeValue<'_>) -> Option<u64> {
    match value {
        DeValue::Integer(i) => u64::from_str_radix(i.as_str(), i.radix()).ok(),
        _ => None,
    }
}

/// Reads a list of pairs of whole numbers.
pub(super) fn pairs(value: &DeValue<'_>) -> Option<Vec<(u64, u64)>> {
    let DeValue::Array(items) = value else { return None };
    let pair = |item: &DeValue<'_>| match item {
        DeValue::Array(pair) if pair.len() == 2 => {
            Some((number(pair[0].get_ref())?, number(pair[1].get_ref())?))
        }
        _ => None,
    };
    items.iter().map(|item| pair(item.get_ref())).collect()
}

pub(super) fn decode_zones(
    s: &mut Section<'_>,
    values: &mut Values,
    heads: u32,
    spare_range: u32,
) -> Decoded<Vec<ZoneSpec>> {
    let mut inner = values.open(s, "disk", "zones")?;
    let span = inner.span_of("value");
    let wrong = |what: &str| {
        let e = inner.error(Kind::WrongType, span.clone(), format!("`zones` {what}"), EXPECTED);
        with_hint(e, "e.g. `[[5000, 700], [5000, 500]]`")
    };
    let no_list = wrong("is not a list of zones");
    let bad_length = wrong("has no zone, or more than 1000");
    let Some(value) = inner.take("value") else { return Err(no_list) };
    let DeValue::Array(items) = value.get_ref() else { return Err(no_list) };
    let mut zones: Vec<ZoneSpec> = Vec::new();
    for item in items.iter() {
        let next = zones.last().map_or(0, |z| z.first_cylinder + z.cylinders);
        let zone = match item.get_ref() {
            DeValue::Table(table) => {
                let section = Section::new(inner.source(), "zone", table.clone(), item.span());
                decode_zone(section, next)?
            }
            _ => pair_zone(item.get_ref(), next).ok_or_else(|| {
                let what = "not a zone: two positive whole numbers, or a table";
                let e = inner.error(Kind::WrongType, item.span(), what, EXPECTED);
                with_hint(e, "e.g. `[5000, 700]`: at most 1000000 cylinders, 100000 sectors")
            })?,
        };
        if let Some((problem, expected)) = impossible(&zone, next, heads, spare_range) {
            let e = inner.error(Kind::Impossible, item.span(), problem, expected);
            return Err(with_hint(e, "count sectors from the start of the zone"));
        }
        zones.push(zone);
    }
    if zones.is_empty() || zones.len() > 1000 {
        return Err(bad_length);
    }
    inner.finish()?;
    Ok(zones)
}

fn pair_zone(value: &DeValue<'_>, first_cylinder: u32) -> Option<ZoneSpec> {
    let DeValue::Array(pair) = value else { return None };
    let [cylinders, sectors] = pair.iter().collect::<Vec<_>>()[..] else { return None };
    let cylinders = u32::try_from(number(cylinders.get_ref())?).ok()?;
    let sectors_per_track = u32::try_from(number(sectors.get_ref())?).ok()?;
    let fits = (1..=1_000_000).contains(&cylinders) && (1..=100_000).contains(&sectors_per_track);
    fits.then(|| ZoneSpec { first_cylinder, cylinders, sectors_per_track, ..Default::default() })
}

fn decode_zone(mut s: Section<'_>, next: u32) -> Decoded<ZoneSpec> {
    let cylinders = s.count("cylinders", 1..1_000_001, None)?;
    let sectors_per_track = s.count("sectors_per_track", 1..100_001, None)?;
    let skewed = s.has("track_skew") || s.has("cylinder_skew") || s.has("offset");
    let skew = SkewSpec {
        track: s.count("track_skew", 0..100_000, Some(0))?,
        cylinder: s.count("cylinder_skew", 0..100_000, Some(0))?,
        offset: s.count("offset", 0..100_000, Some(0))?,
    };
    let zone = ZoneSpec {
        first_cylinder: s.count("first_cylinder", 0..CYLINDERS, Some(next))?,
        cylinders,
        sectors_per_track,
        skew: skewed.then_some(skew),
        front: u64::from(s.count("front", 0..u32::MAX, Some(0))?),
        spares: s.count("spares", 0..u32::MAX, Some(0))?,
        slips: numbers(&mut s, "slips")?,
        remaps: match s.take("remaps") {
            None => Vec::new(),
            Some(v) => pairs(v.get_ref()).ok_or_else(|| {
                let what = "`remaps` is not a list of pairs";
                let e = s.error(Kind::WrongType, v.span(), what, "a list of `[bad, stand-in]`");
                with_hint(e, "e.g. `remaps = [[120, 69999]]`, sectors from the zone's start")
            })?,
        },
    };
    s.finish()?;
    Ok(zone)
}

fn numbers(s: &mut Section<'_>, key: &'static str) -> Decoded<Vec<u64>> {
    let Some(value) = s.take(key) else { return Ok(Vec::new()) };
    let list = match value.get_ref() {
        DeValue::Array(items) => items.iter().map(|i| number(i.get_ref())).collect(),
        _ => None,
    };
    list.ok_or_else(|| {
        let what = format!("`{key}` is not a list of whole numbers");
        let expected = "sectors counted from the start of the zone";
        let e = s.error(Kind::WrongType, value.span(), what, expected);
        with_hint(e, format!("e.g. `{key} = [120, 4711]`"))
    })
}

/// Returns what is impossible about a zone and what is expected instead, or `None` if it is
/// possible.
fn impossible(
    zone: &ZoneSpec,
    next: u32,
    heads: u32,
    spare_range: u32,
) -> Option<(String, &'static str)> {
    let physical = zone.physical(heads);
    if zone.first_cylinder < next {
        return Some((
            "the zone overlaps the one before".to_owned(),
            "zones without overlap, from the outer edge inward",
        ));
    }
    if zone.first_cylinder + zone.cylinders > CYLINDERS || physical > u64::from(u32::MAX) {
        return Some(("the zone is too large".to_owned(), "at most 2^32 sectors in a zone"));
    }
    if zone.sectors(heads, spare_range) == 0 {
        return Some((
            "the spares leave no sectors for data in the zone".to_owned(),
            "fewer spares",
        ));
    }
    if zone.slips.windows(2).any(|w| w[0] >= w[1]) {
        return Some(("`slips` do not ascend".to_owned(), "every slipped sector once, ascending"));
    }
    let places = zone.remaps.iter().flat_map(|(bad, good)| [bad, good]);
    if zone.slips.iter().chain(places).any(|s| *s >= physical) {
        return Some(("a slip or remap lies beyond the zone".to_owned(), "sectors of the zone"));
    }
    let range = match spare_range {
        0 => physical,
        n => u64::from(n.min(zone.cylinders)) * physical / u64::from(zone.cylinders),
    };
    let mut slips = zone.slips.iter().map(|s| s / range).collect::<Vec<u64>>();
    let most = slips.chunk_by_mut(|a, b| a == b).map(|c| c.len()).max().unwrap_or(0);
    let whole = physical - physical % range;
    if most > zone.spares as usize || zone.slips.last().is_some_and(|s| *s >= whole) {
        let problem = format!("{most} slips in one spare range of {} spares", zone.spares);
        return Some((problem, "a spare for every slip"));
    }
    (u64::from(zone.spares) >= range).then(|| {
        ("a spare range has only spares, and no sectors for data".to_owned(), "fewer spares")
    })
}
