//! The page of a run: order of the sections, navigation, findings.

use super::finding_list::items;
use super::html::escape;
use super::html_template::HtmlTemplate;
use super::{charts, claims, factors, figures, specs, style, tables};
use crate::finding::{DOUBTS, FACTORS, Finding, SCALING, findings};
use crate::ledger::LedgerVerdicts;
use crate::load::Run;
use crate::program;

/// Returns the whole page.
pub fn page(whole: &Run, ledgers: &[LedgerVerdicts]) -> String {
    let all = findings(whole);
    // A bar and a row for each combination of factors would be thousands.
    let run = &*crate::factors::without(whole);
    let (crossed, all): (Vec<Finding>, Vec<Finding>) =
        all.into_iter().partition(|f| f.id.starts_with(FACTORS));
    let factors = factors::section(whole, &crossed);
    let figures = figures::section(run, ledgers, &all);
    // Findings that answer a question are shown with its figure.
    let elsewhere = |f: &Finding| figures.is_some() && figures::is_answer(f);
    let others: Vec<Finding> = all.into_iter().filter(|f| !elsewhere(f)).collect();
    let mut sections: Vec<(&str, &str, String)> = vec![
        ("findings", "Findings", finding_list(&others)),
        ("programs", "Programs", charts::programs(run) + &tables::programs(run)),
        ("bandwidth", "Bandwidth", charts::bandwidth(run)),
        ("latency", "Latency", charts::latency(run)),
        ("time", "Over time", charts::over_time(run)),
        ("metrics", "All metrics", tables::metrics(run)),
        ("comparison", "Comparison", tables::comparison(run)),
        ("ledger", "Published and reproduced", claims::ledgers(ledgers)),
        ("method", "Method", format!("{}{}", specs::method(), tables::stability(run))),
        ("warnings", "Warnings", specs::warnings(run)),
        ("setting", "Machine, command and specs", specs::setting(run) + &specs::specs(run)),
    ];
    let measured = || run.cells.iter().filter(|cell| cell.skipped.is_none());
    if !measured().any(program::is_of_program) {
        sections.retain(|(id, ..)| *id != "programs");
    }
    if run.cells.is_empty() && factors.is_some()
        || measured().count() > 0 && measured().all(program::is_of_program)
    {
        let of_requests = ["bandwidth", "latency", "time", "metrics", "comparison"];
        sections.retain(|(id, ..)| !of_requests.contains(id));
    }
    if let Some(factors) = factors {
        sections.insert(0, ("factors", "Factors", factors));
    }
    let mut css = style::CSS.to_owned();
    if let Some(figures) = figures {
        sections.insert(0, ("figures", "Figures of the paper", figures));
        css += style::FIGURES;
        css += style::TRACES;
    }
    let foot = format!(
        "Made by assay {} from the run of {}. Every number here is in the run directory.",
        escape(&run.record.assay),
        escape(&run.record.started)
    );
    let page = HtmlTemplate {
        title: &escape(&run.record.title),
        version: &run.record.assay,
        css: &css,
        skip: "findings",
        below: &(below_title(whole) + &tables::cards(run)),
        foot: &foot,
    };
    page.page(&sections)
}

fn below_title(run: &Run) -> String {
    let r = &run.record;
    let repeats = run.cells.iter().map(|c| c.repeats.len()).max().unwrap_or(0);
    let line = format!(
        "Study {}, {} cells of {} planned, up to {repeats} repeats each, seed {}, {}",
        r.study,
        run.cells.len(),
        r.plan.len().max(run.cells.len()),
        r.seed,
        r.started
    );
    format!("<p class=\"dim\">{}</p>", escape(&line))
}

fn finding_list(all: &[Finding]) -> String {
    if all.is_empty() {
        return "<p>Nothing stands out beyond its uncertainty.</p>".into();
    }
    let across = |f: &&Finding| ["ranking/", SCALING].iter().any(|p| f.id.starts_with(p));
    let doubtful = |f: &&Finding| f.id.starts_with(DOUBTS);
    let (doubts, sound): (Vec<&Finding>, Vec<&Finding>) = all.iter().partition(doubtful);
    let (between, within): (Vec<&Finding>, Vec<&Finding>) = sound.into_iter().partition(across);
    let part = |heading: &str, list: String| match list.is_empty() {
        true => String::new(),
        false => format!("<h3>{heading}</h3>{list}"),
    };
    let listed = |findings: Vec<&Finding>| match findings.is_empty() {
        true => String::new(),
        false => items(findings.into_iter()),
    };
    // The doubts come first, as they may make the other findings worthless.
    part("Is this benchmark right?", doubt_list(doubts))
        + &part("Between targets", listed(between))
        + &part("Within a target", listed(within))
}

/// Returns the first few cells of each check; the others can be unfolded.
fn doubt_list(mut doubts: Vec<&Finding>) -> String {
    const SHOWN: usize = 2;
    let check = |f: &Finding| {
        let rest = f.id.strip_prefix(DOUBTS).unwrap_or(&f.id);
        rest.split('/').next().unwrap_or_default().to_owned()
    };
    doubts.sort_by_key(|f| check(f));
    let of_check = |all: &[&Finding]| {
        let (shown, others) = all.split_at(all.len().min(SHOWN));
        let mut out = items(shown.iter().copied());
        if !others.is_empty() {
            let n = others.len();
            let cells = if n == 1 { "cell" } else { "cells" };
            out += &format!(
                "<details><summary class=\"dim\">The same of {n} other {cells}</summary>{}\
                 </details>",
                items(others.iter().copied())
            );
        }
        out
    };
    doubts.chunk_by(|a, b| check(a) == check(b)).map(of_check).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_doubts_of_a_kind_the_first_are_shown_and_none_is_left_out() {
        let doubt = |check: &str, cell: usize| Finding {
            id: format!("{DOUBTS}{check}/e/w{cell}@t"),
            statement: format!("{check} {cell}"),
            evidence: Vec::new(),
            threshold: String::new(),
            samples: 1,
            confidence: None,
            reproduce: String::new(),
        };
        let all: Vec<Finding> =
            (0..5).map(|i| doubt("short", i)).chain([doubt("fresh", 7)]).collect();
        let list = finding_list(&all);
        for f in &all {
            assert_eq!(list.matches(&f.statement).count(), 1, "{list}");
        }
        let at = |text: &str| list.find(text).unwrap_or_else(|| panic!("{text}: {list}"));
        let folded = at("The same of 3 other cells");
        assert!(at("fresh 7") < at("short 0") && at("short 1") < folded && folded < at("short 2"));
        assert_eq!(list.matches("The same of").count(), 1, "{list}");
    }
}
