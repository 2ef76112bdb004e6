//! The parser of arrays: from text to [`ArraySpec`], with the column of every mistake.

use super::spec::{
    ArraySpec, CHUNK, DRIVES_MAX, Level, MEMBERS_MAX, MemberSpec, MemberTarget, Rebuild,
    outer_commas,
};
use crate::decode::{Decoded, Source, quantity, with_hint};
use crate::diagnostic::{Diagnostic, Kind, closest, one_of};
use crate::units::{self, Bytes, SIZE_EXPECTED, TIME_EXPECTED};
use std::ops::Range;

pub(crate) mod linux;

/// The largest depth of arrays nested in arrays.
const NESTED_MAX: usize = 4;

const OPTIONS: [&str; 5] = ["chunk", "failed", "fail_at", "rebuild", "controller"];

/// Parses an array.
///
/// # Errors
/// Returns what is wrong, with its column, and what to write instead.
pub fn parse(text: &str) -> Decoded<ArraySpec> {
    let parser = Parser { source: Source { file: "target", text } };
    parser.array(parser.trimmed(0..text.len()), 0)
}

struct Parser<'a> {
    source: Source<'a>,
}

/// The options of one array that have been read so far, with the spans of their values.
#[derive(Default)]
struct Options {
    chunk: Option<(Bytes, Range<usize>)>,
    failed: Option<(u32, Range<usize>)>,
    fail_at: Option<(crate::Nanos, Range<usize>)>,
    rebuild: Option<(Rebuild, Range<usize>)>,
    controller: Option<String>,
    seen: Vec<&'static str>,
}

