//! Judging a ledger: every published claim against the cells of a run.
//!
//! A claim is `reproduced` only if everything it names was measured and holds. What was not
//! measured makes it `not run` (a study has the experiment, this run has not) or `not built` (none
//! has it), never a pass. The names of the verdicts are stable.

mod contradiction;
mod inset;
mod missing;

use crate::expr::{Expr, Reference, Value};
use crate::load::Run;
use crate::metric::{self, MetricError};
use assay_spec::claims::{Claim, ClaimKind, ClaimValue, Ledger};
use missing::{wanted, what_is_missing};
use serde::Serialize;

/// How a claim, or one of its numbers, came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Verdict {
    /// Everything measured holds.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// Measured, and outside the tolerance or against the predicate.
    #[serde(rename = "deviates")]
    Deviates,
    /// The document disproves itself.
    #[serde(rename = "contradicted")]
    Contradicted,
    /// Measured, with no published value at hand.
    #[serde(rename = "predicted")]
    Predicted,
    /// A specification that went in.
    #[serde(rename = "input")]
    Input,
    /// Cannot be tested, for a reason.
    #[serde(rename = "not testable")]
    NotTestable,
    /// A study has what it needs, the run has not.
    #[serde(rename = "not run")]
    NotRun,
    /// No study has what it needs yet.
    #[serde(rename = "not built")]
    NotBuilt,
}

impl Verdict {
    /// All verdicts, in the order of summaries.
    pub const ALL: [Verdict; 8] = [
        Verdict::Reproduced,
        Verdict::Deviates,
        Verdict::Contradicted,
        Verdict::Predicted,
        Verdict::Input,
        Verdict::NotTestable,
        Verdict::NotRun,
        Verdict::NotBuilt,
    ];

    /// Stable lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Deviates => "deviates",
            Verdict::Contradicted => "contradicted",
            Verdict::Predicted => "predicted",
            Verdict::Input => "input",
            Verdict::NotTestable => "not testable",
            Verdict::NotRun => "not run",
            Verdict::NotBuilt => "not built",
        }
    }
}

/// A judged ledger.
#[derive(Clone, Debug, Serialize)]
pub struct LedgerVerdicts {
    /// Name of the study.
    pub study: String,
    /// Title of the document.
    pub title: String,
    /// Full citation.
    pub citation: String,
    /// A verdict for each claim, in the ledger's order.
    pub rows: Vec<ClaimVerdict>,
}

/// A judged claim.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimVerdict {
    /// E.g. `S-03`.
    pub id: String,
    /// What the document says, in our words.
    pub statement: String,
    /// Place in the document.
    pub source: String,
    /// How it came out.
    pub verdict: Verdict,
    /// Why, in a sentence; empty where the verdict says it all.
    pub reason: String,
    /// What the reader should know.
    pub notes: String,
    /// Of what deviates: why the modelled drives do, as far as that was found.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub found: String,
    /// Its numbers.
    pub values: Vec<ValueVerdict>,
    /// Its predicate.
    pub predicate: Option<PredicateVerdict>,
    /// Of a contradiction: the places that cannot both be right.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
    /// Of a contradiction: what would have to hold of the published numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<PredicateVerdict>,
}

/// A judged number.
#[derive(Clone, Debug, Serialize)]
pub struct ValueVerdict {
    /// Which number of the claim.
    pub label: String,
    /// As published, in `unit`.
    pub published: Option<f64>,
    /// As measured, in `unit`.
    pub reproduced: Option<f64>,
    /// The unit of both.
    pub unit: String,
    /// Relative tolerance.
    pub tolerance: Option<f64>,
    /// The factor it may be off by, where there is no tolerance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
    /// (reproduced − published) / published.
    pub deviation: Option<f64>,
    /// How it came out.
    pub verdict: Verdict,
    /// Why it could not be measured, or what of the set-up it gave; empty otherwise.
    pub why: String,
}

/// A judged predicate.
#[derive(Clone, Debug, Serialize)]
pub struct PredicateVerdict {
    /// The predicate.
    pub text: String,
    /// Whether it holds; `None` if it could not be judged.
    pub holds: Option<bool>,
    /// What failed or is missing; empty if it holds.
    pub why: String,
}

impl ClaimVerdict {
    /// Of each number that was put in, what it gave.
    pub fn put_in(&self) -> impl Iterator<Item = String> {
        let known = self.values.iter().filter(|v| v.verdict == Verdict::Input && !v.why.is_empty());
        known.map(|v| format!("`{}` was known before: {}.", v.label, v.why))
    }
}

impl LedgerVerdicts {
    /// How many claims have each verdict, in the order of [`Verdict::ALL`].
    pub fn counts(&self) -> Vec<(Verdict, usize)> {
        let count = |v| self.rows.iter().filter(|r| r.verdict == v).count();
        Verdict::ALL.into_iter().map(|v| (v, count(v))).collect()
    }

