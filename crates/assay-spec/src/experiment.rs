//! Experiment files: workloads, phases, repeats and expectations.
//!
//! An experiment is a set of workloads, each run on each target: one cell per pair. `docs/spec.md`
//! lists every key; `examples/` has a commented file for each feature.

mod factors;
mod family;
mod files;
mod host;
mod phase;
mod scale;
mod stream;
#[cfg(test)]
mod tests;
mod workload;

pub use factors::{Factor, Factors, Level as FactorLevel, Point};
pub use files::{
    Between, Checkouts, Clients, FileWork, History, Made, Operation, Order, Records, Sync, Tree,
    Walk,
};
pub use host::{ElevatorKind, Elevators, HostSpec, HostVariant};
pub use phase::{Amount, ErrorLimit, Phases, StartState, SteadyRule, Step};
pub use scale::{SCALE_EXPECTED, Scale};
pub use stream::{Address, Span, StreamSpec};
pub use workload::{Arrival, Expectation, WorkloadSpec};

use crate::array::scale_linux;
use crate::calibration::{self, FromClaim};
use crate::catalog::{PRICES, find};
use crate::decode::{Decoded, Section, Source, document, with_hint};
use crate::diagnostic::{Diagnostic, Kind, closest};
use crate::units::Nanos;
use std::ops::Range;

/// One question, asked of some targets.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Short name, the first part of every cell's name.
    pub name: String,
    /// What it asks, in a sentence.
    pub question: String,
    /// Where the set-up comes from; empty if it is the author's own.
    pub source: String,
    /// Targets, as written (`sim:ssd-m`, `null`, a path); with factors also those of one at a time.
    pub targets: Vec<String>,
    /// What is varied in a target.
    pub factors: Option<Factors>,
    /// What the drives cost: a price list that comes with assay, or a file.
    pub prices: Option<String>,
    /// Independent repeats of every cell.
    pub repeats: u32,
    /// As many as its document had, if that is more than by default is bearable.
    pub repeats_full: u32,
    /// How much smaller than written it is run; `targets` and `workloads` are already.
    pub scale: Scale,
    /// Whether a per-request log is kept.
    pub log: bool,
    /// What share of the requests may fail.
    pub errors: ErrorLimit,
    /// The machines around modelled drives, at least one: each drive is measured behind each.
    pub hosts: Vec<HostVariant>,
    /// Length of time-ended phases on targets that run on the wall clock, if not the model's.
    pub wall_clock: Option<Nanos>,
    /// The workloads.
    pub workloads: Vec<WorkloadSpec>,
    /// Words of the file that were chosen with published claims in sight, and those claims.
    pub from_claims: Vec<(String, Vec<FromClaim>)>,
    /// The text it was decoded from: a guest decodes it again.
    pub text: String,
}

impl Experiment {
    /// Decodes an experiment file.
    pub fn parse(source: Source<'_>) -> Decoded<Experiment> {
        document(source, "experiment", decode)
    }

    /// The text of an experiment that has a `scale`, with another one; `None` if it has none.
    pub fn rescaled(text: &str, scale: Scale) -> Option<String> {
        let table = toml::de::DeTable::parse(text).ok()?;
        let span = table.get_ref().get("scale")?.span();
        Some(format!("{}\"{scale}\"{}", &text[..span.start], &text[span.end..]))
    }

    /// The text of an experiment whose histories are those of the repository at `path`; `None` if
    /// it has no checkouts.
    pub fn with_repository(text: &str, path: &str) -> Option<String> {
        let table = toml::de::DeTable::parse(text).ok()?;
        let workloads = table.get_ref().get("workload")?.get_ref().as_array()?;
        let mut changed = text.to_owned();
        let path = toml::Value::from(path).to_string();
        for workload in workloads.iter().rev() {
            let Some(workload) = workload.get_ref().as_table() else { continue };
            let kind = workload.get("file").filter(|kind| kind.get_ref().as_str() == Some("git"));
            match (kind, workload.get("repository")) {
                (Some(_), Some(other)) => changed.replace_range(other.span(), &path),
                (Some(kind), None) => {
                    changed.insert_str(kind.span().end, &format!("\nrepository = {path}"));
                }
                (None, _) => {}
            }
        }
        (changed != text).then_some(changed)
    }

