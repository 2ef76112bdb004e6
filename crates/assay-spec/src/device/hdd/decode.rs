//! The decoder of disks: from the sections of a device file to [`HddSpec`].
//!
//! All keys of the first format are required. Keys that were added later are optional; without them
//! the plain case holds.

use super::shingled;
use super::zones::{decode_zones, pairs};
use super::{CacheSpec, HddSpec, OrderSpec, OverheadSpec, ReadAhead, SECTOR, SeekSpec};
use crate::decode::{Decoded, Section, with_hint};
use crate::device::values::Values;
use crate::diagnostic::Kind;
use crate::units::{Bytes, Nanos};

/// The largest number of points of a seek table.
const POINTS: usize = 100_000;
/// The default number of cache segments. A cache without room for as many of `SEGMENT` bytes has
/// fewer.
const SEGMENTS: u64 = 32;
const SEGMENT: u64 = 64 << 10;

pub(in crate::device) fn decode(
    top: &mut Section<'_>,
    values: &mut Values,
    capacity: Bytes,
) -> Decoded<HddSpec> {
    let mut s = top.section("disk", "disk")?;
    let rpm = values.count(&mut s, "disk", "rpm", 60..100_001)?;
    let heads = values.count(&mut s, "disk", "heads", 1..65)?;
    let serpentine = values
        .optional(&mut s, "serpentine", false, |values, s, key| values.boolean(s, "disk", key))?;
    let spare_range = values.optional(&mut s, "spare_range", 0, |values, s, key| {
        values.count(s, "disk", key, 0..1_000_000)
    })?;
    let zones = decode_zones(&mut s, values, heads, spare_range)?;
    let head_switch = values.time(&mut s, "disk", "head_switch")?;
    let write_settle = values.time(&mut s, "disk", "write_settle")?;
    s.finish()?;
    let seek = decode_seek(top, values)?;
    let overhead = decode_overhead(top, values)?;
    let cache = decode_cache(top, values)?;
    let order = decode_order(top, values)?;
    let shingled = shingled::decode(top, values, &cache)?;
    let moves = [head_switch, write_settle, longest(&seek)];
    if moves.iter().any(|t| *t > Nanos::from_secs(1)) {
        let message = "a movement of the arm takes more than a second".to_owned();
        let e = top.error(Kind::OutOfRange, top.span_of("seek"), message, "at most 1s");
        let hint = "check the units in `[seek]`, `disk.head_switch` and `disk.write_settle`";
        return Err(with_hint(e, hint));
    }
    let spec = HddSpec {
        rpm,
        heads,
        serpentine,
        spare_range,
        zones,
        seek,
        head_switch,
        write_settle,
        overhead,
        cache,
        order,
        shingled,
    };
    check_capacity(top, &spec, capacity)?;
    Ok(spec)
}

/// Checks that the tracks hold the capacity and the persistent cache that the drive keeps for
/// itself.
fn check_capacity(top: &Section<'_>, spec: &HddSpec, capacity: Bytes) -> Decoded<()> {
    let kept = spec.shingled.map_or(Bytes::ZERO, |s| s.cache);
    if spec.raw().0 >= capacity.0.saturating_add(kept.0) && capacity.is_multiple_of(Bytes(SECTOR)) {
        return Ok(());
    }
    let beside = match kept {
        Bytes::ZERO => String::new(),
        _ => format!(" beside a persistent cache of {kept}"),
    };
    let e = top.error(
        Kind::Impossible,
        top.span_of("capacity"),
        format!("the tracks hold {}, but the capacity is {capacity}{beside}", spec.raw()),
        "at most what the tracks hold, in whole sectors",
    );
    Err(with_hint(e, "raise the cylinders or sectors of `disk.zones`"))
}

fn longest(seek: &SeekSpec) -> Nanos {
    match seek {
        SeekSpec::ThreePoint { full, .. } => *full,
        SeekSpec::Table(points) => points.iter().map(|(_, t)| *t).max().unwrap_or(Nanos::ZERO),
    }
}

fn decode_seek(top: &mut Section<'_>, values: &mut Values) -> Decoded<SeekSpec> {
    let mut s = top.section("seek", "seek")?;
    s.may_have(&["table_ns"]);
    if s.has("table_ns") {
        s.goes_with(&["single", "average", "full"], "a curve of three points, not `table_ns`,");
        let table = decode_table(&mut s, values)?;
        s.finish()?;
        return Ok(table);
    }
    let single = values.time(&mut s, "seek", "single")?;
    let average = values.time(&mut s, "seek", "average")?;
    let full = values.time(&mut s, "seek", "full")?;
    if !(single < average && average < full) {
        let message = "seek times do not grow with distance".to_owned();
        let e = s.error(Kind::Impossible, s.span(), message, "single < average < full");
        return Err(with_hint(e, "`average` is the time over a third of the full stroke"));
    }
    s.finish()?;
    Ok(SeekSpec::ThreePoint { single, average, full })
}