    /// Every |deviation|, and their median; `None` without any.
    pub fn median_deviation(&self) -> Option<(f64, usize)> {
        let values = self.rows.iter().flat_map(|r| &r.values);
        let all: Vec<f64> = values.filter_map(|v| v.deviation).map(f64::abs).collect();
        crate::stats::median(&all).map(|m| (m, all.len()))
    }

    /// The summary in a line, e.g. `5 reproduced, 1 deviates, 34 not built; median |deviation| 4.2
    /// % of 12 values`.
    pub fn summary(&self) -> String {
        let counts = self.counts();
        let some = counts.iter().filter(|(_, n)| *n > 0);
        let mut line =
            some.map(|(v, n)| format!("{n} {}", v.name())).collect::<Vec<_>>().join(", ");
        if let Some((median, n)) = self.median_deviation() {
            line += &format!("; median |deviation| {:.1} % of {n} values", 100.0 * median);
        }
        line
    }
}

/// Whether some study has this workload on this target.
pub type Offered<'a> = &'a dyn Fn(&str, &str) -> bool;

/// Judges every claim of a ledger; without a run, nothing is measured.
pub fn judge(ledger: &Ledger, run: Option<&Run>, offered: Offered<'_>) -> LedgerVerdicts {
    LedgerVerdicts {
        study: ledger.study.clone(),
        title: ledger.title.clone(),
        citation: ledger.citation.clone(),
        rows: ledger.claims.iter().map(|claim| judge_claim(claim, run, offered)).collect(),
    }
}

fn judge_claim(claim: &Claim, run: Option<&Run>, offered: Offered<'_>) -> ClaimVerdict {
    let look_up = |r: &Reference| look_up(run, claim.experiment.as_deref(), r);
    let mut values: Vec<ValueVerdict> = claim.values.iter().map(|v| value(v, &look_up)).collect();
    let predicate = claim.predicate.as_deref().map(|text| predicate(text, &look_up));
    let check = claim.disproof.as_ref().and_then(contradiction::check);
    let (verdict, reason) = match claim.kind {
        ClaimKind::Input => (Verdict::Input, claim.reason.clone()),
        ClaimKind::NotTestable => (Verdict::NotTestable, claim.reason.clone()),
        ClaimKind::Contradiction => contradiction::verdict(claim, check.as_ref()),
        ClaimKind::Measured => overall(claim, &values, predicate.as_ref(), &look_up, offered),
    };
    if verdict != Verdict::NotBuilt {
        let missing = values.iter_mut().filter(|v| v.verdict == Verdict::NotBuilt);
        missing.for_each(|v| v.verdict = Verdict::NotRun);
    }
    ClaimVerdict {
        id: claim.id.clone(),
        statement: claim.statement.clone(),
        source: claim.source.clone(),
        verdict,
        reason,
        notes: claim.notes.clone(),
        found: match verdict {
            Verdict::Deviates => inset::fill(&claim.found, &look_up),
            _ => String::new(),
        },
        values,
        predicate,
        places: claim.disproof.as_ref().map_or(Vec::new(), |d| d.places.clone()),
        check,
    }
}

fn look_up(run: Option<&Run>, experiment: Option<&str>, r: &Reference) -> Result<f64, MetricError> {
    let cell = run.and_then(|run| run.cell_meant(experiment, &r.workload, &r.target));
    let absent = || MetricError::Skipped("the cell is not in the run".into());
    let value = metric::estimate(cell.ok_or_else(absent)?, &r.metric)?.value;
    if value.is_finite() { Ok(value) } else { Err(MetricError::Skipped("no number".into())) }
}

type Find<'a> = &'a dyn Fn(&Reference) -> Result<f64, MetricError>;

fn value(v: &ClaimValue, find: Find<'_>) -> ValueVerdict {
    let mut verdict = ValueVerdict {
        label: v.label.clone(),
        published: v.published,
        reproduced: None,
        unit: v.unit.clone(),
        tolerance: v.tolerance,
        within: v.within,
        deviation: None,
        verdict: Verdict::Input,
        why: String::new(),
    };
    let Some(text) = &v.measure else { return verdict };
    match measured(text, find) {
        Err(why) => {
            verdict.verdict = Verdict::NotBuilt;
            verdict.why = why;
        }
        // Measured, and e.g. none of what it counts was seen.
        Ok(base) if !base.is_finite() => {
            verdict.verdict = Verdict::Deviates;
            verdict.why = "the measure has no finite value".into();
        }
        Ok(base) => {
            let reproduced = base / unit_size(&v.unit);
            verdict.reproduced = Some(reproduced);
            if let Some(what) = &v.put_in {
                verdict.why = format!("it gave {what}");
                return verdict;
            }
            verdict.verdict = match v.published {
                None => Verdict::Predicted,
                Some(published) => {
                    let off = reproduced - published;
                    verdict.deviation = (published != 0.0).then(|| off / published.abs());
                    let (above, below) = v.allowed(published.abs());
                    // A tolerance of 0 % still has to survive the rounding of a division.
                    let rounding = 1e-9 * published.abs();
                    let holds = off <= above + rounding && -off <= below + rounding;
                    if holds { Verdict::Reproduced } else { Verdict::Deviates }
                }
            };
        }
    }
    verdict
}

