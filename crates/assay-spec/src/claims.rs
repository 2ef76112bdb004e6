//! Ledger files: the published claims of a study, as data.
//!
//! `studies/*/claims.toml` holds every claim with its source, its published numbers and a predicate
//! over measurements. Here they are decoded; judging them is the work of analysis.

use crate::calibration::{self, FromClaim};
use crate::decode::{Decoded, Section, Source, document, with_hint};
use crate::diagnostic::Kind;

/// The ledger of one document.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// Name of the study.
    pub study: String,
    /// Title of the document.
    pub title: String,
    /// Full citation.
    pub citation: String,
    /// Its claims, in order.
    pub claims: Vec<Claim>,
}

/// One published statement.
#[derive(Clone, Debug)]
pub struct Claim {
    /// E.g. `S-03`.
    pub id: String,
    /// Place in the document.
    pub source: String,
    /// What it says, in our words.
    pub statement: String,
    /// The experiment that tests it, for measured claims.
    pub experiment: Option<String>,
    /// How it can be judged.
    pub kind: ClaimKind,
    /// Why it is an input, not testable or a contradiction.
    pub reason: String,
    /// What must hold for it to be reproduced.
    pub predicate: Option<String>,
    /// What the reader should know.
    pub notes: String,
    /// Why the modelled drives deviate, as far as that was found.
    pub found: String,
    /// Its numbers.
    pub values: Vec<ClaimValue>,
    /// What its published numbers alone say, for contradictions and arithmetic.
    pub reckoning: Option<Reckoning>,
    /// Claims whose results were in sight when its predicate was set; its own among them.
    pub from_claim: Vec<FromClaim>,
}

/// What follows from published numbers; the claim's reason has the arithmetic in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Reckoning {
    /// Of a contradiction, the places that cannot both be right, with what each says; at least two.
    pub places: Vec<String>,
    /// Of a contradiction, what would hold of the numbers if there were none, if there is something
    /// to reckon; of arithmetic, what follows from them.
    pub check: Option<String>,
    /// The published numbers that the check names.
    pub numbers: Vec<Number>,
}

/// A published number under a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// The name.
    pub name: String,
    /// The number in `unit`.
    pub published: f64,
    /// The unit.
    pub unit: String,
}

/// How a claim can be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimKind {
    /// By measuring.
    Measured,
    /// It is a specification that went in.
    Input,
    /// Not at all, for a reason.
    NotTestable,
    /// The document disproves itself.
    Contradiction,
    /// It follows from published numbers, whatever a drive does.
    Arithmetic,
}

/// Where the numbers of a ledger were measured, which says how far off they may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the device itself, without a file system.
    RawDevice,
    /// Through the file system and kernel of another machine and time; here are also all drives
    /// without a data sheet, for which another drive stands in.
    ThroughLinux,
}

impl Place {
    /// The relative tolerance of numbers that were measured there.
    pub const fn tolerance(self) -> f64 {
        match self {
            Place::RawDevice => 0.15,
            Place::ThroughLinux => 0.25,
        }
    }
}

/// A number of a claim.
#[derive(Clone, Debug)]
pub struct ClaimValue {
    /// Which number of the claim.
    pub label: String,
    /// The expression that measures it; none for inputs.
    pub measure: Option<String>,
    /// The published number in `unit`; none if it is not at hand.
    pub published: Option<f64>,
    /// The unit.
    pub unit: String,
    /// Relative tolerance, e.g. 0.15: that of its ledger's [`Place`], a smaller one, or what the
    /// text implies.
    pub tolerance: f64,
    /// The words of the text from which the tolerance follows, if it does.
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
                0 => Place::RawDevice,
                _ => Place::ThroughLinux,
            };
            let mut claims: Vec<Claim> = Vec::new();
            for mut section in top.sections("claim", "claim")? {
                let span = section.span_of("id");
                let claim = decode_claim(&mut section, &claims, place)?;
                if claims.iter().any(|c| c.id == claim.id) {
                    let message = format!("two claims are called `{}`", claim.id);
                    return Err(section.error(Kind::Impossible, span, message, "another id"));
                }
                section.finish()?;
                claims.push(claim);
            }
            Ok(Ledger { study, title, citation, claims })
        })
    }
}

const KINDS: [&str; 5] = ["measured", "input", "not-testable", "contradiction", "arithmetic"];

/// `earlier` are those above it in the file, whose numbers it may use.
fn decode_claim(s: &mut Section<'_>, earlier: &[Claim], place: Place) -> Decoded<Claim> {
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
        from_claim: calibration::decode(s, "from_claim")?,
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
            let message = "arithmetic without a `check`";
            return Err(s.error(
                Kind::MissingKey,
                s.span(),
                message,
                "what follows: `check = \"…\"`",
            ));
        }
    } else {
        places = s.strings("places")?.into_iter().map(|(text, _)| text).collect();
        if places.len() < 2 {
            let message = "a contradiction needs two places";
            let span = s.span_of("places");
            let e = s.error(Kind::MissingKey, span, message, "`places = [\"…\", \"…\"]`");
            return Err(with_hint(e, "each with where it is and what it says"));
        }
    }
    let mut numbers = Vec::new();
    for mut section in s.sections("number", "number")? {
        numbers.push(decode_number(&mut section, earlier)?);
        section.finish()?;
    }
    Ok(Reckoning { places, check, numbers })
}

/// A number of its own, or that of a claim above.
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
        return Err(with_hint(e, "or give the number itself: `published` and `unit`"));
    };
    Ok(Number { name, published, unit })
}

fn decode_value(s: &mut Section<'_>, place: Place) -> Decoded<ClaimValue> {
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
        let e = s.error(Kind::OutOfRange, span, "a tolerance wider than its ledger's", &usual);
        return Err(with_hint(e, "unless the text implies it: quote its words in `implied`"));
    }
    let held_back = s.boolean("held_back", false)?;
    if held_back && has_published {
        let e = s.error(Kind::Impossible, s.span_of("held_back"), "the value is published", "");
        return Err(with_hint(e, "remove `held_back` or `published`"));
    }
    let published = has_published.then_some(published);
    Ok(ClaimValue { label, measure, published, unit, tolerance, implied })
}
