//! The names of claims that were known when something was chosen.

use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::Kind;

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
            let message = format!("`{text}` is not the id of a claim");
            let e = section.error(Kind::UnknownValue, span, message, "an id of a ledger");
            return Err(with_hint(
                e,
                "write e.g. \"S-30\", or \"S-30: label\" for one of its numbers",
            ));
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
            let message = format!("`{words}` occurs nowhere else in this file");
            return Err(section.error(Kind::UnknownValue, span, message, "words of this file"));
        }
        section.finish()?;
        all.push((words, claims));
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
