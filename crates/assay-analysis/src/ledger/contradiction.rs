//! Documents that disprove themselves: reckoned from the published numbers alone, without a run.

use super::{PredicateVerdict, Verdict, plain, unit_size};
use crate::expr::{Expr, Reference, Value};
use crate::metric::MetricError;
use assay_spec::claims::{Claim, Disproof};

/// What would hold if the places did not contradict each other; none if it cannot be reckoned.
pub(super) fn check(disproof: &Disproof) -> Option<PredicateVerdict> {
    let text = disproof.check.clone()?;
    let find = |r: &Reference| {
        let number = disproof.numbers.iter().find(|n| n.name == r.metric);
        let missing = || MetricError::NoSuchMetric(r.metric.clone());
        number.map(|n| n.published * unit_size(&n.unit)).ok_or_else(missing)
    };
    let (holds, why) = match Expr::parse_expectation(&text) {
        Err(e) => (None, format!("the check does not parse: {e}")),
        Ok(expr) => match expr.evaluate(&find) {
            Ok(Value::Truth(true)) => (Some(true), String::new()),
            Ok(_) => (Some(false), numbers(disproof, &super::failures(&expr, &find))),
            Err(e) => (None, e.to_string()),
        },
    };
    Some(PredicateVerdict { text, holds, why })
}

/// What fails, with the numbers it is reckoned from.
fn numbers(disproof: &Disproof, failed: &str) -> String {
    let number = |n: &assay_spec::claims::Number| match n.unit.as_str() {
        "count" => format!("{} = {}", n.name, plain(n.published)),
        unit => format!("{} = {} {unit}", n.name, plain(n.published)),
    };
    let all: Vec<String> = disproof.numbers.iter().map(number).collect();
    format!("{failed}; {}", all.join(", "))
}

/// Contradicted, unless the check holds or says nothing.
pub(super) fn verdict(claim: &Claim, check: Option<&PredicateVerdict>) -> (Verdict, String) {
    match check.map(|c| (c.holds, &c.why)) {
        None | Some((Some(false), _)) => (Verdict::Contradicted, claim.reason.clone()),
        Some((Some(true), _)) => {
            (Verdict::Deviates, "the published numbers do not contradict each other".into())
        }
        Some((None, why)) => (Verdict::NotBuilt, why.clone()),
    }
}
