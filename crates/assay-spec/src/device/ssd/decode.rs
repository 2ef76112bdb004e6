//! Decodes the declaration of a solid-state drive.

use super::{
    BufferSpec, Direction, FlushSpec, LazySpec, Reach, ReadAheadSpec, ReadBuffered, SsdSpec,
    overhead,
};
use crate::decode::{Decoded, Section, with_hint};
use crate::device::ftl::{CopyPath, Frontiers, FtlSpec};
use crate::device::hybrid::HybridSpec;
use crate::device::link::LinkSpec;
use crate::device::values::Values;
use crate::device::{ecc, endurance, ftl, map, nand, power, thermal};
use crate::diagnostic::Kind;
use crate::units::{Bytes, Nanos};

pub(in crate::device) fn decode(
    top: &mut Section<'_>,
    values: &mut Values,
    capacity: Bytes,
    link: LinkSpec,
) -> Decoded<SsdSpec> {
    let nand = nand::decode(top, values)?;
    let ftl = ftl::decode::decode(top, values)?;
    let mut buffer = top.section("buffer", "buffer")?;
    let buffer_spec = match values.choice(&mut buffer, "buffer", "kind", &["registers", "dram"])? {
        0 => {
            buffer.goes_with(&["size", "reads", "flush", "protected"], "kind `dram`");
            buffer.goes_with(&OF_LAZY, "flush `lazy`");
            BufferSpec::Registers
        }
        _ => {
            let size = values.size(&mut buffer, "buffer", "size")?;
            let words = ["from-buffer", "after-write-back"];
            let reads = match values.choice_or(&mut buffer, "buffer", "reads", &words, 0)? {
                0 => ReadBuffered::FromBuffer,
                _ => ReadBuffered::AfterWriteBack,
            };
            let flush = decode_flush(&mut buffer, values, size, reads)?;
            let protected =
                values.choice_or(&mut buffer, "buffer", "protected", &["no", "yes"], 0)? == 1;
            BufferSpec::Dram { size, write_back: true, reads, flush, protected }
        }
    };
    buffer.finish()?;
    let readahead = match top.optional_section("readahead", "readahead")? {
        None => None,
        Some(mut s) => {
            let trigger = values.count(&mut s, "readahead", "trigger", 1..1025)?;
            let window = values.size(&mut s, "readahead", "window")?;
            let words = ["logical", "contiguous"];
            let reach = match values.choice_or(&mut s, "readahead", "reach", &words, 0)? {
                0 => Reach::Logical,
                _ => Reach::Contiguous,
            };
            let count = |values: &mut Values, s: &mut Section<'_>, key| {
                values.count(s, "readahead", key, 1..65)
            };
            let streams = values.optional(&mut s, "streams", 1, count)?;
            let words = ["forward", "both"];
            let direction = match values.choice_or(&mut s, "readahead", "direction", &words, 0)? {
                0 => Direction::Forward,
                _ => Direction::Both,
            };
            let spec = ReadAheadSpec { trigger, window, reach, streams, direction };
            s.finish()?;
            Some(spec)
        }
    };
    // A medium that is written in place has no blocks that wear out, so `[endurance]` is refused
    // there.
    let endurance = match ftl {
        FtlSpec::InPlace => None,
        _ => endurance::decode(top, values)?,
    };
    let power = power::decode(top, values)?;
    let thermal = thermal::decode(top, values, power)?;
    let ecc = ecc::decode(top, values)?;
    let spec =
        SsdSpec { nand, ftl, buffer: buffer_spec, readahead, endurance, power, thermal, ecc };
    check(top, &spec, capacity, link)?;
    Ok(spec)
}

/// The keys of a buffer with flush `lazy`.
const OF_LAZY: [&str; 3] = ["high", "low", "idle"];

