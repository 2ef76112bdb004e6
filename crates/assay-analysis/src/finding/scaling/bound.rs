//! The resources that drives share, how busy each was, and what would raise the cap.

use crate::load::Run;
use crate::metric;
use crate::stats::knee::Knee;
use assay_spec::array::{ArraySpec, MemberSpec, MemberTarget, parse, parse_linux};
use assay_spec::decode::Source;
use assay_spec::device::ControllerSpec;
use assay_spec::linux::BlockDevice;
use assay_spec::record::{CellRecord, TargetRecord};
use assay_spec::units::three_digits;

/// The share of the time that a resource must be busy to hold the cap: the rest is its start and
/// its end.
pub(super) const HOLDS: f64 = 0.95;

/// The share of the time that a resource must be busy to nearly hold the cap.
const NEARLY: f64 = 0.8;

/// A resource that requests pass through.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Resource {
    pub name: String,
    pub kind: ResourceKind,
    /// The bytes a second of the whole target that the resource can pass, if declared.
    pub rate: Option<f64>,
    /// The share of the time that the resource was busy.
    pub busy: Option<f64>,
    /// Whether the resource reported its busy time itself; otherwise `busy` is the bandwidth over
    /// `rate`.
    pub told: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResourceKind {
    Card,
    Processor,
    Links,
}

impl Resource {
    /// Returns the resource in one line, for the evidence.
    pub(super) fn line(&self, most: usize) -> String {
        let rate = self.rate.map_or_else(String::new, |rate| {
            format!(" can pass {} MB/s of the total bandwidth,", three_digits(rate * 1e-6))
        });
        let told = if self.told { "told" } else { "reckoned" };
        let busy = self.busy.map_or_else(
            || " its busy time is not known".to_owned(),
            |busy| format!(" busy {} % of the time with {most} drives ({told})", percent(busy)),
        );
        format!("{}:{rate}{busy}", self.name)
    }
}

fn percent(share: f64) -> String {
    three_digits(100.0 * share)
}

/// Returns the resources that the drives of a cell's target share or are attached to.
pub(super) fn resources(run: &Run, cell: &CellRecord) -> Vec<Resource> {
    let Some(target) = run.target(&cell.target) else { return Vec::new() };
    let number = |name: &str| metric::estimate(cell, name).ok().map(|e| e.value);
    let (Some(bandwidth), Some(elapsed)) = (number("bandwidth"), number("elapsed")) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    let words = cards(target);
    for (index, (card, share)) in words.iter().enumerate() {
        let rate = card_rate(target, card).map(|rate| rate / share);
        let told = number(&format!("controller_{}_link_busy_s", index + 1));
        let told = told.map(|seconds| seconds * 1e9 / elapsed);
        let busy = told.or(rate.map(|rate| bandwidth / rate));
        let (name, kind) = (format!("the card {card}"), ResourceKind::Card);
        all.push(Resource { name, kind, rate, busy, told: told.is_some() });
    }
    if let Some(seconds) = number("processor_busy_s") {
        let (busy, name) = (Some(seconds * 1e9 / elapsed), "the machine's processor".to_owned());
        all.push(Resource { name, kind: ResourceKind::Processor, rate: None, busy, told: true });
    }
    let links: Vec<f64> =
        (1..).map_while(|i| number(&format!("member_{i}_link_busy_ns"))).collect();
    if !links.is_empty() {
        let busy = links.iter().sum::<f64>() / links.len() as f64 / elapsed;
        let (name, kind) = ("the drives' own links".to_owned(), ResourceKind::Links);
        all.push(Resource { name, kind, rate: None, busy: Some(busy), told: true });
    }
    all
}

/// Returns the cards of a target in the order in which the target names them, each with the share
/// of the drives that are attached to it.
fn cards(target: &TargetRecord) -> Vec<(String, f64)> {
    let members = |members: &[MemberSpec]| {
        let mut found: Vec<(String, f64)> = Vec::new();
        let share = 1.0 / members.len().max(1) as f64;
        for card in members.iter().filter_map(|m| m.controller.as_ref()) {
            match found.iter_mut().find(|(name, _)| name == card) {
                Some((_, sum)) => *sum += share,
                None => found.push((card.clone(), share)),
            }
        }
        found
    };
    let array = |array: &ArraySpec| {
        let front = array.controller.iter().map(|card| (card.clone(), 1.0));
        front.chain(members(&array.members)).collect::<Vec<_>>()
    };
    match target.kind.as_str() {
        "array" => parse(&target.written).map(|a| array(&a)).unwrap_or_default(),
        "linux" => match parse_linux(&target.written).map(|l| l.device) {
            Ok(BlockDevice::Array(md)) => members(&md.members),
            Ok(BlockDevice::RaidZ(drives)) => members(&drives),
            Ok(BlockDevice::Drive(member)) => match &member.target {
                MemberTarget::Array(inner) => array(inner),
                MemberTarget::Drive(_) => members(std::slice::from_ref(&member)),
            },
            Err(_) => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Returns the bytes a second that a card can pass, from its text in the run directory.
fn card_rate(target: &TargetRecord, card: &str) -> Option<f64> {
    let name = card.split('#').next().unwrap_or(card).trim();
    let texts = TargetRecord::texts(target.spec.as_deref()?);
    let (_, text) = texts.iter().find(|(key, _)| *key == format!("controller:{name}"))?;
    let spec = ControllerSpec::parse(Source { file: name, text }).ok()?;
    Some(spec.rate.0 as f64)
}

/// Returns which resource holds the cap, and what would raise it.
pub(super) fn held(resources: &[Resource], knee: &Knee, most: usize) -> String {
    let known = resources.iter().filter(|r| r.busy.is_some());
    let busiest = known.max_by(|a, b| a.busy.unwrap_or(0.0).total_cmp(&b.busy.unwrap_or(0.0)));
    let Some((first, busy)) = busiest.and_then(|r| Some((r, r.busy?))) else {
        return "The limit is not known: no part is declared that the drives share".into();
    };
    let time = format!("busy {} % of the time with {most} drives", percent(busy.min(1.0)));
    if busy < NEARLY {
        return format!(
            "No shared part is the limit: the busiest is {}, {time}. So the side that sends the \
             requests is the limit: the file system, read-ahead, or the number of requests at a \
             time",
            first.name
        );
    }
    let word = if busy < HOLDS { "is nearly the limit" } else { "is the limit" };
    let rest = match busy < HOLDS {
        true => "; in the rest of the time it has no requests",
        false => "",
    };
    format!("{} {word}: {time}{rest}. {}", capital(&first.name), lift(first, knee, most))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

fn lift(held: &Resource, knee: &Knee, most: usize) -> String {
    match held.kind {
        ResourceKind::Card => {
            // If the rate never grew, the fit does not say what a drive can add.
            let each = if knee.each.2.is_finite() { knee.each.1 } else { f64::INFINITY };
            let line = each * most as f64;
            format!(
                "A second such card for half of the drives would raise the bandwidth, to at most \
                 {} MB/s with {most} drives",
                three_digits(line.min(2.0 * knee.cap.1) * 1e-6)
            )
        }
        ResourceKind::Processor => "A faster processor would raise the bandwidth".into(),
        ResourceKind::Links => "Drives with a faster link would raise the bandwidth".into(),
    }
}
