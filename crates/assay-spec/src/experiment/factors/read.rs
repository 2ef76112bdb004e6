//! The decoder of `[factors]`.

use super::{COMBINATIONS_MAX, Factor, Factors, Impossible};
use crate::decode::{Decoded, Section, Value, with_hint};
use crate::diagnostic::{Kind, closest, one_of};
use crate::experiment::defaults::LinuxDefaults;
use crate::experiment::levels::{self, FactorLevel, bad_name, is_name};
use std::ops::Range;
use toml::de::DeValue;

/// Decodes `[factors]`, if it is present.
pub(in crate::experiment) fn decode(
    top: &mut Section<'_>,
    linux: &LinuxDefaults,
) -> Decoded<Option<Factors>> {
    let Some(mut section) = top.optional_section("factors", "factors")? else { return Ok(None) };
    let (template, template_span) = section.string_at("target")?;
    let factors = read_levels(section.section("levels", "factors.levels")?)?;
    check_product(&section, &factors)?;
    check_places(&section, &template, template_span, &factors)?;
    let base_span = section.span_of("base");
    let base = section.optional_section("base", "factors.base")?;
    let base = base.map(|base| read_base(base, &factors)).transpose()?;
    let mut impossible = Vec::new();
    for rule in section.sections("impossible", "factors.impossible")? {
        impossible.push(read_rule(rule, &factors)?);
    }
    let read = Factors { template, factors, base, impossible, linux: linux.clone() };
    if let Some(Err(why)) = read.base.as_ref().map(|base| read.target(base)) {
        let message = format!("the base point is impossible: {why}");
        let e =
            section.error(Kind::Impossible, base_span, message, "a possible combination of levels");
        return Err(with_hint(
            e,
            "choose another base point: one factor at a time is varied around it",
        ));
    }
    section.finish()?;
    Ok(Some(read))
}

/// Decodes each factor with its levels, in the order in which they are written.
fn read_levels(mut section: Section<'_>) -> Decoded<Vec<Factor>> {
    let mut keys = section.free_keys();
    keys.sort_by_key(|key| section.key_span_of(key).start);
    let mut factors = Vec::new();
    for name in keys {
        let span = section.key_span_of(&name);
        if !is_name(&name) {
            return Err(bad_name(&section, span, &name));
        }
        let value = section.take_free(&name).expect("it is one of the keys");
        let levels = levels::decode(&section, &name, &value)?;
        check_count(&section, &name, value.span(), &levels)?;
        factors.push(Factor { name, levels });
    }
    if factors.is_empty() {
        let e =
            section.error(Kind::MissingKey, section.span(), "there is no factor", "at least one");
        return Err(with_hint(
            e,
            "add a factor, which is a list of levels, e.g. `drives = [2, 3, 5]`",
        ));
    }
    Ok(factors)
}

/// Refuses a factor that does not vary.
fn check_count(
    section: &Section<'_>,
    factor: &str,
    span: Range<usize>,
    levels: &[FactorLevel],
) -> Decoded<()> {
    if levels.len() >= 2 {
        return Ok(());
    }
    let message = format!("`{factor}` has fewer than two levels");
    let e = section.error(Kind::OutOfRange, span, message, "two levels or more");
    Err(with_hint(e, "add a level, or write a value that never changes into `target` itself"))
}

fn check_product(section: &Section<'_>, factors: &[Factor]) -> Decoded<()> {
    let all = factors.iter().try_fold(1_usize, |n, f| n.checked_mul(f.levels.len()));
    if all.is_some_and(|n| n <= COMBINATIONS_MAX) {
        return Ok(());
    }
    let span = section.key_span_of("levels");
    let expected = format!("at most {COMBINATIONS_MAX} combinations");
    let e =
        section.error(Kind::OutOfRange, span, "the levels make too many combinations", expected);
    Err(with_hint(
        e,
        "remove levels: every level of a factor is combined with every level of the others",
    ))
}

