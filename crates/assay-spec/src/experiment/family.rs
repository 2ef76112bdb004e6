//! Families: a list in a workload stands for one workload with each of its values.
//!
//! `range = ["1GiB", "2GiB"]` with `name = "rnd-wr-{range}"` makes two workloads, `rnd-wr-1g` and
//! `rnd-wr-2g`. Several lists make every combination, with the first list as the outermost loop.
//! Each member is decoded as if it had been written by itself, so that a mistake points at its
//! value. The variables of a program (`env`) may have lists, too.

use super::environment;
use super::levels::FactorLevel;
use crate::decode::{Decoded, List, Section, Value, number_of, with_hint};
use crate::diagnostic::Kind;
use crate::units::Bytes;
use std::ops::Range;

/// The keys of a workload that may hold lists.
const KEYS: &[&str] =
    &["file", "order", "range", "step", "length", "size", "read_share", "clients"];

/// The largest number of workloads of a family.
const MOST: usize = 1000;

/// A part of a workload that has several values.
struct Choice<'a> {
    /// The name of the part, as in the placeholder for its values.
    name: String,
    span: Range<usize>,
    values: Vec<Chosen<'a>>,
}

/// One of the values.
struct Chosen<'a> {
    /// What stands for it in the name of the workload.
    label: String,
    value: ChosenValue<'a>,
}

enum ChosenValue<'a> {
    /// The value of a key of the workload.
    OfKey(&'static str, Value<'a>),
    /// The value of the variable of that name.
    OfVariable(String),
}

/// Returns the workloads that the section stands for; the section itself if it has no list.
pub(super) fn members(section: Section<'_>) -> Decoded<Vec<Section<'_>>> {
    let choices = choices(&section)?;
    let name = section.peek_text("name").unwrap_or_default();
    check_choices(&section, &choices, &name)?;
    check_placeholders(&section, &choices, &name)?;
    let mut members = vec![section];
    for choice in choices {
        members = members.iter().flat_map(|member| each(member, &choice)).collect();
    }
    Ok(members)
}

/// Returns the parts of a workload with several values, in the order in which they are written.
fn choices<'a>(section: &Section<'a>) -> Decoded<Vec<Choice<'a>>> {
    let mut choices: Vec<Choice<'a>> = Vec::new();
    for List { key, span, items } in section.lists(KEYS) {
        let chosen = |item: Value<'a>| Chosen {
            // A value that is not valid is reported when the member is decoded.
            label: name_part(key, &item).unwrap_or_else(|| "x".to_owned()),
            value: ChosenValue::OfKey(key, item),
        };
        let values = items.into_iter().map(chosen).collect();
        choices.push(Choice { name: key.to_owned(), span, values });
    }
    for variable in environment::varied(section)? {
        let chosen = |level: FactorLevel| Chosen {
            label: level.name,
            value: ChosenValue::OfVariable(level.text),
        };
        let values = variable.levels.into_iter().map(chosen).collect();
        choices.push(Choice { name: variable.name, span: variable.span, values });
    }
    choices.sort_by_key(|choice| choice.span.start);
    Ok(choices)
}

/// Returns a copy of the member for each value of the choice.
fn each<'a>(member: &Section<'a>, choice: &Choice<'a>) -> Vec<Section<'a>> {
    choice.values.iter().map(|chosen| with(member, &choice.name, chosen)).collect()
}

/// Returns a copy of the member with this value of the part `name`.
fn with<'a>(member: &Section<'a>, name: &str, chosen: &Chosen<'a>) -> Section<'a> {
    let mut member = member.clone();
    if let Some(text) = member.peek_text("name") {
        member.put_text("name", text.replace(&placeholder(name), &chosen.label));
    }
    match &chosen.value {
        ChosenValue::OfKey(key, value) => member.put(key, value.clone()),
        ChosenValue::OfVariable(text) => {
            member.put_text_in(environment::KEY, name, text.clone());
        }
    }
    member
}

fn placeholder(name: &str) -> String {
    format!("{{{name}}}")
}

