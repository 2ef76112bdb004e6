//! Workloads: streams, arrivals and phases.

use super::family;
use super::files::{self, FileWork};
use super::phase::{self, Phases, Step};
use super::stream::{self, StreamSpec};
use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::{Diagnostic, Kind};
use crate::units::{Bytes, Nanos};
use std::fmt;
use std::ops::{Deref, Range};

/// A workload: streams of requests, their arrivals, and the phases of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadSpec {
    /// The short name: the second part of the cell's name.
    pub name: String,
    /// One stream, or two that take turns: first, second, first, second …; empty for a file
    /// workload.
    pub streams: Vec<StreamSpec>,
    /// The work on files, for a file workload.
    pub files: Option<FileWork>,
    /// The rule by which requests arrive.
    pub arrival: Arrival,
    /// What happens before the measurement and during it.
    pub phases: Phases,
    /// Whether the write cache of a modelled drive is on, if the drive has one.
    pub write_cache: bool,
    /// The number of requests at the start of the measured phase whose latencies are kept one by
    /// one.
    pub first: u32,
    /// The expressions over the cell's metrics that the author expects to hold.
    pub expect: Vec<Expectation>,
}

/// An expectation of the author as written, with its place. The analysis parses the text, and needs
/// the place for its diagnostics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    text: String,
    at: Range<usize>,
}

impl Expectation {
    /// Returns the bytes of `source` that hold the bytes `part` of the expectation.
    pub fn place(&self, source: &str, part: Range<usize>) -> Range<usize> {
        let written = source.get(self.at.clone()).unwrap_or_default();
        // If the source has escapes, it does not contain the decoded text.
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
    /// Returns the streams of all phases.
    pub fn all_streams(&self) -> impl Iterator<Item = &StreamSpec> {
        self.streams.iter().chain(self.phases.precondition.iter().filter_map(Step::stream))
    }

    /// Returns `true` if any stream writes. A file workload always writes, because it lays out its
    /// files.
    pub fn writes(&self) -> bool {
        self.files.is_some() || self.all_streams().any(StreamSpec::writes)
    }

    /// Returns `true` if the workload is a program of the user's.
    pub fn is_program(&self) -> bool {
        matches!(self.files, Some(FileWork::Program(_)))
    }

    /// Returns the largest request size of any phase; zero for a file workload, whose requests are
    /// not known.
    pub fn max_size(&self) -> Bytes {
        self.all_streams().map(StreamSpec::max_size).max().unwrap_or(Bytes::ZERO)
    }

    /// Returns the largest number of requests in flight while the workload is measured.
    pub fn slots(&self) -> u32 {
        match self.arrival {
            Arrival::Closed { jobs, queue_depth, .. } => jobs * queue_depth,
            Arrival::Open { max_in_flight, .. } => max_in_flight,
        }
    }

    /// Returns the largest number of requests in flight in any phase.
    pub fn deepest(&self) -> u32 {
        let steps = self.phases.precondition.iter().map(|step| step.depth(self.slots()));
        steps.max().unwrap_or(0).max(self.slots())
    }
}

/// The rule by which requests arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrival {
    /// A closed loop: a completion triggers the next request.
    Closed {
        /// The number of jobs, each with its own queue.
        jobs: u32,
        /// The number of requests that each job keeps in flight.
        queue_depth: u32,
        /// The pause between a completion and the next request of that slot.
        think: Nanos,
    },
    /// An open loop: requests arrive at a rate, whether earlier ones are done or not. Latency
    /// counts from the intended arrival, so a slow device cannot hide its queue.
    Open {
        /// The mean time between arrivals.
        interval: Nanos,
        /// Whether gaps are exponentially distributed; otherwise they are equal.
        poisson: bool,
        /// The number of requests in flight at which further arrivals wait at the host.
        max_in_flight: u32,
    },
}

pub(super) fn decode(s: &mut Section<'_>) -> Decoded<WorkloadSpec> {
    let name = s.string("name")?;
    if let Some(work) = files::decode(s)? {
        return of_files(s, name, work);
    }
    let mut parts = s.sections("stream", "stream")?;
    let streams = match parts.len() {
        0 => vec![stream::decode(s)?],
        2 => {
            let mut streams = Vec::new();
            for mut part in parts.drain(..) {
                family::refuse_lists(&part)?;
                streams.push(stream::decode(&mut part)?);
                part.finish()?;
            }
            streams
        }
        n => {
            let e = s.error(
                Kind::OutOfRange,
                s.span_of("stream"),
                format!("a workload cannot have {n} streams"),
                "exactly two `[[workload.stream]]`, taken in turn",
            );
            return Err(with_hint(
                e,
                "write two streams; for one stream, put its keys into the workload itself",
            ));
        }
    };
    let arrival = decode_arrival(s)?;
    let phases = phase::decode(s)?;
    let write_cache = s.boolean("write_cache", true)?;
    let first = s.count("first", 0..100_001, Some(0))?;
    let expect = expectations(s)?;
    Ok(WorkloadSpec { name, streams, files: None, arrival, phases, write_cache, first, expect })
}

fn expectations(s: &mut Section<'_>) -> Decoded<Vec<Expectation>> {
    let expect = s.strings("expect")?.into_iter();
    Ok(expect.map(|(text, at)| Expectation { text, at }).collect())
}

/// Decodes a file workload. It defines its own phases, and has one process unless it says
/// otherwise.
fn of_files(s: &mut Section<'_>, name: String, work: FileWork) -> Decoded<WorkloadSpec> {
    let start = phase::decode_start(s)?;
    let write_cache = s.boolean("write_cache", true)?;
    let first = s.count("first", 0..100_001, Some(0))?;
    let expect = expectations(s)?;
    Ok(WorkloadSpec {
        name,
        streams: Vec::new(),
        files: Some(work),
        arrival: Arrival::Closed { jobs: 1, queue_depth: 1, think: Nanos::ZERO },
        phases: Phases {
            start,
            precondition: Vec::new(),
            settle: None,
            // A file workload is one request; the work itself states its amount.
            measure: phase::Amount::Requests(1),
        },
        write_cache,
        first,
        expect,
    })
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
            let hint = format!(
                "lower `queue_depth`: with {jobs} jobs, at most `queue_depth = {}`",
                65_536 / jobs
            );
            return Err(with_hint(e, hint));
        }
        let think = s.pause("think", Nanos::from_secs(3600))?;
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

/// Returns a hint for a text that is not a rate.
fn rate_hint(text: &str) -> String {
    match text.trim().parse::<f64>() {
        Ok(n) if n > 0.0 => format!("for arrivals a second, write `rate = \"{n}/s\"`"),
        _ => "write a number above 0, then `/s`".to_owned(),
    }
}

/// Makes the diagnostic of `key`, which only an open loop has, in a workload without a rate.
fn no_rate(s: &Section<'_>, key: &str) -> Box<Diagnostic> {
    let expected = format!("`rate`: {RATE_EXPECTED}");
    let message = format!("`{key}` needs `rate`");
    let e = s.error(Kind::MissingKey, s.key_span_of(key), message, expected);
    match s.misspelt("rate") {
        Some(typo) => with_hint(e, format!("the workload has `{typo}`; did you mean `rate`?")),
        None => with_hint(e, "add `rate`: without it, each completion sends the next request"),
    }
}