/// Checks that every factor has a place and every place a factor.
fn check_places(
    section: &Section<'_>,
    template: &str,
    span: Range<usize>,
    factors: &[Factor],
) -> Decoded<()> {
    let names: Vec<&str> = factors.iter().map(|f| f.name.as_str()).collect();
    let levels = factors.iter().flat_map(|f| &f.levels).map(|l| l.text.as_str());
    let mut unknown = levels.chain([template]).flat_map(places);
    if let Some(place) = unknown.find(|place| !names.contains(place)) {
        let message = format!("`{{{place}}}` is not a factor");
        let e = section.error(Kind::UnknownValue, span, message, one_of(&names));
        return Err(match closest(place, &names) {
            Some(meant) => with_hint(e, format!("did you mean `{{{meant}}}`?")),
            None => with_hint(e, "factors are the keys of `[factors.levels]`"),
        });
    }
    let has = |text: &str, name: &str| places(text).any(|place| place == name);
    let somewhere = |name: &&str| {
        has(template, name) || factors.iter().flat_map(|f| &f.levels).any(|l| has(&l.text, name))
    };
    let Some(lost) = names.iter().find(|name| !somewhere(name)) else { return Ok(()) };
    let message = format!("the factor `{lost}` has no place in the target");
    let e = section.error(Kind::Impossible, span, message, format!("`{{{lost}}}` in it"));
    Err(with_hint(e, "write the factor's name in braces where its levels shall stand"))
}

/// Returns the texts in braces.
fn places(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0))
}

fn read_base(mut section: Section<'_>, factors: &[Factor]) -> Decoded<Vec<usize>> {
    let mut base = Vec::new();
    for factor in factors {
        let Some(value) = section.take_free(&factor.name) else {
            let message = format!("the base point has no level of `{}`", factor.name);
            let e = section.error(Kind::MissingKey, section.span(), message, "a level of each");
            let level = factor.levels.first().map_or("", |l| &l.name);
            return Err(with_hint(e, format!("e.g. `{} = \"{level}\"`", factor.name)));
        };
        base.push(level_of(&section, factor, &value)?);
    }
    no_other(&section, factors)?;
    Ok(base)
}

/// Reports a key that is not a factor.
fn no_other(section: &Section<'_>, factors: &[Factor]) -> Decoded<()> {
    let names: Vec<&str> = factors.iter().map(|f| f.name.as_str()).collect();
    let Some(key) = section.free_keys().into_iter().next() else { return Ok(()) };
    let message = format!("`{key}` is not a factor");
    let e = section.error(Kind::UnknownKey, section.key_span_of(&key), message, one_of(&names));
    Err(match closest(&key, &names) {
        Some(meant) => with_hint(e, format!("did you mean `{meant}`?")),
        None => with_hint(e, "factors are the keys of `[factors.levels]`"),
    })
}

fn read_rule(mut section: Section<'_>, factors: &[Factor]) -> Decoded<Impossible> {
    let because = section.string("because")?;
    let mut conditions = section.section("when", "factors.impossible.when")?;
    let mut when = Vec::new();
    for (index, factor) in factors.iter().enumerate() {
        let Some(value) = conditions.take_free(&factor.name) else { continue };
        let levels = match value.get_ref() {
            DeValue::Array(items) => {
                items.iter().map(|item| level_of(&conditions, factor, item)).collect()
            }
            _ => level_of(&conditions, factor, &value).map(|level| vec![level]),
        };
        when.push((index, levels?));
    }
    no_other(&conditions, factors)?;
    if when.is_empty() {
        let e = section.error(
            Kind::MissingKey,
            conditions.span(),
            "the rule has no condition",
            "a factor",
        );
        return Err(with_hint(e, "e.g. `when = { level = \"raid5\", drives = 2 }`"));
    }
    section.finish()?;
    Ok(Impossible { when, because })
}

/// Returns the index of the level with this name.
fn level_of(section: &Section<'_>, factor: &Factor, value: &Value<'_>) -> Decoded<usize> {
    let name = levels::text_of(value.get_ref()).unwrap_or_default();
    if let Some(index) = factor.levels.iter().position(|level| level.name == name) {
        return Ok(index);
    }
    let names: Vec<&str> = factor.levels.iter().map(|l| l.name.as_str()).collect();
    let message = format!("`{}` has no level `{name}`", factor.name);
    let e = section.error(Kind::UnknownValue, value.span(), message, one_of(&names));
    Err(match closest(&name, &names) {
        Some(meant) => with_hint(e, format!("did you mean `{meant}`?")),
        None => with_hint(e, "use the names of levels in `[factors.levels]`"),
    })
}
