//! Randomness: how the mean grows with the range of random requests and the step of strides.

use super::rule::{HALF, LARGE, Named, Standing, largest, that_are, unclear};
use super::{Answer, Ask, no, yes};
use crate::metric;
use crate::stats::shift;
use crate::sweep::{self, Parameter, Sweep};
use assay_spec::{Histogram, Op};

/// What one kind of request does.
struct Growth {
    /// The largest range or step against the smallest, then what lies between.
    ends: Vec<Named>,
    /// All steps against the smallest.
    steps: Vec<Named>,
    /// Each step but the smallest in words, its mean, and the KS distance of its latencies to the
    /// largest's.
    level: Vec<Level>,
}

type Level = (String, f64, f64);

/// All points of a sweep against the first.
fn series(ask: &mut Ask<'_>, sweep: &Sweep, what: &str) -> Result<Vec<Named>, String> {
    let (first, others) = sweep.points.split_first().ok_or("no points")?;
    let base = ask.cell(&sweep.experiment, &first.workload)?;
    let against = format!("{what} {}", first.words());
    let mut all = Vec::new();
    for point in others {
        let cell = ask.cell(&sweep.experiment, &point.workload)?;
        let names = (&*format!("{what} {}", point.words()), &*against);
        all.push(Named::ask(ask, names, (cell, None), (base, None))?);
    }
    Ok(all)
}

/// The question's own sweep of such requests: of its smallest ones.
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

/// Requests of one kind.
fn growth(ask: &mut Ask<'_>, op: Op) -> Result<Growth, String> {
    let ranges = swept(ask, Parameter::Range, op)?;
    let strides = swept(ask, Parameter::Step, op)?;
    let range = series(ask, &ranges, "those in a range of")?;
    let steps = series(ask, &strides, "those in steps of")?;
    let ends = [range.last(), steps.last()].into_iter().flatten().cloned().collect();
    let level = level(ask, &strides, &steps)?;
    Ok(Growth { ends, steps, level })
}

fn level(ask: &mut Ask<'_>, sweep: &Sweep, steps: &[Named]) -> Result<Vec<Level>, String> {
    let mut histograms = Vec::new();
    for point in &sweep.points[1..] {
        let cell = ask.cell(&sweep.experiment, &point.workload)?;
        histograms.push((point.words(), metric::histogram(cell, None)));
    }
    let last = histograms.last().map(|(_, h)| h.clone()).unwrap_or_default();
    let apart = |h: &Histogram| shift::between(h, &last).map_or(1.0, |s| s.distance);
    let each = steps.iter().zip(histograms);
    Ok(each.map(|(n, (words, h))| (words, n.by.means.0, apart(&h))).collect())
}

/// One kind in words, and whether it degrades.
fn told(ask: &mut Ask<'_>, op: Op) -> Result<(bool, String), String> {
    let growth = growth(ask, op)?;
    let what = format!("{}s", op.name());
    let all: Vec<&Named> = growth.ends.iter().chain(&growth.steps).collect();
    let slower = that_are(&growth.ends, Standing::Slower);
    let ups: Vec<&Named> =
        all.iter().copied().filter(|n| n.by.standing == Standing::Slower).collect();
    let most = largest(if ups.is_empty() { &all } else { &ups });
    let most = most.map(|n| n.told()).unwrap_or_default();
    if ups.is_empty() {
        // What lies between the ends may be large by a few requests; the ends must be certain.
        unclear(&growth.ends)?;
        return Ok((false, format!("{what} do not slow down, at most {most}")));
    }
    let knee = match slower.iter().any(|n| n.what.contains("steps")) {
        true => knee_in_words(&growth.level, op == Op::Write),
        false => "at the largest step they are no slower than at the smallest".into(),
    };
    Ok((true, format!("{what} slow down, most {most}; {knee}")))
}

/// Only writes open units: `writes`.
fn knee_in_words(steps: &[Level], writes: bool) -> String {
    let size = |i: usize| &steps[i].0;
    match knee(steps) {
        Some((at, true)) if writes => format!(
            "they grow with the step up to {} and stay level beyond, as with a mapping in \
             units of that size",
            size(at)
        ),
        Some((0, _)) => format!("their mean is level from steps of {} on", size(0)),
        Some((at, _)) if !writes => format!("their mean is level from steps of {} on", size(at)),
        Some((at, _)) => format!(
            "their mean is level from steps of {} on, and at half the step it is not half of the \
             requests that are spared: no sign of a mapping unit",
            size(at)
        ),
        None => match steps.last() {
            Some(last) => format!("their mean is not level up to steps of {}", last.0),
            None => "their mean was measured at one step only".into(),
        },
    }
}

/// The first of the steps from which on all are level in mean and in distribution, and whether the
/// one before it shows that it is the size of a unit: there every other request finds its unit
/// open. By distribution, as the mean may be the same where the others pay for it. The last two
/// must be level.
fn knee(steps: &[Level]) -> Option<(usize, bool)> {
    let plateau = steps.last()?.1;
    let alike = |mean: f64| mean < LARGE * plateau && mean > plateau / LARGE;
    let level = |step: &Level| alike(step.1) && step.2 < HALF.0;
    let at = steps.iter().rposition(|step| !level(step)).map_or(0, |i| i + 1);
    let before = at.checked_sub(1).map(|i| steps[i].2);
    let earlier = at.checked_sub(2).is_none_or(|i| steps[i].2 > HALF.1);
    let unit = earlier && before.is_some_and(|apart| apart >= HALF.0 && apart <= HALF.1);
    (at + 1 < steps.len()).then_some((at, unit))
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
