//! How claims come out, and how a ledger of them is summed up.

use assay_spec::calibration::Calibration;
use serde::Serialize;

/// How a claim, or one of its numbers, came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Verdict {
    /// Everything measured holds.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// Measured, and outside the tolerance or against the predicate.
    #[serde(rename = "deviates")]
    Deviates,
    /// Measured, and the 95 % interval does not say which of the two; counts as not reproduced.
    #[serde(rename = "undecided")]
    Undecided,
    /// The document disproves itself.
    #[serde(rename = "contradicted")]
    Contradicted,
    /// Follows from published numbers by arithmetic, which no measurement decides.
    #[serde(rename = "arithmetic")]
    Arithmetic,
    /// Measured, with no published value at hand.
    #[serde(rename = "predicted")]
    Predicted,
    /// A specification that went in.
    #[serde(rename = "input")]
    Input,
    /// Cannot be tested, for a reason.
    #[serde(rename = "not testable")]
    NotTestable,
    /// A study has what it needs, the run has not.
    #[serde(rename = "not run")]
    NotRun,
    /// No study has what it needs yet.
    #[serde(rename = "not built")]
    NotBuilt,
}

impl Verdict {
    /// All verdicts, in the order of summaries.
    pub const ALL: [Verdict; 10] = [
        Verdict::Reproduced,
        Verdict::Deviates,
        Verdict::Undecided,
        Verdict::Contradicted,
        Verdict::Arithmetic,
        Verdict::Predicted,
        Verdict::Input,
        Verdict::NotTestable,
        Verdict::NotRun,
        Verdict::NotBuilt,
    ];

    /// Stable lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Deviates => "deviates",
            Verdict::Undecided => "undecided",
            Verdict::Contradicted => "contradicted",
            Verdict::Arithmetic => "arithmetic",
            Verdict::Predicted => "predicted",
            Verdict::Input => "input",
            Verdict::NotTestable => "not testable",
            Verdict::NotRun => "not run",
            Verdict::NotBuilt => "not built",
        }
    }

    /// True if a measurement was held against something that was published.
    pub const fn is_judged(self) -> bool {
        matches!(self, Verdict::Reproduced | Verdict::Deviates | Verdict::Undecided)
    }
}

/// A judged ledger.
#[derive(Clone, Debug, Serialize)]
pub struct LedgerVerdicts {
    /// Name of the study.
    pub study: String,
    /// Title of the document.
    pub title: String,
    /// Full citation.
    pub citation: String,
    /// A verdict for each claim, in the ledger's order.
    pub rows: Vec<ClaimVerdict>,
}

/// A judged claim.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimVerdict {
    /// E.g. `S-03`.
    pub id: String,
    /// What the document says, in our words.
    pub statement: String,
    /// Place in the document.
    pub source: String,
    /// How it came out.
    pub verdict: Verdict,
    /// Why, in a sentence; empty where the verdict says it all.
    pub reason: String,
    /// What of the set-up was chosen with this claim in sight; nothing if it is independent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calibrates: Vec<String>,
    /// What the reader should know.
    pub notes: String,
    /// Of what deviates: why the modelled drives do, as far as that was found.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub found: String,
    /// Its numbers.
    pub values: Vec<ValueVerdict>,
    /// Its predicate.
    pub predicate: Option<PredicateVerdict>,
    /// Of a contradiction: the places that cannot both be right.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
    /// Of a contradiction: what would have to hold of the published numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<PredicateVerdict>,
}

/// A judged number.
#[derive(Clone, Debug, Serialize)]
pub struct ValueVerdict {
    /// Which number of the claim.
    pub label: String,
    /// As published, in `unit`.
    pub published: Option<f64>,
    /// As measured, in `unit`: the mean of the repeats.
    pub reproduced: Option<f64>,
    /// The 95 % interval of that mean, in `unit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// The unit of both.
    pub unit: String,
    /// Relative tolerance.
    pub tolerance: Option<f64>,
    /// (reproduced − published) / published.
    pub deviation: Option<f64>,
    /// How it came out.
    pub verdict: Verdict,
    /// Why it could not be measured or decided, or what of the set-up it gave; empty otherwise.
    pub why: String,
}

