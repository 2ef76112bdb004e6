//! Verdicts from published numbers alone, without a run: documents that contradict themselves, and
//! what arithmetic decides.

use super::phrases::{conjuncts, plain, unit_size};
use super::verdict::{PredicateVerdict, Verdict};
use crate::expr::{Conjunct, Expr, LookUp, Reference, Value};
use crate::metric::MetricError;
use assay_spec::claims::{Claim, Number, Reckoning};

/// Checks what follows from the published numbers, or would follow if the places did not contradict
/// each other; `None` if there is nothing to compute.
pub(super) fn check(reckoning: &Reckoning) -> Option<PredicateVerdict> {
    let text = reckoning.check.clone()?;
    let find = |r: &Reference| {
        let number = reckoning.numbers.iter().find(|n| n.name == r.metric);
        let missing = || MetricError::NoSuchMetric(r.metric.clone());
        number.map(|n| n.published * unit_size(&n.unit)).ok_or_else(missing)
    };
    let (verdict, why) = match Expr::parse_expectation(&text) {
        Err(e) => (Verdict::NotBuilt, format!("the check does not parse: {e}")),
        Ok(expr) => match expr.evaluate(&find) {
            Ok(Value::Truth(true)) => (Verdict::Reproduced, String::new()),
            Ok(_) => (Verdict::Deviates, numbers(reckoning, &failures(&expr, &find))),
            Err(e) => (Verdict::NotBuilt, e.to_string()),
        },
    };
    Some(PredicateVerdict { text, verdict, why })
}

/// Returns the operands of the outermost `and` that fail, with the numbers they compare.
fn failures(expr: &Expr, find: LookUp<'_>) -> String {
    let fails = |c: &Conjunct<'_>| c.evaluate(find) == Ok(Value::Truth(false));
    conjuncts(expr, fails, |c| c.sides(find).map(|(a, b)| (plain(a), plain(b))))
}

/// Returns what fails, with the numbers it is computed from.
fn numbers(reckoning: &Reckoning, failed: &str) -> String {
    let number = |n: &Number| match n.unit.as_str() {
        "count" => format!("{} = {}", n.name, plain(n.published)),
        unit => format!("{} = {} {unit}", n.name, plain(n.published)),
    };
    let all: Vec<String> = reckoning.numbers.iter().map(number).collect();
    format!("{failed}; {}", all.join(", "))
}

/// Returns `Contradicted`, unless the check holds or cannot be evaluated.
pub(super) fn verdict(claim: &Claim, check: Option<&PredicateVerdict>) -> (Verdict, String) {
    match check.map(|c| (c.verdict, &c.why)) {
        None | Some((Verdict::Deviates, _)) => (Verdict::Contradicted, claim.reason.clone()),
        Some((Verdict::Reproduced, _)) => {
            (Verdict::Deviates, "the published numbers do not contradict each other".into())
        }
        Some((_, why)) => (Verdict::NotBuilt, why.clone()),
    }
}

/// Returns `Arithmetic`, unless the check fails or cannot be evaluated.
pub(super) fn arithmetic(claim: &Claim, check: Option<&PredicateVerdict>) -> (Verdict, String) {
    match check.map(|c| (c.verdict, &c.why)) {
        Some((Verdict::Reproduced, _)) => (Verdict::Arithmetic, claim.reason.clone()),
        Some((Verdict::Deviates, _)) => {
            (Verdict::Deviates, "it does not follow from the published numbers".into())
        }
        other => (Verdict::NotBuilt, other.map_or_else(String::new, |(_, why)| why.clone())),
    }
}