/// Size of a ledger's unit in base units; what is no unit of time, size, rate or share counts as 1.
fn unit_size(unit: &str) -> f64 {
    match unit {
        "min" => 60e9,
        "h" => 3600e9,
        _ => crate::expr::unit(unit).unwrap_or(1.0),
    }
}

fn measured(text: &str, find: Find<'_>) -> Result<f64, String> {
    let expr = Expr::parse(text).map_err(|e| format!("the measure does not parse: {e}"))?;
    match expr.evaluate(find) {
        Ok(Value::Number(n)) => Ok(n),
        Ok(Value::Truth(_)) => Err("the measure is a truth value, not a number".into()),
        Err(e) => Err(e.to_string()),
    }
}

fn predicate(text: &str, find: Find<'_>) -> PredicateVerdict {
    let of = |holds, why| PredicateVerdict { text: text.to_owned(), holds, why };
    let expr = match Expr::parse(text) {
        Ok(expr) => expr,
        Err(e) => return of(None, format!("the predicate does not parse: {e}")),
    };
    match expr.evaluate(find) {
        Ok(Value::Truth(true)) => of(Some(true), String::new()),
        Ok(Value::Truth(false)) => of(Some(false), failures(&expr, find)),
        Ok(Value::Number(_)) => of(None, "the predicate is a number, not a truth value".into()),
        Err(e) => of(None, e.to_string()),
    }
}

/// The operands of the outermost `and` that fail, with the numbers they compare.
fn failures(expr: &Expr, find: Find<'_>) -> String {
    let failed = expr.conjuncts().into_iter();
    let failed = failed.filter(|c| c.evaluate(find) == Ok(Value::Truth(false)));
    let line = |c: crate::expr::Conjunct<'_>| match c.sides(find) {
        Some((a, b)) => format!("{} (is {} against {})", c.text, plain(a), plain(b)),
        None => c.text.to_owned(),
    };
    failed.map(line).collect::<Vec<_>>().join("; ")
}

/// Four significant digits, no exponent for everyday sizes.
pub(crate) fn plain(v: f64) -> String {
    let digits = if v == 0.0 || !v.is_finite() { 0.0 } else { libm::floor(libm::log10(v.abs())) };
    if !(-5.0..12.0).contains(&digits) {
        return format!("{v:.3e}");
    }
    let decimals = (3.0 - digits).clamp(0.0, 8.0) as usize;
    format!("{v:.decimals$}")
}

fn overall(
    claim: &Claim,
    values: &[ValueVerdict],
    predicate: Option<&PredicateVerdict>,
    find: Find<'_>,
    offered: Offered<'_>,
) -> (Verdict, String) {
    let unmeasured = values.iter().any(|v| v.verdict == Verdict::NotBuilt);
    let undecided = predicate.is_some_and(|p| p.holds.is_none());
    if unmeasured || undecided {
        let wanted = wanted(claim);
        let reason = what_is_missing(&wanted, values, predicate, find);
        let elsewhere = |r: &Reference| match find(r) {
            Ok(_) => true,
            Err(MetricError::Skipped(_)) => offered(&r.workload, &r.target),
            Err(_) => false,
        };
        let texts_are_right = wanted.iter().any(|r| find(r).is_err());
        return match texts_are_right && wanted.iter().all(elsewhere) {
            true => (Verdict::NotRun, reason),
            false => (Verdict::NotBuilt, reason),
        };
    }
    let judged = || values.iter().filter(|v| v.deviation.is_some() || v.published.is_some());
    let deviates = |v: &ValueVerdict| v.verdict == Verdict::Deviates;
    let measured = || {
        let tells = |v: &&ValueVerdict| v.verdict != Verdict::Input;
        judged().filter(tells).filter(|v| v.reproduced.is_some() || deviates(v))
    };
    let off = measured().filter(|v| deviates(v)).count();
    let mut reasons = Vec::new();
    if off > 0 {
        reasons.push(format!("{off} of {} values outside the tolerance", measured().count()));
    }
    if predicate.is_some_and(|p| p.holds == Some(false)) {
        reasons.push("the predicate does not hold".to_owned());
    }
    if !reasons.is_empty() {
        return (Verdict::Deviates, reasons.join("; "));
    }
    if predicate.is_none() && values.iter().all(|v| v.verdict == Verdict::Input) {
        return (Verdict::Input, "all of its numbers gave something of the set-up".into());
    }
    if predicate.is_none() && measured().count() == 0 {
        return (Verdict::Predicted, "no published value at hand".into());
    }
    (Verdict::Reproduced, String::new())
}

#[cfg(test)]
mod tests;
