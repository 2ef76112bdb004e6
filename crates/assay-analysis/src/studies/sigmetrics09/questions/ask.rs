//! One question put to one target: the cells that it needs, and its answer.

use super::rule::{Difference, NamedDifference, Part, difference};
use crate::load::Run;
use crate::metric;
use assay_spec::record::CellRecord;

/// One question put to one target. It finds cells and keeps those that it used.
pub(super) struct Ask<'a> {
    pub(super) run: &'a Run,
    pub(super) target: &'a str,
    /// The experiment that is about the question.
    pub(super) own: &'static str,
    pub(super) evidence: Vec<String>,
    pub(super) used: Vec<&'a CellRecord>,
}

impl<'a> Ask<'a> {
    /// Returns a measured cell of `experiment`, or else of the question's own experiment, so that
    /// one file may hold all that a question needs.
    pub(super) fn cell(
        &mut self,
        experiment: &str,
        workload: &str,
    ) -> Result<&'a CellRecord, String> {
        let missing = || format!("the run has no cell {experiment}/{workload} of it");
        let within = |e: &&str| self.run.cell(Some(*e), workload, self.target);
        let cell = [experiment, self.own].iter().find_map(within).ok_or_else(missing)?;
        metric::estimate(cell, "mean").map_err(|e| format!("{experiment}/{workload}: {e}"))?;
        if !self.used.iter().any(|c| c.id == cell.id) {
            self.used.push(cell);
            let repeats = cell.repeats.iter().flat_map(|r| &r.warnings);
            self.evidence.extend(repeats.map(|w| format!("{}: {w}", cell.id)));
        }
        Ok(cell)
    }

    /// Compares one part with another and adds the result to the evidence.
    pub(super) fn compare(&mut self, part: Part<'a>, base: Part<'a>) -> Result<Difference, String> {
        let by = difference(part, base)?;
        let kind = |p: Part<'_>| p.1.map_or(String::new(), |op| format!(" ({}s)", op.name()));
        let (x, y) = (kind(part), kind(base));
        self.evidence.push(format!("{}{x} to {}{y}: {}", part.0.id, base.0.id, by.line()));
        Ok(by)
    }

    /// Compares one part with another, adds the result to the evidence, and gives it the names of
    /// both sides.
    pub(super) fn compare_named(
        &mut self,
        (what, against): (&str, &str),
        part: Part<'a>,
        base: Part<'a>,
    ) -> Result<NamedDifference, String> {
        let by = self.compare(part, base)?;
        Ok(NamedDifference { what: what.to_owned(), base: against.to_owned(), by })
    }
}

/// Yes or no, and the reason in a sentence.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) yes: bool,
    pub(super) because: String,
}

pub(super) fn yes(because: impl Into<String>) -> Result<Answer, String> {
    Ok(Answer { yes: true, because: because.into() })
}

pub(super) fn no(because: impl Into<String>) -> Result<Answer, String> {
    Ok(Answer { yes: false, because: because.into() })
}
