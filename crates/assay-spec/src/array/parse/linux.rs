//! The parser of Linux targets: from text to [`LinuxSpec`], with the column of every mistake.

use super::Parser;
use crate::date::{DATE_EXPECTED, Date};
use crate::decode::{Decoded, Source, quantity};
use crate::diagnostic::{Diagnostic, Kind, closest, one_of};
use crate::experiment::host::ElevatorKind;
use crate::experiment::scale::Scale;
use crate::linux::{BlockDevice, FILESYSTEMS, LinuxSpec, SCHEDULERS, Settings, is_linux};
use crate::units::{Bytes, SIZE_EXPECTED};
use std::ops::{Range, RangeInclusive};

const OPTIONS: [&str; 14] = [
    "fs",
    "scheduler",
    "readahead",
    "memory",
    "partition",
    "name",
    "queue_depth",
    "max_request",
    "processor",
    "date",
    "discard",
    "mkfs",
    "mount",
    "sysctl",
];

/// Options that `processor=` has replaced.
const REPLACED: [&str; 3] = ["host", "copy", "prepare"];

/// Parses a Linux target.
///
/// # Errors
/// Returns what is wrong, with its column, and what to write instead.
pub fn parse_linux(text: &str) -> Decoded<LinuxSpec> {
    read(text).map(|(spec, _)| spec)
}

/// Returns a Linux target with its memory and its partition scaled, as far as that is possible.
/// Returns any other text unchanged.
pub(crate) fn scale_linux(text: &str, scale: Scale) -> String {
    let mut text = text.to_owned();
    if !is_linux(&text) || scale.is_full() {
        return text;
    }
    let Ok((spec, mut said)) = read(&text) else { return text };
    said.options.sort_by_key(|(_, span)| std::cmp::Reverse(span.start));
    for (key, span) in said.options {
        let (size, range) = match key {
            "memory" => (Some(spec.settings.memory), MEMORIES),
            "partition" => (spec.settings.partition, PARTITIONS),
            _ => continue,
        };
        let size = size.map(|size| scale.size(size, PAGE).max(*range.start()));
        text.replace_range(span, &size.map_or_else(String::new, |size| size.to_string()));
    }
    text
}