fn decode_flush(
    buffer: &mut Section<'_>,
    values: &mut Values,
    size: Bytes,
    reads: ReadBuffered,
) -> Decoded<FlushSpec> {
    if values.choice_or(buffer, "buffer", "flush", &["at-once", "lazy"], 0)? == 0 {
        buffer.goes_with(&OF_LAZY, "flush `lazy`");
        return Ok(FlushSpec::AtOnce);
    }
    let high = values.size(buffer, "buffer", "high")?;
    let low = values.size(buffer, "buffer", "low")?;
    let time =
        |values: &mut Values, s: &mut Section<'_>, key| values.time(s, "buffer", key).map(Some);
    let idle = values.optional(buffer, "idle", None, time)?;
    let impossible = |key, message: String, hint: &str| {
        Err(with_hint(buffer.error(Kind::Impossible, buffer.key_span_of(key), message, ""), hint))
    };
    if high > size {
        let message = format!("`high` = {high} is larger than the buffer of {size}");
        return impossible("high", message, "lower `high`, or raise `size`");
    }
    if low >= high {
        let message = format!(
            "`low` = {low} is not below `high` = {high}, so writing back would free nothing"
        );
        return impossible("low", message, "lower `low` below `high`");
    }
    if reads == ReadBuffered::AfterWriteBack {
        let message = "`flush` `lazy` keeps written pages in the buffer, so reads must be served \
                       from the buffer"
            .to_owned();
        return impossible("flush", message, "leave out `reads`, or set `flush` to `at-once`");
    }
    Ok(FlushSpec::Lazy(LazySpec { high, low, idle }))
}

/// Checks that values that are each valid are possible together.
fn check(top: &Section<'_>, spec: &SsdSpec, capacity: Bytes, link: LinkSpec) -> Decoded<()> {
    let nand = &spec.nand;
    let ftl_span = top.span_of("ftl");
    let impossible = |span, message: String, hint: String| {
        Err(with_hint(top.error(Kind::Impossible, span, message, ""), hint))
    };
    if !capacity.is_multiple_of(nand.page) {
        return impossible(
            top.span_of("capacity"),
            format!("capacity {capacity} is not a whole number of pages of {}", nand.page),
            "round the capacity down to a multiple of the page".into(),
        );
    }
    if nand.pages() > u64::from(u32::MAX) / 2 {
        return impossible(
            top.span_of("capacity"),
            format!("{} flash pages are more than this model addresses", nand.pages()),
            "use larger pages or fewer blocks; the limit is 2^31 − 1 pages".into(),
        );
    }
    check_endurance(top, spec, link)?;
    check_spare(top, spec, capacity)?;
    map::check(top, spec, capacity)?;
    check_programs(top, spec)?;
    check_ecc(top, spec)?;
    if let FtlSpec::Hybrid(hybrid) = spec.ftl {
        let width = hybrid.width.unwrap_or(nand.planes());
        let superblock = nand.page * u64::from(width) * u64::from(nand.pages_per_block);
        if !nand.planes().is_multiple_of(width) {
            return impossible(
                ftl_span,
                format!("superblocks of {width} planes do not divide {} planes", nand.planes()),
                "use a divisor of the number of planes".into(),
            );
        }
        let rows = nand.pages_per_block * hybrid.blocks_per_log;
        if rows > HybridSpec::MOST_ROWS {
            return impossible(
                ftl_span,
                format!("a log of {rows} pages on each plane is more than this model addresses"),
                format!("lower `blocks_per_log`; the limit is {} pages", HybridSpec::MOST_ROWS),
            );
        }
        let unit = hybrid.unit.max(nand.page);
        if !unit.is_multiple_of(nand.page) || !superblock.is_multiple_of(unit) {
            return impossible(
                ftl_span,
                format!("the log's unit of {unit} does not divide a superblock of {superblock}"),
                format!("use a multiple of the page ({}) that divides it", nand.page),
            );
        }
    }
    Ok(())
}

