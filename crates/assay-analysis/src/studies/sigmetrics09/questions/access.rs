//! Questions about reads, writes and the disk cache: access patterns compared with each other, and
//! requests with and without the cache.

use super::ask::{Answer, Ask, no, yes};
use super::rule::{BEGIN, Change, FAST, LARGE, NamedDifference, largest, that_are, told, unclear};
use crate::metric::{self, MetricError};
use crate::stats::median;
use assay_spec::record::CellRecord;
use assay_spec::units::human_time;

const PATTERNS: [(&str, &str); 3] =
    [("seq", "sequential"), ("rnd", "random"), ("stride", "stride")];

/// Compares random and stride requests with sequential ones. `kind` is `rd` or `wr`.
fn patterns(
    ask: &mut Ask<'_>,
    experiment: &str,
    kind: &str,
) -> Result<Vec<NamedDifference>, String> {
    let base = ask.cell(experiment, &format!("seq-{kind}-4k"))?;
    let mut all = Vec::new();
    for (short, word) in &PATTERNS[1..] {
        let cell = ask.cell(experiment, &format!("{short}-{kind}-4k"))?;
        let what = format!("{word} {}", if kind == "rd" { "reads" } else { "writes" });
        let names = (what.as_str(), "sequential ones");
        all.push(ask.compare_named(names, (cell, None), (base, None))?);
    }
    Ok(all)
}

/// Returns the three mean latencies in words.
fn means(all: &[NamedDifference], what: &str) -> String {
    let sequential = all.first().map_or(f64::NAN, |n| n.by.means.1);
    let others = all.iter().map(|n| format!("{} {}", n.what, n.by.both().0));
    let others: Vec<String> = others.collect();
    format!("sequential {what} take {}, {}", human_time(sequential), others.join(" and "))
}

pub(super) fn reads(ask: &mut Ask<'_>) -> Result<Answer, String> {
    let all = patterns(ask, "reads", "rd")?;
    let stream = stream(ask);
    let differ = all.iter().filter(|n| n.by.change != Change::Alike);
    let certain: Vec<&NamedDifference> =
        differ.filter(|n| n.by.change != Change::Unclear).collect();
    if certain.is_empty() {
        unclear(&all)?;
        let most = all.iter().map(|n| n.by.shift.distance).fold(0.0, f64::max);
        let means = means(&all, "reads");
        return yes(format!("{means} (KS distance at most {most:.2}); {stream}"));
    }
    no(format!("{}; {stream}", told(&certain)))
}

/// Returns how a stream begins, in words.
fn stream(ask: &mut Ask<'_>) -> String {
    let cell = match ask.cell("reads", "seq-rd-4k-500") {
        Ok(cell) => cell,
        Err(why) => return format!("how a stream begins is not determined ({why})"),
    };
    let kept = kept(cell);
    match trigger(&kept) {
        Some((0, _)) => "a stream is equally fast from its first request, so it shows no \
                         read-ahead"
            .into(),
        Some((n, level)) => {
            let first = median(&kept[..n]).unwrap_or(f64::NAN);
            let (from, to) = (human_time(first), human_time(level));
            ask.evidence.push(format!("{}: first {n} {from}, then {to}", cell.id));
            let s = if n == 1 { "" } else { "s" };
            format!(
                "a stream becomes fast after {n} request{s} ({from}, then {to}), so the \
                     drive reads ahead"
            )
        }
        None => "when a stream becomes fast is not determined (its latencies do not settle)".into(),
    }
}

fn kept(cell: &CellRecord) -> Vec<f64> {
    let first = cell.repeats.first().and_then(|r| r.first.as_ref());
    let latencies = first.map(|f| f.latencies(None)).unwrap_or_default();
    latencies.into_iter().map(|ns| ns as f64).collect()
}

/// Returns the number of requests after which a stream is fast, and how fast it is then; `None` if
/// its latencies do not settle. The requests just before that are not counted if they are faster
/// than the first ones, though not yet fast: the read-ahead has begun.
pub(super) fn trigger(kept: &[f64]) -> Option<(usize, f64)> {
    let half = (kept.len() as f64 * BEGIN) as usize;
    let level = median(kept.get(half..)?)?;
    let fast = |ns: &&f64| **ns < LARGE * level;
    let slow = kept.iter().take_while(|ns| !fast(ns)).count();
    let rest = kept.get(slow..)?;
    let settled = rest.iter().filter(fast).count() as f64 >= FAST * rest.len() as f64;
    let first = median(&kept[..slow]).unwrap_or(0.0);
    let between = kept[..slow].iter().rev().take_while(|ns| **ns * LARGE < first).count();
    (slow <= half && settled).then_some((slow - between, level))
}