/// Returns a Linux target with the `defaults` of the options that it does not have. All options are
/// in one order, so that equal targets are equal texts. Returns any other text unchanged.
pub(crate) fn complete_linux(text: &str, defaults: &[(&'static str, String)]) -> String {
    if !is_linux(text) {
        return text.to_owned();
    }
    let Ok((_, said)) = read(text) else { return text.to_owned() };
    let option = |key: &'static str| {
        let written = said.options.iter().find(|(name, _)| *name == key);
        let value = match written {
            Some((_, span)) => &text[span.clone()],
            None => &defaults.iter().find(|(name, _)| *name == key)?.1,
        };
        Some(format!("{key}={value}"))
    };
    let [fs, others @ ..] = OPTIONS;
    let grounds = said.grounds.iter().map(|span| text[span.clone()].to_owned());
    let all = option(fs).into_iter().chain(grounds).chain(others.into_iter().filter_map(option));
    format!("linux({})", all.collect::<Vec<_>>().join(", "))
}

/// The parts of a text.
#[derive(Default)]
struct Said {
    /// The options, with the spans of their values.
    options: Vec<(&'static str, Range<usize>)>,
    /// The spans of the rest: `raw`, and the device.
    grounds: Vec<Range<usize>>,
}

fn read(text: &str) -> Decoded<(LinuxSpec, Said)> {
    let parser = Parser { source: Source { file: "target", text } };
    let span = parser.trimmed(0..text.len());
    parser.balanced(&span)?;
    let open = parser.text(&span).find('(').expect("as `is_linux` says");
    let inner = span.start + open + 1..span.end - 1;
    let mut reader = OptionReader {
        parser: &parser,
        said: Said::default(),
        device: None,
        is_raw: false,
        settings: Settings::default(),
    };
    for part in parser.parts(&inner) {
        reader.item(part)?;
    }
    reader.finish(&span)
}

/// The parts of a Linux target that have been read so far.
struct OptionReader<'p, 'a> {
    parser: &'p Parser<'a>,
    said: Said,
    device: Option<BlockDevice>,
    is_raw: bool,
    settings: Settings,
}

impl OptionReader<'_, '_> {
    fn item(&mut self, part: Range<usize>) -> Decoded<()> {
        let text = self.parser.text(&part);
        let key = text.split('=').next().unwrap_or_default().trim();
        if text.is_empty() {
            let expected = "a drive such as `sim:wd-raptor`, or an option such as `fs=ext4`";
            let hint = "remove the comma, or write what is missing";
            let message = "there is nothing between two commas";
            return Err(self.parser.error(Kind::Syntax, &part, message, expected, hint));
        }
        if text == "raw" {
            self.is_raw = true;
            self.said.grounds.push(part);
            return Ok(());
        }
        if text.contains('=') && !key.contains(['(', ':']) {
            return self.option(&part);
        }
        if self.device.is_some() {
            let message = "there is a second device";
            let hint = "make several drives an array: `md-raid0(sim:a, sim:b)`";
            return Err(self.parser.error(Kind::Impossible, &part, message, "one", hint));
        }
        self.device = Some(self.device(part.clone())?);
        self.said.grounds.push(part);
        Ok(())
    }

    fn device(&self, part: Range<usize>) -> Decoded<BlockDevice> {
        let text = self.parser.text(&part);
        if text.starts_with("md-") {
            let array = self.parser.array(part.start + "md-".len()..part.end, 0)?;
            if let Some(card) = &array.controller {
                let message =
                    format!("the kernel makes an `md-` array, so `{card}` cannot make it");
                let hint = "connect members to the card with `@`, or let the card make the array: \
                            `raid0(…)` without `md-`";
                let expected = "no `controller`";
                return Err(self.parser.error(Kind::Impossible, &part, message, expected, hint));
            }
            if array.fail_at.is_some() || array.rebuild.is_some() {
                let message = "an array of the kernel takes neither `fail_at` nor `rebuild`";
                let hint = "start the array degraded with `failed=1`, or run `mdadm` itself with \
                            `assay linux run`";
                let expected = "`failed` alone";
                return Err(self.parser.error(Kind::Impossible, &part, message, expected, hint));
            }
            return Ok(BlockDevice::Array(array));
        }
        if let Some(rest) = text.strip_prefix("raid-z") {
            let open = part.start + text.len() - rest.len();
            return self.pool(open..part.end);
        }
        let mut members = self.parser.member(part.clone(), 0)?;
        if members.len() != 1 {
            let message = "several drives are given, but no array of them";
            let hint = format!("write `md-raid0({text})`");
            return Err(self.parser.error(Kind::Impossible, &part, message, "one drive", hint));
        }
        Ok(BlockDevice::Drive(members.remove(0)))
    }

    /// Parses the drives of a RAID-Z pool, which are in parentheses.
    fn pool(&self, span: Range<usize>) -> Decoded<BlockDevice> {
        let mut members = Vec::new();
        let text = self.parser.text(&span);
        if text.starts_with('(') && text.ends_with(')') {
            for part in self.parser.parts(&(span.start + 1..span.end - 1)) {
                members.extend(self.parser.member(part, 0)?);
            }
        }
        if members.len() >= 2 {
            return Ok(BlockDevice::RaidZ(members));
        }
        let message = "a raid-z needs two drives or more";
        let (expected, hint) = ("two drives or more", "e.g. `raid-z(sim:x25-m-g2*5)`");
        Err(self.parser.error(Kind::OutOfRange, &span, message, expected, hint))
    }

    fn option(&mut self, part: &Range<usize>) -> Decoded<()> {
        let parser = self.parser;
        let at = parser.text(part).find('=').expect("asked before");
        let key_span = parser.trimmed(part.start..part.start + at);
        let (key, span) = (parser.text(&key_span), parser.trimmed(part.start + at + 1..part.end));
        let Some(known) = OPTIONS.iter().find(|name| **name == key) else {
            let hint = match closest(key, &OPTIONS) {
                _ if REPLACED.contains(&key) => {
                    "name the machine's processor instead, e.g. `processor=core-2-2660`".to_owned()
                }
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "docs/spec.md lists what a Linux target takes".to_owned(),
            };
            let message = format!("a Linux target has no option `{key}`");
            return Err(parser.error(Kind::UnknownKey, &key_span, message, one_of(&OPTIONS), hint));
        };
        if self.said.options.iter().any(|(name, _)| name == known) {
            return Err(parser.twice(&key_span, &format!("`{known}`")));
        }
        self.said.options.push((known, span.clone()));
        match *known {
            "fs" => {
                self.settings.filesystem = Some(self.one(&span, &FILESYSTEMS, "file system")?)
            }
            "scheduler" => {
                let all: Vec<&str> = SCHEDULERS.into_iter().chain(ElevatorKind::NAMES).collect();
                self.settings.scheduler = self.one(&span, &all, "scheduler")?;
            }
            "readahead" => self.settings.readahead = Some(self.size(key, &span, READAHEAD)?),
            "partition" => self.settings.partition = Some(self.size(key, &span, PARTITIONS)?),
            "name" => self.settings.name = Some(self.name(&span)?),
            "memory" => self.settings.memory = self.size(key, &span, MEMORIES)?,
            "queue_depth" => {
                self.settings.queue_depth = Some(parser.number(&span, 1..129, "requests")?)
            }
            "max_request" => self.settings.max_request = Some(self.size(key, &span, REQUESTS)?),
            "processor" => self.settings.processor = Some(self.words(&span)?),
            "date" => self.settings.date = self.date(&span)?,
            "discard" => {
                self.settings.discard = self.one(&span, &["no", "yes"], "answer")? == "yes";
            }
            "mkfs" => self.settings.mkfs = self.words(&span)?,
            "mount" => self.settings.mount = self.words(&span)?,
            _ => self.settings.sysctl = self.kernel_settings(&span)?,
        }
        Ok(())
    }

    fn date(&self, span: &Range<usize>) -> Decoded<Date> {
        let text = self.parser.text(span);
        text.parse().map_err(|()| {
            let message = format!("`{text}` is not a date");
            let hint = "write year, month and day, e.g. `date=2026-12-01`";
            self.parser.error(Kind::OutOfRange, span, message, DATE_EXPECTED, hint)
        })
    }

    fn one(
        &self,
        span: &Range<usize>,
        known: &[&'static str],
        what: &str,
    ) -> Decoded<&'static str> {
        let text = self.parser.text(span);
        if let Some(found) = known.iter().find(|name| **name == text) {
            return Ok(found);
        }
        let hint = match closest(text, known) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "docs/spec.md lists what a Linux target takes".to_owned(),
        };
        let message = format!("there is no {what} `{text}`");
        Err(self.parser.error(Kind::UnknownValue, span, message, one_of(known), hint))
    }

    fn size(&self, key: &str, span: &Range<usize>, range: Sizes) -> Decoded<Bytes> {
        let text = self.parser.text(span);
        let size: Bytes = quantity(self.parser.source, key, text, span.clone(), SIZE_EXPECTED)?;
        if range.contains(&size) && size.is_multiple_of(PAGE) {
            return Ok(size);
        }
        let message = format!("`{key}` = {size} is out of range");
        let expected = format!("whole pages of 4KiB, {} to {}", range.start(), range.end());
        let hint = "memory is what the page cache lives in; read-ahead is a part of it";
        Err(self.parser.error(Kind::OutOfRange, span, message, expected, hint))
    }

    /// Parses settings of the kernel: words such as `vm.dirty_ratio=10`.
    fn kernel_settings(&self, span: &Range<usize>) -> Decoded<Vec<(String, String)>> {
        let fine = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        let is_name =
            |name: &str| name.split('.').all(|part| !part.is_empty() && part.chars().all(fine));
        let setting = |word: &str| {
            let (name, value) = word.split_once('=')?;
            (is_name(name) && !value.is_empty()).then(|| (name.to_owned(), value.to_owned()))
        };
        let parsed = |word: &str| {
            setting(word).ok_or_else(|| {
                let message = format!("`{word}` is not a setting `NAME=VALUE` of the kernel");
                let expected = "names in /proc/sys with `.` for `/`, each with its value";
                let hint = "e.g. `sysctl=\"vm.dirty_background_ratio=5 vm.dirty_ratio=10\"`";
                self.parser.error(Kind::Syntax, span, message, expected, hint)
            })
        };
        self.words(span)?.split_whitespace().map(parsed).collect()
    }

    /// Parses the name of a target: parts separated by `/`, as ledgers have them.
    fn name(&self, span: &Range<usize>) -> Decoded<String> {
        let text = self.parser.text(span);
        let fine = |c: char| c.is_ascii_alphanumeric() || "._-*+".contains(c);
        let part =
            |part: &str| !part.is_empty() && part != "." && part != ".." && part.chars().all(fine);
        if text.len() <= 64 && text.split('/').all(part) {
            return Ok(text.to_owned());
        }
        let message = format!("`{text}` cannot be a target's name");
        let expected = "at most 64 letters, digits and `._-*+`, in parts separated by `/`";
        Err(self.parser.error(
            Kind::UnknownValue,
            span,
            message,
            expected,
            "e.g. `name=ext3/x25-e`",
        ))
    }

    /// Parses the arguments of a tool, and removes the quotation marks around them.
    fn words(&self, span: &Range<usize>) -> Decoded<String> {
        let text = self.parser.text(span);
        let plain = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text);
        let fine = |c: char| c.is_ascii_graphic() && c != '"' || c == ' ';
        if plain.chars().all(fine) {
            return Ok(plain.trim().to_owned());
        }
        let message = "these cannot be the options of a tool";
        let expected = "letters, digits and signs";
        let hint = "e.g. `mkfs=\"-b 1024\"` or `mount=\"noatime,data=writeback\"`";
        Err(self.parser.error(Kind::Syntax, span, message, expected, hint))
    }

    /// Checks that options that are each valid are possible together, and builds the target.
    fn finish(self, span: &Range<usize>) -> Decoded<(LinuxSpec, Said)> {
        let parser = self.parser;
        let impossible = |span: &Range<usize>, message: &str, hint: &str| -> Box<Diagnostic> {
            parser.error(Kind::Impossible, span, message, "", hint)
        };
        let Some(device) = self.device else {
            let hint = "e.g. `linux(fs=ext4, sim:wd-raptor)`; `assay devices` lists the drives";
            return Err(impossible(span, "the Linux target has no drive", hint));
        };
        let said =
            |key: &str| self.said.options.iter().find(|(name, _)| *name == key).map(|(_, s)| s);
        match (self.is_raw, self.settings.filesystem) {
            (true, Some(_)) => {
                let message = "`raw` and a file system exclude each other";
                return Err(impossible(said("fs").unwrap_or(span), message, "keep one of them"));
            }
            (false, None) => {
                let hint = "add `fs=ext4`, or `raw` for requests to the device itself";
                return Err(impossible(span, "the Linux target has no file system", hint));
            }
            _ => {}
        }
        if let (BlockDevice::RaidZ(_), false) = (&device, self.settings.filesystem == Some("zfs")) {
            let hint = "add `fs=zfs`, or use the similar array of the kernel, `md-raid5(…)`";
            return Err(impossible(span, "`raid-z` needs ZFS", hint));
        }
        for key in ["mkfs", "mount"] {
            if let (true, Some(span)) = (self.is_raw, said(key)) {
                let message = format!("`{key}` needs a file system");
                return Err(impossible(span, &message, "remove it, or use `fs=` instead of `raw`"));
            }
        }
        Ok((LinuxSpec { device, settings: self.settings }, self.said))
    }
}

