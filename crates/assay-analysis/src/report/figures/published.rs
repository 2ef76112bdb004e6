//! Published numbers of a ledger, by the cell and the metric that measure them.

use crate::ledger::{LedgerVerdicts, plain};
use assay_spec::catalog::{LEDGERS, find};
use assay_spec::claims::{ClaimValue, Ledger};
use assay_spec::decode::Source;

/// A published number that one metric of one cell measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// Workload of the cell.
    pub workload: String,
    /// Its target.
    pub target: String,
    /// The metric.
    pub metric: String,
    /// In base units.
    pub value: f64,
    /// In words: `mean: 209 µs`.
    pub text: String,
}

/// All of the ledgers that a run is held against. What compares several cells has no place in a
/// chart and is left to the ledger's own section.
pub fn of(ledgers: &[LedgerVerdicts]) -> Vec<Published> {
    let bundled = ledgers.iter().filter_map(|l| find(LEDGERS, &l.study));
    let parsed = bundled.filter_map(|b| Ledger::parse(Source { file: b.file, text: b.text }).ok());
    let claims = parsed.flat_map(|l| l.claims);
    claims.flat_map(|c| c.values).filter_map(|v| published(&v)).collect()
}

fn published(v: &ClaimValue) -> Option<Published> {
    let inner = v.measure.as_deref()?.trim().strip_prefix('{')?.strip_suffix('}')?;
    if inner.contains(['{', '}']) {
        return None;
    }
    let (cell, metric) = inner.split_once(':')?;
    let (workload, target) = cell.split_once('@')?;
    let number = v.published?;
    Some(Published {
        workload: workload.to_owned(),
        target: target.to_owned(),
        metric: metric.to_owned(),
        value: number * crate::expr::unit(&v.unit)?,
        text: words(&v.label, number, &v.unit),
    })
}

/// Ledgers are typed on keyboards: `us`, and labels with units in them.
fn words(label: &str, number: f64, unit: &str) -> String {
    let unit = if unit == "us" { "µs" } else { unit };
    format!("{}: {}\u{a0}{unit}", label.replace(" us", " µs"), short(number))
}

/// A published number as it was printed: without digits that nobody gave.
fn short(v: f64) -> String {
    let text = plain(v);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Those of one cell.
pub fn of_cell<'a>(
    all: &'a [Published],
    workload: &'a str,
    target: &'a str,
) -> impl Iterator<Item = &'a Published> {
    all.iter().filter(move |p| p.workload == workload && p.target == target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_one_metric_of_one_cell_measures_is_placed() {
        let value = |measure: &str| ClaimValue {
            label: "mean".into(),
            measure: Some(measure.into()),
            published: Some(2.17),
            unit: "ms".into(),
            tolerance: None,
            within: None,
            put_in: None,
        };
        let p = published(&value("{w@t:mean}")).unwrap();
        assert_eq!((p.workload.as_str(), p.target.as_str(), p.value), ("w", "t", 2.17e6));
        assert_eq!(p.text, "mean: 2.17\u{a0}ms");
        for measure in ["{a@t:mean} / {b@t:mean}", "1 / {a@t:mean}", "2"] {
            assert_eq!(published(&value(measure)), None, "{measure}");
        }
    }
}
