//! The values of a drive's declaration, each with its origin.

use super::fact::{Fact, Origin};
use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::{Kind, closest};
use crate::from_claim;
use crate::units::{self, Bytes, Nanos, Rate};
use std::ops::RangeInclusive;

/// Returns `section.key`, or `key` at the top.
fn dotted(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Takes the table of a value with its origin, which is required.
fn open_table<'a>(section: &mut Section<'a>, key: &'static str) -> Decoded<Section<'a>> {
    section.section(key, key).map_err(|e| {
        let missing = e.kind == Kind::MissingKey && section.misspelt(key).is_none();
        if !missing && e.kind != Kind::WrongType {
            return e;
        }
        let written = match e.kind {
            Kind::WrongType => section.source().text.get(section.whole_span_of(key)),
            _ => None,
        };
        let value = written.filter(|w| !w.contains('\n')).unwrap_or("…");
        let hint = format!(
            "give the origin of the value: `{key} = {{ value = {value}, assumed = \"why\" }}`"
        );
        with_hint(e, hint)
    })
}

/// Returns `value` if `is_in` says that it is within the range `expected`; otherwise an error.
fn within<T: std::fmt::Display>(
    inner: &Section<'_>,
    value: T,
    is_in: bool,
    name: &str,
    expected: &str,
    hint: &str,
) -> Decoded<T> {
    if is_in {
        return Ok(value);
    }
    let message = format!("`{name}` = {value} is out of range");
    let e = inner.error(Kind::OutOfRange, inner.span_of("value"), message, expected);
    Err(with_hint(e, hint))
}

/// Takes values with their origins out of sections, and keeps the facts.
pub(super) struct Values {
    sources: Vec<(String, String)>,
    pub(super) facts: Vec<Fact>,
}

impl Values {
    pub(super) fn new(top: &mut Section<'_>) -> Decoded<Values> {
        let mut table = top.section("sources", "sources")?;
        let mut sources = Vec::new();
        for key in table.free_keys() {
            let Some(value) = table.take_free(&key) else { continue };
            match value.get_ref() {
                toml::de::DeValue::String(text) => sources.push((key, text.to_string())),
                _ => {
                    let message = format!("source `{key}` is not a string");
                    let expected = "the title and place of a publication";
                    let e = table.error(Kind::WrongType, value.span(), message, expected);
                    return Err(with_hint(
                        e,
                        "write it in quotes, e.g. `sheet = \"a data sheet\"`",
                    ));
                }
            }
        }
        Ok(Values { sources, facts: Vec::new() })
    }

    /// Opens `section.key`, records its origin, and returns the table that holds `value`.
    pub(super) fn open<'a>(
        &mut self,
        section: &mut Section<'a>,
        path: &str,
        key: &'static str,
    ) -> Decoded<Section<'a>> {
        let path = dotted(path, key);
        let mut inner = open_table(section, key)?.value_of(path.clone());
        let mut origins = Vec::new();
        if let Some((id, span)) = inner.optional_string("source")? {
            let found = self.sources.iter().find(|(k, _)| *k == id);
            let Some((_, text)) = found else {
                let known: Vec<&str> = self.sources.iter().map(|(k, _)| k.as_str()).collect();
                let e = inner.error(
                    Kind::UnknownValue,
                    span,
                    format!("unknown source `{id}`"),
                    "a key of `[sources]`",
                );
                return Err(match closest(&id, &known) {
                    Some(meant) => with_hint(e, format!("did you mean `{meant}`?")),
                    None => with_hint(e, "add it to `[sources]` at the top of the file"),
                });
            };
            origins.push(Origin::Source(text.clone()));
        }
        if let Some((how, _)) = inner.optional_string("derived")? {
            origins.push(Origin::Derived(how));
        }
        if let Some((why, _)) = inner.optional_string("assumed")? {
            origins.push(Origin::Assumed(why));
        }
        if origins.len() != 1 {
            let e = inner.error(
                Kind::MissingKey,
                section.whole_span_of(key),
                match origins.len() {
                    0 => format!("`{path}` names no origin"),
                    n => format!("`{path}` names {n} origins"),
                },
                "exactly one of `source`, `derived`, `assumed`",
            );
            return Err(with_hint(e, "add the origin: without it nobody can check the value"));
        }
        let from_claim = from_claim::decode(&mut inner, "from_claim")?;
        let span = inner.span_of("value");
        let value = inner.source().text.get(span).unwrap_or("").trim_matches('"').to_owned();
        let words = Vec::new();
        self.facts.push(Fact { path, value, words, origin: origins.remove(0), from_claim });
        Ok(inner)
    }

    /// Takes the value of `section.key`, which has an origin, by `get`.
    fn take<T>(
        &mut self,
        section: &mut Section<'_>,
        path: &str,
        key: &'static str,
        get: impl FnOnce(&mut Section<'_>) -> Decoded<T>,
    ) -> Decoded<T> {
        let mut inner = self.open(section, path, key)?;
        let value = get(&mut inner)?;
        inner.finish()?;
        Ok(value)
    }

    pub(super) fn time(
        &mut self,
        s: &mut Section<'_>,
        path: &str,
        key: &'static str,
    ) -> Decoded<Nanos> {
        self.take(s, path, key, |inner| {
            let value = inner.time("value")?;
            // No time in a drive is longer, and sums of a few times stay far from overflow.
            let hint = "check the unit: nothing in a drive takes longer";
            let is_in = value <= Nanos::from_secs(60);
            within(inner, value, is_in, &dotted(path, key), "at most 60s", hint)
        })
    }

    pub(super) fn size(
        &mut self,
        s: &mut Section<'_>,
        path: &str,
        key: &'static str,
    ) -> Decoded<Bytes> {
        self.take(s, path, key, |inner| {
            let value = inner.size("value")?;
            let hint = "the nearest possible value is `value = \"512B\"`";
            within(inner, value, value >= Bytes(512), &dotted(path, key), "at least 512B", hint)
        })
    }

    pub(super) fn count(
        &mut self,
        s: &mut Section<'_>,
        path: &str,
        key: &'static str,
        range: std::ops::Range<u32>,
    ) -> Decoded<u32> {
        self.take(s, path, key, |inner| inner.count("value", range, None))
    }

    pub(super) fn number(
        &mut self,
        s: &mut Section<'_>,
        path: &str,
        key: &'static str,
        low: f64,
        high: f64,
    ) -> Decoded<f64> {
        self.take(s, path, key, |inner| inner.number("value", low, high, None))
    }

    pub(super) fn choice(
        &mut self,
        s: &mut Section<'_>,
        path: &str,
        key: &'static str,
        words: &[&'static str],
    ) -> Decoded<usize> {
        let chosen = self.take(s, path, key, |inner| inner.choice("value", words))?;
        let fact = self.facts.last_mut().expect("it was just taken");
        fact.words = words.to_vec();
        Ok(chosen)
    }

    pub(super) fn boolean(
        &mut self,
        s: &mut Section<'_>,
        path: &str,
        key: &'static str,
    ) -> Decoded<bool> {
        Ok(self.choice(s, path, key, &["no", "yes"])? == 1)
    }

    /// Takes a rate such as `40MB/s`; never zero.
    pub(super) fn rate(
        &mut self,
        s: &mut Section<'_>,
        path: &str,
        key: &'static str,
    ) -> Decoded<Rate> {
        self.rate_within(s, path, key, 1..=u64::MAX)
    }

    /// Takes a rate that must be in a range of bytes a second.
    pub(super) fn rate_within(
        &mut self,
        s: &mut Section<'_>,
        path: &str,
        key: &'static str,
        range: RangeInclusive<u64>,
    ) -> Decoded<Rate> {
        self.take(s, path, key, |inner| {
            let (text, span) = inner.string_at("value")?;
            let rate = units::rate(&text).ok_or_else(|| {
                let message = format!("`{text}` is not a rate");
                let e = "a rate such as `300MB/s`";
                let e = inner.error(Kind::BadUnit, span.clone(), message, e);
                with_hint(e, "write a size above 0, then `/s`; MB is 10^6 bytes, MiB is 2^20")
            })?;
            if !range.contains(&rate.0) {
                let [least, most] = [range.start(), range.end()].map(|end| Bytes(*end));
                let expected = format!("{least}/s to {most}/s");
                let message = format!("`{text}` is out of range");
                return Err(inner.error(Kind::OutOfRange, span, message, expected));
            }
            Ok(rate)
        })
    }

    /// Takes a quantity that is neither a time nor a size.
    pub(super) fn quantity<T: std::str::FromStr>(
        &mut self,
        s: &mut Section<'_>,
        path: &str,
        key: &'static str,
        expected: &'static str,
    ) -> Decoded<T> {
        self.take(s, path, key, |inner| {
            let (text, span) = inner.string_at("value")?;
            text.parse().map_err(|_| {
                let message = format!("`{}` = `{text}` is not such a quantity", dotted(path, key));
                let e = inner.error(Kind::BadUnit, span, message, expected);
                with_hint(e, "write a number and its unit, without a sign")
            })
        })
    }

    /// Takes an optional `key` out of `s` by `get`. Returns `default` if the key is absent. Either
    /// way the key counts among the known ones.
    pub(super) fn optional<'a, T>(
        &mut self,
        s: &mut Section<'a>,
        key: &'static str,
        default: T,
        get: impl FnOnce(&mut Values, &mut Section<'a>, &'static str) -> Decoded<T>,
    ) -> Decoded<T> {
        s.may_have(&[key]);
        if s.has(key) { get(self, s, key) } else { Ok(default) }
    }

    /// Takes an optional choice. Returns `default`, an index into `words`, if the key is absent.
    pub(super) fn choice_or(
        &mut self,
        s: &mut Section<'_>,
        path: &str,
        key: &'static str,
        words: &[&'static str],
        default: usize,
    ) -> Decoded<usize> {
        self.optional(s, key, default, |values, s, key| values.choice(s, path, key, words))
    }
}
