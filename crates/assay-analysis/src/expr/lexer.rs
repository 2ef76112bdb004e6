//! Lexer: text to tokens. It reads every byte once; positions are byte offsets.

use super::dimension::Dimension;
use super::node::{ExprError, FUNCTIONS, Reference};

/// A token of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// A number in base units, and the dimension of its unit.
    Number(f64, Dimension),
    /// A reference in braces, or a bare metric.
    Reference(Reference),
    /// A word: function or operator.
    Word(String),
    /// An operator or parenthesis.
    Sign(&'static str),
}

/// A token with its position in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The offset of the first byte.
    pub start: usize,
    /// The offset of the byte after the last.
    pub end: usize,
    /// The token.
    pub token: Token,
}

/// The signs. A sign that begins with another one stands before it.
const SIGNS: &[&str] = &["<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "(", ")", ","];

/// The units with their size in base units and their dimension. The longest name that fits is
/// taken.
const UNITS: &[(&str, f64, Dimension)] = &[
    ("ns", 1.0, Dimension::TIME),
    ("us", 1e3, Dimension::TIME),
    ("µs", 1e3, Dimension::TIME),
    ("ms", 1e6, Dimension::TIME),
    ("s", 1e9, Dimension::TIME),
    ("B", 1.0, Dimension::SIZE),
    ("kB", 1e3, Dimension::SIZE),
    ("MB", 1e6, Dimension::SIZE),
    ("GB", 1e9, Dimension::SIZE),
    ("TB", 1e12, Dimension::SIZE),
    ("KiB", 1024.0, Dimension::SIZE),
    ("MiB", 1_048_576.0, Dimension::SIZE),
    ("GiB", 1_073_741_824.0, Dimension::SIZE),
    ("TiB", 1_099_511_627_776.0, Dimension::SIZE),
    ("B/s", 1.0, Dimension::RATE),
    ("kB/s", 1e3, Dimension::RATE),
    ("MB/s", 1e6, Dimension::RATE),
    ("GB/s", 1e9, Dimension::RATE),
    ("TB/s", 1e12, Dimension::RATE),
    ("KiB/s", 1024.0, Dimension::RATE),
    ("MiB/s", 1_048_576.0, Dimension::RATE),
    ("GiB/s", 1_073_741_824.0, Dimension::RATE),
    ("TiB/s", 1_099_511_627_776.0, Dimension::RATE),
    ("IOPS", 1.0, Dimension::IOPS),
    ("x", 1.0, Dimension::PLAIN),
    ("%", 0.01, Dimension::PLAIN),
];

/// The words that are never metrics.
const WORDS: &[&str] = &["and", "or", "not"];

fn error(position: usize, message: impl Into<String>) -> ExprError {
    ExprError { position, end: position + 1, message: message.into(), hint: String::new() }
}

/// Returns the size in base units of a unit in a ledger or an expression.
pub fn unit(name: &str) -> Option<f64> {
    UNITS.iter().find(|(n, ..)| *n == name).map(|(_, factor, _)| *factor)
}

/// Returns the dimension of a unit. A word that is not a unit counts things and is plain.
pub fn dimension(name: &str) -> Dimension {
    UNITS.iter().find(|(n, ..)| *n == name).map_or(Dimension::PLAIN, |(.., dimension)| *dimension)
}

/// Splits a text into tokens. With `bare`, words that are not operators or functions are metrics.
pub fn tokens(text: &str, bare: bool) -> Result<Vec<Placed>, ExprError> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let (length, token) = if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        } else if c == '{' {
            reference(rest, at)?
        } else if c.is_ascii_digit() || c == '.' {
            number(rest, at)?
        } else if c.is_ascii_alphabetic() {
            word(rest, bare)
        } else if let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) {
            (sign.len(), Token::Sign(sign))
        } else {
            return Err(error(at, format!("unexpected `{c}`")));
        };
        found.push(Placed { start: at, end: at + length, token });
        at += length;
    }
    Ok(found)
}