    /// The text of an experiment with so many repeats.
    pub fn repeated(text: &str, repeats: u32) -> String {
        let table = toml::de::DeTable::parse(text).ok();
        let place = |key: &str| Some(table.as_ref()?.get_ref().get(key)?.span());
        // With as many as the document had, there is nothing more to say.
        let mut cut = text.to_owned();
        if let Some(span) = place("repeats_full") {
            let line = cut[..span.start].rfind('\n').map_or(0, |i| i + 1);
            cut.replace_range(line..span.end, "");
            return Experiment::repeated(&cut, repeats);
        }
        match (place("repeats"), place("format")) {
            (Some(span), _) => cut.replace_range(span, &repeats.to_string()),
            (None, Some(span)) => cut.insert_str(span.end, &format!("\nrepeats = {repeats}")),
            (None, None) => {}
        }
        cut
    }

    /// Has all combinations of its factors measured, not one factor at a time.
    pub fn factorial(&mut self) {
        let Some(factors) = &self.factors else { return };
        let few = factors.one_at_a_time();
        self.targets.retain(|t| !few.iter().any(|p| p.target.as_ref() == Ok(t)));
        self.targets.extend(factors.all().into_iter().filter_map(|p| p.target.ok()));
    }

    /// What a cell's target is called in `targets`: without the name of its machine.
    pub fn without_host<'t>(&self, target: &'t str) -> &'t str {
        let names = self.hosts.iter().filter_map(|host| host.name.as_deref());
        let mut plain = names.filter_map(|name| target.strip_prefix(name)?.strip_prefix('/'));
        plain.next().unwrap_or(target)
    }
}

fn decode(top: &mut Section<'_>) -> Decoded<Experiment> {
    let (name, name_span) = top.string_at("name")?;
    if !is_name(&name) {
        return Err(bad_name(top, name_span, &name));
    }
    let question = top.string("question")?;
    let source = top.optional_string("source")?.map(|(s, _)| s).unwrap_or_default();
    let scale = decode_scale(top)?;
    let targets = top.strings("targets")?.into_iter().map(|(s, _)| scale_linux(&s, scale));
    let mut targets: Vec<String> = targets.collect();
    let factors = factors::decode(top, scale)?;
    if let Some(factors) = &factors {
        targets.extend(factors.one_at_a_time().into_iter().filter_map(|p| p.target.ok()));
    }
    let prices = decode_prices(top)?;
    let repeats = top.count("repeats", 1..1001, Some(1))?;
    let repeats_full = top.count("repeats_full", repeats..1001, Some(repeats))?;
    let log = top.boolean("log", true)?;
    let errors = decode_errors(top)?;
    let hosts = host::decode_all(top)?;
    let wall_clock = match top.optional_section("wall-clock", "wall-clock")? {
        None => None,
        Some(mut s) => {
            let time = s.time("time")?;
            s.finish()?;
            Some(time)
        }
    };
    let mut workloads: Vec<WorkloadSpec> = Vec::new();
    for section in top.sections("workload", "workload")? {
        for member in family::members(section)? {
            let name_span = member.span_of("name");
            let mut workload = decode_workload(top, member)?;
            workload.files = workload.files.map(|work| scale.work(work));
            if workloads.iter().any(|w| w.name == workload.name) {
                return Err(twice(top, name_span, &workload.name));
            }
            workloads.push(workload);
        }
    }
    if workloads.is_empty() {
        let e = top.error(Kind::MissingKey, 0..0, "the experiment has no workload", "");
        return Err(with_hint(e, "add a `[[workload]]` section; see `examples/`"));
    }
    let from_claims = calibration::decode_words(top)?;
    let text = top.source().text.to_owned();
    Ok(Experiment {
        name,
        question,
        source,
        targets,
        factors,
        prices,
        repeats,
        repeats_full,
        scale,
        log,
        errors,
        hosts,
        wall_clock,
        workloads,
        from_claims,
        text,
    })
}

