//! The ledgers in a report: published beside reproduced values. Claims that were not measured are
//! folded away.

use super::html::escape;
use super::tables::table;
use crate::ledger::phrases::plain;
use crate::ledger::{ClaimVerdict, LedgerVerdicts, PredicateVerdict, ValueVerdict, Verdict};

/// Returns all ledgers as HTML.
pub fn ledgers(ledgers: &[LedgerVerdicts]) -> String {
    if ledgers.is_empty() {
        return "<p>No published claims belong to this run.</p>".into();
    }
    ledgers.iter().map(ledger).collect()
}

fn ledger(l: &LedgerVerdicts) -> String {
    let mut out = format!(
        "<h3>{}</h3><p class=\"dim\">{}</p><p><strong>{}.</strong></p>",
        escape(&l.title),
        escape(&l.citation),
        escape(&l.summary())
    );
    const FOLDED: [Verdict; 4] =
        [Verdict::NotRun, Verdict::NotBuilt, Verdict::NotTestable, Verdict::Input];
    l.rows.iter().filter(|r| !FOLDED.contains(&r.verdict)).for_each(|r| out += &claim(r));
    for kind in FOLDED {
        let rows: Vec<&ClaimVerdict> = l.rows.iter().filter(|r| r.verdict == kind).collect();
        if !rows.is_empty() {
            let title = format!("{} {}", rows.len(), kind.name());
            out += &format!("<details><summary>{title}</summary>");
            rows.iter().for_each(|r| out += &claim(r));
            out += "</details>";
        }
    }
    out
}

/// Returns the verdict as a badge. The word tells the verdict; the colour only repeats it.
fn badge(v: Verdict) -> String {
    format!("<span class=\"verdict {}\">{}</span>", v.name().replace(' ', "-"), v.name())
}

fn claim(c: &ClaimVerdict) -> String {
    let mut out = format!(
        "<article class=\"claim\"><h4>{} {} <span class=\"dim\">{}</span></h4><p>{}</p>",
        escape(&c.id),
        badge(c.verdict),
        escape(&c.source),
        escape(&c.statement)
    );
    if !c.places.is_empty() {
        let places: String = c.places.iter().map(|p| format!("<li>{}</li>", escape(p))).collect();
        out += &format!("<ul class=\"places\">{places}</ul>");
    }
    if !c.reason.is_empty() {
        out += &format!("<p class=\"dim\">Because: {}</p>", escape(&c.reason));
    }
    for complaint in c.check.iter().chain(&c.predicate).filter_map(PredicateVerdict::complaint) {
        out += &format!("<p class=\"dim\"><code>{}</code></p>", escape(&complaint));
    }
    if !c.found.is_empty() {
        out += &format!("<p class=\"dim\">Found: {}</p>", escape(&c.found));
    }
    let rows: Vec<Vec<String>> = c.values.iter().map(value).collect();
    if !rows.is_empty() {
        let heading = ["value", "published", "reproduced", "deviation", "tolerance", "verdict"];
        out += &table(&format!("{}: published and reproduced", c.id), &heading, &rows);
    }
    for text in c.calibration().into_iter().chain(c.put_in()) {
        out += &format!("<p class=\"dim\">{}</p>", escape(&text));
    }
    if !c.notes.is_empty() {
        out += &format!("<p class=\"dim\">{}</p>", escape(&c.notes));
    }
    out + "</article>"
}

fn value(v: &ValueVerdict) -> Vec<String> {
    let number =
        |n: Option<f64>| n.map_or("–".into(), |n| escape(&format!("{} {}", plain(n), v.unit)));
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    vec![
        escape(&v.label),
        number(v.published),
        measured(v),
        v.deviation.map_or("–".into(), |d| format!("{:+.1} %", 100.0 * d)),
        v.tolerance.map_or("–".into(), percent),
        badge(v.verdict),
    ]
}

/// Formats the mean of the repeats with half the width of its interval.
fn measured(v: &ValueVerdict) -> String {
    let Some(value) = v.reproduced else { return "–".into() };
    let half = v.half_width().map_or_else(String::new, |half| format!(" ± {}", plain(half)));
    escape(&format!("{}{half} {}", plain(value), v.unit))
}