impl<'a> Parser<'a> {
    fn text(&self, span: &Range<usize>) -> &'a str {
        &self.source.text[span.clone()]
    }

    fn error(
        &self,
        kind: Kind,
        span: &Range<usize>,
        message: impl Into<String>,
        expected: impl Into<String>,
        hint: impl Into<String>,
    ) -> Box<Diagnostic> {
        with_hint(self.source.error(kind, span.clone(), message, expected), hint)
    }

    /// Returns the span without the blanks at its ends.
    fn trimmed(&self, span: Range<usize>) -> Range<usize> {
        let text = self.text(&span);
        let start = span.start + (text.len() - text.trim_start().len());
        start..(start + text.trim().len())
    }

    /// Splits a span at the commas that are outside all parentheses and quotation marks.
    fn parts(&self, span: &Range<usize>) -> Vec<Range<usize>> {
        let mut start = span.start;
        let commas = outer_commas(self.text(span)).into_iter().map(|at| span.start + at);
        let part = |end: usize| self.trimmed(std::mem::replace(&mut start, end + 1)..end);
        commas.chain([span.end]).map(part).collect()
    }

    fn array(&self, span: Range<usize>, depth: usize) -> Decoded<ArraySpec> {
        let text = self.text(&span);
        let open = text.find('(').unwrap_or(text.len());
        let word = self.trimmed(span.start..span.start + open);
        let level = self.level(&word)?;
        self.balanced(&span)?;
        if depth >= NESTED_MAX {
            let message = format!("arrays are nested more than {NESTED_MAX} levels deep");
            return Err(self.error(Kind::OutOfRange, &word, message, "", "use fewer levels"));
        }
        let inner = span.start + open + 1..span.end - 1;
        let mut members = Vec::new();
        let mut options = Options::default();
        for part in self.parts(&inner) {
            if part.is_empty() {
                let expected = "a member such as `sim:ssd-m*4`, or an option such as `chunk=64KiB`";
                let hint = "remove the comma, or write what is missing";
                return Err(self.error(
                    Kind::Syntax,
                    &part,
                    "there is nothing between two commas",
                    expected,
                    hint,
                ));
            }
            let plain = self.text(&part);
            let key = plain.split('=').next().unwrap_or_default().trim();
            if plain.contains('=') && !plain.contains('(') && !key.contains(':') {
                self.option(&mut options, &part)?;
            } else {
                members.extend(self.member(part, depth)?);
            }
        }
        self.check(level, &word, members, options)
    }

    fn level(&self, word: &Range<usize>) -> Decoded<Level> {
        let text = self.text(word);
        if let Some(index) = Level::NAMES.iter().position(|name| *name == text) {
            return Ok(Level::ALL[index]);
        }
        let hint = match closest(text, &Level::NAMES) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "for a file of this name, write `./` before it".to_owned(),
        };
        let message = format!("there is no array `{text}`");
        Err(self.error(Kind::UnknownValue, word, message, one_of(&Level::NAMES), hint))
    }

    /// Checks that every parenthesis is closed and that the text ends with the array's own
    /// parenthesis.
    fn balanced(&self, span: &Range<usize>) -> Decoded<()> {
        let text = self.text(span);
        let (mut depth, mut opened, mut quoted) = (0_u32, span.start, false);
        for (i, c) in text.char_indices() {
            match c {
                '"' => quoted = !quoted,
                _ if quoted => {}
                '(' if depth == 0 => (depth, opened) = (1, span.start + i),
                '(' => depth += 1,
                ')' if depth == 1 && i + 1 < text.len() => {
                    let after = span.start + i + 1..span.end;
                    let (message, hint) = ("there is text after the end of the array", "remove it");
                    return Err(self.error(Kind::Syntax, &after, message, "nothing", hint));
                }
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if depth == 0 && text.ends_with(')') {
            return Ok(());
        }
        let message = "the parenthesis is not closed";
        let hint = "write an array as `raid5(sim:ssd-m*4, chunk=64KiB)`";
        Err(self.error(Kind::Syntax, &(opened..opened + 1), message, "`)` at the end", hint))
    }

    fn member(&self, part: Range<usize>, depth: usize) -> Decoded<Vec<MemberSpec>> {
        let whole = part.clone();
        let (mut part, mut count, mut controller) = (part, None, None);
        loop {
            let text = self.text(&part);
            // A `*` or `@` inside parentheses belongs to the nested array.
            let outside = text.rfind(')').map_or(0, |i| i + 1);
            let Some(at) = text[outside..].rfind(['*', '@']).map(|i| i + outside) else { break };
            let suffix = self.trimmed(part.start + at + 1..part.end);
            if text[at..].starts_with('*') {
                let (n, old) = (self.number(&suffix, 1..MEMBERS_MAX as u32 + 1, "members")?, count);
                count = Some(n);
                if old.is_some() {
                    return Err(self.twice(&suffix, "a count"));
                }
            } else {
                if suffix.is_empty() {
                    let hint = "`assay devices` lists the controllers";
                    let mark = part.start + at..part.start + at + 1;
                    let message = "`@` without a controller";
                    return Err(self.error(Kind::Syntax, &mark, message, "its name", hint));
                }
                if controller.replace(self.text(&suffix).to_owned()).is_some() {
                    return Err(self.twice(&suffix, "a controller"));
                }
            }
            part = self.trimmed(part.start..part.start + at);
        }
        let text = self.text(&part);
        let target = if text.contains('(') {
            MemberTarget::Array(Box::new(self.array(part, depth + 1)?))
        } else if let Some(name) = text.strip_prefix("sim:").filter(|n| !n.is_empty()) {
            MemberTarget::Drive(name.to_owned())
        } else {
            let message = format!("`{}` cannot be a member of an array", self.text(&whole));
            let hint = match text.split_once(':') {
                None if !text.is_empty() && !text.contains('/') => {
                    format!("write a modelled drive as `sim:{text}`")
                }
                _ => "use modelled drives as members; `assay devices` lists them".to_owned(),
            };
            let expected = "`sim:NAME`, `sim:FILE.toml` or an array, then `*N` or `@CONTROLLER`";
            return Err(self.error(Kind::UnknownValue, &whole, message, expected, hint));
        };
        let member = MemberSpec { target, controller };
        Ok(vec![member; count.unwrap_or(1) as usize])
    }

    fn twice(&self, span: &Range<usize>, what: &str) -> Box<Diagnostic> {
        let message = format!("{what} is given twice");
        self.error(Kind::Impossible, span, message, "one", "remove one of the two")
    }

    fn number(&self, span: &Range<usize>, range: Range<u32>, of: &str) -> Decoded<u32> {
        let text = self.text(span);
        let expected = format!("a whole number from {} to {}", range.start, range.end - 1);
        match text.parse::<u32>() {
            Ok(n) if range.contains(&n) => Ok(n),
            Ok(n) => {
                let message = format!("{n} {of} are out of range");
                Err(self.error(
                    Kind::OutOfRange,
                    span,
                    message,
                    expected,
                    "use a number within the range",
                ))
            }
            Err(_) => {
                let message = format!("`{text}` is not a number of {of}");
                let hint = "write a number without a unit, e.g. `sim:ssd-m*4` or `failed=1`";
                Err(self.error(Kind::WrongType, span, message, expected, hint))
            }
        }
    }

    fn option(&self, options: &mut Options, part: &Range<usize>) -> Decoded<()> {
        let at = self.text(part).find('=').expect("asked before");
        let key_span = self.trimmed(part.start..part.start + at);
        let (key, span) = (self.text(&key_span), self.trimmed(part.start + at + 1..part.end));
        let Some(known) = OPTIONS.iter().find(|name| **name == key) else {
            let hint = match closest(key, &OPTIONS) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "docs/spec.md lists what an array takes".to_owned(),
            };
            let message = format!("an array has no option `{key}`");
            return Err(self.error(Kind::UnknownKey, &key_span, message, one_of(&OPTIONS), hint));
        };
        if options.seen.contains(known) {
            return Err(self.twice(&key_span, &format!("`{known}`")));
        }
        options.seen.push(known);
        let text = self.text(&span);
        match *known {
            "chunk" => options.chunk = Some((self.chunk(&span)?, span)),
            "failed" => {
                options.failed =
                    Some((self.number(&span, 1..MEMBERS_MAX as u32, "members")?, span));
            }
            "fail_at" => {
                let time = quantity(self.source, key, text, span.clone(), TIME_EXPECTED)?;
                options.fail_at = Some((time, span));
            }
            "rebuild" => options.rebuild = Some((self.rebuild(&span)?, span)),
            _ if text.is_empty() => {
                let hint = "`assay devices` lists the controllers";
                let message = "`controller=` without a controller";
                return Err(self.error(Kind::Syntax, &key_span, message, "its name", hint));
            }
            _ => options.controller = Some(text.to_owned()),
        }
        Ok(())
    }

    fn chunk(&self, span: &Range<usize>) -> Decoded<Bytes> {
        let text = self.text(span);
        let chunk: Bytes = quantity(self.source, "chunk", text, span.clone(), SIZE_EXPECTED)?;
        let range = Bytes(512)..=Bytes::MIB * 16;
        if range.contains(&chunk) && chunk.is_multiple_of(Bytes(512)) {
            return Ok(chunk);
        }
        let message = format!("`chunk` = {chunk} is out of range");
        let expected = "a multiple of 512B up to 16MiB";
        Err(self.error(Kind::OutOfRange, span, message, expected, "use e.g. 64KiB, the usual size"))
    }

    fn rebuild(&self, span: &Range<usize>) -> Decoded<Rebuild> {
        let text = self.text(span);
        if text == "idle" {
            return Ok(Rebuild::Idle);
        }
        units::rate(text).map(Rebuild::Rate).ok_or_else(|| {
            let message = format!("`{text}` is not a way to rebuild");
            let expected = "a rate such as `50MB/s`, or `idle`";
            let hint = "with `idle`, the array rebuilds while there is no request of the host";
            self.error(Kind::BadUnit, span, message, expected, hint)
        })
    }

    /// Checks that options that are each valid are possible together, and builds the array.
    fn check(
        &self,
        level: Level,
        word: &Range<usize>,
        members: Vec<MemberSpec>,
        options: Options,
    ) -> Decoded<ArraySpec> {
        let (n, least, name) = (members.len(), level.members_min(), level.name());
        if n < least || n > MEMBERS_MAX {
            let message =
                format!("a {name} cannot have {n} member{}", if n == 1 { "" } else { "s" });
            let expected = format!("{least} to {MEMBERS_MAX} members");
            let hint = format!("write e.g. `{name}(sim:ssd-m*{least})`");
            return Err(self.error(Kind::OutOfRange, word, message, expected, hint));
        }
        let drives: usize = members.iter().map(MemberSpec::drives).sum();
        if drives > DRIVES_MAX {
            let message = format!("the array has {drives} drives, too many");
            let expected = format!("at most {DRIVES_MAX} in all");
            let hint = "nest fewer arrays: the drives of all nested arrays count";
            return Err(self.error(Kind::OutOfRange, word, message, expected, hint));
        }
        if level.is_paired() && n % 2 == 1 {
            let message = format!("a {name} cannot have {n} members");
            let hint = format!("use {} or {} members: they form pairs", n - 1, n + 1);
            return Err(self.error(Kind::Impossible, word, message, "an even number", hint));
        }
        if let (false, Some((_, span))) = (level.has_chunks(), &options.chunk) {
            let hint = "remove `chunk`, or use `raid10`";
            let message = format!("a {name} has no chunks");
            return Err(self.error(Kind::Impossible, span, message, "a striped level", hint));
        }
        let most = level.failures_max(n);
        if let Some((failed, span)) = options.failed.as_ref().filter(|(f, _)| *f as usize > most) {
            let message = format!("a {name} of {n} members does not survive {failed} failures");
            let expected = format!("at most {most}");
            let hint = "lower `failed`: with more failures the array loses data";
            return Err(self.error(Kind::Impossible, span, message, expected, hint));
        }
        let after = options.fail_at.as_ref().map(|(_, s)| ("fail_at", s));
        let after = after.or(options.rebuild.as_ref().map(|(_, s)| ("rebuild", s)));
        if let (Some((key, span)), None) = (after, &options.failed) {
            let message = format!("`{key}` is given, but no member fails");
            let hint = "add `failed=1`";
            return Err(self.error(
                Kind::Impossible,
                span,
                message,
                "`failed` in the same array",
                hint,
            ));
        }
        Ok(ArraySpec {
            level,
            members,
            has_chunk: options.chunk.is_some(),
            chunk: options.chunk.map_or(CHUNK, |(chunk, _)| chunk),
            failed: options.failed.map_or(0, |(failed, _)| failed),
            fail_at: options.fail_at.map(|(at, _)| at),
            rebuild: options.rebuild.map(|(rebuild, _)| rebuild),
            controller: options.controller,
        })
    }
}

#[cfg(test)]
mod tests;
