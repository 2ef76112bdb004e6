//! Ledger files: the published claims of a study, as data.
//!
//! `studies/*/claims.toml` holds every claim with its source, its published numbers and a predicate
//! over measurements. This module decodes them; the analysis judges them.

use crate::decode::{Decoded, Section, Source, document, with_hint};
use crate::diagnostic::Kind;
use crate::from_claim::{self, FromClaim};

/// The ledger of one document.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// The name of the study.
    pub study: String,
    /// The title of the document.
    pub title: String,
    /// The full citation of the document.
    pub citation: String,
    /// The claims of the document, in order.
    pub claims: Vec<Claim>,
}

/// A statement that was published.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The id, e.g. `S-03`.
    pub id: String,
    /// The place in the document.
    pub source: String,
    /// The statement, in our words.
    pub statement: String,
    /// The experiment that tests the claim. Every measured claim has one.
    pub experiment: Option<String>,
    /// The way the claim can be judged.
    pub kind: ClaimKind,
    /// The reason why the claim is an input, not testable, a contradiction or arithmetic.
    pub reason: String,
    /// The expression that must hold for the claim to be reproduced.
    pub predicate: Option<String>,
    /// Notes for the reader.
    pub notes: String,
    /// The reason why the modelled drives deviate, as far as it was found.
    pub found: String,
    /// The numbers of the claim.
    pub values: Vec<ClaimValue>,
    /// What follows from the published numbers alone; for contradictions and arithmetic.
    pub reckoning: Option<Reckoning>,
    /// The claims whose results were known when this claim's predicate was set. This claim may be
    /// one.
    pub from_claim: Vec<FromClaim>,
}

/// What follows from published numbers. The claim's reason has the arithmetic in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Reckoning {
    /// For a contradiction: the places that cannot both be right, with what each says; at least
    /// two.
    pub places: Vec<String>,
    /// The expression over `numbers`. For a contradiction: what would hold if there were none;
    /// `None` if nothing can be calculated. For arithmetic: what follows from the numbers.
    pub check: Option<String>,
    /// The published numbers that `check` names.
    pub numbers: Vec<Number>,
}

/// A published number under a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// The name that `check` uses.
    pub name: String,
    /// The published number, in `unit`.
    pub published: f64,
    /// The unit.
    pub unit: String,
}

/// The way a claim can be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimKind {
    /// By measuring.
    Measured,
    /// Not judged: the claim is a specification that the model takes as an input.
    Input,
    /// Not judged: the claim cannot be tested, for a stated reason.
    NotTestable,
    /// Not judged by measuring: the document contradicts itself.
    Contradiction,
    /// By arithmetic: the claim follows from published numbers, whatever a drive does.
    Arithmetic,
}

/// The place where the numbers of a ledger were measured, which determines their tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasurementPlace {
    /// On the device itself, without a file system.
    RawDevice,
    /// Through the file system and kernel of another machine and time. All drives without a data
    /// sheet count here too: another drive stands in for them.
    ThroughLinux,
}

impl MeasurementPlace {
    /// Returns the relative tolerance of numbers that were measured at this place.
    pub const fn tolerance(self) -> f64 {
        match self {
            MeasurementPlace::RawDevice => 0.15,
            MeasurementPlace::ThroughLinux => 0.25,
        }
    }
}

/// A number of a claim.
#[derive(Clone, Debug)]
pub struct ClaimValue {
    /// The label that tells this number from the other numbers of the claim.
    pub label: String,
    /// The expression that measures the number; `None` for inputs.
    pub measure: Option<String>,
    /// The published number in `unit`; `None` if it is not available.
    pub published: Option<f64>,
    /// The unit.
    pub unit: String,
    /// The relative tolerance, e.g. 0.15: that of its ledger's [`MeasurementPlace`], a smaller one,
    /// or the one that the text of the document implies.
    pub tolerance: f64,
    /// The words of the document from which the tolerance follows; empty if it does not follow from
    /// words.
    pub implied: String,
}

impl Ledger {
    /// Decodes a ledger file.
    pub fn parse(source: Source<'_>) -> Decoded<Ledger> {
        document(source, "ledger", |top| {
            let study = top.string("study")?;
            let title = top.string("title")?;
            let citation = top.string("citation")?;
            let place = match top.choice("measured", &["raw device", "through Linux"])? {
                0 => MeasurementPlace::RawDevice,
                _ => MeasurementPlace::ThroughLinux,
            };
            let mut claims: Vec<Claim> = Vec::new();
            for mut section in top.sections("claim", "claim")? {
                let span = section.span_of("id");
                let claim = decode_claim(&mut section, &claims, place)?;
                if claims.iter().any(|c| c.id == claim.id) {
                    let message = format!("two claims are called `{}`", claim.id);
                    return Err(section.error(Kind::Impossible, span, message, "a unique id"));
                }
                section.finish()?;
                claims.push(claim);
            }
            Ok(Ledger { study, title, citation, claims })
        })
    }
}

const KINDS: [&str; 5] = ["measured", "input", "not-testable", "contradiction", "arithmetic"];

