//! The decoder of TOML: from text to values, with the place of every mistake.
//!
//! A [`Section`] wraps one table. Each getter takes a key out; [`Section::finish`] reports a key
//! that no getter took. So a key cannot be ignored by accident, and every mistake has a line and a
//! column. Serde is not used because the error of a range check three levels down must still point
//! at the value.

mod hint;
mod lists;
mod quantity;
mod section;
mod source;

pub use lists::List;
pub(crate) use quantity::number_of;
pub use quantity::quantity;
pub use section::{Section, Value};
pub use source::{Decoded, Source, with_hint};

use crate::diagnostic::{Diagnostic, Kind};
use hint::Wanted;
use toml::de::DeTable;

/// The version of the spec format that this program reads.
pub const FORMAT: i64 = 1;

/// Parses `source`, checks `format = 1`, and decodes the top table with `decode`.
pub fn document<'a, T>(
    source: Source<'a>,
    what: &'static str,
    decode: impl FnOnce(&mut Section<'a>) -> Decoded<T>,
) -> Decoded<T> {
    let table = DeTable::parse(source.text).map_err(|e| not_toml(source, &e))?;
    let mut section = Section::new(source, what, table.get_ref().clone(), 0..0);
    if !section.has("format") {
        return Err(no_format(&section));
    }
    let (format, span) = section.integer_at("format")?;
    if format != FORMAT {
        let e = source.error(
            Kind::Format,
            span,
            format!("this version of assay cannot read format {format}"),
            format!("`format = {FORMAT}`"),
        );
        return Err(with_hint(
            e,
            "use a newer version of assay; `assay --version` shows the version of this one",
        ));
    }
    let value = decode(&mut section)?;
    section.finish()?;
    Ok(value)
}

/// Makes the diagnostic of a text that is not TOML.
fn not_toml(source: Source<'_>, e: &toml::de::Error) -> Box<Diagnostic> {
    let span = e.span().unwrap_or(0..0);
    let found = source.text.get(span.clone()).unwrap_or_default();
    let said = e.message().trim().replace('\n', " ");
    let (what, expected) = said.split_once(", expected ").unwrap_or((&said, ""));
    // The parser says "literal string" for a value that is neither a number nor a date.
    let expected = if expected == "literal string" { "a value" } else { expected };
    let hint = hint::syntax(&said, found);
    let e = source.error(Kind::Syntax, span, format!("not valid TOML: {what}"), expected);
    with_hint(e, hint)
}

/// Makes the diagnostic of a file without the key `format`.
fn no_format(top: &Section<'_>) -> Box<Diagnostic> {
    let e = top.missing("format", "", Wanted::Whole);
    let expected = format!("`format = {FORMAT}` at the top of the file");
    let e = Box::new(Diagnostic { expected, ..*e });
    if top.misspelt("format").is_some() {
        return e;
    }
    let hint = "it is the version of the file format; this version of assay reads only";
    with_hint(e, format!("{hint} {FORMAT}"))
}
