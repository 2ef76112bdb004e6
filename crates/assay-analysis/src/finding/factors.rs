//! Findings about combinations of factors: the fastest of them, the effect of each factor, and the
//! pairs that interact.

use super::statement::{DOUBTS, Finding, command, requests, separate, short};
use crate::factors::{ComparedMetric, Crossed, all};
use crate::load::Run;
use crate::soundness::Doubt;
use crate::stats::effects::{Effects, Pair};
use assay_spec::record::CellRecord;
use assay_spec::units::three_digits;

/// The beginning of the ids of findings about combinations of factors.
pub(crate) const FACTORS: &str = "factors/";

/// The number of combinations that are listed as evidence.
const BEST: usize = 10;

/// The smallest share of the variance at which a pair is worth mentioning.
const PAIR: f64 = 0.01;

/// Returns two findings for each workload over factors: the ranking and the effects.
pub(super) fn findings(run: &Run) -> Vec<Finding> {
    let of = |crossed: Crossed<'_>| [ranking(run, &crossed), effects(run, &crossed)];
    all(run).into_iter().flat_map(of).flatten().collect()
}

fn finding(run: &Run, crossed: &Crossed<'_>, id: &str, statement: String) -> Finding {
    let cells: Vec<&CellRecord> = crossed.measured.iter().map(|m| m.cell).collect();
    Finding {
        id: format!("{FACTORS}{id}/{}", crossed.id()),
        statement,
        evidence: Vec::new(),
        threshold: String::new(),
        samples: requests(&cells),
        confidence: None,
        reproduce: command(run),
    }
}

fn ranking(run: &Run, crossed: &Crossed<'_>) -> Option<Finding> {
    let (best, last) = (crossed.measured.first()?, crossed.measured.last()?);
    if crossed.measured.len() < 2 {
        return None;
    }
    let name = |levels: &[usize]| crossed.factors.name(levels);
    let alike = crossed.measured.iter().skip(1).filter(|m| !separate(&best.value, &m.value));
    let alike = match (alike.count(), best.value.interval) {
        (0, Some(_)) => "; its interval overlaps with no other".to_owned(),
        (n, Some(_)) => format!("; its interval overlaps with those of {n} others"),
        (_, None) => String::new(),
    };
    let measure = &crossed.measure;
    let (is_best, worst) = match measure.is_printed() {
        true => (format!("has the best `{}`", measure.name), "that of the worst"),
        false => ("is the fastest".to_owned(), "the slowest"),
    };
    let statement = format!(
        "{}: of {}, {} {is_best}: {}, {} times {worst}, {}{alike}",
        subject(crossed, best.cell),
        counted(crossed),
        name(&best.levels),
        measure.text(&best.value),
        three_digits(best.value.value / last.value.value),
        name(&last.levels),
    );
    let line = |m: &crate::factors::Measured<'_>| {
        format!("{}: {}", name(&m.levels), measure.text(&m.value))
    };
    let mut evidence: Vec<String> = crossed.measured.iter().take(BEST).map(line).collect();
    if crossed.measured.len() > BEST {
        evidence.push(format!("last, {}", line(last)));
    }
    evidence.extend(left_out(crossed));
    let threshold = format!("95 % intervals of {} do not overlap", what(measure));
    Some(Finding { evidence, threshold, ..finding(run, crossed, "ranking", statement) })
}

/// Says what the work is: a program's by its name, for its script is long.
fn subject(crossed: &Crossed<'_>, cell: &CellRecord) -> String {
    if crossed.measure.is_printed() { cell.workload.clone() } else { short(cell) }
}

/// Says what combinations are compared by.
fn what(measure: &ComparedMetric) -> String {
    if measure.is_printed() { format!("`{}`", measure.name) } else { "the bandwidth".into() }
}

