//! Judges a ledger: every published claim against the cells of a run.
//!
//! A claim is `reproduced` only if all its cells were measured and it holds at both ends of the
//! 95 % interval over the repeats. A claim with an unmeasured cell is `not run` (a study has the
//! experiment, but this run does not) or `not built` (no study has it), and never passes.
//! The names of the verdicts are stable.

mod contradiction;
mod inset;
mod measured;
mod missing;
pub(crate) mod phrases;
mod verdict;

pub use measured::FEWEST;
pub use verdict::{
    ClaimVerdict, Knowledge, LedgerVerdicts, PredicateVerdict, ValueVerdict, Verdict,
};

use crate::load::Run;
use assay_spec::claims::{Claim, ClaimKind, ClaimValue, Ledger};
use measured::Cells;
use missing::wanted;
use verdict::chosen_with;

/// Judges every claim of a ledger. Without a run, nothing counts as measured.
pub fn judge(ledger: &Ledger, run: Option<&Run>, known: Knowledge<'_>) -> LedgerVerdicts {
    LedgerVerdicts {
        study: ledger.study.clone(),
        title: ledger.title.clone(),
        citation: ledger.citation.clone(),
        rows: ledger.claims.iter().map(|claim| judge_claim(claim, run, known)).collect(),
    }
}

fn judge_claim(claim: &Claim, run: Option<&Run>, known: Knowledge<'_>) -> ClaimVerdict {
    let cells = Cells { run, experiment: claim.experiment.as_deref() };
    let value = |v: &ClaimValue| {
        let gave = chosen_with(known.calibrations, &claim.id, Some(&v.label));
        measured::value(v, cells, gave.first().copied())
    };
    let mut values: Vec<ValueVerdict> = claim.values.iter().map(value).collect();
    let predicate = claim.predicate.as_deref().map(|text| measured::predicate(text, cells));
    let check = claim.reckoning.as_ref().and_then(contradiction::check);
    let (verdict, reason) = match claim.kind {
        ClaimKind::Input => (Verdict::Input, claim.reason.clone()),
        ClaimKind::NotTestable => (Verdict::NotTestable, claim.reason.clone()),
        ClaimKind::Contradiction => contradiction::verdict(claim, check.as_ref()),
        ClaimKind::Arithmetic => contradiction::arithmetic(claim, check.as_ref()),
        ClaimKind::Measured => {
            let missing = missing::verdict(claim, &values, predicate.as_ref(), cells, known);
            missing.unwrap_or_else(|| overall(claim, &values, predicate.as_ref(), cells))
        }
    };
    if verdict != Verdict::NotBuilt {
        let missing = values.iter_mut().filter(|v| v.verdict == Verdict::NotBuilt);
        missing.for_each(|v| v.verdict = Verdict::NotRun);
    }
    let mut calibrates: Vec<String> = chosen_with(known.calibrations, &claim.id, None)
        .into_iter()
        .map(|c| c.place.clone())
        .collect();
    calibrates.dedup();
    ClaimVerdict {
        id: claim.id.clone(),
        statement: claim.statement.clone(),
        source: claim.source.clone(),
        verdict,
        reason,
        calibrates,
        notes: claim.notes.clone(),
        found: match verdict {
            Verdict::Deviates | Verdict::Undecided => inset::fill(&claim.found, &|r| cells.find(r)),
            _ => String::new(),
        },
        values,
        predicate,
        places: claim.reckoning.as_ref().map_or(Vec::new(), |d| d.places.clone()),
        check,
    }
}

/// Returns the verdict of a measured claim from those of its numbers and its predicate.
fn overall(
    claim: &Claim,
    values: &[ValueVerdict],
    predicate: Option<&PredicateVerdict>,
    cells: Cells<'_>,
) -> (Verdict, String) {
    let all = || values.iter().map(|v| v.verdict).chain(predicate.map(|p| p.verdict));
    let numbers = || values.iter().map(|v| v.verdict).filter(|v| v.is_judged());
    let of = |verdict: Verdict, how: &str, predicate_how: &str| {
        let n = numbers().filter(|v| *v == verdict).count();
        let mut reasons = Vec::new();
        if n > 0 {
            reasons.push(format!("{n} of {} values {how}", numbers().count()));
        }
        if predicate.is_some_and(|p| p.verdict == verdict) {
            reasons.push(predicate_how.to_owned());
        }
        reasons.join("; ")
    };
    if all().any(|v| v == Verdict::Deviates) {
        let how = "outside the tolerance";
        return (Verdict::Deviates, of(Verdict::Deviates, how, "the predicate does not hold"));
    }
    if all().any(|v| v == Verdict::Undecided) {
        let how = "too close to the end of the tolerance";
        let reason = of(Verdict::Undecided, how, "the predicate is too close to tell");
        return (Verdict::Undecided, too_few_repeats(claim, cells).unwrap_or(reason));
    }
    if predicate.is_none() && values.iter().all(|v| v.verdict == Verdict::Input) {
        return (Verdict::Input, "all of its numbers gave something of the set-up".into());
    }
    if predicate.is_none() && numbers().count() == 0 {
        return (Verdict::Predicted, "no published value at hand".into());
    }
    (Verdict::Reproduced, String::new())
}

/// Returns why nothing can be decided about a claim, if it has too few repeats.
fn too_few_repeats(claim: &Claim, cells: Cells<'_>) -> Option<String> {
    let repeats = cells.repeats(&wanted(claim));
    (repeats < FEWEST).then(|| measured::too_few(repeats))
}

#[cfg(test)]
mod tests;
