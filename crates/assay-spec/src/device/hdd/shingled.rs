//! The declaration of overlapping tracks that the drive manages by itself (drive-managed SMR).
//!
//! The words are those of Aghayev and Desnoyers, "Skylight: A Window on Shingled Disk Operation",
//! FAST 2015.

use super::{CacheSpec, SECTOR, ShingledSpec};
use crate::decode::{Decoded, Section, with_hint};
use crate::device::values::Values;
use crate::diagnostic::Kind;
use crate::units::{Bytes, Nanos};

pub(super) fn decode(
    top: &mut Section<'_>,
    values: &mut Values,
    cache: &CacheSpec,
) -> Decoded<Option<ShingledSpec>> {
    let Some(mut s) = top.optional_section("shingled", "shingled")? else { return Ok(None) };
    let spec = ShingledSpec {
        band: values.size(&mut s, "shingled", "band")?,
        cache: values.size(&mut s, "shingled", "cache")?,
        entry_overhead: values.size(&mut s, "shingled", "entry_overhead")?,
        map_entries: values.count(&mut s, "shingled", "map_entries", 1..100_000_001)?,
        streams: values.count(&mut s, "shingled", "streams", 1..65)?,
        stream_wait: values.time(&mut s, "shingled", "stream_wait")?,
        clean_after: values.time(&mut s, "shingled", "clean_after")?,
    };
    check(&s, &spec, cache)?;
    s.finish()?;
    Ok(Some(spec))
}

/// Checks that values that are each valid are possible together.
fn check(s: &Section<'_>, spec: &ShingledSpec, cache: &CacheSpec) -> Decoded<()> {
    let wrong = |key: &'static str, message: String, expected: &str, hint: &str| {
        let e = s.error(Kind::Impossible, s.span_of(key), message, expected);
        Err(with_hint(e, hint))
    };
    let sizes =
        [("band", spec.band), ("cache", spec.cache), ("entry_overhead", spec.entry_overhead)];
    if let Some((key, size)) = sizes.iter().find(|(_, b)| !b.is_multiple_of(Bytes(SECTOR))) {
        let message = format!("`shingled.{key}` = {size} is not a whole number of sectors");
        return wrong(key, message, "a multiple of 512B", "write it in KiB or MiB");
    }
    if spec.band.0.saturating_mul(2) > cache.size.0 {
        let message =
            format!("two bands of {} do not fit into the memory of {}", spec.band, cache.size);
        let hint = "lower `band` or raise `cache.size`: the disk assembles bands in its memory";
        return wrong("band", message, "at most half of `cache.size`", hint);
    }
    if spec.cache.0 / 2 < spec.band.0.saturating_add(spec.entry_overhead.0) {
        let message = format!("the persistent cache of {} is too small", spec.cache);
        let expected = "room for two bands, each with `entry_overhead`";
        return wrong("cache", message, expected, "raise `shingled.cache`, or lower `band`");
    }
    if spec.map_entries < 4 * cache.destage_window {
        let message = format!("a map of {} entries is too small", spec.map_entries);
        let expected = "at least four times `cache.destage_window`";
        return wrong("map_entries", message, expected, "raise `map_entries`");
    }
    if cache.write_extents == 0 || cache.read_whole_track || cache.destage_after != Nanos::ZERO {
        let message = "the settings of `[cache]` do not fit a shingled disk".to_owned();
        let expected = "`write_extents`, and neither `read_whole_track` nor `destage_after`";
        return wrong(
            "band",
            message,
            expected,
            "change `[cache]`: a shingled disk packs writes that wait, and writes them by band",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::catalog::DEVICES;
    use crate::decode::Source;
    use crate::device::DeviceSpec;

    /// Returns the diagnostic of the bundled disk with `from` replaced by `to`.
    fn refusal(from: &str, to: &str) -> String {
        let bundled = DEVICES.iter().find(|d| d.name == "seagate-archive-8tb").expect("bundled");
        assert!(bundled.text.contains(from), "no `{from}`");
        let text = bundled.text.replace(from, to);
        let refused = DeviceSpec::parse(Source { file: "changed", text: &text });
        refused.expect_err("it was accepted").to_string()
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let small = "cache = { value = \"32GiB\"";
        let cases = [
            ("\"28MiB\"", "\"28MB\"", "not a whole number of sectors"),
            ("\"28MiB\"", "\"65MiB\"", "two bands of 65MiB do not fit into the memory of 128MiB"),
            (small, "cache = { value = \"56MiB\"", "the persistent cache of 56MiB is too small"),
            ("250000", "511", "a map of 511 entries is too small"),
            ("write_extents", "#", "`[cache]` do not fit a shingled disk"),
            (small, "cache = { value = \"132GiB\"", "beside a persistent cache of 132GiB"),
        ];
        for (from, to, said) in cases {
            let refusal = refusal(from, to);
            assert!(refusal.contains(said), "{refusal}\nnot: {said}");
        }
    }
}
