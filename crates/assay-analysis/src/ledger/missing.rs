//! What a claim names and the run does not have.

use super::measured::Cells;
use super::verdict::{Knowledge, PredicateVerdict, ValueVerdict, Verdict};
use crate::expr::{EvalError, Expr, LookUp, Reference};
use crate::metric::MetricError;
use assay_spec::claims::Claim;

/// Returns the verdict of a claim that names what the run does not have; `None` if everything is
/// there.
pub(super) fn verdict(
    claim: &Claim,
    values: &[ValueVerdict],
    predicate: Option<&PredicateVerdict>,
    cells: Cells<'_>,
    known: Knowledge<'_>,
) -> Option<(Verdict, String)> {
    let mut verdicts = values.iter().map(|v| v.verdict).chain(predicate.map(|p| p.verdict));
    if !verdicts.any(|v| v == Verdict::NotBuilt) {
        return None;
    }
    let wanted = wanted(claim);
    let elsewhere = |r: &Reference| match cells.find(r) {
        Ok(_) => true,
        Err(MetricError::Skipped(_)) => (known.offered)(&r.workload, &r.target),
        Err(_) => false,
    };
    let texts_are_right = wanted.iter().any(|r| cells.find(r).is_err());
    let verdict = match texts_are_right && wanted.iter().all(elsewhere) {
        true => Verdict::NotRun,
        false => Verdict::NotBuilt,
    };
    Some((verdict, what_is_missing(&wanted, values, predicate, &|r| cells.find(r))))
}

/// Returns every number that a claim's texts name, each once.
pub(super) fn wanted(claim: &Claim) -> Vec<Reference> {
    let texts = claim.values.iter().filter_map(|v| v.measure.as_deref());
    let mut wanted: Vec<Reference> = Vec::new();
    for expr in texts.chain(claim.predicate.as_deref()).filter_map(|t| Expr::parse(t).ok()) {
        for r in expr.references() {
            if !wanted.contains(r) {
                wanted.push(r.clone());
            }
        }
    }
    wanted
}

fn what_is_missing(
    wanted: &[Reference],
    values: &[ValueVerdict],
    predicate: Option<&PredicateVerdict>,
    find: LookUp<'_>,
) -> String {
    let cells = |all: &mut dyn Iterator<Item = &Reference>| {
        let mut cells: Vec<(&str, &str)> = Vec::new();
        for r in all {
            let cell = (r.workload.as_str(), r.target.as_str());
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
        cells.len()
    };
    let missing: Vec<&Reference> = wanted.iter().filter(|r| find(r).is_err()).collect();
    let (all, gone) = (cells(&mut wanted.iter()), cells(&mut missing.iter().copied()));
    match missing.first() {
        Some(first) => {
            let why = find(first).err();
            let why = why.map(|e| EvalError::Missing((*first).clone(), e).to_string());
            format!("{} of {all} cells measured; {}", all - gone, why.unwrap_or_default())
        }
        // Everything is there, so a text is wrong: its verdict says how.
        None => {
            let whys =
                values.iter().map(|v| v.why.as_str()).chain(predicate.map(|p| p.why.as_str()));
            whys.filter(|w| !w.is_empty()).collect::<Vec<_>>().join("; ")
        }
    }
}
