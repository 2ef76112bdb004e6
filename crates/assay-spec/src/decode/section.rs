//! A table, from which getters take keys.

use super::hint::{self, Wanted};
use super::quantity::{number_of, quantity};
use super::source::{Decoded, Source, with_hint};
use crate::diagnostic::{Diagnostic, Kind, closest, one_of};
use crate::units::{Bytes, Nanos, QuantityError, SIZE_EXPECTED, TIME_EXPECTED};
use std::ops::Range;
use std::str::FromStr;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One table, from which getters take keys.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    source: Source<'a>,
    what: &'static str,
    /// The name of the key `value` in messages, if the table is a value with its origin.
    value_name: Option<String>,
    span: Range<usize>,
    entries: Vec<Entry<'a>>,
    known: Vec<&'static str>,
    /// Keys that are allowed under another condition, each with that condition.
    elsewhere: Vec<(&'static str, &'static str)>,
}

#[derive(Clone, Debug)]
struct Entry<'a> {
    key: String,
    key_span: Range<usize>,
    value: Spanned<DeValue<'a>>,
    taken: bool,
}

/// A list element or value, with its span.
pub type Value<'a> = Spanned<DeValue<'a>>;

impl<'a> Section<'a> {
    /// Wraps `table`. `what` names it in messages, e.g. `workload`.
    pub fn new(
        source: Source<'a>,
        what: &'static str,
        table: DeTable<'a>,
        span: Range<usize>,
    ) -> Self {
        let entries = table.into_iter().map(|(key, value)| Entry {
            key_span: key.span(),
            key: key.get_ref().to_string(),
            value,
            taken: false,
        });
        let entries = entries.collect();
        let (known, elsewhere) = (Vec::new(), Vec::new());
        Section { source, what, value_name: None, span, entries, known, elsewhere }
    }

    /// Returns the same section as a value with its origin: messages name it by `path`, e.g.
    /// `nand.read`.
    #[must_use]
    pub fn value_of(self, path: String) -> Self {
        Section { value_name: Some(path), ..self }
    }

    /// Returns the name of `key` in messages.
    fn name_of<'s>(&'s self, key: &'s str) -> &'s str {
        self.value_name.as_deref().filter(|_| key == "value").unwrap_or(key)
    }

    /// Returns the name of the section in messages.
    fn name(&self) -> String {
        self.value_name.as_ref().map_or(self.what.to_owned(), |path| format!("`{path}`"))
    }

