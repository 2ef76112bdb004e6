//! The published numbers of ledgers, by the cell and the metric that measure them.

use crate::ledger::LedgerVerdicts;
use crate::ledger::phrases::plain;
use crate::load::Run;
use assay_spec::catalog::{LEDGERS, find};
use assay_spec::claims::{Claim, ClaimValue, Ledger};
use assay_spec::decode::Source;
use assay_spec::record::CellRecord;

/// A published number that one metric of one cell measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// The id of the cell.
    pub cell: String,
    /// The metric.
    pub metric: String,
    /// The value in base units.
    pub value: f64,
    /// The value in words: `mean: 209 µs`.
    pub text: String,
}

/// Returns the published numbers of the ledgers that a run is judged by, for cells that it has. A
/// number that compares several cells has no position in a chart and is left to the ledger's own
/// section.
pub fn of(run: &Run, ledgers: &[LedgerVerdicts]) -> Vec<Published> {
    let bundled = ledgers.iter().filter_map(|l| find(LEDGERS, &l.study));
    let parsed = bundled.filter_map(|b| Ledger::parse(Source { file: b.file, text: b.text }).ok());
    let claims = parsed.flat_map(|l| l.claims);
    let of = |claim: &Claim| -> Vec<Published> {
        claim.values.iter().filter_map(|v| published(run, claim.experiment.as_deref(), v)).collect()
    };
    claims.flat_map(|claim| of(&claim)).collect()
}

fn published(run: &Run, experiment: Option<&str>, v: &ClaimValue) -> Option<Published> {
    let inner = v.measure.as_deref()?.trim().strip_prefix('{')?.strip_suffix('}')?;
    if inner.contains(['{', '}']) {
        return None;
    }
    let (cell, metric) = inner.split_once(':')?;
    let (workload, target) = cell.split_once('@')?;
    let number = v.published?;
    Some(Published {
        cell: run.cell_meant(experiment, workload, target)?.id.clone(),
        metric: metric.to_owned(),
        value: number * crate::expr::unit(&v.unit)?,
        text: words(&v.label, number, &v.unit),
    })
}

/// Returns a published number in words, with `µs` for the `us` that ledgers have in units and
/// labels.
fn words(label: &str, number: f64, unit: &str) -> String {
    let unit = if unit == "us" { "µs" } else { unit };
    format!("{}: {}\u{a0}{unit}", label.replace(" us", " µs"), short(number))
}

/// Formats a published number as it was printed, without digits that were not given.
fn short(v: f64) -> String {
    let text = plain(v);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Returns the published numbers of one cell.
pub fn of_cell<'a>(
    all: &'a [Published],
    cell: &'a CellRecord,
) -> impl Iterator<Item = &'a Published> {
    all.iter().filter(move |p| p.cell == cell.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::sample;

    #[test]
    fn only_what_one_metric_of_one_cell_measures_is_placed() {
        let value = |measure: &str| ClaimValue {
            label: "mean".into(),
            measure: Some(measure.into()),
            published: Some(2.17),
            unit: "ms".into(),
            tolerance: 0.15,
            implied: String::new(),
        };
        // The run has the same workload on the same target in two experiments.
        let mut other = sample::cell(&[&[100]]);
        (other.id, other.experiment) = ("f/w@t".into(), "f".into());
        let run = sample::run(vec![sample::cell(&[&[100]]), other]);
        let of = |experiment, measure| published(&run, experiment, &value(measure));
        let p = of(Some("f"), "{w@t:mean}").unwrap();
        assert_eq!((p.cell.as_str(), p.value), ("f/w@t", 2.17e6));
        assert_eq!(of(None, "{w@t:mean}").unwrap().cell, "e/w@t");
        assert_eq!(p.text, "mean: 2.17\u{a0}ms");
        for measure in ["{w@t:mean} / {w@t:mean}", "1 / {w@t:mean}", "2", "{a@t:mean}"] {
            assert_eq!(of(None, measure), None, "{measure}");
        }
    }
}
