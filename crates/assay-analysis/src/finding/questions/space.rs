//! Randomness: how the mean grows with the range of random requests and the step of strides.

use super::rule::{HALF, LARGE, Named, Standing, largest, that_are, unclear};
use super::{Answer, Ask, no, yes};
use crate::metric;
use crate::stats::shift;

pub(super) const RANGES: [&str; 6] = ["1gb", "2gb", "4gb", "8gb", "16gb", "30gb"];
pub(super) const STEPS: [&str; 11] =
    ["4k", "64k", "256k", "1m", "2m", "4m", "8m", "16m", "32m", "64m", "128m"];

/// What one kind of request does.
struct Growth {
    /// The largest range or step against the smallest, then what lies between.
    ends: Vec<Named>,
    /// All steps against the smallest.
    steps: Vec<Named>,
    /// Mean of each step but the smallest, and the KS distance of its latencies to the largest's.
    level: Vec<(f64, f64)>,
}

/// All `points` of a series of workloads against the first.
fn series(
    ask: &mut Ask<'_>,
    stem: &str,
    points: &[&str],
    what: &str,
) -> Result<Vec<Named>, String> {
    let (first, others) = points.split_first().ok_or("no points")?;
    let base = ask.cell("randomness", &format!("{stem}-{first}"))?;
    let mut all = Vec::new();
    for point in others {
        let cell = ask.cell("randomness", &format!("{stem}-{point}"))?;
        let names = (&*format!("{what} {point}"), &*format!("{what} {first}"));
        all.push(Named::ask(ask, names, (cell, None), (base, None))?);
    }
    Ok(all)
}

/// Requests of `kind`, `rd` or `wr`.
fn growth(ask: &mut Ask<'_>, kind: &str) -> Result<Growth, String> {
    let range = series(ask, &format!("rnd-{kind}-range"), &RANGES, "those in a range of")?;
    let steps = series(ask, &format!("stride-{kind}-step"), &STEPS, "those in steps of")?;
    let ends = [range.last(), steps.last()].into_iter().flatten().cloned().collect();
    let level = level(ask, kind, &steps)?;
    Ok(Growth { ends, steps, level })
}

fn level(ask: &mut Ask<'_>, kind: &str, steps: &[Named]) -> Result<Vec<(f64, f64)>, String> {
    let mut histograms = Vec::new();
    for step in &STEPS[1..] {
        let cell = ask.cell("randomness", &format!("stride-{kind}-step-{step}"))?;
        histograms.push(metric::histogram(cell, None));
    }
    let last = histograms.last().cloned().unwrap_or_default();
    let apart = |h| shift::between(h, &last).map_or(1.0, |s| s.distance);
    Ok(steps.iter().zip(&histograms).map(|(n, h)| (n.by.means.0, apart(h))).collect())
}

/// One kind in words, and whether it degrades.
fn told(ask: &mut Ask<'_>, kind: &str, what: &str) -> Result<(bool, String), String> {
    let growth = growth(ask, kind)?;
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
        true => knee_in_words(&growth.level, kind == "wr"),
        false => "at the largest step they are no slower than at the smallest".into(),
    };
    Ok((true, format!("{what} slow down, most {most}; {knee}")))
}

/// Only writes open units: `writes`.
fn knee_in_words(means: &[(f64, f64)], writes: bool) -> String {
    let size = |i: usize| size(STEPS[i + 1]);
    match knee(means) {
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
        None => format!("their mean is not level up to steps of {}", size(means.len() - 1)),
    }
}

/// The first of the steps from which on all are level in mean and in distribution, and whether the
/// one before it shows that it is the size of a unit: there every other request finds its unit
/// open. By distribution, as the mean may be the same where the others pay for it. The last two
/// must be level.
fn knee(steps: &[(f64, f64)]) -> Option<(usize, bool)> {
    let (plateau, _) = *steps.last()?;
    let alike = |mean: f64| mean < LARGE * plateau && mean > plateau / LARGE;
    let level = |(mean, apart): (f64, f64)| alike(mean) && apart < HALF.0;
    let at = steps.iter().rposition(|step| !level(*step)).map_or(0, |i| i + 1);
    let before = at.checked_sub(1).map(|i| steps[i].1);
    let earlier = at.checked_sub(2).is_none_or(|i| steps[i].1 > HALF.1);
    let unit = earlier && before.is_some_and(|apart| apart >= HALF.0 && apart <= HALF.1);
    (at + 1 < steps.len()).then_some((at, unit))
}

/// `16m` as `16 MiB`.
fn size(step: &str) -> String {
    let (digits, unit) = step.split_at(step.len() - 1);
    format!("{digits} {}", if unit == "m" { "MiB" } else { "KiB" })
}

pub(super) fn randomness(ask: &mut Ask<'_>) -> Result<Answer, String> {
    let writes = told(ask, "wr", "writes");
    let reads = told(ask, "rd", "reads");
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
