//! The parts of the set-up that were chosen while a published claim was known.
//!
//! `from_claim = ["S-30"]` stands beside a value of a device or card, and in a claim whose own
//! predicate was set while a result was known. A section `[[from_claim]]` of an experiment names
//! the words that it is about. `"M-02: read"` names one number of a claim. A claim that is named
//! anywhere could no longer fail freely, so its verdict is counted apart from those of independent
//! claims.

use crate::catalog::{Bundled, CONTROLLERS, DEVICES, LEDGERS, PROCESSORS, STUDIES};
use crate::claims::Ledger;
use crate::decode::{Decoded, Source};
use crate::device::{ControllerSpec, DeviceSpec, Fact, ProcessorSpec};
use crate::experiment::Experiment;
use crate::from_claim::FromClaim;

/// A value, and a claim that was known when the value was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// The claim that was known.
    pub from: FromClaim,
    /// The place of the value: the file, and the key or the words in it.
    pub place: String,
}

/// Returns everything that is bundled with the program and was chosen while a claim was known, file
/// by file.
///
/// # Errors
/// Fails if a bundled file does not decode, which a test of `catalog` finds first.
pub fn bundled() -> Decoded<Vec<Calibration>> {
    fn source(b: &Bundled) -> Source<'static> {
        Source { file: b.file, text: b.text }
    }
    let mut all = Vec::new();
    let mut add = |file: &str, key: &str, claims: &[FromClaim]| {
        let at_place =
            |c: &FromClaim| Calibration { from: c.clone(), place: format!("`{key}` in {file}") };
        all.extend(claims.iter().map(at_place));
    };
    let mut add_facts = |file: &str, facts: &[Fact]| {
        facts.iter().for_each(|fact| add(file, &fact.path, &fact.from_claim));
    };
    for b in DEVICES {
        add_facts(b.file, &DeviceSpec::parse(source(b))?.facts);
    }
    for b in CONTROLLERS {
        add_facts(b.file, &ControllerSpec::parse(source(b))?.facts);
    }
    for b in PROCESSORS {
        add_facts(b.file, &ProcessorSpec::parse(source(b))?.facts);
    }
    // An experiment may belong to several studies.
    let mut experiments: Vec<&Bundled> = STUDIES.iter().flat_map(|s| s.experiments).collect();
    experiments.sort_by_key(|b| b.file);
    experiments.dedup_by_key(|b| b.file);
    for b in experiments {
        let words = Experiment::parse(source(b))?.from_claims;
        words.iter().for_each(|(words, claims)| add(b.file, words, claims));
    }
    for b in LEDGERS {
        for claim in Ledger::parse(source(b))?.claims {
            add(b.file, &claim.id, &claim.from_claim);
        }
    }
    Ok(all)
}
