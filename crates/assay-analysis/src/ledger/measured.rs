//! The numbers and predicates of a claim, measured over the repeats of a run.

use super::phrases::{conjuncts, measure_unit, plain, unit_size};
use super::verdict::{PredicateVerdict, ValueVerdict, Verdict};
use crate::expr::{Conjunct, Decision, EvalError, Expr, Reference, Repeats};
use crate::load::Run;
use crate::metric::{self, MetricError};
use crate::stats::Estimate;
use assay_spec::calibration::Calibration;
use assay_spec::claims::ClaimValue;
use assay_spec::record::CellRecord;

/// The fewest repeats for a verdict: with two, the 95 % interval of a mean is 13 times its standard
/// error.
pub const FEWEST: usize = 3;

/// The cells that a claim's texts can name: those of a run, and of these the claim's own experiment
/// first.
#[derive(Clone, Copy)]
pub(super) struct Cells<'a> {
    pub(super) run: Option<&'a Run>,
    pub(super) experiment: Option<&'a str>,
}

impl Cells<'_> {
    fn cell(&self, r: &Reference) -> Result<&CellRecord, MetricError> {
        let cell = self.run.and_then(|run| run.cell_meant(self.experiment, &r.workload, &r.target));
        cell.ok_or_else(|| MetricError::Skipped("the cell is not in the run".into()))
    }

    /// Returns the value of a reference over all repeats together.
    pub(super) fn find(&self, r: &Reference) -> Result<f64, MetricError> {
        finite(metric::estimate(self.cell(r)?, &r.metric)?.value)
    }

    fn find_in(&self, repeat: usize, r: &Reference) -> Result<f64, MetricError> {
        finite(metric::in_repeat(self.cell(r)?, repeat, &r.metric)?)
    }

    /// Returns the number of repeats that all named cells have.
    pub(super) fn repeats(&self, named: &[Reference]) -> usize {
        let repeats = |r: &Reference| self.cell(r).map_or(1, |cell| cell.repeats.len());
        named.iter().map(repeats).min().unwrap_or(FEWEST)
    }

    /// Passes the values of an expression over the repeats to `judge`. Returns its result and the
    /// number of repeats.
    fn over<T>(
        &self,
        expr: &Expr,
        judge: impl FnOnce(Repeats<'_>) -> Result<T, EvalError>,
    ) -> Result<(T, usize), String> {
        let named: Vec<Reference> = expr.references().into_iter().cloned().collect();
        let count = self.repeats(&named);
        let look_up = |repeat: usize, r: &Reference| self.find_in(repeat, r);
        let judged = judge(Repeats { count, look_up: &look_up });
        judged.map(|judged| (judged, count)).map_err(|e| e.to_string())
    }
}

fn finite(value: f64) -> Result<f64, MetricError> {
    let none = || MetricError::Skipped("no number".into());
    value.is_finite().then_some(value).ok_or_else(none)
}

/// Returns why there is no verdict with so few repeats.
pub(super) fn too_few(repeats: usize) -> String {
    let plural = if repeats == 1 { "" } else { "s" };
    format!("{repeats} repeat{plural}, but a verdict needs {FEWEST}: `--repeats {FEWEST}`")
}

/// Judges a number. `gave` is the part of the set-up that was chosen with this number in sight.
pub(super) fn value(v: &ClaimValue, cells: Cells<'_>, gave: Option<&Calibration>) -> ValueVerdict {
    let mut verdict = ValueVerdict {
        label: v.label.clone(),
        published: v.published,
        reproduced: None,
        interval: None,
        unit: v.unit.clone(),
        tolerance: v.measure.is_some().then_some(v.tolerance),
        deviation: None,
        verdict: Verdict::Input,
        why: String::new(),
    };
    let Some(text) = &v.measure else { return verdict };
    let (measured, repeats) = match measure(text, &v.unit, cells) {
        Ok(measured) => measured,
        Err(why) => {
            (verdict.verdict, verdict.why) = (Verdict::NotBuilt, why);
            return verdict;
        }
    };
    // The cells were measured, but the measure divides by zero, e.g. by a share of requests.
    if !measured.value.is_finite() {
        verdict.verdict = Verdict::Deviates;
        verdict.why = "the measure has no finite value".into();
        return verdict;
    }
    let size = unit_size(&v.unit);
    verdict.reproduced = Some(measured.value / size);
    verdict.interval = measured.interval.map(|(low, high)| (low / size, high / size));
    if let Some(gave) = gave {
        verdict.why = format!("it gave {}", gave.place);
        return verdict;
    }
    let Some(published) = v.published else {
        verdict.verdict = Verdict::Predicted;
        return verdict;
    };
    let off = measured.value / size - published;
    verdict.deviation = (published != 0.0).then(|| off / published.abs());
    verdict.verdict = match verdict.interval.filter(|_| repeats >= FEWEST) {
        Some(interval) => within(interval, published, v.tolerance),
        None => Verdict::Undecided,
    };
    if repeats < FEWEST {
        verdict.why = too_few(repeats);
    }
    verdict
}

/// Judges whether an interval lies within the tolerance of a published number, or outside it.
fn within((low, high): (f64, f64), published: f64, tolerance: f64) -> Verdict {
    // A tolerance of 0 % must still survive the rounding of a division.
    let most = (tolerance + 1e-9) * published.abs();
    if low >= published - most && high <= published + most {
        return Verdict::Reproduced;
    }
    match high < published - most || low > published + most {
        true => Verdict::Deviates,
        false => Verdict::Undecided,
    }
}

fn measure(text: &str, unit: &str, cells: Cells<'_>) -> Result<(Estimate, usize), String> {
    let expr = Expr::parse_measure(text, measure_unit(unit))
        .map_err(|e| format!("the measure is wrong: {e}"))?;
    cells.over(&expr, |repeats| expr.estimate(repeats))
}

/// Judges a predicate.
pub(super) fn predicate(text: &str, cells: Cells<'_>) -> PredicateVerdict {
    let of = |verdict, why| PredicateVerdict { text: text.to_owned(), verdict, why };
    let expr = match Expr::parse(text) {
        Ok(expr) => expr,
        Err(e) => return of(Verdict::NotBuilt, format!("the predicate does not parse: {e}")),
    };
    let (decision, repeats) = match cells.over(&expr, |repeats| expr.decide(repeats)) {
        Ok(decided) => decided,
        Err(why) => return of(Verdict::NotBuilt, why),
    };
    if repeats < FEWEST {
        return of(Verdict::Undecided, too_few(repeats));
    }
    let verdict = match decision {
        Decision::Holds => return of(Verdict::Reproduced, String::new()),
        Decision::Undecided => Verdict::Undecided,
        Decision::Fails => Verdict::Deviates,
    };
    let why = cells.over(&expr, |repeats| Ok(which(&expr, decision, repeats)));
    of(verdict, why.map_or_else(|why| why, |(why, _)| why))
}

/// Returns the operands of the outermost `and` with this decision, with the numbers they compare.
fn which(expr: &Expr, decision: Decision, over: Repeats<'_>) -> String {
    let side = |e: Estimate| match e.half_width().filter(|half| *half > 0.0) {
        Some(half) => format!("{} ± {}", plain(e.value), plain(half)),
        None => plain(e.value),
    };
    let such = |c: &Conjunct<'_>| c.decide(over) == Ok(decision);
    conjuncts(expr, such, |c| c.estimates(over).map(|(a, b)| (side(a), side(b))))
}
