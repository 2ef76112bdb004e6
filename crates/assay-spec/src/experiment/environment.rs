//! Variables of the environment of a program: `env = { NAME = VALUE }`.
//!
//! A variable with several levels makes one workload for each of them (`family.rs`).

use super::levels::{self, FactorLevel};
use crate::decode::{Decoded, Section, Value, with_hint};
use crate::diagnostic::Kind;
use crate::name::is_name;
use std::ops::Range;

/// The key of a workload that holds the variables.
pub(super) const KEY: &str = "env";

/// The start of the names of variables that assay sets.
const OURS: &str = "ASSAY_";

/// A variable with several levels.
pub(super) struct Variable {
    /// The name of the variable.
    pub name: String,
    /// The place of its levels in the file.
    pub span: Range<usize>,
    /// The levels.
    pub levels: Vec<FactorLevel>,
}

/// Returns the names of a workload's variables. Takes no key.
pub(super) fn names(workload: &Section<'_>) -> Vec<String> {
    workload.peek_table(KEY, KEY).map_or_else(Vec::new, |section| section.free_keys())
}

/// Returns the variables of a workload that have several levels. Takes no key.
///
/// # Errors
/// If a list of levels is not valid.
pub(super) fn varied(workload: &Section<'_>) -> Decoded<Vec<Variable>> {
    let Some(section) = workload.peek_table(KEY, KEY) else { return Ok(Vec::new()) };
    let mut variables = Vec::new();
    for name in section.free_keys() {
        let value = section.clone().take_free(&name).expect("it is one of the keys");
        if value.get_ref().is_array() || value.get_ref().is_table() {
            let levels = levels::decode(&section, &name, &value)?;
            check_labels(&section, value.span(), &name, &levels)?;
            variables.push(Variable { name, span: value.span(), levels });
        }
    }
    Ok(variables)
}

/// Refuses levels that cannot stand in the name of a workload.
fn check_labels(
    section: &Section<'_>,
    span: Range<usize>,
    variable: &str,
    levels: &[FactorLevel],
) -> Decoded<()> {
    let Some(level) = levels.iter().find(|level| !is_name(&level.name)) else { return Ok(()) };
    let message = format!("`{}` cannot be a part of a workload's name", level.name);
    let expected = "lower-case letters, digits and `-`";
    let e = section.error(Kind::UnknownValue, span, message, expected);
    let text = &level.text;
    Err(with_hint(e, format!("give each value a name: `{variable} = {{ a = \"{text}\", b = … }}`")))
}

/// Decodes the variables with their values, in the order of their names.
///
/// # Errors
/// If a name or a value is not possible in an environment.
pub(super) fn decode(workload: &mut Section<'_>) -> Decoded<Vec<(String, String)>> {
    let Some(mut section) = workload.optional_section(KEY, KEY)? else { return Ok(Vec::new()) };
    let mut names = section.free_keys();
    names.sort();
    let mut variables = Vec::new();
    for name in names {
        check_name(&section, &name)?;
        let value = section.take_free(&name).expect("it is one of the keys");
        variables.push((name, text_of(&section, &value)?));
    }
    section.finish()?;
    Ok(variables)
}

fn check_name(section: &Section<'_>, name: &str) -> Decoded<()> {
    let span = || section.key_span_of(name);
    if name.starts_with(OURS) {
        let message = format!("assay itself sets the variables `{OURS}…`");
        let e = section.error(Kind::Impossible, span(), message, "another name");
        return Err(with_hint(e, format!("e.g. `{}`", name.trim_start_matches(OURS))));
    }
    let is_fine = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts || !name.chars().all(is_fine) {
        let message = format!("`{name}` cannot be the name of a variable");
        let expected = "letters, digits and `_`, and no digit first";
        let e = section.error(Kind::UnknownValue, span(), message, expected);
        return Err(with_hint(e, "use e.g. `clients`; scripts read it as `$clients`"));
    }
    Ok(())
}

fn text_of(section: &Section<'_>, value: &Value<'_>) -> Decoded<String> {
    let text = levels::text_of(value.get_ref());
    text.filter(|text| !text.contains('\0')).ok_or_else(|| {
        let message = "this is not the value of a variable";
        let e = section.error(Kind::WrongType, value.span(), message, "a text or a number");
        with_hint(e, "write e.g. `\"--fast\"` or `4`; a list of them makes several workloads")
    })
}
