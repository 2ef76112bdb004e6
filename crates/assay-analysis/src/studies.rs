//! What one study alone knows: the figures of its document, and the questions that it asks.
//!
//! General code names no study. It asks [`of`] for the study of a run, and [`all`] for the
//! questions that any run may answer.

mod cmu08;
mod oslo09;
mod sara10;
mod sigmetrics09;
mod study;

use crate::load::Run;
pub(crate) use study::Study;

/// Returns all studies with a document.
pub(crate) fn all() -> [&'static dyn Study; 4] {
    [&sigmetrics09::Sigmetrics09, &cmu08::Cmu08, &sara10::Sara10, &oslo09::Oslo09]
}

/// Returns the study of a run, if it has a document.
pub(crate) fn of(run: &Run) -> Option<&'static dyn Study> {
    all().into_iter().find(|study| study.document().study == run.record.study)
}
