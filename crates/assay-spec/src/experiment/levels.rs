//! Levels: the texts that a factor of a target or a variable of a program takes in turn.

use crate::decode::{Decoded, Section, Value, with_hint};
use crate::diagnostic::{Diagnostic, Kind};
use std::borrow::Cow;
use std::ops::Range;
use toml::Spanned;
use toml::de::DeValue;

/// A value of a factor or variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactorLevel {
    /// The name in tables; it is also a part of the name of a target or workload.
    pub name: String,
    /// The text that stands for the factor or is the value of the variable.
    pub text: String,
}

/// Decodes the levels of `name`: a list, in which each text is also the level's name, or a table of
/// names and texts, such as `{ "1k" = "1024", "4k" = "4096" }`.
///
/// # Errors
/// If `value` is neither, or a name is not valid or occurs twice.
pub(super) fn decode(
    section: &Section<'_>,
    name: &str,
    value: &Value<'_>,
) -> Decoded<Vec<FactorLevel>> {
    let levels = match value.get_ref() {
        DeValue::Array(items) => {
            items.iter().map(|item| listed(section, item)).collect::<Decoded<Vec<_>>>()?
        }
        DeValue::Table(_) => named(section, name, value)?,
        _ => {
            let message = format!("the levels of `{name}` are not a list");
            let e = section.error(Kind::WrongType, value.span(), message, "a list");
            return Err(with_hint(e, format!("e.g. `{name} = [\"a\", \"b\"]`")));
        }
    };
    let twice =
        |(i, level): &(usize, &FactorLevel)| levels[..*i].iter().any(|l| l.name == level.name);
    if let Some((_, level)) = levels.iter().enumerate().find(twice) {
        let message = format!("`{name}` has the level `{}` twice", level.name);
        let e = section.error(Kind::Impossible, value.span(), message, "each level once");
        return Err(with_hint(e, "remove one of the two"));
    }
    Ok(levels)
}

/// Returns a text as it is and a number as its value in decimal digits.
pub(in crate::experiment) fn text_of(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(n) => Some(i64::from_str_radix(n.as_str(), n.radix()).ok()?.to_string()),
        DeValue::Float(n) => Some(n.as_str().to_owned()),
        _ => None,
    }
}

/// Decodes a level that has its text as its name.
fn listed(section: &Section<'_>, item: &Value<'_>) -> Decoded<FactorLevel> {
    let Some(text) = text_of(item.get_ref()) else {
        let e = section.error(
            Kind::WrongType,
            item.span(),
            "this is not a level",
            "a text or a number",
        );
        return Err(with_hint(e, "e.g. `[\"64KiB\", \"256KiB\"]` or `[2, 3, 5]`"));
    };
    if !is_name(&text) {
        return Err(bad_name(section, item.span(), &text));
    }
    Ok(FactorLevel { name: text.clone(), text })
}

/// Decodes levels with names.
fn named(section: &Section<'_>, of: &str, value: &Value<'_>) -> Decoded<Vec<FactorLevel>> {
    let DeValue::Table(table) = value.get_ref() else { return Ok(Vec::new()) };
    let mut all: Vec<_> = table.iter().collect();
    all.sort_by_key(|(key, _)| key.span().start);
    let one = |(key, text): (&Spanned<Cow<'_, str>>, &Value<'_>)| {
        let name = key.get_ref().to_string();
        if !is_name(&name) {
            return Err(bad_name(section, key.span(), &name));
        }
        match text.get_ref().as_str() {
            Some(text) => Ok(FactorLevel { name, text: text.to_owned() }),
            None => {
                let message = format!("the level `{name}` of `{of}` is not a text");
                let e = section.error(Kind::WrongType, text.span(), message, "a text");
                Err(with_hint(e, format!("write the text that stands for `{of}`, in quotes")))
            }
        }
    };
    all.into_iter().map(one).collect()
}

/// Returns `true` if `text` can be the name of a factor or level, which is a part of the names of
/// cells and files.
pub(super) fn is_name(text: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !text.is_empty() && text.len() <= 32 && text.chars().all(fine)
}

/// Makes the diagnostic of a text that is not a name.
pub(super) fn bad_name(section: &Section<'_>, span: Range<usize>, name: &str) -> Box<Diagnostic> {
    let expected = "letters, digits, `.`, `_` and `-`, at most 32 of them";
    let message = format!("`{name}` cannot be the name of a factor or of a level");
    let e = section.error(Kind::UnknownValue, span, message, expected);
    with_hint(e, "for other texts, write a table with names: `{ small = \"4KiB\", none = \"\" }`")
}
