//! Randomness: how the mean latency grows with the range of random requests and with the step of
//! strides.

use super::ask::{Answer, Ask, no, yes};
use super::rule::{Change, HALF, LARGE, NamedDifference, QUARTER, largest, that_are, unclear};
use crate::metric;
use crate::stats::shift;
use crate::sweep::{self, Parameter, Sweep};
use assay_spec::{Bytes, Histogram, Op};

/// How the latency of one kind of request grows.
struct Growth {
    /// The largest range compared with the smallest, and the largest step with the smallest.
    ends: Vec<NamedDifference>,
    /// All other steps compared with the smallest.
    steps: Vec<NamedDifference>,
    /// The levels of all steps but the smallest.
    level: Vec<Level>,
}

/// The latencies of requests in steps of one size, compared with those in the largest steps.
struct Level {
    step: Bytes,
    mean: f64,
    /// The KS distance from the latencies in the largest steps: the share of requests that are
    /// spared the cost of those.
    apart: f64,
    /// The KS distance that chance alone does not exceed in 19 cases of 20.
    chance: f64,
}

/// The size of a mapping unit, if the steps show one.
#[derive(Clone, Copy, PartialEq)]
enum Sign {
    Unit(Bytes),
    No,
    TooFew,
}

/// Compares all points of a sweep with the first.
fn series(ask: &mut Ask<'_>, sweep: &Sweep, what: &str) -> Result<Vec<NamedDifference>, String> {
    let (first, others) = sweep.points.split_first().ok_or("no points")?;
    let base = ask.cell(&sweep.experiment, &first.workload)?;
    let against = format!("{what} {}", first.words());
    let mut all = Vec::new();
    for point in others {
        let cell = ask.cell(&sweep.experiment, &point.workload)?;
        let names = (&*format!("{what} {}", point.words()), &*against);
        all.push(ask.compare_named(names, (cell, None), (base, None))?);
    }
    Ok(all)
}

/// Returns the sweep of the question's own experiment over this parameter, of the smallest requests
/// of this kind.
fn swept(ask: &Ask<'_>, of: Parameter, op: Op) -> Result<Sweep, String> {
    let sweeps = sweep::all(ask.run).into_iter();
    let wanted = sweeps.filter(|s| (s.experiment.as_str(), s.of, s.op) == (ask.own, of, op));
    let what = match of {
        Parameter::Range => "range",
        Parameter::Step => "step",
    };
    let none = || format!("no {}s of several {what}s in {}", op.name(), ask.own);
    wanted.min_by_key(|s| s.size).ok_or_else(none)
}

/// Compares the requests of one kind over their ranges and steps.
fn growth(ask: &mut Ask<'_>, op: Op) -> Result<Growth, String> {
    let ranges = swept(ask, Parameter::Range, op)?;
    let strides = swept(ask, Parameter::Step, op)?;
    let range = series(ask, &ranges, "those in a range of")?;
    let steps = series(ask, &strides, "those in steps of")?;
    let ends = [range.last(), steps.last()].into_iter().flatten().cloned().collect();
    let level = level(ask, &strides, &steps)?;
    Ok(Growth { ends, steps, level })
}

fn level(
    ask: &mut Ask<'_>,
    sweep: &Sweep,
    steps: &[NamedDifference],
) -> Result<Vec<Level>, String> {
    let mut histograms = Vec::new();
    for point in &sweep.points[1..] {
        let cell = ask.cell(&sweep.experiment, &point.workload)?;
        histograms.push((point.value, metric::histogram(cell, None)));
    }
    let last = histograms.last().map(|(_, h)| h.clone()).unwrap_or_default();
    let apart = |h: &Histogram| shift::between(h, &last).map_or(1.0, |s| s.distance);
    let each = steps.iter().zip(histograms);
    let one = |(n, (step, h)): (&NamedDifference, (Bytes, Histogram))| Level {
        step,
        mean: n.by.means.0,
        apart: apart(&h),
        chance: shift::chance(h.count(), last.count()),
    };
    Ok(each.map(one).collect())
}

