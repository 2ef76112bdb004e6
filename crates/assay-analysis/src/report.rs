//! One self-contained HTML page of a run: no network, no script, readable on a phone and in print.
//!
//! Charts are inline SVG drawn here, decimated to what a screen can show, so a report stays small
//! for any number of requests. Every text that comes from outside is escaped in one place,
//! `escape`.

mod axis;
mod charts;
mod claims;
mod factors;
pub(crate) mod figures;
mod finding_list;
pub mod gantt;
pub(crate) mod html;
mod html_template;
mod page;
pub mod picture;
mod specs;
mod style;
mod svg;
pub(crate) mod tables;
pub mod trace;

use crate::ledger::LedgerVerdicts;
use crate::load::Run;
use assay_spec::record::CellRecord;

/// Returns the page of a run.
pub fn html(run: &Run, ledgers: &[LedgerVerdicts]) -> String {
    page::page(run, ledgers)
}

/// Returns the cells for which the page draws the request logs of the drives, if the run has these
/// ([`Run::logs`]).
pub fn logs_wanted(run: &Run) -> Vec<&CellRecord> {
    figures::logs_wanted(run)
}
