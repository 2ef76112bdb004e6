//! Phases: preparation of a target, settling, measurement; and the end of each phase.

use super::family;
use super::stream::{self, StreamSpec};
use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::Kind;
use crate::units::{Bytes, Nanos};

/// The phases of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Phases {
    /// The state in which a modelled drive starts. Real targets start as they are.
    pub start: StartState,
    /// The steps that prepare the target; not recorded.
    pub precondition: Vec<Step>,
    /// The length of the workload before it is measured; not recorded.
    pub settle: Option<Amount>,
    /// The length of the measured workload; recorded.
    pub measure: Amount,
}

/// A step that prepares the target.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Requests of one job in a closed loop.
    Requests {
        /// The stream of the requests.
        stream: StreamSpec,
        /// The length of the step.
        amount: Amount,
        /// The number of requests in flight; `None` if the step does not state it.
        queue_depth: Option<u32>,
        /// The pause between a completion and the next request of that slot.
        think: Nanos,
    },
    /// A pause of this length without requests.
    Idle(Nanos),
}

/// The largest default of the requests in flight in a step. A workload with fewer keeps its number.
const STEP_DEPTH: u32 = 32;

impl Step {
    /// Returns the step's stream; `None` if the step is idle.
    pub fn stream(&self) -> Option<&StreamSpec> {
        match self {
            Step::Requests { stream, .. } => Some(stream),
            Step::Idle(_) => None,
        }
    }

    /// Returns the number of requests in flight. `slots` is the number of those of the workload.
    pub fn depth(&self, slots: u32) -> u32 {
        match self {
            Step::Requests { queue_depth: Some(depth), .. } => *depth,
            // A step with pauses has one request in flight by default.
            Step::Requests { think, .. } if *think > Nanos::ZERO => 1,
            Step::Requests { .. } => slots.min(STEP_DEPTH),
            Step::Idle(_) => 0,
        }
    }
}

/// The state in which a modelled drive starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartState {
    /// Never written.
    Fresh,
    /// Written from start to end, again and again.
    Filled,
    /// Written at random until more writes change nothing.
    Steady,
}

/// The condition that ends a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// This number of completions.
    Requests(u64),
    /// This number of completed bytes.
    Bytes(Bytes),
    /// This time of the target's clock.
    Time(Nanos),
    /// The steady-state rule holds over the last rounds, or its limit is reached.
    Steady(SteadyRule),
}

/// The share of a phase's requests that may fail before the phase ends and its cell has no result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorLimit(Option<f64>);

impl ErrorLimit {
    /// The texts that `errors` takes, for messages.
    pub const EXPECTED: &str = "`\"stop at 1 %\"`, with a number from 0 to 100, or `\"count\"`";
    /// The limit that ends nothing: failed requests are only counted.
    pub const COUNT: ErrorLimit = ErrorLimit(None);

    /// Returns `true` if `failed` of `of` requests are too many failures.
    pub fn is_exceeded(self, failed: u64, of: u64) -> bool {
        self.0.is_some_and(|share| failed as f64 > share * of as f64)
    }
}

impl Default for ErrorLimit {
    fn default() -> ErrorLimit {
        ErrorLimit(Some(0.01))
    }
}

impl std::str::FromStr for ErrorLimit {
    type Err = ();

    fn from_str(text: &str) -> Result<ErrorLimit, ()> {
        if text == "count" {
            return Ok(ErrorLimit::COUNT);
        }
        let number = text.strip_prefix("stop at ").and_then(|rest| rest.strip_suffix('%'));
        let percent: f64 = number.ok_or(())?.trim().parse().map_err(|_| ())?;
        let allowed = (0.0..=100.0).contains(&percent);
        allowed.then_some(ErrorLimit(Some(percent / 100.0))).ok_or(())
    }
}

/// The steady-state rule of SNIA's PTS over rounds of equal time, on IOPS.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyRule {
    /// The length of a round.
    pub round: Nanos,
    /// The number of rounds in the window.
    pub window: u32,
    /// The largest (max − min) / mean in the window.
    pub range: f64,
    /// The largest change of the fitted line over the window, relative to the mean.
    pub slope: f64,
    /// The number of rounds after which the phase ends in any case.
    pub limit: u32,
}

pub(super) fn decode(s: &mut Section<'_>) -> Decoded<Phases> {
    let start = decode_start(s)?;
    let mut precondition = Vec::new();
    for mut section in s.tables("precondition", "phase")? {
        precondition.push(decode_step(&mut section)?);
        section.finish()?;
    }
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
    Ok(Phases { start, precondition, settle, measure })
}

/// Takes the state in which a modelled drive starts.
pub(super) fn decode_start(s: &mut Section<'_>) -> Decoded<StartState> {
    Ok(match s.optional_choice("start", &["fresh", "filled", "steady"])? {
        Some(0) => StartState::Fresh,
        Some(2) => StartState::Steady,
        _ => StartState::Filled,
    })
}

/// The keys that only a step with requests has, not an idle one.
const OF_REQUESTS: &[&str] = &[
    "read_share",
    "sizes",
    "size",
    "pattern",
    "range",
    "queue_depth",
    "think",
    "requests",
    "bytes",
    "time",
    "steady",
];

/// The longest duration of an idle step: a year.
const LONGEST_IDLE: Nanos = Nanos::from_secs(365 * 24 * 3600);

fn decode_step(s: &mut Section<'_>) -> Decoded<Step> {
    if s.has("idle") {
        s.goes_with(OF_REQUESTS, "a step without `idle`");
        let idle = s.pause("idle", LONGEST_IDLE)?;
        if idle == Nanos::ZERO {
            let span = s.span_of("idle");
            let e = s.error(Kind::OutOfRange, span, "the step is empty", "more than nothing");
            return Err(with_hint(e, "make it longer, or leave the step out"));
        }
        return Ok(Step::Idle(idle));
    }
    family::refuse_lists(s)?;
    let stream = stream::decode(s)?;
    let queue_depth = s.optional_count("queue_depth", 1..4097)?;
    let think = s.pause("think", Nanos::from_secs(3600))?;
    let amount = decode_amount(s)?;
    s.may_have(&["idle"]);
    Ok(Step::Requests { stream, amount, queue_depth, think })
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
                    with_hint(e, format!("the phase has `{typo}`; did you mean `{key}`?"))
                }
                None if amounts.is_empty() => with_hint(e, "add e.g. `time = \"10s\"`"),
                None => {
                    with_hint(e, "keep the key that shall end the phase, and remove the others")
                }
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
        return Err(with_hint(e, "use e.g. the minute of SNIA's rounds: `round = \"60s\"`"));
    }
    if rule.limit < rule.window {
        // The mark is on the key that the user wrote. The other one may be a default.
        let at = if s.has("limit") { "limit" } else { "window" };
        let message = format!(
            "the phase ends after {} rounds, before the window of {} is full",
            rule.limit, rule.window
        );
        let e = s.error(Kind::Impossible, s.span_of(at), message, "a `limit` of at least `window`");
        let hint = "raise `limit`, or lower `window`: the rule looks at the last `window` rounds";
        return Err(with_hint(e, hint));
    }
    Ok(rule)
}