/// Decodes a claim. `earlier` are the claims above it in the file, whose numbers it may use.
fn decode_claim(s: &mut Section<'_>, earlier: &[Claim], place: MeasurementPlace) -> Decoded<Claim> {
    let text = |found: Option<(String, _)>| found.map(|(t, _)| t);
    let id = s.string("id")?;
    let kind = match s.choice("kind", &KINDS)? {
        0 => ClaimKind::Measured,
        1 => ClaimKind::Input,
        2 => ClaimKind::NotTestable,
        3 => ClaimKind::Contradiction,
        _ => ClaimKind::Arithmetic,
    };
    let mut values = Vec::new();
    for mut section in s.sections("value", "value")? {
        values.push(decode_value(&mut section, place)?);
        section.finish()?;
    }
    let reckoning = match kind {
        ClaimKind::Contradiction | ClaimKind::Arithmetic => {
            Some(decode_reckoning(s, earlier, kind)?)
        }
        _ => None,
    };
    let claim = Claim {
        id,
        source: s.string("source")?,
        statement: s.string("statement")?,
        experiment: text(s.optional_string("experiment")?),
        kind,
        reason: text(s.optional_string("reason")?).unwrap_or_default(),
        predicate: text(s.optional_string("predicate")?),
        notes: text(s.optional_string("notes")?).unwrap_or_default(),
        found: match kind {
            ClaimKind::Measured => text(s.optional_string("found")?).unwrap_or_default(),
            _ => String::new(),
        },
        values,
        reckoning,
        from_claim: from_claim::decode(s, "from_claim")?,
    };
    let judged = claim.predicate.is_some() || claim.values.iter().any(|v| v.measure.is_some());
    let complaint = match claim.kind {
        ClaimKind::Measured if claim.experiment.is_none() => "a measured claim has no `experiment`",
        ClaimKind::Measured if !judged => "a measured claim has neither predicate nor measure",
        ClaimKind::Measured if !claim.reason.is_empty() => "a measured claim has a `reason`",
        ClaimKind::Measured => return Ok(claim),
        _ if claim.reason.is_empty() => "a claim that is not measured has no `reason`",
        _ => return Ok(claim),
    };
    Err(s.error(Kind::MissingKey, s.span(), format!("{}: {complaint}", claim.id), ""))
}

fn decode_reckoning(s: &mut Section<'_>, earlier: &[Claim], kind: ClaimKind) -> Decoded<Reckoning> {
    let check = s.optional_string("check")?.map(|(text, _)| text);
    let mut places = Vec::new();
    if kind == ClaimKind::Arithmetic {
        if check.is_none() {
            let message = "a claim of kind `arithmetic` has no `check`";
            return Err(s.error(
                Kind::MissingKey,
                s.span(),
                message,
                "what follows from the published numbers: `check = \"…\"`",
            ));
        }
    } else {
        places = s.strings("places")?.into_iter().map(|(text, _)| text).collect();
        if places.len() < 2 {
            let message = "a contradiction needs two places";
            let span = s.span_of("places");
            let e = s.error(Kind::MissingKey, span, message, "`places = [\"…\", \"…\"]`");
            return Err(with_hint(e, "for each place, give where it is and what it says"));
        }
    }
    let mut numbers = Vec::new();
    for mut section in s.sections("number", "number")? {
        numbers.push(decode_number(&mut section, earlier)?);
        section.finish()?;
    }
    Ok(Reckoning { places, check, numbers })
}

/// Decodes a number that is written here, or refers to a number of an earlier claim.
fn decode_number(s: &mut Section<'_>, earlier: &[Claim]) -> Decoded<Number> {
    let name = s.string("name")?;
    let Some((id, span)) = s.optional_string("claim")? else {
        let published = s.number("published", f64::MIN, f64::MAX, None)?;
        return Ok(Number { name, published, unit: s.string("unit")? });
    };
    let label = s.string("label")?;
    let of = earlier.iter().find(|c| c.id == id).into_iter().flat_map(|c| &c.values);
    let found = of.filter(|v| v.label == label).find_map(|v| Some((v.published?, v.unit.clone())));
    let Some((published, unit)) = found else {
        let message = format!("{id} has no published number `{label}`");
        let e = s.error(Kind::UnknownValue, span, message, "a claim above this one");
        return Err(with_hint(
            e,
            "name a number of an earlier claim, or give the number itself with `published` and \
             `unit`",
        ));
    };
    Ok(Number { name, published, unit })
}

fn decode_value(s: &mut Section<'_>, place: MeasurementPlace) -> Decoded<ClaimValue> {
    let label = s.string("label")?;
    let measure = s.optional_string("measure")?.map(|(t, _)| t);
    let has_published = s.has("published");
    let published = s.number("published", f64::MIN, f64::MAX, Some(f64::NAN))?;
    let unit = s.string("unit")?;
    let span = s.span_of("tolerance");
    let tolerance = s.number("tolerance", 0.0, 10.0, Some(place.tolerance()))?;
    let implied = s.optional_string("implied")?.map(|(text, _)| text).unwrap_or_default();
    if tolerance > place.tolerance() && implied.is_empty() {
        let usual = format!("at most {:.0} %", 100.0 * place.tolerance());
        let e = s.error(
            Kind::OutOfRange,
            span,
            "the tolerance is larger than the tolerance of the ledger",
            &usual,
        );
        return Err(with_hint(
            e,
            "lower it, or quote in `implied` the words of the source that imply it",
        ));
    }
    let held_back = s.boolean("held_back", false)?;
    if held_back && has_published {
        let e = s.error(
            Kind::Impossible,
            s.span_of("held_back"),
            "a value cannot have both `held_back` and `published`",
            "",
        );
        return Err(with_hint(e, "remove `held_back` or `published`"));
    }
    let published = has_published.then_some(published);
    Ok(ClaimValue { label, measure, published, unit, tolerance, implied })
}