/// Returns in words how many of the planned combinations were measured.
pub(crate) fn counted(crossed: &Crossed<'_>) -> String {
    let measured = crossed.measured.len();
    let all = if crossed.is_full { "" } else { ", one factor at a time around the base" };
    let of = match measured == crossed.planned {
        true => format!("{measured} combinations"),
        false => format!("{measured} combinations measured of {}", crossed.planned),
    };
    format!("{of}{all}")
}

/// Returns which combinations are not among the measured ones, and why, in one line each.
pub(crate) fn left_out(crossed: &Crossed<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let (possible, product) = crossed.possible;
    let because = |reasons: &[(String, usize)]| {
        let each: Vec<String> = reasons.iter().map(|(why, n)| format!("{n}: {why}")).collect();
        each.join("; ")
    };
    if !crossed.impossible.is_empty() {
        let n = product - possible;
        let why = because(&crossed.impossible);
        lines.push(format!("{n} of the {product} combinations are impossible ({why})"));
    }
    if !crossed.unmeasured.is_empty() {
        let n: usize = crossed.unmeasured.iter().map(|(_, n)| n).sum();
        lines.push(format!("{n} have no result ({})", because(&crossed.unmeasured)));
    }
    if !crossed.is_full && possible > crossed.planned {
        let words = "`--factorial` measures all of them, and shows the effects of pairs of factors";
        lines.push(format!("{possible} combinations are possible: {words}"));
    }
    lines
}

fn effects(run: &Run, crossed: &Crossed<'_>) -> Option<Finding> {
    let effects = crossed.effects()?;
    let what = subject(crossed, crossed.measured.first()?.cell);
    let said = match crossed.is_full {
        true => statement(crossed, &effects)?,
        false => around(crossed)?,
    };
    let threshold = match crossed.is_full {
        true => format!(
            "eta squared of type II; least-squares means with 95 % intervals; a pair is named if \
             it explains at least {} % of the variance, and chance gives that much in less than 5 \
             % of cases",
            100.0 * PAIR
        ),
        false => "the range over the levels of a factor, all others as in the base".into(),
    };
    let evidence = evidence(crossed, &effects);
    Some(Finding {
        evidence,
        threshold,
        ..finding(run, crossed, "effects", format!("{what}: {said}"))
    })
}

/// Returns the factors with their shares of the variance, the largest first.
pub(crate) fn by_share(effects: &Effects) -> Vec<(usize, f64)> {
    let shares = effects.mains.iter().enumerate();
    let mut all: Vec<(usize, f64)> = shares.filter_map(|(i, m)| Some((i, m.share?))).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

/// Returns `true` if a pair is worth mentioning.
pub(crate) fn matters(pair: &Pair) -> bool {
    pair.share >= PAIR && pair.probability.is_none_or(|p| p < 0.05)
}

/// Formats a share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    match 100.0 * share {
        p if p < 0.05 => "0 %".into(),
        p => format!("{} %", three_digits(p)),
    }
}

