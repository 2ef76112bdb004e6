//! Families: a list in a workload stands for one workload with each of its values.
//!
//! `range = ["1GiB", "2GiB"]` with `name = "rnd-wr-{range}"` makes two workloads, `rnd-wr-1g` and
//! `rnd-wr-2g`. Several lists make every combination, with the first list as the outermost loop.
//! Each member is decoded as if it had been written by itself, so that a mistake points at its
//! value.

use crate::decode::{Decoded, List, Section, Value, number_of, with_hint};
use crate::diagnostic::Kind;
use crate::units::Bytes;

/// The keys of a workload that may hold lists.
const KEYS: &[&str] =
    &["file", "order", "range", "step", "length", "size", "read_share", "clients"];

/// The largest number of workloads of a family.
const MOST: usize = 1000;

/// Returns the workloads that the section stands for; the section itself if it has no list.
pub(super) fn members(section: Section<'_>) -> Decoded<Vec<Section<'_>>> {
    let lists = section.lists(KEYS);
    let name = section.peek_text("name").unwrap_or_default();
    check_lists(&section, &lists, &name)?;
    check_placeholders(&section, &lists, &name)?;
    let mut members = vec![section];
    for list in lists {
        members = members.iter().flat_map(|member| each(member, &list)).collect();
    }
    Ok(members)
}

/// Returns a copy of the member for each value of the list.
fn each<'a>(member: &Section<'a>, list: &List<'a>) -> Vec<Section<'a>> {
    list.items.iter().map(|item| with(member, list, item)).collect()
}

/// Returns a copy of the member with this value of the list.
fn with<'a>(member: &Section<'a>, list: &List<'a>, item: &Value<'a>) -> Section<'a> {
    let mut member = member.clone();
    if let Some(name) = member.peek_text("name") {
        // A value that is not valid is reported when the member is decoded.
        let part = name_part(list.key, item).unwrap_or_else(|| "x".to_owned());
        member.put_text("name", name.replace(&placeholder(list.key), &part));
    }
    member.put(list.key, item.clone());
    member
}

fn placeholder(key: &str) -> String {
    format!("{{{key}}}")
}

fn check_lists(section: &Section<'_>, lists: &[List<'_>], name: &str) -> Decoded<()> {
    for List { key, span, items } in lists {
        if items.is_empty() {
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
            let alone = if items.len() == 1 { "; a single value needs no brackets" } else { "" };
            return Err(with_hint(e, hint + alone));
        }
    }
    let count = lists.iter().try_fold(1_usize, |n, list| n.checked_mul(list.items.len()));
    if let Some(list) = lists.last().filter(|_| count.is_none_or(|n| n > MOST)) {
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

fn check_placeholders(section: &Section<'_>, lists: &[List<'_>], name: &str) -> Decoded<()> {
    let free = |key: &&&str| lists.iter().all(|list| list.key != **key);
    let lone = KEYS.iter().filter(free).find(|key| name.contains(&placeholder(key)));
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
