//! Hints for mistakes, each with the line to write where that is possible.

use std::ops::RangeInclusive;
use toml::de::DeValue;

/// The type of value that a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Text,
    Texts,
    Whole,
    Number,
    Flag,
    Size,
    Time,
    Table,
    Tables,
}

/// Returns a hint for a text that is not TOML, from the parser's message and the text that it
/// marks.
pub(super) fn syntax(message: &str, found: &str) -> String {
    let has = |part: &str| message.contains(part);
    let hint = match found.trim() {
        "" if has("must be quoted") => "write a value after `=`",
        text if has("must be quoted") => {
            return format!("put it in quotes: `\"{}\"`", text.trim_matches(['"', '\'']));
        }
        text if has("invalid boolean") => {
            let small = text.to_lowercase();
            return match small.as_str() {
                "true" | "false" => format!("write it in small letters: `{small}`"),
                _ => format!("put it in quotes: `\"{text}\"`"),
            };
        }
        _ if has("escape") => "write a backslash as `\\\\`, or put the string in single quotes",
        _ if has("string") => "close the string with the quote it began with, on the same line",
        _ if has("unclosed") => "close what was opened, or remove the bracket that opens it",
        _ if has("duplicate") => "remove one of the two, or rename it: this key exists already",
        _ if has("key with no value") => "write a line as `key = value`",
        _ if has("unexpected key") => {
            "write one `key = value` on each line, and commas between the items of a list or table"
        }
        _ if has("missing comma") => "add the comma, or close the list before this",
        _ if has("leading zero") => "write the number without the zero in front",
        _ => "look here and on the line before for a missing quote, bracket or `=`",
    };
    hint.to_owned()
}

/// Returns a hint for a required key that is missing.
pub(super) fn missing(key: &str, wanted: Wanted) -> String {
    if let Some(value) = example(key) {
        return format!("add e.g. `{key} = {value}`");
    }
    match wanted {
        Wanted::Table => format!("add a section `[{key}]`; docs/spec.md lists its keys"),
        Wanted::Tables => format!("add a section `[[{key}]]`; docs/spec.md lists its keys"),
        other => format!("add e.g. `{key} = {}`", usual(other)),
    }
}

/// Returns a value that keys of this name often have.
fn example(key: &str) -> Option<&'static str> {
    const EXAMPLES: &[(&str, &str)] = &[
        ("name", "\"rnd-rd\""),
        ("question", "\"How fast are random reads?\""),
        ("title", "\"A drive of mine\""),
        ("kind", "\"ssd\""),
        ("read_share", "1.0"),
        ("size", "\"4KiB\""),
        ("pattern", "\"random\""),
        ("random_share", "0.5"),
        ("step", "\"64KiB\""),
        ("theta", "0.99"),
        ("hot_space", "0.2"),
        ("hot_requests", "0.8"),
        ("arrivals", "\"poisson\""),
        ("measure", "{ time = \"10s\" }"),
        ("round", "\"1s\""),
        ("time", "\"30s\""),
    ];
    EXAMPLES.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
}

fn usual(wanted: Wanted) -> &'static str {
    match wanted {
        Wanted::Text => "\"…\"",
        Wanted::Texts => "[\"…\"]",
        Wanted::Whole => "1",
        Wanted::Number => "0.5",
        Wanted::Flag => "true",
        Wanted::Size => "\"4KiB\"",
        Wanted::Time => "\"10ms\"",
        Wanted::Table | Wanted::Tables => "{ … }",
    }
}

/// Returns a hint for a value of the wrong type: the same value in the right type, if that is
/// clear.
pub(super) fn retyped(key: &str, value: &DeValue<'_>, written: &str, wanted: Wanted) -> String {
    let right = match (wanted, value) {
        (Wanted::Text, DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_)) => {
            return format!("put it in quotes: `{key} = \"{written}\"`");
        }
        (Wanted::Texts, DeValue::String(_)) => {
            return format!("put it in brackets: `{key} = [{written}]`");
        }
        (Wanted::Whole, DeValue::String(s)) if s.parse::<i64>().is_ok() => {
            return format!("write it without quotes: `{key} = {s}`");
        }
        (Wanted::Number, DeValue::String(s)) if s.parse::<f64>().is_ok_and(f64::is_finite) => {
            return format!("write it without quotes: `{key} = {s}`");
        }
        (Wanted::Flag, DeValue::String(s)) => match s.to_lowercase().as_str() {
            "yes" | "on" | "true" => "true".to_owned(),
            "no" | "off" | "false" => "false".to_owned(),
            _ => usual(wanted).to_owned(),
        },
        (Wanted::Table, _) if example(key).is_none() => {
            return format!("write `[{key}]`, and its keys on lines of their own below it");
        }
        (Wanted::Tables, _) => {
            return format!("write `[[{key}]]`, and its keys on lines of their own below it");
        }
        _ => example(key).unwrap_or(usual(wanted)).to_owned(),
    };
    format!("write e.g. `{key} = {right}`")
}

/// Returns a hint for a number outside its range.
pub(super) fn nearest(key: &str, n: f64, range: RangeInclusive<f64>) -> String {
    let (low, high) = (*range.start(), *range.end());
    let near = if n.is_nan() { low } else { n.max(low).min(high) };
    let hint = format!("the nearest possible value is `{key} = {near}`");
    // A user who writes 70 where a share is wanted means per cent.
    let per_cent = high <= 1.0 && n > 1.0 && (low..=high).contains(&(n / 100.0));
    if per_cent { format!("{n} % is written `{key} = \"{n}%\"`; {hint}") } else { hint }
}

/// Returns a hint for a text that is not a quantity.
pub(super) fn quantity(text: &str) -> &'static str {
    match text.trim() {
        "" => "write a number and its unit between the quotes",
        t if t.starts_with('-') => "remove the sign: the value cannot be negative",
        t if t.contains(',') => "write decimals with a point: `1.5GiB`",
        _ => "write the number first, then its unit",
    }
}
