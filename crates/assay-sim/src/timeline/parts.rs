//! The parts of a request's time: its own steps, and the waits between them.
//!
//! Each moment from the arrival of a request to its end belongs to a step done for it, if there is
//! one, or else to the wait before its next step. The reason for a wait is what the resources of
//! that next step did in the meantime.

use super::{Bar, Kind, Resource};
use crate::Cause;
use assay_spec::Nanos;

/// The reason why a stretch of a request's time passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A step of the request itself.
    Step(Kind),
    /// The resource was busy with something else, for the longest time with this kind of step.
    Behind(Resource, Kind),
    /// Data waited for room in the buffer, in a register or in the cache.
    Room,
    /// A reason that no bar shows, such as other pages of a stripe or a completion's overhead.
    Other,
}

/// All stretches of a request's time with the same reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The reason.
    pub why: Why,
    /// The sum of their lengths.
    pub time: Nanos,
}

/// Splits the time of `request` from `arrival` to `end` into parts that add up to it, the longest
/// first. `bars` are all that were recorded, in the order of their starts.
pub fn parts(bars: &[Bar], request: u32, arrival: Nanos, end: Nanos) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut add = |why: Why, from: Nanos, to: Nanos| {
        let time = to.saturating_sub(from);
        match parts.iter_mut().find(|part| part.why == why) {
            Some(part) => part.time += time,
            None if time > Nanos::ZERO => parts.push(Part { why, time }),
            None => {}
        }
    };
    let mut now = arrival;
    for bar in bars.iter().filter(|b| is_own(b, request) && b.start < end && b.end > arrival) {
        if bar.start > now {
            add(why_wait(bars, bar, now), now, bar.start);
        }
        let until = bar.end.min(end);
        add(Why::Step(bar.kind), now.max(bar.start), until);
        now = now.max(until);
    }
    add(Why::Other, now, end);
    parts.sort_by_key(|part| std::cmp::Reverse(part.time));
    parts
}

/// Returns `true` if a bar is a step of the request itself, not background work that its arrival
/// caused.
pub fn is_own(bar: &Bar, request: u32) -> bool {
    let follows = matches!(bar.kind, Kind::Copy | Kind::Erase)
        || matches!(bar.kind, Kind::In | Kind::Out) && bar.cause.is_some_and(is_moving);
    bar.request == Some(request) && !follows
}

fn is_moving(cause: Cause) -> bool {
    matches!(cause, Cause::Collect | Cause::Wear | Cause::Map | Cause::Fold)
}

/// Returns what a request waited for from `from` until `next` began: the busier of the resources
/// that the step uses, if it was busy for at least half of the wait.
fn why_wait(bars: &[Bar], next: &Bar, from: Nanos) -> Why {
    let mut busy: Vec<(Resource, Kind, Nanos)> = Vec::new();
    let wanted = |r: Resource| r == next.resource || Some(r) == next.beside;
    let during = |b: &&Bar| wanted(b.resource) && b.end > from && b.start < next.start;
    for bar in bars.iter().filter(during) {
        let time = bar.end.min(next.start) - bar.start.max(from);
        match busy.iter_mut().find(|(r, kind, _)| (*r, *kind) == (bar.resource, bar.kind)) {
            Some((.., sum)) => *sum += time,
            None => busy.push((bar.resource, bar.kind, time)),
        }
    }
    let of = |resource| busy.iter().filter(move |b| b.0 == resource).map(|b| b.2.0).sum::<u64>();
    let busiest = busy.iter().max_by_key(|b| (of(b.0), b.2));
    match busiest {
        Some((r, kind, _)) if of(*r) * 2 >= (next.start - from).0 => Why::Behind(*r, *kind),
        _ if next.resource == Resource::Link && next.kind == Kind::In => Why::Room,
        _ => Why::Other,
    }
}
