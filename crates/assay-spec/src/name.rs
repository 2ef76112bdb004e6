//! Names of experiments, workloads, drives and machines.

use crate::decode::{Section, with_hint};
use crate::diagnostic::{Diagnostic, Kind};
use std::ops::Range;

/// Returns `true` if `text` can be a name. Names become file names: lower-case letters, digits and
/// `-`, at most 64.
pub fn is_name(text: &str) -> bool {
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.len() <= 64 && text.chars().all(fine)
}

/// Makes the diagnostic of a text that cannot be a name.
pub(crate) fn bad_name(top: &Section<'_>, span: Range<usize>, name: &str) -> Box<Diagnostic> {
    let expected = "lower-case letters, digits and `-`, at most 64 of them";
    let e = top.error(Kind::UnknownValue, span, format!("`{name}` cannot be a name"), expected);
    with_hint(e, format!("use e.g. `{}`", near_name(name)))
}

/// Returns the nearest text to `text` that can be a name.
fn near_name(text: &str) -> String {
    let small = text.to_lowercase();
    let words = small.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty());
    let name: String = words.collect::<Vec<_>>().join("-").chars().take(64).collect();
    let name = name.trim_end_matches('-');
    if name.is_empty() { "rnd-rd".to_owned() } else { name.to_owned() }
}
