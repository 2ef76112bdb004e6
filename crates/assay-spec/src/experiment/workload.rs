//! Workloads: streams, arrivals and phases.

use super::stream::{self, StreamSpec};
use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::{Diagnostic, Kind};
use crate::units::{Bytes, Nanos};
use std::fmt;
use std::ops::{Deref, Range};

/// A stream of requests, how it arrives, and the phases it runs through.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadSpec {
    /// Short name, the second part of the cell's name.
    pub name: String,
    /// One stream, or two taken in turn: first, second, first, second …
    pub streams: Vec<StreamSpec>,
    /// How requests arrive.
    pub arrival: Arrival,
    /// What happens before and while it is measured.
    pub phases: Phases,
    /// Expressions over the cell's metrics that the author expects to hold.
    pub expect: Vec<Expectation>,
}

/// What an author expects, as written, and where: it is read by analysis, which must be able to say
/// where a mistake is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    text: String,
    at: Range<usize>,
}

impl Expectation {
    /// The bytes of `source` that hold the bytes `part` of the expectation.
    pub fn place(&self, source: &str, part: Range<usize>) -> Range<usize> {
        let written = source.get(self.at.clone()).unwrap_or_default();
        // With escapes in it, the text stands there in another form.
        match written.find(&self.text) {
            Some(start) => self.at.start + start + part.start..self.at.start + start + part.end,
            None => self.at.clone(),
        }
    }
}

impl Deref for Expectation {
    type Target = str;
    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl WorkloadSpec {
    /// True if any stream writes.
    pub fn writes(&self) -> bool {
        self.streams.iter().chain(&self.phases.precondition_stream).any(|s| s.read_share < 1.0)
    }
    /// The largest request of any phase.
    pub fn max_size(&self) -> Bytes {
        let streams = self.streams.iter().chain(&self.phases.precondition_stream);
        streams.map(StreamSpec::max_size).max().expect("a workload has a stream")
    }
    /// Requests in flight at most.
    pub fn slots(&self) -> u32 {
        match self.arrival {
            Arrival::Closed { jobs, queue_depth, .. } => jobs * queue_depth,
            Arrival::Open { max_in_flight, .. } => max_in_flight,
        }
    }
}

/// How requests arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrival {
    /// A completion lets the next request go.
    Closed {
        /// Jobs, each with its own queue.
        jobs: u32,
        /// Requests each job keeps in flight.
        queue_depth: u32,
        /// Pause between a completion and the next request of that slot.
        think: Nanos,
    },
    /// Requests come at a rate, whether earlier ones are done or not. Latency counts from the
    /// intended arrival, so a slow device cannot hide its queue.
    Open {
        /// Mean time between arrivals.
        interval: Nanos,
        /// Exponential gaps if true, equal ones if not.
        poisson: bool,
        /// Arrivals wait at the host when this many are in flight.
        max_in_flight: u32,
    },
}

/// The phases of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Phases {
    /// The state a modelled drive starts in; real targets start as they are.
    pub start: StartState,
    /// Stream that prepares the target, if any.
    pub precondition_stream: Option<StreamSpec>,
    /// How much of it.
    pub precondition: Option<Amount>,
    /// The workload itself, not recorded.
    pub settle: Option<Amount>,
    /// The workload, recorded.
    pub measure: Amount,
}

/// The state a modelled drive starts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartState {
    /// Never written.
    Fresh,
    /// Written once from start to end.
    Filled,
}

/// What ends a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// This many completions.
    Requests(u64),
    /// This many bytes completed.
    Bytes(Bytes),
    /// This much time of the target's clock.
    Time(Nanos),
    /// When the rule holds over the last rounds, or at its limit.
    Steady(SteadyRule),
}

/// The steady-state rule of SNIA's PTS over rounds of equal time, on IOPS.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyRule {
    /// Length of a round.
    pub round: Nanos,
    /// Rounds in the window.
    pub window: u32,
    /// Largest (max − min) / mean in the window.
    pub range: f64,
    /// Largest change of the fitted line over the window, relative to the mean.
    pub slope: f64,
    /// Rounds after which the phase ends all the same.
    pub limit: u32,
}