/// Checks programs of several pages, and blocks with one bit a cell, against the other settings.
fn check_programs(top: &Section<'_>, spec: &SsdSpec) -> Decoded<()> {
    let impossible = |key, message: String, hint: &str| {
        Err(with_hint(top.error(Kind::Impossible, top.key_span_of(key), message, ""), hint))
    };
    let nand = &spec.nand;
    if nand.suspend.is_some() && matches!(spec.ftl, FtlSpec::InPlace) {
        let message =
            "a drive with mapping `in-place` does not suspend writes for reads".to_owned();
        return impossible("ftl", message, "leave out `nand.suspend` and the keys that go with it");
    }
    let slc = match spec.ftl {
        FtlSpec::Page(map) => map.slc,
        FtlSpec::Hybrid(_) | FtlSpec::InPlace => None,
    };
    if slc.is_some() && nand.slc.is_none() {
        let message = "`[slc]` needs blocks with one bit a cell, but the chips have no \
                       `slc_program`"
            .to_owned();
        return impossible("slc", message, "add `bits`, `slc_read` and `slc_program` to `[nand]`");
    }
    if nand.pages_per_program == 1 {
        return Ok(());
    }
    let FtlSpec::Page(map) = spec.ftl else {
        let message = "only `ftl.mapping` `page` can use programs of several pages".to_owned();
        return impossible("ftl", message, "leave out `nand.pages_per_program`");
    };
    if map.collection.copy == CopyPath::CopyBack {
        let message =
            "programs of several pages are gathered in the controller, so `collection.copy` cannot \
             be `copy-back`".to_owned();
        return impossible("ftl", message, "set `collection.copy` to `controller`");
    }
    if map.collection.frontiers == Frontiers::One {
        let message = "with one frontier, incomplete programs would use up the space for moved \
                       pages"
            .to_owned();
        return impossible("collection", message, "leave out `collection.frontiers`");
    }
    if map.slc.is_some() && map.collection.over_drive {
        let message = "data leaves an SLC cache (`[slc]`) only within its plane".to_owned();
        return impossible("slc", message, "leave out `collection.target`");
    }
    // In each plane, all pages of a program but one may wait for the last one.
    let most = nand.page * u64::from(nand.planes()) * u64::from(nand.pages_per_program);
    match spec.buffer {
        BufferSpec::Dram { reads: ReadBuffered::FromBuffer, size, .. } if size >= most => Ok(()),
        _ => {
            let message =
                format!("up to {most} of data may wait for other pages of the same program");
            let hint = "use a `dram` buffer of at least this size that serves reads";
            impossible("buffer", message, hint)
        }
    }
}

/// Checks that a drive that wears out has enough blocks, and that its errors take time.
fn check_endurance(top: &Section<'_>, spec: &SsdSpec, link: LinkSpec) -> Decoded<()> {
    let Some(endurance) = spec.endurance else { return Ok(()) };
    let impossible = |message: String, hint: &str| {
        let e = top.error(Kind::Impossible, top.key_span_of("endurance"), message, "");
        Err(with_hint(e, hint))
    };
    let (spare, blocks) = (endurance.spare_blocks, spec.nand.blocks_per_plane);
    if spare >= blocks {
        let message =
            format!("{spare} blocks of each plane may go bad, but a plane has only {blocks}");
        return impossible(message, "lower `endurance.spare_blocks`");
    }
    if link.command == Nanos::ZERO {
        let message = "a worn drive would refuse writes in no time, so a loop of writes would \
                       never end";
        return impossible(
            message.to_owned(),
            "set `link.command` to the time that the controller needs for a command",
        );
    }
    Ok(())
}

/// Checks that the codewords fit the pages, and that only blocks that wear out have more wrong bits
/// later.
fn check_ecc(top: &Section<'_>, spec: &SsdSpec) -> Decoded<()> {
    let Some(ecc) = spec.ecc else { return Ok(()) };
    let impossible = |message: String, hint: &str| {
        let e = top.error(Kind::Impossible, top.key_span_of("ecc"), message, "");
        Err(with_hint(e, hint))
    };
    let page = spec.nand.page;
    if !page.is_multiple_of(ecc.codeword) && !ecc.codeword.is_multiple_of(page) {
        let message = format!("codewords of {} do not fill pages of {page}", ecc.codeword);
        return impossible(message, "use a divisor or a multiple of the page");
    }
    if spec.endurance.is_none() && ecc.worn > ecc.fresh {
        let message = "without `[endurance]` blocks never wear out, so `ecc.worn` cannot be above \
                       `ecc.fresh`"
            .to_owned();
        return impossible(
            message,
            "add `[endurance]`, or set `ecc.worn` to the value of `ecc.fresh`",
        );
    }
    Ok(())
}

