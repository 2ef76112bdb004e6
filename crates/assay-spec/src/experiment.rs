//! Experiment files: workloads, phases, repeats and expectations.
//!
//! An experiment is a set of workloads. Each is run on each target, with one cell for each pair.
//! `docs/spec.md` lists every key; `examples/` has a commented file for each feature.

mod defaults;
mod environment;
mod factors;
mod family;
mod files;
pub(crate) mod host;
mod levels;
mod phase;
mod program;
pub(crate) mod scale;
mod stream;
#[cfg(test)]
mod tests;
mod workload;

pub use crate::name::is_name;
pub use factors::{Factor, Factors, Point};
pub use files::{
    CacheReset, Checkouts, Clients, FileWork, History, Made, Operation, ReadOrder, Records, Sync,
    Tree, Walk,
};
pub use host::{ElevatorKind, Elevators, HostSpec, HostVariant};
pub use levels::FactorLevel;
pub use phase::{Amount, ErrorLimit, Phases, StartState, SteadyRule, Step};
pub use program::{
    Better, OutputMetric, OutputPlace, ProgramWork, RUN_TIME, TransactionCount, UserTime,
};
pub use scale::{SCALE_EXPECTED, Scale};
pub use stream::{Address, Span, StreamSpec};
pub use workload::{Arrival, Expectation, WorkloadSpec};

use crate::catalog::{PRICES, find};
use crate::decode::{Decoded, Section, Source, document, with_hint};
use crate::diagnostic::{Diagnostic, Kind, closest};
use crate::from_claim::{self, FromClaim};
use crate::name::bad_name;
use crate::units::Nanos;
use defaults::LinuxDefaults;
use std::ops::Range;

/// An experiment: one question, which is asked of some targets.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The short name: the first part of every cell's name.
    pub name: String,
    /// The question, in a sentence.
    pub question: String,
    /// The source of the set-up; empty if the set-up is the author's own.
    pub source: String,
    /// The targets, as written (`sim:ssd-m`, `null`, a path). If there are factors, also the
    /// targets in which one factor at a time is varied.
    pub targets: Vec<String>,
    /// The factors that are varied in a target.
    pub factors: Option<Factors>,
    /// The price list of the drives: the name of one that is bundled with assay, or a file.
    pub prices: Option<String>,
    /// The number of independent repeats of every cell.
    pub repeats: Repeats,
    /// The scale at which the experiment is run. It has been applied to `targets` and `workloads`.
    pub scale: Scale,
    /// Whether a log of every request is kept.
    pub log: bool,
    /// The share of the requests that may fail.
    pub errors: ErrorLimit,
    /// The hosts around modelled drives; at least one. Each drive is measured behind each host.
    pub hosts: Vec<HostVariant>,
    /// The length of phases that a time ends, on targets that run on the wall clock; `None` if it
    /// is the same as on models.
    pub wall_clock: Option<Nanos>,
    /// The workloads.
    pub workloads: Vec<WorkloadSpec>,
    /// The words of the file that were chosen while published claims were known, with those claims.
    pub from_claims: Vec<(String, Vec<FromClaim>)>,
    /// The text that the experiment was decoded from. A guest decodes it again.
    pub text: String,
}

/// The number of repeats of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeats {
    /// The number that is run.
    pub count: u32,
    /// The number that the document had, if it is more than can be run by default.
    pub full: u32,
}

impl Experiment {
    /// Decodes an experiment file.
    pub fn parse(source: Source<'_>) -> Decoded<Experiment> {
        document(source, "experiment", decode)
    }

    /// Returns the text of an experiment with another `scale`, or `None` if it has no `scale`.
    pub fn rescaled(text: &str, scale: Scale) -> Option<String> {
        let table = toml::de::DeTable::parse(text).ok()?;
        let span = table.get_ref().get("scale")?.span();
        Some(format!("{}\"{scale}\"{}", &text[..span.start], &text[span.end..]))
    }

    /// Returns the text of an experiment with the history of the repository at `path` for all
    /// checkouts, or `None` if it has no checkouts.
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