/// Decodes a list of `[cylinders, nanoseconds]` with ascending distances.
fn decode_table(s: &mut Section<'_>, values: &mut Values) -> Decoded<SeekSpec> {
    let mut inner = values.open(s, "seek", "table_ns")?;
    let span = inner.span_of("value");
    let expected = "a list of `[cylinders, nanoseconds]` with growing distances";
    let wrong = |inner: &Section<'_>, what: &str| {
        let message = format!("`table_ns` {what}");
        let e = inner.error(Kind::WrongType, span.clone(), message, expected);
        with_hint(e, format!("e.g. `[[1, 800000], [2000, 9000000]]`, 2 to {POINTS} pairs"))
    };
    let Some(points) = inner.take("value").and_then(|v| pairs(v.get_ref())) else {
        return Err(wrong(&inner, "is not a list of pairs"));
    };
    if !(2..=POINTS).contains(&points.len()) {
        return Err(wrong(&inner, "has too few or too many points"));
    }
    let mut table: Vec<(u32, Nanos)> = Vec::with_capacity(points.len());
    for (distance, time) in points {
        let ascends = table.last().is_none_or(|(last, _)| u64::from(*last) < distance);
        match u32::try_from(distance) {
            Ok(d @ 1..=10_000_000) if ascends && (1..=1_000_000_000).contains(&time) => {
                table.push((d, Nanos(time)));
            }
            _ => return Err(wrong(&inner, &format!("has a wrong point [{distance}, {time}]"))),
        }
    }
    inner.finish()?;
    Ok(SeekSpec::Table(table))
}

fn decode_overhead(top: &mut Section<'_>, values: &mut Values) -> Decoded<OverheadSpec> {
    let Some(mut s) = top.optional_section("overhead", "overhead")? else {
        return Ok(OverheadSpec::default());
    };
    let get = |values: &mut Values, s: &mut Section<'_>, key| values.time(s, "overhead", key);
    let mut time = |key| values.optional(&mut s, key, Nanos::ZERO, get);
    let spec = OverheadSpec {
        read_hit: [time("read_hit_after_read")?, time("read_hit_after_write")?],
        read_miss: [time("read_miss_after_read")?, time("read_miss_after_write")?],
        write: [time("write_after_read")?, time("write_after_write")?],
        read_end: time("read_end")?,
        write_end: time("write_end")?,
    };
    s.finish()?;
    Ok(spec)
}

fn decode_cache(top: &mut Section<'_>, values: &mut Values) -> Decoded<CacheSpec> {
    let mut s = top.section("cache", "cache")?;
    let size = values.size(&mut s, "cache", "size")?;
    let write_cache = values.boolean(&mut s, "cache", "write_cache")?;
    let destage_window = values.count(&mut s, "cache", "destage_window", 1..8193)?;
    let get =
        |values: &mut Values, s: &mut Section<'_>, key| values.count(s, "cache", key, 1..4097);
    let mut count = |s: &mut Section<'_>, key, default| values.optional(s, key, default, get);
    let most = (size.0 / SEGMENT).clamp(1, SEGMENTS) as u32;
    let segments = count(&mut s, "segments", most)?;
    let write_segments = count(&mut s, "write_segments", segments)?;
    let write_extents = count(&mut s, "write_extents", 0)?;
    let segment = Bytes(size.0 / u64::from(segments));
    if segment < Bytes(SECTOR) || write_segments > segments {
        let what = format!("{segments} segments ({write_segments} for writes) in {size}");
        let message = format!("the cache cannot be divided into {what}");
        let expected = "segments of at least a sector, and no more of them for writes";
        let e = s.error(Kind::Impossible, s.span_of("segments"), message, expected);
        return Err(with_hint(e, "lower `segments` or `write_segments`, or raise `size`"));
    }
    let read_ahead_limit =
        values.optional(&mut s, "read_ahead_limit", segment, |values, s, key| {
            values.size(s, "cache", key)
        })?;
    let words = &["none", "track", "cylinder", "segment", "sequential"];
    let read_ahead = match values.choice_or(&mut s, "cache", "read_ahead", words, 3)? {
        0 => ReadAhead::None,
        1 => ReadAhead::Track,
        2 => ReadAhead::Cylinder,
        3 => ReadAhead::Segment,
        _ => ReadAhead::Sequential,
    };
    let destage_after =
        values.optional(&mut s, "destage_after", Nanos::ZERO, |values, s, key| {
            values.time(s, "cache", key)
        })?;
    let get = |values: &mut Values, s: &mut Section<'_>, key| values.boolean(s, "cache", key);
    let mut flag = |key, default| values.optional(&mut s, key, default, get);
    let spec = CacheSpec {
        size,
        segments,
        read_ahead,
        read_ahead_limit,
        join_read_ahead: flag("join_read_ahead", true)?,
        read_whole_track: flag("read_whole_track", false)?,
        read_on_arrival: flag("read_on_arrival", false)?,
        write_on_arrival: flag("write_on_arrival", false)?,
        read_written: flag("read_written", true)?,
        write_cache,
        write_segments,
        write_extents,
        combine_writes: flag("combine_writes", true)?,
        destage_window,
        destage_after,
    };
    s.finish()?;
    Ok(spec)
}

fn decode_order(top: &mut Section<'_>, values: &mut Values) -> Decoded<OrderSpec> {
    let Some(mut s) = top.optional_section("queue", "queue")? else { return Ok(OrderSpec::Fcfs) };
    let order = match values.choice(&mut s, "queue", "order", &["fcfs", "sptf"])? {
        0 => {
            s.goes_with(&["age_limit"], "order `sptf`");
            OrderSpec::Fcfs
        }
        _ => OrderSpec::Sptf { age_limit: values.time(&mut s, "queue", "age_limit")? },
    };
    s.finish()?;
    Ok(order)
}
