//! One self-contained HTML page of a run: no network, no script, readable on a phone and in print.
//!
//! Charts are inline SVG drawn here, decimated to what a screen can show, so a report stays small
//! for any number of requests. Every text that comes from outside is escaped in one place,
//! `escape`.

mod axis;
mod charts;
mod claims;
mod factors;
mod figures;
pub mod gantt;
mod html_template;
mod page;
pub mod picture;
mod specs;
mod style;
mod svg;
mod tables;
pub mod trace;

use crate::ledger::LedgerVerdicts;
use crate::load::Run;
use crate::text::is_unseen;
use assay_spec::record::CellRecord;

/// The page.
pub fn html(run: &Run, ledgers: &[LedgerVerdicts]) -> String {
    page::page(run, ledgers)
}

/// The cells whose drives' request logs the page draws, where it has them ([`Run::logs`]).
pub fn logs_wanted(run: &Run) -> Vec<&CellRecord> {
    figures::logs_wanted(run)
}

/// Text made safe inside elements and quoted attributes; what is not shown but does something
/// vanishes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if is_unseen(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// A text as a fragment identifier: letters, digits and `-`.
pub(crate) fn slug(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}