    /// Returns the text of an experiment with this number of repeats.
    pub fn repeated(text: &str, repeats: u32) -> String {
        let table = toml::de::DeTable::parse(text).ok();
        let place = |key: &str| Some(table.as_ref()?.get_ref().get(key)?.span());
        // The new number may be above `repeats_full`, so that key is removed.
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

    /// Adds the targets of all combinations of the factors, instead of one factor at a time.
    pub fn factorial(&mut self) {
        let Some(factors) = &self.factors else { return };
        let all: Vec<String> = factors.all().into_iter().filter_map(|p| p.target.ok()).collect();
        self.targets.retain(|t| !all.contains(t));
        self.targets.extend(all);
    }

    /// Returns the name that `targets` has for a cell's target: without the name of its host.
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
    let linux = LinuxDefaults::decode(top, scale)?;
    let targets = top.strings("targets")?.into_iter().map(|(target, _)| linux.apply(&target));
    let mut targets: Vec<String> = targets.collect();
    let factors = factors::read::decode(top, &linux)?;
    if let Some(factors) = &factors {
        targets.extend(factors.one_at_a_time().into_iter().filter_map(|p| p.target.ok()));
    }
    let prices = decode_prices(top)?;
    let repeats = top.count("repeats", 1..1001, Some(1))?;
    let full = top.count("repeats_full", repeats..1001, Some(repeats))?;
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
        let varied = environment::varied(&section)?;
        for member in family::members(section)? {
            let name_span = member.span_of("name");
            let mut workload = decode_workload(top, member)?;
            workload.files = workload.files.map(|work| scale.work(work));
            if let Some(FileWork::Program(work)) = &mut workload.files {
                work.varied = varied.iter().map(|variable| variable.name.clone()).collect();
            }
            if workloads.iter().any(|w| w.name == workload.name) {
                return Err(twice(top, name_span, &workload.name));
            }
            workloads.push(workload);
        }
    }
    check_programs(top, &workloads, scale)?;
    if workloads.is_empty() {
        let e = top.error(Kind::MissingKey, 0..0, "the experiment has no workload", "");
        return Err(with_hint(e, "add a `[[workload]]` section; see `examples/`"));
    }
    let from_claims = from_claim::decode_words(top)?;
    let text = top.source().text.to_owned();
    Ok(Experiment {
        name,
        question,
        source,
        targets,
        factors,
        prices,
        repeats: Repeats { count: repeats, full },
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

/// Refuses a scale, which would change a program's conditions but not its work.
fn check_programs(top: &Section<'_>, workloads: &[WorkloadSpec], scale: Scale) -> Decoded<()> {
    let Some(program) = workloads.iter().find(|w| w.is_program()) else { return Ok(()) };
    if scale == Scale::FULL {
        return Ok(());
    }
    let message = format!("`scale` does not go with the `command` of `{}`", program.name);
    let e = top.error(Kind::Impossible, top.span_of("scale"), message, "one of the two");
    Err(with_hint(e, "write smaller work into the command"))
}

/// Decodes the share of the requests that may fail: 1 % by default.
fn decode_errors(top: &mut Section<'_>) -> Decoded<ErrorLimit> {
    let Some((text, span)) = top.optional_string("errors")? else {
        return Ok(ErrorLimit::default());
    };
    text.parse().map_err(|()| {
        let message = format!("`{text}` is not a limit for failed requests");
        let e = top.error(Kind::OutOfRange, span, message, "");
        with_hint(e, format!("write {}", ErrorLimit::EXPECTED))
    })
}

/// Decodes the name of a bundled price list, or of a file.
fn decode_prices(top: &mut Section<'_>) -> Decoded<Option<String>> {
    let Some((name, span)) = top.optional_string("prices")? else { return Ok(None) };
    if name.ends_with(".toml") || find(PRICES, &name).is_some() {
        return Ok(Some(name));
    }
    let names: Vec<&str> = PRICES.iter().map(|b| b.name).collect();
    let expected = format!("{}, or a file that ends in `.toml`", names.join(", "));
    let e =
        top.error(Kind::UnknownValue, span, format!("there is no price list `{name}`"), expected);
    let hint = closest(&name, &names).map_or_else(
        || {
            "name one of these lists, or a file of your own; docs/prices.md describes its format"
                .to_owned()
        },
        |meant| format!("did you mean `{meant}`?"),
    );
    Err(with_hint(e, hint))
}

fn decode_scale(top: &mut Section<'_>) -> Decoded<Scale> {
    let Some((text, span)) = top.optional_string("scale")? else { return Ok(Scale::FULL) };
    text.parse().map_err(|()| {
        let message = format!("`{text}` is not a scale");
        let e = top.error(Kind::OutOfRange, span, message, SCALE_EXPECTED);
        with_hint(
            e,
            "write the factor for the sizes of files, memory and partitions; `1` is the full size",
        )
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

/// Makes the diagnostic of two workloads with one name.
fn twice(top: &Section<'_>, span: Range<usize>, name: &str) -> Box<Diagnostic> {
    let message = format!("two workloads are called `{name}`");
    let e = top.error(Kind::Impossible, span, message, "a unique name");
    with_hint(e, "give it a name that says how it differs: names of workloads must be unique")
}