    /// Returns the span of the whole section, for mistakes that concern several keys.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Returns the text that the section comes from.
    pub fn source(&self) -> Source<'a> {
        self.source
    }

    /// Makes the diagnostic of a mistake at `span`.
    pub fn error(
        &self,
        kind: Kind,
        span: Range<usize>,
        message: impl Into<String>,
        expected: impl Into<String>,
    ) -> Box<Diagnostic> {
        self.source.error(kind, span, message, expected)
    }

    /// Returns `true` if the section has the key. Does not take it.
    pub fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// Returns the value of `key`. Does not take it.
    pub(super) fn peek(&self, key: &str) -> Option<&Value<'a>> {
        self.entry(key).map(|e| &e.value)
    }

    /// Replaces the value of `key`. Does nothing if the key is absent.
    pub fn put(&mut self, key: &str, value: Value<'a>) {
        if let Some(entry) = self.entries.iter_mut().find(|e| e.key == key) {
            entry.value = value;
        }
    }

    fn entry(&self, key: &str) -> Option<&Entry<'a>> {
        self.entries.iter().find(|e| e.key == key)
    }

    /// Returns the span of the value of `key`, or of the section if the key is absent. For a value
    /// with its origin (`{ value = …, source = … }`), returns the span of the inner `value`.
    pub fn span_of(&self, key: &str) -> Range<usize> {
        let inner = self.entry(key).and_then(|e| e.value.get_ref().as_table()?.get("value"));
        inner.map_or_else(|| self.whole_span_of(key), Spanned::span)
    }

    /// Returns the span of the whole value of `key`, or of the section if the key is absent.
    pub fn whole_span_of(&self, key: &str) -> Range<usize> {
        self.entry(key).map_or(self.span(), |e| e.value.span())
    }

    /// Returns the span of `key` itself, or of the section if the key is absent.
    pub fn key_span_of(&self, key: &str) -> Range<usize> {
        self.entry(key).map_or(self.span(), |e| e.key_span.clone())
    }

    /// Returns the key that is present, has not been taken, and may be a misspelling of `key`.
    pub fn misspelt(&self, key: &str) -> Option<&str> {
        let free = self.entries.iter().filter(|e| !e.taken);
        closest(key, &free.map(|e| e.key.as_str()).collect::<Vec<_>>())
    }

    /// Adds `keys` to the known keys, which messages list. They may be absent from this file.
    pub fn may_have(&mut self, keys: &[&'static str]) {
        for key in keys.iter().filter(|key| !self.known.contains(*key)).collect::<Vec<_>>() {
            self.known.push(key);
        }
    }

    /// Declares that `keys` are valid only under `condition`, which does not hold in this section,
    /// e.g. "pattern `zipf`". The message about such a key then names the condition.
    pub fn goes_with(&mut self, keys: &[&'static str], condition: &'static str) {
        self.elsewhere.extend(keys.iter().map(|key| (*key, condition)));
    }

    /// Returns the keys that have not been taken yet, for tables with free keys.
    pub fn free_keys(&self) -> Vec<String> {
        self.entries.iter().filter(|e| !e.taken).map(|e| e.key.clone()).collect()
    }

    /// Takes the raw value of `key`, if it is present.
    pub fn take(&mut self, key: &'static str) -> Option<Value<'a>> {
        self.may_have(&[key]);
        self.take_free(key)
    }

    /// Takes a key of a table with free keys.
    pub fn take_free(&mut self, key: &str) -> Option<Value<'a>> {
        let entry = self.entries.iter_mut().find(|e| e.key == key)?;
        entry.taken = true;
        Some(entry.value.clone())
    }

    pub(super) fn missing(&self, key: &str, expected: &str, wanted: Wanted) -> Box<Diagnostic> {
        let span = self.span();
        let mut e = self.error(
            Kind::MissingKey,
            span.clone(),
            format!("{} has no `{key}`", self.name()),
            format!("`{key}`: {expected}"),
        );
        if span == (0..0) {
            e.place = None;
        }
        match self.misspelt(key) {
            Some(typo) => with_hint(e, format!("the file has `{typo}`; did you mean `{key}`?")),
            None => with_hint(e, hint::missing(key, wanted)),
        }
    }

    fn wrong_type(
        &self,
        key: &str,
        value: &Value<'a>,
        expected: &str,
        wanted: Wanted,
    ) -> Box<Diagnostic> {
        let found = value.get_ref().type_str();
        let message = format!("`{}` is {} {found}", self.name_of(key), article(found));
        let written = self.source.text.get(value.span()).unwrap_or_default();
        let e = self.error(Kind::WrongType, value.span(), message, expected);
        with_hint(e, hint::retyped(key, value.get_ref(), written, wanted))
    }

    /// Takes a required string with its span.
    pub fn string_at(&mut self, key: &'static str) -> Decoded<(String, Range<usize>)> {
        match self.optional_string(key)? {
            Some(found) => Ok(found),
            None => Err(self.missing(key, "a string", Wanted::Text)),
        }
    }

    /// Takes a required string.
    pub fn string(&mut self, key: &'static str) -> Decoded<String> {
        Ok(self.string_at(key)?.0)
    }

    /// Takes an optional string with its span.
    pub fn optional_string(
        &mut self,
        key: &'static str,
    ) -> Decoded<Option<(String, Range<usize>)>> {
        match self.take(key) {
            None => Ok(None),
            Some(v) => match v.get_ref() {
                DeValue::String(s) => Ok(Some((s.to_string(), v.span()))),
                _ => Err(self.wrong_type(key, &v, "a string", Wanted::Text)),
            },
        }
    }

    /// Takes a required integer with its span.
    pub fn integer_at(&mut self, key: &'static str) -> Decoded<(i64, Range<usize>)> {
        match self.take(key) {
            None => Err(self.missing(key, "a whole number", Wanted::Whole)),
            Some(v) => self.as_integer(key, &v).map(|n| (n, v.span())),
        }
    }

    fn as_integer(&self, key: &str, v: &Value<'a>) -> Decoded<i64> {
        let integer = match v.get_ref() {
            DeValue::Integer(i) => i64::from_str_radix(i.as_str(), i.radix()).ok(),
            _ => None,
        };
        integer.ok_or_else(|| self.wrong_type(key, v, "a whole number", Wanted::Whole))
    }

    /// Takes an integer within `range`. Returns `default` if the key is absent; without a default
    /// the key is required.
    pub fn count(
        &mut self,
        key: &'static str,
        range: Range<u32>,
        default: Option<u32>,
    ) -> Decoded<u32> {
        let found = self.optional_count(key, range.clone())?;
        let expected = whole_number(&range);
        found.or(default).ok_or_else(|| self.missing(key, &expected, Wanted::Whole))
    }

    /// Takes an optional integer within `range`.
    pub fn optional_count(&mut self, key: &'static str, range: Range<u32>) -> Decoded<Option<u32>> {
        let Some(v) = self.take(key) else { return Ok(None) };
        let n = self.as_integer(key, &v)?;
        match u32::try_from(n) {
            Ok(n) if range.contains(&n) => Ok(Some(n)),
            _ => {
                let message = format!("`{}` = {n} is out of range", self.name_of(key));
                let e = self.error(Kind::OutOfRange, v.span(), message, whole_number(&range));
                let (low, high) = (f64::from(range.start), f64::from(range.end - 1));
                Err(with_hint(e, hint::nearest(key, n as f64, low..=high)))
            }
        }
    }

    /// Takes a number within `low..=high`. Returns `default` if the key is absent; without a
    /// default the key is required. Percentages may be written as strings (`"70%"`).
    pub fn number(
        &mut self,
        key: &'static str,
        low: f64,
        high: f64,
        default: Option<f64>,
    ) -> Decoded<f64> {
        let limits = format!("a number from {low} to {high}");
        let Some(v) = self.take(key) else {
            return default.ok_or_else(|| self.missing(key, &limits, Wanted::Number));
        };
        let n = match number_of(v.get_ref()) {
            Some(n) => n,
            None => return Err(self.wrong_type(key, &v, &limits, Wanted::Number)),
        };
        if (low..=high).contains(&n) {
            return Ok(n);
        }
        let message = format!("`{}` = {n} is out of range", self.name_of(key));
        let e = self.error(Kind::OutOfRange, v.span(), message, limits);
        Err(with_hint(e, hint::nearest(key, n, low..=high)))
    }

    /// Takes a required size.
    pub fn size(&mut self, key: &'static str) -> Decoded<Bytes> {
        let found = self.optional_size(key)?;
        found.ok_or_else(|| self.missing(key, SIZE_EXPECTED, Wanted::Size))
    }

    /// Takes an optional size.
    pub fn optional_size(&mut self, key: &'static str) -> Decoded<Option<Bytes>> {
        self.quantity(key, SIZE_EXPECTED, Wanted::Size)
    }

    /// Takes a required time.
    pub fn time(&mut self, key: &'static str) -> Decoded<Nanos> {
        let found = self.optional_time(key)?;
        found.ok_or_else(|| self.missing(key, TIME_EXPECTED, Wanted::Time))
    }

    /// Takes an optional time.
    pub fn optional_time(&mut self, key: &'static str) -> Decoded<Option<Nanos>> {
        self.quantity(key, TIME_EXPECTED, Wanted::Time)
    }

    /// Takes an optional waiting time of at most `longest`. Returns zero if the key is absent.
    pub fn pause(&mut self, key: &'static str, longest: Nanos) -> Decoded<Nanos> {
        let value = self.optional_time(key)?.unwrap_or(Nanos::ZERO);
        if value <= longest {
            return Ok(value);
        }
        let most = in_hours(longest);
        let message = format!("`{key}` = {value} is out of range");
        let expected = format!("at most {most}");
        let e = self.error(Kind::OutOfRange, self.span_of(key), message, expected);
        Err(with_hint(e, format!("the nearest possible value is `{key} = \"{most}\"`")))
    }

    fn quantity<T: FromStr<Err = QuantityError>>(
        &mut self,
        key: &'static str,
        expected: &'static str,
        wanted: Wanted,
    ) -> Decoded<Option<T>> {
        match self.take(key) {
            None => Ok(None),
            Some(v) => match v.get_ref() {
                DeValue::String(s) => {
                    quantity(self.source, self.name_of(key), s, v.span(), expected).map(Some)
                }
                DeValue::Integer(_) | DeValue::Float(_) => {
                    let e = self.error(
                        Kind::BadUnit,
                        v.span(),
                        format!("`{}` has no unit", self.name_of(key)),
                        expected,
                    );
                    Err(with_hint(e, "write the number with its unit, in quotes"))
                }
                _ => Err(self.wrong_type(key, &v, expected, wanted)),
            },
        }
    }

    /// Takes a required word out of a fixed list. Returns its index.
    pub fn choice(&mut self, key: &'static str, words: &[&'static str]) -> Decoded<usize> {
        match self.optional_choice(key, words)? {
            Some(index) => Ok(index),
            None => Err(self.missing(key, &one_of(words), Wanted::Text)),
        }
    }

    /// Takes an optional word out of a fixed list. Returns its index.
    pub fn optional_choice(
        &mut self,
        key: &'static str,
        words: &[&'static str],
    ) -> Decoded<Option<usize>> {
        let Some((word, span)) = self.optional_string(key)? else { return Ok(None) };
        match words.iter().position(|w| *w == word) {
            Some(index) => Ok(Some(index)),
            None => {
                let e = self.error(
                    Kind::UnknownValue,
                    span,
                    format!("unknown {} `{word}`", self.name_of(key)),
                    one_of(words),
                );
                Err(match closest(&word, words) {
                    Some(meant) => with_hint(e, format!("did you mean `{meant}`?")),
                    None => with_hint(e, "use one of these; docs/spec.md describes each"),
                })
            }
        }
    }

    /// Takes an optional boolean. Returns `default` if the key is absent.
    pub fn boolean(&mut self, key: &'static str, default: bool) -> Decoded<bool> {
        match self.take(key) {
            None => Ok(default),
            Some(v) => match v.get_ref() {
                DeValue::Boolean(b) => Ok(*b),
                _ => Err(self.wrong_type(key, &v, "`true` or `false`", Wanted::Flag)),
            },
        }
    }

    /// Takes an optional list of strings with their spans. Returns an empty list if the key is
    /// absent.
    pub fn strings(&mut self, key: &'static str) -> Decoded<Vec<(String, Range<usize>)>> {
        let Some(v) = self.take(key) else { return Ok(Vec::new()) };
        let DeValue::Array(items) = v.get_ref() else {
            return Err(self.wrong_type(key, &v, "a list of strings", Wanted::Texts));
        };
        let text = |item: &Value<'a>| match item.get_ref() {
            DeValue::String(s) => Ok((s.to_string(), item.span())),
            _ => {
                let found = item.get_ref().type_str();
                let message = format!("`{key}` holds {} {found}", article(found));
                let e = self.error(Kind::WrongType, item.span(), message, "a string");
                let written = self.source.text.get(item.span()).unwrap_or_default();
                Err(with_hint(e, format!("put it in quotes: `\"{written}\"`")))
            }
        };
        items.iter().map(text).collect()
    }

    /// Takes a required sub-table.
    pub fn section(&mut self, key: &'static str, what: &'static str) -> Decoded<Section<'a>> {
        match self.optional_section(key, what)? {
            Some(section) => Ok(section),
            None => Err(self.missing(key, "a table", Wanted::Table)),
        }
    }

    /// Takes an optional sub-table.
    pub fn optional_section(
        &mut self,
        key: &'static str,
        what: &'static str,
    ) -> Decoded<Option<Section<'a>>> {
        let span = self.key_span_of(key);
        match self.take(key) {
            None => Ok(None),
            Some(v) => match v.get_ref() {
                DeValue::Table(t) => Ok(Some(Section::new(self.source, what, t.clone(), span))),
                _ => Err(self.wrong_type(key, &v, "a table", Wanted::Table)),
            },
        }
    }

    /// Takes a list of tables (`[[key]]`). Returns an empty list if the key is absent.
    pub fn sections(&mut self, key: &'static str, what: &'static str) -> Decoded<Vec<Section<'a>>> {
        let Some(v) = self.take(key) else { return Ok(Vec::new()) };
        let DeValue::Array(items) = v.get_ref() else {
            let expected = "a list of tables (`[[…]]`)";
            return Err(self.wrong_type(key, &v, expected, Wanted::Tables));
        };
        let table = |item: &Value<'a>| match item.get_ref() {
            DeValue::Table(t) => Ok(Section::new(self.source, what, t.clone(), item.span())),
            _ => Err(self.wrong_type(key, item, "a table", Wanted::Tables)),
        };
        items.iter().map(table).collect()
    }

    /// Reports the first key that no getter has taken.
    pub fn finish(self) -> Decoded<()> {
        let Some(unknown) = self.entries.iter().find(|e| !e.taken) else { return Ok(()) };
        if let Some((key, with)) = self.elsewhere.iter().find(|(key, _)| *key == unknown.key) {
            let message = format!("`{key}` is only allowed with {with}");
            let span = unknown.key_span.clone();
            let e = self.source.error(Kind::UnknownKey, span, message, one_of(&self.known));
            return Err(with_hint(e, format!("remove `{key}`, or use {with}")));
        }
        let e = self.source.error(
            Kind::UnknownKey,
            unknown.key_span.clone(),
            format!("unknown key `{}` in {}", unknown.key, self.name()),
            one_of(&self.known),
        );
        Err(match closest(&unknown.key, &self.known) {
            Some(meant) => with_hint(e, format!("did you mean `{meant}`?")),
            None => with_hint(e, "remove it: assay does not know this key"),
        })
    }
}

fn in_hours(time: Nanos) -> String {
    format!("{}h", time.0 / 3_600_000_000_000)
}

fn whole_number(range: &Range<u32>) -> String {
    format!("a whole number from {} to {}", range.start, range.end - 1)
}

fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}
