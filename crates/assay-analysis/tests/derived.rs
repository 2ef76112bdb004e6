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
fn knees_are_the_fits_of_the_rates_that_are_printed() {
    let bundled = find(LEDGERS, "sara10").expect("listed");
    let ledger = Ledger::parse(Source { file: bundled.file, text: bundled.text }).unwrap();
    let claim = |id: &str| ledger.claims.iter().find(|c| c.id == id).expect("in the ledger");
    let rates = ["1 SSD", "2 SSDs", "3 SSDs", "4 SSDs", "5 SSDs"];
    for (of, holds) in [("R-01", "R-10"), ("R-02", "R-02")] {
        let rate = |(i, label): (usize, &&str)| ((i + 1) as f64, published(claim(of), label));
        let points: Vec<(f64, f64)> = rates.iter().enumerate().map(rate).collect();
        let (knee, cap) = fit(&points).expect("five points").bend();
        let stated = published(claim(holds), "knee of the fit");
        assert!((knee - stated).abs() < 0.005, "{of}: {knee} and {stated}");
        if holds != of {
            let stated = published(claim(holds), "cap of the fit");
            assert!((cap - stated).abs() < 0.05, "{of}: {cap} and {stated}");
        }
    }
}