pub(super) fn decode(s: &mut Section<'_>) -> Decoded<WorkloadSpec> {
    let name = s.string("name")?;
    let mut parts = s.sections("stream", "stream")?;
    let streams = match parts.len() {
        0 => vec![stream::decode(s)?],
        2 => {
            let mut streams = Vec::new();
            for mut part in parts.drain(..) {
                streams.push(stream::decode(&mut part)?);
                part.finish()?;
            }
            streams
        }
        n => {
            let e = s.error(
                Kind::OutOfRange,
                s.span_of("stream"),
                format!("a workload of {n} streams"),
                "exactly two `[[workload.stream]]`, taken in turn",
            );
            return Err(with_hint(e, "for one stream, put its keys into the workload itself"));
        }
    };
    let arrival = decode_arrival(s)?;
    let phases = decode_phases(s)?;
    let expect = s.strings("expect")?.into_iter();
    let expect = expect.map(|(text, at)| Expectation { text, at }).collect();
    Ok(WorkloadSpec { name, streams, arrival, phases, expect })
}

fn decode_arrival(s: &mut Section<'_>) -> Decoded<Arrival> {
    if !s.has("rate") {
        s.may_have(&["rate"]);
        if let Some(key) = ["arrivals", "max_in_flight"].into_iter().find(|key| s.has(key)) {
            return Err(no_rate(s, key));
        }
        let jobs = s.count("jobs", 1..1025, Some(1))?;
        let queue_depth = s.count("queue_depth", 1..4097, Some(1))?;
        if u64::from(jobs) * u64::from(queue_depth) > 65_536 {
            let message = format!("{jobs} jobs × {queue_depth} are too many requests in flight");
            let at = s.span_of("queue_depth");
            let e = s.error(Kind::OutOfRange, at, message, "`jobs` × `queue_depth` up to 65536");
            let hint = format!("with {jobs} jobs the most is `queue_depth = {}`", 65_536 / jobs);
            return Err(with_hint(e, hint));
        }
        let think = s.pause("think")?;
        return Ok(Arrival::Closed { jobs, queue_depth, think });
    }
    let (text, span) = s.string_at("rate")?;
    let rate = text.strip_suffix("/s").and_then(|t| t.trim().parse::<f64>().ok());
    let rate = rate.filter(|r| *r >= 0.001 && *r <= 1e9).ok_or_else(|| {
        let message = format!("`{text}` is not a rate");
        let e = s.error(Kind::BadUnit, span.clone(), message, RATE_EXPECTED);
        with_hint(e, rate_hint(&text))
    })?;
    if s.has("jobs") || s.has("queue_depth") || s.has("think") {
        let e = s.error(Kind::Impossible, span, "a rate and a closed loop exclude each other", "");
        return Err(with_hint(e, "remove `rate`, or `jobs`, `queue_depth` and `think`"));
    }
    let poisson = s.choice("arrivals", &["fixed", "poisson"])? == 1;
    let max_in_flight = s.count("max_in_flight", 1..65_537, Some(1024))?;
    Ok(Arrival::Open { interval: Nanos((1e9 / rate).round() as u64), poisson, max_in_flight })
}

const RATE_EXPECTED: &str = "arrivals a second from 0.001/s to 1e9/s, e.g. `5000/s`";

/// What may have been meant by a text that is no rate.
fn rate_hint(text: &str) -> String {
    match text.trim().parse::<f64>() {
        Ok(n) if n > 0.0 => format!("if that is arrivals a second, write `rate = \"{n}/s\"`"),
        _ => "a number above 0 and `/s` behind it".to_owned(),
    }
}

/// The complaint about `key`, which only an open loop has, in a workload without a rate.
fn no_rate(s: &Section<'_>, key: &str) -> Box<Diagnostic> {
    let expected = format!("`rate` beside it: {RATE_EXPECTED}");
    let message = format!("`{key}` without `rate`");
    let e = s.error(Kind::MissingKey, s.key_span_of(key), message, expected);
    match s.misspelt("rate") {
        Some(typo) => with_hint(e, format!("`{typo}` is there; did you mean `rate`?")),
        None => with_hint(e, "add `rate`; without one, a completion lets the next request go"),
    }
}

