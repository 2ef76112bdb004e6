//! The declaration of where the map of a page mapping is: in memory, saved on flash, or on flash
//! with a part of it in memory.

use super::ftl::{FtlSpec, PageMapSpec};
use super::ssd::{BufferSpec, SsdSpec, overhead};
use super::values::Values;
use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::Kind;
use crate::units::Bytes;

impl PageMapSpec {
    /// The size of a map entry on flash, in bytes: the physical page.
    pub const ENTRY: u64 = 4;
    /// The size of a cached map entry in memory, in bytes: the physical page and the logical page.
    pub const CACHED_ENTRY: u64 = 8;

    /// Returns the number of flash pages that hold a map of `host` pages; 0 if the map is not on
    /// flash.
    pub fn map_pages(&self, page: Bytes, host: u64) -> u64 {
        match self.save_map_every.is_some() || self.map_cache.is_some() {
            true => host.div_ceil(page.0 / Self::ENTRY),
            false => 0,
        }
    }
}

/// Decodes the interval between two saves of the map, and the memory for cached entries.
pub(super) fn decode(
    ftl: &mut Section<'_>,
    values: &mut Values,
) -> Decoded<(Option<Bytes>, Option<Bytes>)> {
    let size = |values: &mut Values, s: &mut Section<'_>, key| values.size(s, "ftl", key).map(Some);
    let save_map_every = values.optional(ftl, "save_map_every", None, size)?;
    let map_cache = values.optional(ftl, "map_cache", None, size)?;
    if map_cache.is_some() && save_map_every.is_some() {
        let message = "a map that is kept on flash (`map_cache`) is not saved as a whole \
                       (`save_map_every`)";
        let span = ftl.key_span_of("save_map_every");
        let e = ftl.error(Kind::Impossible, span, message, "");
        return Err(with_hint(e, "leave out `map_cache` or `save_map_every`"));
    }
    Ok((save_map_every, map_cache))
}

/// Returns the smallest cache of map entries with which garbage collection can keep up: writing one
/// map page makes at most one more map page due, at the mean number of moves. Returns `None` if no
/// size is enough.
///
/// Collection moves v pages to free n − v, and each move changes an entry. Half of the cache
/// changes before map pages are written, and each map page written has as many changed entries as
/// the mean.
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

/// Checks that a map can work if only a part of it is in memory: it needs a buffer and enough
/// entries.
pub(super) fn check(top: &Section<'_>, spec: &SsdSpec, capacity: Bytes) -> Decoded<()> {
    let FtlSpec::Page(map) = &spec.ftl else { return Ok(()) };
    let Some(cache) = map.map_cache else { return Ok(()) };
    let impossible = |message: String, hint: &str| {
        let e = top.error(Kind::Impossible, top.key_span_of("ftl"), message, "");
        Err(with_hint(e, hint))
    };
    if matches!(spec.buffer, BufferSpec::Registers) {
        let message =
            "without a buffer, a page that waits for its map entry has no place".to_owned();
        return impossible(message, "use a `buffer` of kind `dram`, or leave out `ftl.map_cache`");
    }
    let Some(least) = least_map_cache(spec, capacity) else {
        let message = "without spare pages, each write of a map page would make writes of other \
                       map pages necessary"
            .to_owned();
        return impossible(message, "raise `nand.blocks_per_plane`, or leave out `ftl.map_cache`");
    };
    if cache < least {
        let message = format!(
            "with a map cache of {cache}, writing a map page would change more map entries than it \
             saves"
        );
        let hint = format!("raise `ftl.map_cache` to at least {least}, or lower `capacity`");
        return impossible(message, &hint);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Source;
    use crate::device::{DeviceKind, DeviceSpec};

    /// Decodes a bundled drive with a map cache of this size and more keys.
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
        // A page of 4 KiB holds 1024 entries.
        assert_eq!(map.map_pages(Bytes(4096), 3000), 3);
        let refused = with("4KiB", "").unwrap_err();
        let (_, least) = refused.split_once("`ftl.map_cache` to at least ").expect("least");
        let least = least.split_once(',').expect("of it").0.to_owned();
        assert!(with(&least, "").is_ok(), "{least}");
        let twice = with("16MiB", "save_map_every = { value = \"1MiB\", assumed = \"a test\" }\n");
        assert!(twice.unwrap_err().contains("is not saved as a whole"));
        let spec = with("16MiB", "").expect("enough");
        // A capacity that takes all flash beyond the layer's own overhead leaves no spare pages.
        let full = spec.nand.raw() - overhead(&spec, Bytes::ZERO);
        assert_eq!(least_map_cache(&spec, full), None);
        // A cache that holds all entries is enough with any number of spare pages.
        let most = Bytes((28 << 30) / 4096 * PageMapSpec::CACHED_ENTRY);
        assert!(least_map_cache(&spec, Bytes(28 << 30)).is_some_and(|least| least <= most));
    }
}
