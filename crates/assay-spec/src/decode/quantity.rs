//! Numbers and quantities in text.

use super::hint;
use super::source::{Decoded, Source, with_hint};
use crate::diagnostic::Kind;
use crate::units::QuantityError;
use std::ops::Range;
use std::str::FromStr;
use toml::de::DeValue;

/// Parses a quantity, with a diagnostic for each kind of mistake.
pub fn quantity<T: FromStr<Err = QuantityError>>(
    source: Source<'_>,
    key: &str,
    text: &str,
    span: Range<usize>,
    expected: &str,
) -> Decoded<T> {
    text.parse().map_err(|e| match e {
        QuantityError::Number => {
            let message = format!("`{key}` is not a quantity: `{text}`");
            let e = source.error(Kind::BadUnit, span, message, expected);
            with_hint(e, hint::quantity(text))
        }
        QuantityError::NoUnit => with_hint(
            source.error(Kind::BadUnit, span, format!("`{key}` has no unit"), expected),
            "write the unit after the number",
        ),
        QuantityError::Unit(unit) => with_hint(
            source.error(Kind::BadUnit, span, format!("`{key}` has no unit `{unit}`"), expected),
            "KiB, MiB, GiB are powers of 1024, kB, MB, GB of 1000; times take ns, us, ms, s, m, h",
        ),
        QuantityError::TooLarge => {
            let message = format!("`{key}` is too large");
            let e = source.error(Kind::OutOfRange, span, message, "less than 2^63");
            with_hint(e, "check the unit: 2^63 bytes are 8388608TiB, and 2^63 ns are 292 years")
        }
    })
}

/// Reads a number, or a percentage in a string.
pub(crate) fn number_of(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(i) => i64::from_str_radix(i.as_str(), i.radix()).ok().map(|n| n as f64),
        DeValue::Float(x) => x.as_str().parse().ok(),
        DeValue::String(s) => {
            s.strip_suffix('%').and_then(|p| p.trim().parse::<f64>().ok()).map(|p| p / 100.0)
        }
        _ => None,
    }
}