/// What share of the requests may fail: 1 % unless it is said.
fn decode_errors(top: &mut Section<'_>) -> Decoded<ErrorLimit> {
    let Some((text, span)) = top.optional_string("errors")? else {
        return Ok(ErrorLimit::default());
    };
    text.parse().map_err(|()| {
        let message = format!("`{text}` does not say what share of requests may fail");
        let e = top.error(Kind::OutOfRange, span, message, "");
        with_hint(e, format!("write {}", ErrorLimit::EXPECTED))
    })
}

/// The name of a list that there is, or of a file.
fn decode_prices(top: &mut Section<'_>) -> Decoded<Option<String>> {
    let Some((name, span)) = top.optional_string("prices")? else { return Ok(None) };
    if name.ends_with(".toml") || find(PRICES, &name).is_some() {
        return Ok(Some(name));
    }
    let names: Vec<&str> = PRICES.iter().map(|b| b.name).collect();
    let expected = format!("{}, or a file that ends in `.toml`", names.join(", "));
    let e = top.error(Kind::UnknownValue, span, format!("no price list `{name}`"), expected);
    let hint = closest(&name, &names).map_or_else(
        || "docs/prices.md says what a list of one's own looks like".to_owned(),
        |meant| format!("did you mean `{meant}`?"),
    );
    Err(with_hint(e, hint))
}

fn decode_scale(top: &mut Section<'_>) -> Decoded<Scale> {
    let Some((text, span)) = top.optional_string("scale")? else { return Ok(Scale::FULL) };
    text.parse().map_err(|()| {
        let message = format!("`{text}` is no scale");
        let e = top.error(Kind::OutOfRange, span, message, SCALE_EXPECTED);
        with_hint(e, "files, memory and partitions are multiplied by it; `1` is the full size")
    })
}

fn decode_workload(top: &Section<'_>, mut section: Section<'_>) -> Decoded<WorkloadSpec> {
    let name_span = section.span_of("name");
    let workload = workload::decode(&mut section)?;
    if !is_name(&workload.name) {
        return Err(bad_name(top, name_span, &workload.name));
    }
    section.finish()?;
    Ok(workload)
}

/// The complaint about two workloads of one name.
fn twice(top: &Section<'_>, span: Range<usize>, name: &str) -> Box<Diagnostic> {
    let message = format!("two workloads are called `{name}`");
    let e = top.error(Kind::Impossible, span, message, "another name");
    with_hint(e, "cells are told apart by it; say what sets this workload apart")
}

/// Names become file names: lower-case letters, digits, `-`, at most 64.
pub fn is_name(text: &str) -> bool {
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.len() <= 64 && text.chars().all(fine)
}

/// The complaint about a name that is none.
pub(crate) fn bad_name(top: &Section<'_>, span: Range<usize>, name: &str) -> Box<Diagnostic> {
    let expected = "lower-case letters, digits and `-`, at most 64 of them";
    let e = top.error(Kind::UnknownValue, span, format!("`{name}` cannot be a name"), expected);
    with_hint(e, format!("`{}` would do", near_name(name)))
}

/// The nearest to `text` that can be a name.
fn near_name(text: &str) -> String {
    let small = text.to_lowercase();
    let words = small.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty());
    let name: String = words.collect::<Vec<_>>().join("-").chars().take(64).collect();
    let name = name.trim_end_matches('-');
    if name.is_empty() { "rnd-rd".to_owned() } else { name.to_owned() }
}