fn check_choices(section: &Section<'_>, choices: &[Choice<'_>], name: &str) -> Decoded<()> {
    for Choice { name: key, span, values } in choices {
        if values.is_empty() {
            let message = format!("the list of `{key}` is empty");
            let e = section.error(Kind::MissingKey, span.clone(), message, "at least one value");
            return Err(with_hint(e, "add a value: each value of the list makes one workload"));
        }
        if section.has("name") && !name.contains(&placeholder(key)) {
            let message =
                format!("a list of `{key}` makes several workloads, and they have the same name");
            let expected = format!("`{{{key}}}` in the name, for the value");
            let e = section.error(Kind::Impossible, span.clone(), message, expected);
            let start = if name.is_empty() { "rnd-rd" } else { name };
            let hint = format!("write e.g. `name = \"{start}-{{{key}}}\"`");
            let alone = if values.len() == 1 { "; a single value needs no brackets" } else { "" };
            return Err(with_hint(e, hint + alone));
        }
    }
    let count = choices.iter().try_fold(1_usize, |n, list| n.checked_mul(list.values.len()));
    if let Some(list) = choices.last().filter(|_| count.is_none_or(|n| n > MOST)) {
        let message = "the lists make too many workloads";
        let expected = format!("at most {MOST} workloads together");
        let e = section.error(Kind::OutOfRange, list.span.clone(), message, expected);
        return Err(with_hint(
            e,
            "shorten a list: every combination of the lists' values makes a workload",
        ));
    }
    Ok(())
}

fn check_placeholders(section: &Section<'_>, choices: &[Choice<'_>], name: &str) -> Decoded<()> {
    let is_alone = |part: &str| {
        name.contains(&placeholder(part)) && choices.iter().all(|choice| choice.name != part)
    };
    if let Some(variable) = environment::names(section).iter().find(|variable| is_alone(variable)) {
        let message = format!("the name has `{{{variable}}}`, but that variable has one value");
        let e = section.error(Kind::Impossible, section.span_of("name"), message, "a list");
        let hint = "remove it from the name, or write a list of values in `env`";
        return Err(with_hint(e, format!("{hint}, e.g. `{variable} = [1, 2]`")));
    }
    let lone = KEYS.iter().find(|key| is_alone(key));
    let Some(key) = lone else { return Ok(()) };
    let message = format!("the name has `{{{key}}}`, but there is no list of `{key}`");
    let span = section.span_of("name");
    let e = section.error(Kind::Impossible, span, message, "a name without it, or such a list");
    let example = match *key {
        "range" => "[\"1GiB\", \"8GiB\"]",
        "step" => "[\"4KiB\", \"64KiB\"]",
        "size" => "[\"4KiB\", \"16KiB\"]",
        "length" => "[\"64MiB\", \"1GiB\"]",
        "file" => "[\"read\", \"write\"]",
        "order" => "[\"directory\", \"inode\"]",
        "clients" => "[50, 100]",
        _ => "[0.0, 0.5, 1.0]",
    };
    let hint = "remove it from the name, or add the list of its values";
    Err(with_hint(e, format!("{hint}, e.g. `{key} = {example}`")))
}

/// Reports a list in a part of a workload. Lists make families of whole workloads only.
pub(super) fn refuse_lists(part: &Section<'_>) -> Decoded<()> {
    let Some(list) = part.lists(KEYS).into_iter().next() else { return Ok(()) };
    let message = format!("a part of a workload cannot have a list of `{}`", list.key);
    let e = part.error(Kind::WrongType, list.span, message, "one value");
    Err(with_hint(e, "move the list to the workload itself: it makes one workload for each value"))
}

/// Returns a value as a part of a name.
fn name_part(key: &str, value: &Value<'_>) -> Option<String> {
    if key == "read_share" {
        return number_of(value.get_ref()).map(share_part);
    }
    if key == "clients" {
        return number_of(value.get_ref()).map(|n| n.to_string());
    }
    let text = value.get_ref().as_str()?;
    if matches!(key, "file" | "order") {
        return Some(text.to_owned());
    }
    let size = |text: &str| text.parse().ok().map(size_part);
    match text.split_once("..") {
        None => size(text),
        Some((start, "")) => Some(format!("{}-end", size(start)?)),
        Some((start, end)) => Some(format!("{}-{}", size(start)?, size(end)?)),
    }
}

/// Returns a size as a part of a name: `4k` for 4KiB, `1g` for 1GiB, `30gb` for 30GB.
fn size_part(size: Bytes) -> String {
    let text = size.to_string().to_lowercase();
    text.strip_suffix("ib").map_or(text.clone(), str::to_owned)
}

/// Returns a share of reads as a part of a name: `rd`, `wr`, or `rw70` for 70 % reads.
fn share_part(share: f64) -> String {
    match share {
        s if s >= 1.0 => "rd".to_owned(),
        s if s <= 0.0 => "wr".to_owned(),
        s => {
            // Nine digits keep what the user wrote and drop the rounding error of binary fractions.
            let percent = format!("{:.9}", 100.0 * s);
            let percent = percent.trim_end_matches('0').trim_end_matches('.');
            format!("rw{}", percent.replace('.', "-"))
        }
    }
}