type Sizes = RangeInclusive<Bytes>;
const PAGE: Bytes = Bytes(4096);
const READAHEAD: Sizes = Bytes::ZERO..=Bytes(1 << 30);
/// From a page to the kernel's own default.
const REQUESTS: Sizes = PAGE..=Bytes(1280 << 10);
const PARTITIONS: Sizes = Bytes(16 << 20)..=Bytes(1 << 50);
const MEMORIES: Sizes = Bytes(64 << 20)..=Bytes(64 << 30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_processor_replaced_is_refused_with_its_name() {
        for key in REPLACED {
            let e = parse_linux(&format!("linux(fs=ext4, sim:ssd-m, {key}=1us)")).unwrap_err();
            assert!(e.message.contains(&format!("no option `{key}`")), "{}", e.message);
            assert!(e.hint.contains("processor="), "{key}: {}", e.hint);
        }
        let spec = parse_linux("linux(fs=ext4, sim:ssd-m, processor=core-2-2660)").unwrap();
        assert_eq!(spec.settings.processor.as_deref(), Some("core-2-2660"));
    }

    #[test]
    fn a_guest_boots_on_a_day_of_the_calendar() {
        let target = |date: &str| parse_linux(&format!("linux(raw, sim:ssd-m, date={date})"));
        let spec = target("2030-02-03").unwrap();
        assert_eq!(spec.settings.date.to_string(), "2030-02-03");
        assert_eq!(spec.name(), "raw-ssd-m-date-2030-02-03");
        assert_eq!(target("2010-01-01").unwrap().name(), "raw-ssd-m");
        for date in ["2030-02-30", "today", "1969-12-31"] {
            let e = target(date).unwrap_err();
            assert!(e.message.contains("is not a date") && e.hint.contains("date="), "{date}");
        }
    }

    #[test]
    fn settings_of_the_kernel_have_a_name_and_a_value() {
        let target = |sysctl: &str| parse_linux(&format!("linux(raw, sim:ssd-m, sysctl={sysctl})"));
        let two = target("\"vm.dirty_ratio=10 kernel.sched-x=a/b\"").unwrap().settings.sysctl;
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(two, [pair("vm.dirty_ratio", "10"), pair("kernel.sched-x", "a/b")]);
        assert_eq!(target("vm.dirty_ratio=10").unwrap().settings.sysctl, two[..1]);
        for sysctl in ["vm.dirty_ratio", "vm.dirty_ratio=", "=1", "vm..x=1", "../x=1", "a/b=1"] {
            let e = target(sysctl).unwrap_err();
            assert!(e.message.contains("is not a setting `NAME=VALUE`"), "{sysctl}: {}", e.message);
        }
    }

    #[test]
    fn a_request_is_a_page_at_least_and_no_larger_than_the_kernel_makes_it() {
        let target =
            |size: &str| parse_linux(&format!("linux(raw, sim:ssd-m, max_request={size})"));
        assert_eq!(target("512KiB").unwrap().settings.max_request, Some(Bytes(512 << 10)));
        for size in ["0B", "512B", "6KiB", "2MiB"] {
            assert!(target(size).is_err(), "{size}");
        }
    }
}
