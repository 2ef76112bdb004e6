//! The declaration of where the map of a page mapping is: in memory, saved on flash, or on flash
//! with a part of it in memory.

use super::ssd::overhead;
use super::{FtlSpec, PageMapSpec, SsdSpec, Values};
use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::Kind;
use crate::units::Bytes;

impl PageMapSpec {
    /// Bytes of an entry of the map on flash: where a page is.
    pub const ENTRY: u64 = 4;
    /// And in a cache of entries: which page, too.
    pub const CACHED_ENTRY: u64 = 8;

    /// Pages that a map of `host` pages has on flash, if it is there.
    pub fn map_pages(&self, page: Bytes, host: u64) -> u64 {
        match self.save_map_every.is_some() || self.map_cache.is_some() {
            true => host.div_ceil(page.0 / Self::ENTRY),
            false => 0,
        }
    }
}

/// How often it is saved, and the memory for entries.
pub(super) fn decode(
    ftl: &mut Section<'_>,
    values: &mut Values,
) -> Decoded<(Option<Bytes>, Option<Bytes>)> {
    let size = |values: &mut Values, s: &mut Section<'_>, key| values.size(s, "ftl", key).map(Some);
    let save_map_every = values.optional(ftl, "save_map_every", None, size)?;
    let map_cache = values.optional(ftl, "map_cache", None, size)?;
    if map_cache.is_some() && save_map_every.is_some() {
        let message = "a map that is on flash is not saved there once more";
        let span = ftl.key_span_of("save_map_every");
        let e = ftl.error(Kind::Impossible, span, message, "");
        return Err(with_hint(e, "leave out `map_cache` or `save_map_every`"));
    }
    Ok((save_map_every, map_cache))
}

/// Entries that a cache has at least, so that moving pages to make room for a page of the map does
/// not make more than one page of it due, if as many are moved as in the mean. `None`: no number
/// would do.
///
/// Of v pages moved for n − v written each changes an entry. Half of the cache changes before pages
/// of the map are written, and each of them has as many of those entries as the mean.
pub fn least_map_cache(spec: &SsdSpec, capacity: Bytes) -> Option<Bytes> {
    let FtlSpec::Page(map) = &spec.ftl else { return None };
    let (page, host) = (spec.nand.page, capacity.0 / spec.nand.page.0);
    let pages = map.map_pages(page, host);
    let used = capacity + overhead(spec, capacity);
    let spare = spec.nand.raw().0.checked_sub(used.0)? / page.0;
    let spare = Some(spare).filter(|spare| *spare > 0)?;
    let moves = (host + pages).div_ceil(spare);
    Some(Bytes((2 * pages * (moves + 1)).min(host) * PageMapSpec::CACHED_ENTRY))
}

/// What a map of which only a part is in memory excludes.
pub(super) fn check(top: &Section<'_>, spec: &SsdSpec, capacity: Bytes) -> Decoded<()> {
    let FtlSpec::Page(map) = &spec.ftl else { return Ok(()) };
    let Some(cache) = map.map_cache else { return Ok(()) };
    let impossible = |message: String, hint: &str| {
        let e = top.error(Kind::Impossible, top.key_span_of("ftl"), message, "");
        Err(with_hint(e, hint))
    };
    if matches!(spec.buffer, super::BufferSpec::Registers) {
        let message = "without a buffer a page that waits for its entry has no place".to_owned();
        return impossible(message, "take a `buffer` of kind `dram`, or leave out `ftl.map_cache`");
    }
    let Some(least) = least_map_cache(spec, capacity) else {
        let message = "with no spare pages every page of the map makes others due".to_owned();
        return impossible(message, "raise `nand.blocks_per_plane`, or leave out `ftl.map_cache`");
    };
    if cache < least {
        let message = format!(
            "with {cache} of entries, pages moved to write the map would change more of it"
        );
        let hint = format!("raise `ftl.map_cache` to {least} at least, or lower `capacity`");
        return impossible(message, &hint);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Source;
    use crate::device::{DeviceKind, DeviceSpec};

    /// A bundled drive with a cache of this size.
    fn with(cache: &str, more: &str) -> Result<SsdSpec, String> {
        let bundled = crate::catalog::DEVICES.iter().find(|d| d.name == "reference-28");
        let text = bundled.expect("in the catalogue").text;
        let key = format!("map_cache = {{ value = \"{cache}\", assumed = \"a test\" }}\n");
        let text = text.replace("[ftl]\n", &format!("[ftl]\n{key}{more}"));
        let spec = DeviceSpec::parse(Source { file: "drive.toml", text: &text });
        match spec.map_err(|e| e.to_string())?.kind {
            DeviceKind::Ssd(ssd) => Ok(*ssd),
            _ => Err("not an SSD".to_owned()),
        }
    }

    #[test]
    fn a_page_that_waits_for_its_entry_waits_in_a_buffer() {
        let bundled = crate::catalog::DEVICES.iter().find(|d| d.name == "reference-28");
        let text = bundled.expect("in the catalogue").text;
        let (before, rest) = text.split_once("[buffer]\n").expect("it has a buffer");
        let rest = rest.find("\n[").map_or("", |next| &rest[next..]);
        let registers = "kind = { value = \"registers\", assumed = \"a test\" }\n";
        let cache = "[ftl]\nmap_cache = { value = \"16MiB\", assumed = \"a test\" }\n";
        let of = |before: &str| {
            let text = format!("{before}[buffer]\n{registers}{rest}");
            DeviceSpec::parse(Source { file: "drive.toml", text: &text }).map(|_| ())
        };
        assert!(of(before).is_ok());
        let refused = of(&before.replace("[ftl]\n", cache)).expect_err("no buffer").to_string();
        assert!(refused.contains("has no place") && refused.contains("hint: "), "{refused}");
    }

    #[test]
    fn a_cache_of_entries_has_a_size_that_can_work() {
        let ssd = with("16MiB", "").expect("enough");
        let FtlSpec::Page(map) = ssd.ftl else { panic!("a page map") };
        assert_eq!(map.map_cache, Some(Bytes(16 << 20)));
        // 1024 entries in a page of 4 KiB.
        assert_eq!(map.map_pages(Bytes(4096), 3000), 3);
        let refused = with("4KiB", "").unwrap_err();
        let (_, least) = refused.split_once("`ftl.map_cache` to ").expect("it says how much");
        let least = least.split_once(" at least").expect("of it").0.to_owned();
        assert!(with(&least, "").is_ok(), "{least}");
        let twice = with("16MiB", "save_map_every = { value = \"1MiB\", assumed = \"a test\" }\n");
        assert!(twice.unwrap_err().contains("is not saved there once more"));
        let spec = with("16MiB", "").expect("enough");
        // All of the flash but for what the layer works with: nothing is to spare.
        let full = spec.nand.raw() - overhead(&spec, Bytes::ZERO);
        assert_eq!(least_map_cache(&spec, full), None);
        // All entries are enough, whatever the spare.
        let most = Bytes((28 << 30) / 4096 * PageMapSpec::CACHED_ENTRY);
        assert!(least_map_cache(&spec, Bytes(28 << 30)).is_some_and(|least| least <= most));
    }
}