fn decode_phases(s: &mut Section<'_>) -> Decoded<Phases> {
    let start = s.optional_choice("start", &["fresh", "filled"])?;
    let start = if start == Some(0) { StartState::Fresh } else { StartState::Filled };
    let (precondition_stream, precondition) = match s.optional_section("precondition", "phase")? {
        None => (None, None),
        Some(mut section) => {
            let stream = stream::decode(&mut section)?;
            let amount = decode_amount(&mut section)?;
            section.finish()?;
            (Some(stream), Some(amount))
        }
    };
    let settle = match s.optional_section("settle", "phase")? {
        None => None,
        Some(mut section) => {
            let amount = decode_amount(&mut section)?;
            section.finish()?;
            Some(amount)
        }
    };
    let mut section = s.section("measure", "phase")?;
    let measure = decode_amount(&mut section)?;
    section.finish()?;
    Ok(Phases { start, precondition_stream, precondition, settle, measure })
}

fn decode_amount(s: &mut Section<'_>) -> Decoded<Amount> {
    let mut amounts = Vec::new();
    if let Some(requests) = s.optional_count("requests", 1..u32::MAX)? {
        amounts.push(Amount::Requests(u64::from(requests)));
    }
    if let Some(bytes) = s.optional_size("bytes")? {
        amounts.push(Amount::Bytes(bytes));
    }
    if let Some(time) = s.optional_time("time")? {
        amounts.push(Amount::Time(time));
    }
    if let Some(mut rule) = s.optional_section("steady", "steady")? {
        amounts.push(Amount::Steady(decode_steady(&mut rule)?));
        rule.finish()?;
    }
    let span = s.span();
    let empty = match amounts.as_slice() {
        [Amount::Bytes(b)] => b.0 == 0,
        [Amount::Time(t)] => t.0 == 0,
        [_] => false,
        _ => {
            let message = match amounts.len() {
                0 => "the phase has no end".to_owned(),
                n => format!("the phase has {n} ends"),
            };
            let expected = "exactly one of `requests`, `bytes`, `time`, `steady`";
            let e = s.error(Kind::MissingKey, span, message, expected);
            let meant = ["requests", "bytes", "time", "steady"].into_iter();
            let mut typos = meant.filter_map(|key| Some((s.misspelt(key)?, key)));
            return Err(match typos.next().filter(|_| amounts.is_empty()) {
                Some((typo, key)) => {
                    with_hint(e, format!("`{typo}` is there; did you mean `{key}`?"))
                }
                None if amounts.is_empty() => with_hint(e, "add e.g. `time = \"10s\"`"),
                None => with_hint(e, "keep the one that shall end the phase, remove the others"),
            });
        }
    };
    if empty {
        let e = s.error(Kind::OutOfRange, span, "the phase is empty", "more than nothing");
        return Err(with_hint(e, "make it longer, or leave the phase out if it is not `measure`"));
    }
    Ok(amounts.remove(0))
}

fn decode_steady(s: &mut Section<'_>) -> Decoded<SteadyRule> {
    let rule = SteadyRule {
        round: s.time("round")?,
        window: s.count("window", 2..101, Some(5))?,
        range: s.number("range", 0.0, 10.0, Some(0.20))?,
        slope: s.number("slope", 0.0, 10.0, Some(0.10))?,
        limit: s.count("limit", 2..100_001, Some(25))?,
    };
    if rule.round == Nanos::ZERO {
        let span = s.span_of("round");
        let e = s.error(Kind::OutOfRange, span, "a round takes no time", "more than nothing");
        return Err(with_hint(e, "SNIA's rounds are a minute long: `round = \"60s\"`"));
    }
    if rule.limit < rule.window {
        // Marked is what was written; the other of the two may be a default.
        let at = if s.has("limit") { "limit" } else { "window" };
        let message = format!(
            "the phase ends after {} rounds, before the window of {} is full",
            rule.limit, rule.window
        );
        let e = s.error(Kind::Impossible, s.span_of(at), message, "`limit` at least `window`");
        let hint = "the rule holds over the last `window` rounds: with fewer it never can";
        return Err(with_hint(e, hint));
    }
    Ok(rule)
}