pub(super) fn writes(ask: &mut Ask<'_>) -> Result<Answer, String> {
    let against = patterns(ask, "writes", "wr")?;
    let random = ask.cell("writes", "rnd-wr-4k")?;
    let stride = ask.cell("writes", "stride-wr-4k")?;
    let other =
        ask.compare_named(("stride writes", "random ones"), (stride, None), (random, None))?;
    let spikes = spikes(ask);
    let to_stride = format!("stride to random {}", other.by.times());
    let to_sequential = &against[0];
    let means = means(&against, "writes");
    let rnd = to_sequential.by.times();
    match (to_sequential.by.change, other.by.change) {
        (Change::Slower, Change::Slower) => no(format!(
            "stride writes are slower still: {means}; random to sequential {rnd}, {to_stride}; \
             {spikes}"
        )),
        (Change::Slower, _) => yes(format!(
            "{means}; random to sequential {rnd}, {to_stride}, no pattern is certainly slower; \
             {spikes}"
        )),
        (Change::Unclear, _) => {
            let why = to_sequential.by.why_unclear();
            Err(format!("{means}; random to sequential {rnd}, {why}; {spikes}"))
        }
        _ => no(format!("{means}; random to sequential {rnd}; {spikes}")),
    }
}

/// Returns the period of slow requests, in words.
fn spikes(ask: &mut Ask<'_>) -> String {
    let cell = match ask.cell("writes", "seq-wr-4k-500") {
        Ok(cell) => cell,
        Err(why) => return format!("a period of spikes is not determined ({why})"),
    };
    match metric::estimate(cell, "period") {
        Ok(e) => {
            ask.evidence.push(format!("{} period: {} requests", cell.id, e.value));
            let top = metric::histogram(cell, None).max().map_or(0.0, |ns| ns.0 as f64);
            format!("spikes of up to {} come every {} writes", human_time(top), e.value)
        }
        Err(MetricError::NoPeriod) => "spikes have no period".into(),
        Err(e) => format!("a period of spikes is not determined ({e})"),
    }
}

pub(super) fn cache(ask: &mut Ask<'_>) -> Result<Answer, String> {
    let mut all = Vec::new();
    for (short, word) in PATTERNS {
        let off = ask.cell("disk-cache", &format!("off-{short}-wr-4k"))?;
        let on = ask.cell("writes", &format!("{short}-wr-4k"))?;
        let names = (&*format!("{word} writes without the cache"), "with it");
        all.push(ask.compare_named(names, (off, None), (on, None))?);
    }
    let (slower, faster) = (that_are(&all, Change::Slower), that_are(&all, Change::Faster));
    let reads = reads_without(ask).map(|r| format!("; {r}")).unwrap_or_default();
    if !slower.is_empty() {
        let part = if slower.len() < all.len() { "for some writes; " } else { "" };
        return yes(format!("{part}{}{reads}", told(&slower)));
    }
    unclear(&all)?;
    if !faster.is_empty() {
        return no(format!("writes are faster without the cache: {}{reads}", told(&faster)));
    }
    let all: Vec<&NamedDifference> = all.iter().collect();
    no(format!("{}{reads}", told(&all)))
}

/// Returns what switching the cache off does to reads, if that was measured too.
fn reads_without(ask: &mut Ask<'_>) -> Option<String> {
    let mut all = Vec::new();
    for (short, word) in PATTERNS {
        let off = ask.cell("disk-cache", &format!("off-{short}-rd-4k")).ok()?;
        let on = ask.cell("reads", &format!("{short}-rd-4k")).ok()?;
        let names = (&*format!("{word} reads without the cache"), "with it");
        all.push(ask.compare_named(names, (off, None), (on, None)).ok()?);
    }
    let most = largest(&all.iter().collect::<Vec<_>>())?.clone();
    match most.by.change {
        Change::Slower => Some(format!("reads are slower too: {}", most.told())),
        _ => Some(format!("reads are not slower without the cache ({})", most.by.times())),
    }
}