fn statement(crossed: &Crossed<'_>, effects: &Effects) -> Option<String> {
    let name = |factor: usize| crossed.factors.factors[factor].name.as_str();
    let shares = by_share(effects);
    let ((first, most), rest) = shares.split_first()?;
    let others: Vec<String> =
        rest.iter().map(|(f, share)| format!("{} {}", name(*f), percent(*share))).collect();
    let others = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
    let pairs: Vec<String> = effects
        .pairs
        .iter()
        .filter(|p| matters(p))
        .map(|p| format!("{} with {} ({})", name(p.of.0), name(p.of.1), percent(p.share)))
        .collect();
    let pairs = match pairs.as_slice() {
        [] if effects.pairs.is_empty() => {
            "there are too few cells to estimate the effects of pairs of factors".to_owned()
        }
        [] => "no pair of factors has a large effect beyond those of the single factors".to_owned(),
        pairs => format!("pairs of factors with a large joint effect: {}", pairs.join(", ")),
    };
    Some(format!(
        "{} has the largest effect, {} of the variance{others}. {}",
        name(*first),
        percent(*most),
        capital(&pairs)
    ))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

/// Returns the range of each factor, with one factor varied at a time, the largest first.
fn around(crossed: &Crossed<'_>) -> Option<String> {
    let base = crossed.base()?;
    let mut ranges: Vec<(f64, String)> = Vec::new();
    for (index, factor) in crossed.factors.factors.iter().enumerate() {
        let differs = |levels: &[usize]| {
            let pairs = levels.iter().zip(&base.levels).enumerate();
            pairs.filter(|(_, (a, b))| a != b).all(|(i, _)| i == index)
        };
        let own = crossed.measured.iter().filter(|m| differs(&m.levels));
        let values: Vec<f64> = own.map(|m| m.value.value).collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        if values.len() > 1 {
            let text = format!("{} {} to {}", factor.name, three_digits(low), three_digits(high));
            ranges.push((high / low, text));
        }
    }
    ranges.sort_by(|a, b| b.0.total_cmp(&a.0));
    let texts: Vec<String> = ranges.into_iter().map(|(_, text)| text).collect();
    Some(format!(
        "around {} ({}), each factor alone changes {} to, in {}: {}",
        crossed.factors.name(&base.levels),
        crossed.measure.text(&base.value),
        what(&crossed.measure),
        crossed.measure.heading,
        texts.join(", ")
    ))
}

fn evidence(crossed: &Crossed<'_>, effects: &Effects) -> Vec<String> {
    let mut lines = Vec::new();
    for (factor, levels) in crossed.factors.factors.iter().zip(crossed.levels(effects)) {
        for (level, (cells, mean)) in factor.levels.iter().zip(levels) {
            let mean = mean.as_ref().map(|e| crossed.measure.text(e));
            let none =
                if cells > 0 { "cannot be separated from other factors" } else { "no result" };
            let mean = mean.unwrap_or_else(|| none.to_owned());
            let cells = if crossed.is_full { format!(", {cells} cells") } else { String::new() };
            lines.push(format!("{} {}: {mean}{cells}", factor.name, level.name));
        }
    }
    if crossed.is_full {
        let name = |factor: usize| crossed.factors.factors[factor].name.as_str();
        lines.extend(effects.pairs.iter().map(|p| {
            let (a, b) = (name(p.of.0), name(p.of.1));
            format!("{a} with {b}: {} of the variance", percent(p.share))
        }));
        let mut left = format!(
            "main effects leave {} of the variance unexplained",
            percent(effects.beyond_additive)
        );
        if !effects.pairs.is_empty() {
            left +=
                &format!("; together with all pairs they leave {}", percent(effects.beyond_pairs));
        }
        lines.push(left);
    }
    lines
}

/// Returns what is wrong with cells of factors: one finding for each check, not for each cell.
pub(super) fn doubts(run: &Run, doubts: Vec<Doubt>) -> Vec<Finding> {
    let mut found = Vec::new();
    for crossed in all(run) {
        let own = |v: &&Doubt| crossed.measured.iter().any(|m| m.cell.id == v.cell);
        let mut rest: Vec<&Doubt> = doubts.iter().filter(own).collect();
        while let Some(first) = rest.first().copied() {
            let (same, others): (Vec<&Doubt>, Vec<&Doubt>) =
                rest.into_iter().partition(|v| v.check == first.check);
            rest = others;
            let (n, of) = (same.len(), crossed.measured.len());
            let statement = format!(
                "{}: {n} of {of} combinations, as {}: {}",
                crossed.id(),
                first.cell,
                first.statement
            );
            let mut evidence: Vec<String> = first.evidence.clone();
            evidence.push(format!("hint: {}", first.hint));
            found.push(Finding {
                id: format!("{DOUBTS}{}/{}", first.check, crossed.id()),
                evidence,
                threshold: first.threshold.clone(),
                ..finding(run, &crossed, "", statement)
            });
        }
    }
    found
}
