//! The verdicts on claims, and the summary of a ledger.

use assay_spec::calibration::Calibration;
use serde::Serialize;

/// What a ledger is judged by, besides the run.
#[derive(Clone, Copy)]
pub struct Knowledge<'a> {
    /// The function that returns whether some study has a workload on a target.
    pub offered: &'a dyn Fn(&str, &str) -> bool,
    /// The parts of the set-up that were chosen with a claim in sight.
    pub calibrations: &'a [Calibration],
}

impl Knowledge<'_> {
    /// The knowledge that no study offers a workload and that nothing was chosen with a claim in
    /// sight.
    pub const NOTHING: Knowledge<'static> = Knowledge { offered: &|_, _| false, calibrations: &[] };
}

/// The verdict on a claim, or on one of its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Verdict {
    /// Everything that was measured holds.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// Measured, but outside the tolerance or against the predicate.
    #[serde(rename = "deviates")]
    Deviates,
    /// Measured, but the 95 % interval does not decide between reproduced and deviates; counts as
    /// not reproduced.
    #[serde(rename = "undecided")]
    Undecided,
    /// The document contradicts itself.
    #[serde(rename = "contradicted")]
    Contradicted,
    /// Follows from published numbers by arithmetic, which no measurement decides.
    #[serde(rename = "arithmetic")]
    Arithmetic,
    /// Measured, but no published value is at hand.
    #[serde(rename = "predicted")]
    Predicted,
    /// A specification that was put into the set-up.
    #[serde(rename = "input")]
    Input,
    /// Not testable, for the reason given.
    #[serde(rename = "not testable")]
    NotTestable,
    /// A study has the cells that it needs, but this run does not.
    #[serde(rename = "not run")]
    NotRun,
    /// No study has the cells that it needs yet.
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

    /// Returns the stable lower-case name.
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

    /// Returns `true` if a measurement was compared with something that was published.
    pub const fn is_judged(self) -> bool {
        matches!(self, Verdict::Reproduced | Verdict::Deviates | Verdict::Undecided)
    }
}

/// A judged ledger.
#[derive(Clone, Debug, Serialize)]
pub struct LedgerVerdicts {
    /// The name of the study.
    pub study: String,
    /// The title of the document.
    pub title: String,
    /// The full citation.
    pub citation: String,
    /// The verdict on each claim, in the ledger's order.
    pub rows: Vec<ClaimVerdict>,
}

/// A judged claim.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimVerdict {
    /// The identifier, e.g. `S-03`.
    pub id: String,
    /// What the document says, in our words.
    pub statement: String,
    /// The place in the document.
    pub source: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason in a sentence; empty if the verdict needs none.
    pub reason: String,
    /// The parts of the set-up that were chosen with this claim in sight; empty if it is
    /// independent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calibrates: Vec<String>,
    /// Notes for the reader.
    pub notes: String,
    /// For a claim that deviates or is undecided: why the modelled drives do so, as far as known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub found: String,
    /// The verdicts on its numbers.
    pub values: Vec<ValueVerdict>,
    /// The verdict on its predicate.
    pub predicate: Option<PredicateVerdict>,
    /// For a contradiction: the places that cannot both be right.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
    /// For a contradiction or arithmetic: the condition on the published numbers, and its verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<PredicateVerdict>,
}

/// A judged number.
#[derive(Clone, Debug, Serialize)]
pub struct ValueVerdict {
    /// The name of the number within the claim.
    pub label: String,
    /// The published value, in `unit`.
    pub published: Option<f64>,
    /// The measured value, in `unit`: the mean of the repeats.
    pub reproduced: Option<f64>,
    /// The 95 % interval of that mean, in `unit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// The unit of the published and the measured value.
    pub unit: String,
    /// The relative tolerance.
    pub tolerance: Option<f64>,
    /// The relative deviation: (reproduced − published) / |published|.
    pub deviation: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why the number could not be measured or decided, or which part of the set-up it gave; empty
    /// otherwise.
    pub why: String,
}

/// A judged predicate.
#[derive(Clone, Debug, Serialize)]
pub struct PredicateVerdict {
    /// The text of the predicate.
    pub text: String,
    /// Reproduced if it holds, deviates if it does not, undecided, or not built if it was not
    /// judged.
    pub verdict: Verdict,
    /// What fails, is too close to decide or is missing; empty if the predicate holds.
    pub why: String,
}

impl ClaimVerdict {
    /// Returns `true` if nothing of the set-up was chosen with this claim in sight.
    pub fn is_independent(&self) -> bool {
        self.calibrates.is_empty()
    }

    /// Returns, for each number that was put into the set-up, what it gave.
    pub fn put_in(&self) -> impl Iterator<Item = String> {
        let known = self.values.iter().filter(|v| v.verdict == Verdict::Input && !v.why.is_empty());
        known.map(|v| format!("`{}` was known before: {}.", v.label, v.why))
    }

    /// Returns as a sentence what of the set-up was chosen with this claim in sight; `None` if
    /// nothing.
    pub fn calibration(&self) -> Option<String> {
        let places = self.calibrates.join(", ");
        (!self.is_independent())
            .then(|| format!("calibrated: with it in sight were chosen {places}"))
    }
}

impl ValueVerdict {
    /// Returns half the width of the interval, if the repeats were not all equal.
    pub fn half_width(&self) -> Option<f64> {
        self.interval.map(|(low, high)| (high - low) / 2.0).filter(|half| *half > 0.0)
    }
}

impl PredicateVerdict {
    /// Returns in one line why the predicate does not hold; `None` if it does, or was not judged.
    pub fn complaint(&self) -> Option<String> {
        let how = match self.verdict {
            Verdict::Deviates => "fails",
            Verdict::Undecided => "too close",
            _ => return None,
        };
        Some(format!("{how}: {}", self.why))
    }
}

/// Returns the parts of the set-up that were chosen with a claim in sight, or with one number of
/// it.
pub(super) fn chosen_with<'a>(
    all: &'a [Calibration],
    id: &str,
    label: Option<&str>,
) -> Vec<&'a Calibration> {
    let of_claim = all.iter().filter(|c| c.from.claim == id);
    of_claim.filter(|c| label.is_none() || c.from.label.as_deref() == label).collect()
}

impl LedgerVerdicts {
    /// Returns the number of claims with each verdict, in the order of [`Verdict::ALL`].
    pub fn counts(&self) -> Vec<(Verdict, usize)> {
        Verdict::ALL.into_iter().map(|v| (v, self.count(v, |_| true))).collect()
    }

    fn count(&self, verdict: Verdict, is_meant: impl Fn(&ClaimVerdict) -> bool) -> usize {
        self.rows.iter().filter(|r| r.verdict == verdict && is_meant(r)).count()
    }

    /// Returns the median |deviation| of the numbers of the independent claims, and how many
    /// numbers there are; `None` if there are none.
    pub fn median_deviation(&self) -> Option<(f64, usize)> {
        let of = |r: &&ClaimVerdict| r.is_independent() && r.verdict.is_judged();
        let values = self.rows.iter().filter(of).flat_map(|r| &r.values);
        let all: Vec<f64> = values.filter_map(|v| v.deviation).map(f64::abs).collect();
        crate::stats::median(&all).map(|m| (m, all.len()))
    }

    /// Returns the summary in one line: first the claims that are independent of the set-up, then
    /// those that were in sight when it was chosen, then those that are not judged by measuring.
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
