//! What was chosen with a claim in sight names a claim, and which claims are independent is frozen.

use assay_spec::calibration::{self, Calibration};
use assay_spec::catalog::LEDGERS;
use assay_spec::claims::{Claim, ClaimKind, Ledger};
use assay_spec::decode::Source;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn file(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
}

fn claims() -> Vec<Claim> {
    let ledger = |b: &assay_spec::catalog::Bundled| {
        Ledger::parse(Source { file: b.file, text: b.text }).unwrap().claims
    };
    LEDGERS.iter().flat_map(ledger).collect()
}

fn calibrations() -> Vec<Calibration> {
    calibration::bundled().unwrap()
}

#[test]
fn every_calibration_names_a_claim_and_a_number_of_it() {
    let claims = claims();
    for c in calibrations() {
        let claim = claims.iter().find(|claim| claim.id == c.from.claim);
        let claim =
            claim.unwrap_or_else(|| panic!("{}: there is no claim {}", c.place, c.from.claim));
        if let Some(label) = &c.from.label {
            let is_measured = |v: &assay_spec::claims::ClaimValue| v.measure.is_some();
            let value = claim.values.iter().find(|v| v.label == *label);
            assert!(
                value.is_some_and(is_measured),
                "{}: {} has no `{label}`",
                c.place,
                c.from.claim
            );
        }
    }
}

/// `studies/independent.toml` was written once. A claim that is not independent any more is named
/// there with the reason, and in CHANGELOG.md; none becomes independent.
#[test]
fn the_independent_claims_are_frozen() {
    #[derive(serde::Deserialize)]
    struct Frozen {
        independent: BTreeMap<String, Vec<String>>,
        reclassified: BTreeMap<String, String>,
    }
    let frozen: Frozen = toml::from_str(&file("studies/independent.toml")).unwrap();
    let calibrations = calibrations();
    let is_independent = |claim: &Claim| {
        claim.kind == ClaimKind::Measured && !calibrations.iter().any(|c| c.from.claim == claim.id)
    };
    let mut now: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for bundled in LEDGERS {
        let ledger = Ledger::parse(Source { file: bundled.file, text: bundled.text }).unwrap();
        let ids = ledger.claims.iter().filter(|c| is_independent(c)).map(|c| c.id.clone());
        now.insert(ledger.study.clone(), ids.collect());
    }
    let changes = file("CHANGELOG.md");
    for (id, reason) in &frozen.reclassified {
        assert!(!reason.is_empty() && changes.contains(id), "{id}: CHANGELOG.md must say why");
    }
    let mut expected = frozen.independent;
    expected.values_mut().for_each(|ids| ids.retain(|id| !frozen.reclassified.contains_key(id)));
    assert_eq!(now, expected);
}

/// docs/ledger.md shows what was chosen with which claims in sight: all of it.
#[test]
fn the_page_lists_every_calibration() {
    let mut places: Vec<(String, Vec<String>)> = Vec::new();
    for c in calibrations() {
        let claim = match c.from.label {
            Some(label) => format!("{} ({label})", c.from.claim),
            None => c.from.claim,
        };
        match places.last_mut() {
            Some((place, claims)) if *place == c.place => claims.push(claim),
            _ => places.push((c.place, vec![claim])),
        }
    }
    let row =
        |(place, claims): &(String, Vec<String>)| format!("| {place} | {} |", claims.join(", "));
    let page = file("docs/ledger.md");
    let missing: Vec<String> = places.iter().map(row).filter(|row| !page.contains(row)).collect();
    assert!(missing.is_empty(), "docs/ledger.md lacks:\n{}", missing.join("\n"));
    let is_row = |line: &&str| line.starts_with("| `") && line.contains(".toml |");
    let rows = page.lines().filter(is_row).count();
    assert_eq!(rows, places.len(), "docs/ledger.md has rows that nothing stands for");
}
