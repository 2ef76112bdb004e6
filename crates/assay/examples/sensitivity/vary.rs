//! Changed copies of a file: one value a fifth smaller or larger, or another word.

use assay_spec::device::Fact;
use assay_spec::{Bytes, Nanos, Rate, units};

/// Which way a value goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A fifth smaller, or half.
    Down,
    /// A fifth larger, or twice as large.
    Up,
}

impl Way {
    fn fifth(self) -> f64 {
        if self == Way::Down { 0.8 } else { 1.2 }
    }

    fn two(self) -> f64 {
        if self == Way::Down { 0.5 } else { 2.0 }
    }
}

/// A value in place of another, and the file with it.
pub struct Changed {
    /// As it stands in the file, or what was done to each of a list.
    pub value: String,
    /// The whole file.
    pub text: String,
}

/// Returns copies with each other word that the value may be.
pub fn other_words<'a>(text: &'a str, fact: &'a Fact) -> impl Iterator<Item = Changed> + 'a {
    let others = fact.words.iter().filter(|word| **word != fact.value);
    others.filter_map(|word| {
        let text = replaced(text, fact, word)?;
        Some(Changed { value: (*word).to_owned(), text })
    })
}

/// What may stand in the value's place, the nearest to a fifth first. Not all of it need be valid.
pub fn candidates(text: &str, fact: &Fact, way: Way) -> Vec<Changed> {
    let mut all: Vec<Changed> = Vec::new();
    for factor in [way.fifth(), way.two()] {
        let Some(value) = scaled(&fact.value, factor) else { continue };
        let again = all.iter().any(|c| c.value == value);
        if !again && value != fact.value {
            let text = replaced(text, fact, &value);
            let value = if value.starts_with('[') { format!("each × {factor}") } else { value };
            all.extend(text.map(|text| Changed { value, text }));
        }
    }
    all
}

/// The value times `factor`, in its own kind of unit; counts move by one at least.
fn scaled(value: &str, factor: f64) -> Option<String> {
    let times = |n: u64| (n as f64 * factor).round() as u64;
    if value.starts_with('[') {
        return list(value, factor);
    }
    if let Some(rate) = units::rate(value) {
        return Some(Rate(times(rate.0)).to_string());
    }
    if let Ok(size) = value.parse::<Bytes>() {
        // Sizes are made of pages, or of sectors.
        let unit = if size.is_multiple_of(Bytes(4096)) { 4096 } else { 512 };
        return Some(Bytes(times(size.0).div_ceil(unit) * unit).to_string());
    }
    if let Ok(time) = value.parse::<Nanos>() {
        return Some(Nanos(times(time.0)).to_string());
    }
    let n: u64 = value.parse().ok()?;
    let moved = if factor < 1.0 { times(n).min(n.saturating_sub(1)) } else { times(n).max(n + 1) };
    Some(moved.to_string())
}

/// A list of pairs with the second of each scaled, such as the sectors on a zone's tracks.
fn list(value: &str, factor: f64) -> Option<String> {
    let mut out = String::new();
    for part in value.split_inclusive(']') {
        let body = part.strip_suffix(']').unwrap_or(part);
        match body.rsplit_once(',').map(|(front, last)| (front, last, last.trim().parse::<f64>())) {
            Some((front, _, Ok(n))) => {
                out += &format!("{front}, {}]", (n * factor).round());
            }
            _ => out += part,
        }
    }
    (out != value).then_some(out)
}

/// The file with another value for this fact.
fn replaced(text: &str, fact: &Fact, value: &str) -> Option<String> {
    let (section, key) = fact.path.rsplit_once('.').unwrap_or(("", &fact.path));
    let (mut at, mut place) = ("", 0);
    for line in text.split_inclusive('\n') {
        if let Some(name) = line.trim().strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            at = name;
        }
        let is_it = line.split_once('=').is_some_and(|(k, _)| k.trim() == key);
        if at == section && is_it {
            let rest = text.get(place..)?;
            let offset = place + rest.find(&fact.value)?;
            let (before, after) = (text.get(..offset)?, text.get(offset + fact.value.len()..)?);
            return Some(format!("{before}{value}{after}"));
        }
        place += line.len();
    }
    None
}
