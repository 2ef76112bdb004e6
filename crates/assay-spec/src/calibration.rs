//! The parts of the set-up that were chosen while a published claim was known.
//!
//! `from_claim = ["S-30"]` stands beside a value of a device or card, and in a claim whose own
//! predicate was set while a result was known. A section `[[from_claim]]` of an experiment names
//! the words that it is about. `"M-02: read"` names one number of a claim. A claim that is named
//! anywhere could no longer fail freely, so its verdict is counted apart from those of independent
//! claims.

use crate::catalog::{Bundled, CONTROLLERS, DEVICES, LEDGERS, STUDIES};
use crate::claims::Ledger;
use crate::decode::{Decoded, Section, Source, with_hint};
use crate::device::{ControllerSpec, DeviceSpec, Fact};
use crate::diagnostic::Kind;
use crate::experiment::Experiment;

/// A value, and a claim that was known when the value was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// The claim that was known.
    pub from: FromClaim,
    /// The place of the value: the file, and the key or the words in it.
    pub place: String,
}

/// A claim that was known, as it is written: `S-30` or `S-30: label`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FromClaim {
    /// The id of the claim.
    pub claim: String,
    /// The label of the number that was known; `None` for the whole claim.
    pub label: Option<String>,
}

/// Decodes a list of claims under `key`, e.g. `from_claim = ["S-30", "M-02: read"]`. Returns an
/// empty list if the key is absent.
pub(crate) fn decode(section: &mut Section<'_>, key: &'static str) -> Decoded<Vec<FromClaim>> {
    let mut claims = Vec::new();
    for (text, span) in section.strings(key)? {
        let Some(claim) = parse(&text) else {
            let message = format!("`{text}` names no claim");
            let e = section.error(Kind::UnknownValue, span, message, "an id of a ledger");
            return Err(with_hint(e, "e.g. \"S-30\", or \"S-30: label\" for one number of it"));
        };
        claims.push(claim);
    }
    Ok(claims)
}

/// Decodes `[[from_claim]]` of an experiment: words that stand in the file, and claims for each.
pub(crate) fn decode_words(top: &mut Section<'_>) -> Decoded<Vec<(String, Vec<FromClaim>)>> {
    let mut all = Vec::new();
    for mut section in top.sections("from_claim", "from_claim")? {
        let (words, span) = section.string_at("words")?;
        let claims = decode(&mut section, "claims")?;
        // The words occur in the value of `words` itself, so a file that has them elsewhere has
        // them twice.
        if words.is_empty() || section.source().text.matches(&words).count() < 2 {
            let message = format!("`{words}` stands nowhere else in this file");
            return Err(section.error(Kind::UnknownValue, span, message, "words of this file"));
        }
        section.finish()?;
        all.push((words, claims));
    }
    Ok(all)
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

fn parse(text: &str) -> Option<FromClaim> {
    let (claim, label) = match text.split_once(": ") {
        Some((claim, label)) => (claim, Some(label.to_owned())),
        None => (text, None),
    };
    let (letters, digits) = claim.split_once('-')?;
    let is_id = !letters.is_empty()
        && letters.bytes().all(|b| b.is_ascii_uppercase())
        && !digits.is_empty()
        && digits.bytes().all(|b| b.is_ascii_digit());
    let has_label = label.as_ref().is_none_or(|l| !l.is_empty());
    (is_id && has_label).then(|| FromClaim { claim: claim.to_owned(), label })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_named_by_id_and_label() {
        let of = |claim: &str, label: Option<&str>| {
            Some(FromClaim { claim: claim.into(), label: label.map(Into::into) })
        };
        assert_eq!(parse("S-30"), of("S-30", None));
        assert_eq!(parse("M-02: read, measured"), of("M-02", Some("read, measured")));
        for bad in ["", "S30", "s-30", "S-", "-30", "S-3x", "S-30: "] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