fn reference(rest: &str, at: usize) -> Result<(usize, Token), ExprError> {
    let end = rest.find('}').ok_or_else(|| error(at, "`{` without `}`"))?;
    let inner = &rest[1..end];
    let parts = inner.split_once('@').and_then(|(workload, more)| {
        let (target, metric) = more.rsplit_once(':')?;
        let whole = ![workload, target, metric].iter().any(|p| p.trim().is_empty());
        (whole && !inner.contains('{')).then_some((workload, target, metric))
    });
    let Some((workload, target, metric)) = parts else {
        return Err(error(at, "a reference is written {WORKLOAD@TARGET:METRIC}"));
    };
    let reference = Reference {
        workload: workload.trim().to_owned(),
        target: target.trim().to_owned(),
        metric: metric.trim().to_owned(),
    };
    Ok((end + 1, Token::Reference(reference)))
}

fn number(rest: &str, at: usize) -> Result<(usize, Token), ExprError> {
    let digits = rest
        .char_indices()
        .find(|(_, c)| !(c.is_ascii_digit() || matches!(c, '.' | '_')))
        .map_or(rest.len(), |(i, _)| i);
    let digits = digits + exponent(&rest[digits..]);
    let value: f64 = rest[..digits]
        .replace('_', "")
        .parse()
        .map_err(|_| error(at, format!("`{}` is not a number", &rest[..digits])))?;
    if !value.is_finite() {
        return Err(error(at, "the number is too large"));
    }
    let tail = &rest[digits..];
    // A unit ends where a word ends: `2MB/sqrt(4)` has the unit `MB`, not `MB/s`.
    let ends = |name: &str| !tail[name.len()..].starts_with(|c: char| c.is_ascii_alphanumeric());
    let unit = UNITS
        .iter()
        .filter(|(name, ..)| tail.starts_with(name) && ends(name))
        .max_by_key(|(name, ..)| name.len());
    match unit {
        Some((name, factor, dimension)) => {
            Ok((digits + name.len(), Token::Number(value * factor, *dimension)))
        }
        None if tail.starts_with(|c: char| c.is_alphanumeric()) => {
            let unit: String = tail.chars().take_while(|c| c.is_alphanumeric()).collect();
            Err(no_unit(at + digits, &unit))
        }
        None => Ok((digits, Token::Number(value, Dimension::PLAIN))),
    }
}

fn no_unit(at: usize, unit: &str) -> ExprError {
    let hint = "use ns, us, ms, s, B, KiB, MiB, GiB, TiB, kB, MB, GB, TB, a unit of bytes with /s, \
                IOPS, x or %";
    let e = error(at, format!("there is no unit `{unit}`"));
    ExprError { end: at + unit.len(), hint: hint.to_owned(), ..e }
}

/// Returns the length of an exponent such as `e+12` at the beginning of `tail`, or 0.
fn exponent(tail: &str) -> usize {
    let Some(after) = tail.strip_prefix(['e', 'E']) else { return 0 };
    let signed = after.strip_prefix(['+', '-']).unwrap_or(after);
    let digits = signed.len() - signed.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits == 0 { 0 } else { 1 + (after.len() - signed.len()) + digits }
}

fn word(rest: &str, bare: bool) -> (usize, Token) {
    if !bare {
        let length = length_while(rest, |c| c.is_ascii_alphanumeric() || c == '_');
        return (length, Token::Word(rest[..length].to_owned()));
    }
    let mut length = length_while(rest, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
    // `client-min` is a name, while `p99 - p50` and `p99-1ms` are differences.
    while let Some(more) = rest[length..].strip_prefix('-') {
        if !more.starts_with(|c: char| c.is_ascii_alphabetic()) {
            break;
        }
        length += 1 + length_while(more, |c| c.is_ascii_alphanumeric() || c == '_');
    }
    let name = &rest[..length];
    if name == "share" || name.ends_with(".share") {
        let glued = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == 'µ';
        let tail = &rest[length..];
        if tail.starts_with(['<', '>', '=']) && tail[1..].starts_with(glued) {
            length += 1 + length_while(&tail[1..], glued);
        }
    }
    let name = rest[..length].to_owned();
    let function =
        FUNCTIONS.iter().any(|(f, ..)| *f == name) && rest[length..].trim_start().starts_with('(');
    if function || WORDS.contains(&name.as_str()) {
        return (length, Token::Word(name));
    }
    let (workload, target) = (String::new(), String::new());
    (length, Token::Reference(Reference { workload, target, metric: name }))
}

fn length_while(text: &str, inside: impl Fn(char) -> bool) -> usize {
    text.char_indices().find(|(_, c)| !inside(*c)).map_or(text.len(), |(i, _)| i)
}