/// A judged predicate.
#[derive(Clone, Debug, Serialize)]
pub struct PredicateVerdict {
    /// The predicate.
    pub text: String,
    /// Reproduced if it holds, deviates if it does not, undecided, or not built: it was not judged.
    pub verdict: Verdict,
    /// What fails, is too close to tell or is missing; empty if it holds.
    pub why: String,
}

impl ClaimVerdict {
    /// True if nothing of the set-up was chosen with this claim in sight.
    pub fn is_independent(&self) -> bool {
        self.calibrates.is_empty()
    }

    /// Of each number that was put in, what it gave.
    pub fn put_in(&self) -> impl Iterator<Item = String> {
        let known = self.values.iter().filter(|v| v.verdict == Verdict::Input && !v.why.is_empty());
        known.map(|v| format!("`{}` was known before: {}.", v.label, v.why))
    }

    /// What of the set-up was chosen with this claim in sight, as a sentence; none if nothing.
    pub fn calibration(&self) -> Option<String> {
        let places = self.calibrates.join(", ");
        (!self.is_independent())
            .then(|| format!("calibrated: with it in sight were chosen {places}"))
    }
}

impl ValueVerdict {
    /// Half the width of its interval, if the repeats were not all alike.
    pub fn half_width(&self) -> Option<f64> {
        self.interval.map(|(low, high)| (high - low) / 2.0).filter(|half| *half > 0.0)
    }
}

impl PredicateVerdict {
    /// In a line, why it does not hold; none if it does, or was not judged.
    pub fn complaint(&self) -> Option<String> {
        let how = match self.verdict {
            Verdict::Deviates => "fails",
            Verdict::Undecided => "too close",
            _ => return None,
        };
        Some(format!("{how}: {}", self.why))
    }
}

/// What of the set-up was chosen with a claim in sight, or with one number of it.
pub(super) fn chosen_with<'a>(
    all: &'a [Calibration],
    id: &str,
    label: Option<&str>,
) -> Vec<&'a Calibration> {
    let of_claim = all.iter().filter(|c| c.from.claim == id);
    of_claim.filter(|c| label.is_none() || c.from.label.as_deref() == label).collect()
}

impl LedgerVerdicts {
    /// How many claims have each verdict, in the order of [`Verdict::ALL`].
    pub fn counts(&self) -> Vec<(Verdict, usize)> {
        Verdict::ALL.into_iter().map(|v| (v, self.count(v, |_| true))).collect()
    }

    fn count(&self, verdict: Verdict, is_meant: impl Fn(&ClaimVerdict) -> bool) -> usize {
        self.rows.iter().filter(|r| r.verdict == verdict && is_meant(r)).count()
    }

    /// Every |deviation| of the independent claims, and their median; `None` without any.
    pub fn median_deviation(&self) -> Option<(f64, usize)> {
        let of = |r: &&ClaimVerdict| r.is_independent() && r.verdict.is_judged();
        let values = self.rows.iter().filter(of).flat_map(|r| &r.values);
        let all: Vec<f64> = values.filter_map(|v| v.deviation).map(f64::abs).collect();
        crate::stats::median(&all).map(|m| (m, all.len()))
    }

    /// The summary in a line: first what is independent of the set-up, then what was in sight when
    /// it was chosen, then what is not judged by measuring.
    pub fn summary(&self) -> String {
        let some = |verdicts: &[Verdict], is_meant: &dyn Fn(&ClaimVerdict) -> bool| {
            let counts = verdicts.iter().map(|v| (self.count(*v, is_meant), v.name()));
            let shown = counts.filter(|(n, _)| *n > 0).map(|(n, name)| format!("{n} {name}"));
            shown.collect::<Vec<String>>().join(", ")
        };
        let (judged, others): (Vec<Verdict>, Vec<Verdict>) =
            Verdict::ALL.into_iter().partition(|v| v.is_judged());
        let mut independent = some(&judged, &ClaimVerdict::is_independent);
        if let Some((median, n)) = self.median_deviation().filter(|_| !independent.is_empty()) {
            let median = 100.0 * median;
            independent += &format!(", median |deviation| {median:.1} % of {n} values");
        }
        let groups = [
            ("independent: ", independent),
            ("calibrated: ", some(&judged, &|row| !row.is_independent())),
            ("", some(&others, &|_| true)),
        ];
        let shown = groups.into_iter().filter(|(_, text)| !text.is_empty());
        shown.map(|(name, text)| format!("{name}{text}")).collect::<Vec<String>>().join("; ")
    }
}
