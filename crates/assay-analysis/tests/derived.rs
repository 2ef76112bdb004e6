//! Published numbers that a document does not print but that follow from those it prints.

use assay_analysis::stats::knee::fit;
use assay_spec::catalog::{LEDGERS, find};
use assay_spec::claims::{Claim, Ledger};
use assay_spec::decode::Source;

fn published(claim: &Claim, label: &str) -> f64 {
    let value = claim.values.iter().find(|v| v.label == label);
    value.and_then(|v| v.published).unwrap_or_else(|| panic!("{} has no `{label}`", claim.id))
}

#[test]
fn the_knee_and_the_cap_are_those_of_the_rates_that_are_printed() {
    let bundled = find(LEDGERS, "sara10").expect("listed");
    let ledger = Ledger::parse(Source { file: bundled.file, text: bundled.text }).unwrap();
    let claim = |id: &str| ledger.claims.iter().find(|c| c.id == id).expect("in the ledger");
    let rates = ["1 SSD", "2 SSDs", "3 SSDs", "4 SSDs", "5 SSDs"];
    let rate = |(i, label): (usize, &&str)| ((i + 1) as f64, published(claim("R-01"), label));
    let points: Vec<(f64, f64)> = rates.iter().enumerate().map(rate).collect();
    let (knee, cap) = fit(&points).expect("five points").bend();
    let stated = published(claim("R-10"), "knee of the fit");
    assert!((knee - stated).abs() < 0.005, "{knee} and {stated}");
    let stated = published(claim("R-10"), "cap of the fit");
    assert!((cap - stated).abs() < 0.05, "{cap} and {stated}");
}