/// Checks that the flash is large enough for the capacity and the layer's overhead.
fn check_spare(top: &Section<'_>, spec: &SsdSpec, capacity: Bytes) -> Decoded<()> {
    let (nand, overhead) = (&spec.nand, overhead(spec, capacity));
    if nand.raw() >= capacity + overhead {
        return Ok(());
    }
    let message = format!(
        "{} of flash cannot hold {capacity} and the {overhead} that the \
         translation layer needs",
        nand.raw()
    );
    let e = top.error(Kind::Impossible, top.span_of("ftl"), message, "");
    let hint = "raise `nand.blocks_per_plane`, or lower `capacity` or what the layer reserves";
    Err(with_hint(e, hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Source;
    use crate::device::{DeviceKind, DeviceSpec};
    use crate::device::{EnduranceSpec, SlcCacheSpec};

    /// Decodes the buffer (1 MiB) of a bundled drive, with more keys.
    fn buffer(lines: &str) -> Result<BufferSpec, String> {
        let bundled = crate::catalog::DEVICES.iter().find(|d| d.name == "reference-28");
        let text = bundled.expect("in the catalogue").text;
        let text = text.replace("[buffer]\n", &format!("[buffer]\n{lines}"));
        let spec = DeviceSpec::parse(Source { file: "drive.toml", text: &text });
        match spec.map_err(|e| e.to_string())?.kind {
            DeviceKind::Ssd(ssd) => Ok(ssd.buffer),
            _ => Err("not an SSD".into()),
        }
    }

    fn lines(keys: &[(&str, &str)]) -> String {
        let line = |(key, value): &(&str, &str)| {
            format!("{key} = {{ value = \"{value}\", assumed = \"a test\" }}\n")
        };
        keys.iter().map(line).collect()
    }

    #[test]
    fn blocks_that_wear_out_exclude_what_cannot_be_with_them() {
        let bundled = crate::catalog::DEVICES.iter().find(|d| d.name == "reference-28");
        let text = bundled.expect("in the catalogue").text;
        let drive = |spare: u32, command: &str| -> Result<Option<EnduranceSpec>, String> {
            let of = |key, value| format!("{key} = {{ value = {value}, assumed = \"a test\" }}\n");
            let keys = of("cycles", 3000) + &of("spread", 5) + &of("spare_blocks", spare);
            let text = text.replace("command = { value = \"1us\"", command);
            let text = format!("{text}\n[endurance]\n{keys}");
            let spec = DeviceSpec::parse(Source { file: "drive.toml", text: &text });
            match spec.map_err(|e| e.to_string())?.kind {
                DeviceKind::Ssd(ssd) => Ok(ssd.endurance),
                _ => Err("not an SSD".into()),
            }
        };
        let command = "command = { value = \"1us\"";
        let spec = EnduranceSpec { cycles: 3000, spread: 5, spare_blocks: 20, used: 0 };
        assert_eq!(drive(20, command), Ok(Some(spec)));
        let is = |spare, command: &str, why: &str| {
            let said = drive(spare, command).expect_err("it cannot be");
            assert!(said.contains(why), "{said}");
        };
        is(1000, command, "that the translation layer needs");
        is(524_288, command, "blocks of each plane may go bad");
        is(20, "command = { value = \"0us\"", "a loop of writes would never end");
    }

    #[test]
    fn a_log_has_pages_that_can_be_counted() {
        let bundled = crate::catalog::DEVICES.iter().find(|d| d.name == "ssd-l");
        let text = bundled.expect("in the catalogue").text;
        let of = |blocks: u32| {
            let line = |line: &str| {
                let key = line.split(' ').next().unwrap_or_default();
                let value = match key {
                    "pages_per_block" => 8192,
                    "log_superblocks" => 5,
                    "blocks_per_log" => blocks,
                    _ => return format!("{line}\n"),
                };
                format!("{key} = {{ value = {value}, assumed = \"a test\" }}\n")
            };
            let text: String = text.lines().map(line).collect();
            DeviceSpec::parse(Source { file: "drive.toml", text: &text }).map(|_| ())
        };
        assert_eq!(of(7).map_err(|e| e.to_string()), Ok(()));
        let refused = of(8).expect_err("65,536 pages").to_string();
        assert!(refused.contains("more than this model addresses"), "{refused}");
    }

    #[test]
    fn programs_of_several_pages_exclude_what_cannot_be_with_them() {
        let bundled = crate::catalog::DEVICES.iter().find(|d| d.name == "reference-28");
        let text = bundled.expect("in the catalogue").text;
        let drive = |nand: &[(&str, &str)], collection: &[(&str, &str)], slc: &[(&str, &str)]| {
            let text = text.replace("[nand]\n", &format!("[nand]\n{}", lines(nand)));
            let (before, rest) = text.split_once("[collection]\n").expect("it has a collection");
            let rest = rest.find("\n[").map_or("", |next| &rest[next..]);
            let slc = if slc.is_empty() { String::new() } else { format!("[slc]\n{}", lines(slc)) };
            let text = format!("{before}[collection]\n{}\n{slc}{rest}", lines(collection));
            let text = text.replace("value = \"8\"", "value = 8").replace("\"3\"", "3");
            let text = text.replace("\"4\"", "4").replace("\"1MiB\"", "\"16MiB\"");
            let spec = DeviceSpec::parse(Source { file: "drive.toml", text: &text });
            match spec.map_err(|e| e.to_string())?.kind {
                DeviceKind::Ssd(ssd) => Ok(ssd),
                _ => Err("not an SSD".into()),
            }
        };
        let controller = ("copy", "controller");
        let (eight, bits) = (("pages_per_program", "8"), ("bits", "4"));
        let times = [("slc_read", "20us"), ("slc_program", "200us")];
        let cells = [eight, bits, times[0], times[1]];
        let cache = [("size", "1GiB"), ("fold_after", "1s")];
        let good = drive(&cells, &[controller], &cache).expect("a drive");
        assert_eq!((good.nand.pages_per_program, good.nand.slc.map(|s| s.bits)), (8, Some(4)));
        // 32 planes of 1,024 blocks of 256 pages of 4 KiB: one block of each plane holds 8 MiB at
        // one bit a cell.
        assert_eq!(SlcCacheSpec::blocks(Bytes::GIB, &good.nand), 128);
        let target = ("target", "drive");
        let fixed = [("size", "1GiB"), ("fixed", "2GiB"), ("fold_after", "1s")];
        for (nand, collection, slc, said) in [
            (&cells[..1], &[][..], &[][..], "gathered in the controller"),
            (&cells[..1], &[controller, ("frontiers", "one")], &[], "use up the space"),
            (&[("pages_per_program", "3")], &[controller], &[], "do not divide a block"),
            (&[eight, ("bits", "3"), times[0], times[1]], &[controller], &[], "do not divide"),
            (&[eight, bits], &[controller], &[], "slc_read"),
            (&cells[..1], &[controller], &cache, "blocks with one bit a cell"),
            (&cells, &[controller, target], &cache, "within its plane"),
            (&cells, &[controller], &fixed, "larger than the whole cache"),
        ] {
            let error: String = drive(nand, collection, slc).expect_err(said);
            assert!(error.contains(said) && error.contains("drive.toml"), "{said}: {error}");
        }
    }

    #[test]
    fn a_lazy_buffer_has_its_marks() {
        let flush = |keys: &[(&str, &str)]| match buffer(&lines(keys)) {
            Ok(BufferSpec::Dram { flush, .. }) => Ok(flush),
            Ok(BufferSpec::Registers) => Err("no buffer".to_owned()),
            Err(e) => Err(e),
        };
        assert_eq!(flush(&[]), Ok(FlushSpec::AtOnce));
        let (lazy, high, low) = (("flush", "lazy"), ("high", "512KiB"), ("low", "64KiB"));
        let marks = LazySpec { high: Bytes(512 << 10), low: Bytes(64 << 10), idle: None };
        assert_eq!(flush(&[lazy, high, low]), Ok(FlushSpec::Lazy(marks)));
        let idle = Some(Nanos::from_millis(30));
        let expected = FlushSpec::Lazy(LazySpec { idle, ..marks });
        assert_eq!(flush(&[lazy, high, low, ("idle", "30ms")]), Ok(expected));
        for (keys, said) in [
            (&[high][..], "flush `lazy`"),
            (&[lazy, high], "low"),
            (&[lazy, ("high", "2MiB"), low], "larger than the buffer of 1MiB"),
            (&[lazy, high, ("low", "512KiB")], "would free nothing"),
            (
                &[lazy, high, low, ("reads", "after-write-back")],
                "reads must be served from the buffer",
            ),
        ] {
            let error = flush(keys).expect_err(said);
            assert!(error.contains(said) && error.contains("drive.toml"), "{error}");
        }
    }
}