/// Returns whether requests of one kind degrade, and a description.
fn told(ask: &mut Ask<'_>, op: Op) -> Result<(bool, String), String> {
    let growth = growth(ask, op)?;
    let what = format!("{}s", op.name());
    let all: Vec<&NamedDifference> = growth.ends.iter().chain(&growth.steps).collect();
    let slower = that_are(&growth.ends, Change::Slower);
    let ups: Vec<&NamedDifference> =
        all.iter().copied().filter(|n| n.by.change == Change::Slower).collect();
    let most = largest(if ups.is_empty() { &all } else { &ups });
    let most = most.map(|n| n.told()).unwrap_or_default();
    if ups.is_empty() {
        // A few requests may make a point between the ends large; the ends must be certain.
        unclear(&growth.ends)?;
        return Ok((false, format!("{what} do not slow down, at most {most}")));
    }
    let knee = match slower.iter().any(|n| n.what.contains("steps")) {
        true => knee_in_words(&growth.level, op == Op::Write),
        false => match growth.ends.iter().find(|n| n.what.contains("steps")) {
            Some(n) if n.by.change == Change::Unclear => {
                format!("those at the largest step {}", n.by.why_unclear())
            }
            _ => "at the largest step they are no slower than at the smallest".into(),
        },
    };
    Ok((true, format!("{what} slow down, most {most}; {knee}")))
}

/// Describes the knee. `writes` is `true` for writes: only these open mapping units.
fn knee_in_words(steps: &[Level], writes: bool) -> String {
    let size = |i: usize| sweep::words(steps[i].step);
    match knee(steps) {
        Some((_, Sign::Unit(unit))) if writes => format!(
            "they grow with the step up to {} and stay level beyond, as with a mapping in \
             units of that size",
            sweep::words(unit)
        ),
        Some((0, _)) => format!("their mean is level from steps of {} on", size(0)),
        Some((at, _)) if !writes => format!("their mean is level from steps of {} on", size(at)),
        Some((at, Sign::TooFew)) => format!(
            "their mean is level from steps of {} on; too few requests to tell whether a mapping \
             unit is the cause",
            size(at)
        ),
        Some((at, _)) => format!(
            "their mean is level from steps of {} on; below this step fewer requests are saved \
             than a mapping unit would save: no sign of one",
            size(at)
        ),
        None => match steps.last() {
            Some(last) => {
                format!("their mean is not level up to steps of {}", sweep::words(last.step))
            }
            None => "their mean was measured at one step only".into(),
        },
    }
}

/// Returns the index of the first step from which on all steps are level in mean and in
/// distribution, and whether the step before it shows a mapping unit. `None` if the last two steps
/// are not level.
fn knee(steps: &[Level]) -> Option<(usize, Sign)> {
    let plateau = steps.last()?.mean;
    let alike = |mean: f64| mean < LARGE * plateau && mean > plateau / LARGE;
    let level = |step: &Level| alike(step.mean) && step.apart < HALF.0;
    let at = steps.iter().rposition(|step| !level(step)).map_or(0, |i| i + 1);
    let sign = at.checked_sub(1).map_or(Sign::No, |i| unit_above(&steps[i]));
    let earlier = at.checked_sub(2).is_none_or(|i| steps[i].apart > HALF.1);
    let sign = match sign {
        Sign::Unit(unit) if !earlier || steps.get(at).is_none_or(|s| unit > s.step) => Sign::No,
        sign => sign,
    };
    (at + 1 < steps.len()).then_some((at, sign))
}

/// Returns the mapping unit if these steps are a half or a quarter of it: in steps of half a unit
/// every other request finds its unit open, in steps of a quarter three of four. The distribution
/// decides, because the other requests may be slower by as much, which leaves the mean the same.
fn unit_above(below: &Level) -> Sign {
    let within = |(low, high): (f64, f64)| below.apart >= low && below.apart <= high;
    // With so few requests it could as well be another part of a unit, or no part.
    let parts = [0.0, 0.5, 0.75, 0.875];
    let could_be = parts.iter().filter(|part| (below.apart - **part).abs() <= below.chance);
    match () {
        () if could_be.count() > 1 => Sign::TooFew,
        () if within(HALF) => Sign::Unit(below.step * 2),
        () if within(QUARTER) => Sign::Unit(below.step * 4),
        () => Sign::No,
    }
}

pub(super) fn randomness(ask: &mut Ask<'_>) -> Result<Answer, String> {
    let writes = told(ask, Op::Write);
    let reads = told(ask, Op::Read);
    let (yes_to, text) = match (writes, reads) {
        (Ok((w, writes)), Ok((r, reads))) => (w || r, format!("{writes}; {reads}")),
        (Ok((true, text)), Err(why)) | (Err(why), Ok((true, text))) => {
            (true, format!("{text}; the other kind is not determined ({why})"))
        }
        (Ok((false, text)), Err(why)) | (Err(why), Ok((false, text))) => {
            return Err(format!("{text}; {why}"));
        }
        (Err(writes), Err(reads)) => {
            let both = if writes == reads { writes } else { format!("{writes}; {reads}") };
            return Err(both);
        }
    };
    if yes_to { yes(text) } else { no(text) }
}
