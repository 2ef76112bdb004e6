//! The figures of a study's document, redrawn from a run: question and answer above a figure,
//! mechanism below it. The figures are data: `describe` has the types, and each study has its own
//! (`studies.rs`).

pub(crate) mod describe;
pub(crate) mod draw;
mod mechanism;
mod published;
pub(crate) mod series;
#[cfg(test)]
mod tests;
pub(crate) mod traced;

use super::axis::Scale;
use super::charts::{style, swatch};
use super::finding_list::items;
use super::html::escape;
use super::svg::{Ink, Line};
use crate::finding::{Finding, SCALING};
use crate::ledger::LedgerVerdicts;
use crate::load::Run;
use crate::studies::{self, Study};
use crate::sweep::{self, Sweep};
use assay_spec::decode::Source;
use assay_spec::experiment::Experiment;
use assay_spec::record::CellRecord;
use describe::{Figure, Form, Part};
use draw::{Context, Panel};
use published::Published;
use series::Series;
use std::collections::BTreeSet;

/// Returns `true` for a finding that answers a figure's question and is shown with that figure.
pub fn is_answer(finding: &Finding) -> bool {
    ["question/", SCALING].iter().any(|prefix| finding.id.starts_with(prefix))
}

/// Returns the cells for which the request logs of the drives are drawn.
pub fn logs_wanted(run: &Run) -> Vec<&CellRecord> {
    let document = studies::of(run).map(Study::document);
    let parts = document.iter().flat_map(|d| d.figures).flat_map(|f| f.parts);
    let traced = parts.filter(|p| matches!(p.form, Form::Traced { .. }));
    let names: BTreeSet<(&str, &str)> = traced.flat_map(|p| p.form.cells(&[])).collect();
    let is_wanted = |c: &&CellRecord| names.contains(&(c.experiment.as_str(), c.workload.as_str()));
    run.cells.iter().filter(is_wanted).collect()
}

/// Returns all figures of the run's study, or `None` if its document has no figures here.
pub fn section(run: &Run, ledgers: &[LedgerVerdicts], findings: &[Finding]) -> Option<String> {
    let document = studies::of(run)?.document();
    let published = published::of(run, ledgers);
    let sweeps = sweep::all(run);
    let context =
        |f: &Figure| Context { run, published: &published, sweeps: &sweeps, number: f.number };
    let mut out = format!("<p class=\"dim\">{}</p>", escape(document.note));
    let link = |f: &Figure| {
        format!("<a href=\"#{}\">{}</a>", crate::report::html::slug(f.number), f.number)
    };
    let links: Vec<String> = document.figures.iter().map(link).collect();
    out += &format!("<p class=\"jump\">{}</p>", links.join(" "));
    let mut shown = Vec::new();
    for figure in document.figures {
        if let Some(prefix) = figure.answers {
            shown.push(prefix);
        }
        out += &one(&context(figure), findings, figure);
    }
    // The answers to questions without a figure are shown as well.
    let placed = |f: &&Finding| shown.iter().any(|prefix| f.id.starts_with(prefix));
    let rest: Vec<&Finding> = findings.iter().filter(|f| is_answer(f) && !placed(f)).collect();
    if !rest.is_empty() {
        out += &format!("<h3>Other answers</h3>{}", items(rest.into_iter()));
    }
    Some(out)
}

fn one(context: &Context<'_>, findings: &[Finding], figure: &Figure) -> String {
    let run = context.run;
    let panels = panels(context, figure);
    let mut out = format!(
        "<h3 id=\"{0}\">{1}: {2}</h3>{3}",
        crate::report::html::slug(figure.number),
        figure.number,
        escape(figure.title),
        answer(context, findings, figure)
    );
    if panels.is_empty() {
        return out
            + &format!(
                "<p class=\"dim\">Left out: {}.</p>",
                escape(&why(run, context.sweeps, figure))
            );
    }
    for row in rows(&panels, figure) {
        out += "<div class=\"figures\">";
        row.iter().for_each(|p| out += &html(run, p));
        out += "</div>";
    }
    out + &absent(context, figure) + &mechanism::lines(run, figure.told)
}

/// Returns the question of the experiment and its answers.
fn answer(c: &Context<'_>, findings: &[Finding], figure: &Figure) -> String {
    let run = c.run;
    let mut out = String::new();
    let record = run.record.experiments.iter().find(|e| e.name == figure.experiment);
    let parsed =
        record.and_then(|e| Experiment::parse(Source { file: &e.file, text: &e.text }).ok());
    if let Some(e) = parsed {
        out += &format!("<p><strong>{}</strong></p>", escape(&e.question));
    }
    let of = |f: &&Finding| figure.answers.is_some_and(|prefix| f.id.starts_with(prefix));
    let answers: Vec<&Finding> = findings.iter().filter(of).collect();
    if !answers.is_empty() {
        let published = published_fits(c, &answers);
        out += &format!("<div class=\"answer\">{}{published}</div>", items(answers.into_iter()));
    }
    if out.is_empty() { out } else { format!("<div class=\"question\">{out}</div>") }
}

/// Returns, for answers that are fits of a knee, the same fits of the values published for these
/// cells.
fn published_fits(c: &Context<'_>, answers: &[&Finding]) -> String {
    let rate = |cell: &CellRecord| {
        let mut of = published::of_cell(c.published, cell);
        of.find(|p| p.metric == "bandwidth").map(|p| p.value)
    };
    let fits = crate::finding::of_others(c.run, &rate);
    let shown = fits.iter().filter(|(id, _)| answers.iter().any(|a| a.id == *id));
    let line = |(id, text): &(String, String)| {
        let cell = id.strip_prefix(SCALING).unwrap_or(id);
        let text = format!("Of the published values, up to {cell}: {text}.");
        format!("<p class=\"dim\">{}</p>", escape(&text))
    };
    shown.map(line).collect()
}

/// Returns the panels in rows: a row for each target if a target has several panels.
fn rows<'a>(panels: &'a [Panel], figure: &Figure) -> Vec<Vec<&'a Panel>> {
    let own = figure.parts.iter().filter(|p| p.form.per_target()).count();
    let mut rows: Vec<Vec<&Panel>> = Vec::new();
    for panel in panels {
        let row = rows.iter_mut().find(|row| own < 2 || row[0].target == panel.target);
        match row {
            Some(row) => row.push(panel),
            None => rows.push(vec![panel]),
        }
    }
    rows
}

fn html(run: &Run, panel: &Panel) -> String {
    let title = escape(panel.title);
    let caption = match &panel.target {
        Some(t) => format!("{}<strong>{}</strong>, {title}", swatch(run, t), escape(t)),
        None => format!("<strong>{title}</strong>"),
    };
    format!("<figure><figcaption>{caption}</figcaption>{}</figure>", panel.body)
}

/// Returns every panel of a figure that can be drawn.
fn panels(c: &Context<'_>, figure: &Figure) -> Vec<Panel> {
    let shared = Shared::of(c, figure);
    figure.parts.iter().flat_map(|part| part_panels(c, part, &shared)).collect()
}

/// The scales that the panels of a figure share, so that they can be compared.
struct Shared {
    bars: Scale,
    latency: Scale,
    sweep: Scale,
}

impl Shared {
    fn of(c: &Context<'_>, figure: &Figure) -> Shared {
        let (mut bars, mut log) = (Vec::new(), false);
        let (mut latencies, mut means) = (Vec::new(), Vec::new());
        for part in figure.parts {
            match part.form {
                Form::Bars { of, among, log: l, series } => {
                    log |= l;
                    let rows = draw::bar_rows(c, of, among, series);
                    bars.extend(rows.iter().map(|b| b.value));
                    bars.extend(rows.iter().filter_map(|b| b.published));
                }
                Form::Sweep { .. } => {
                    let lines = part.form.sweep(c.sweeps).map(|s| draw::sweep_lines(c, s));
                    let lines = lines.unwrap_or_default();
                    means.extend(lines.iter().flat_map(|l| l.points.iter().map(|p| p.1)));
                }
                Form::ByWorkload { .. } => {
                    let lines = distributions_of(c, part).into_iter().flat_map(|(_, lines)| lines);
                    latencies.extend(lines.flat_map(|l| l.points).map(|p| p.0));
                }
                Form::ByTarget { .. }
                | Form::OneByOne { .. }
                | Form::Table { .. }
                | Form::Traced { .. } => {}
            }
        }
        let highest = bars.iter().copied().fold(0.0, f64::max);
        // The shortest bar on a logarithmic axis must still have a length.
        let room = bars.iter().copied().fold(f64::INFINITY, f64::min) / 4.0;
        Shared {
            bars: match log {
                true => Scale::log_over(bars.into_iter().chain([room])),
                false => Scale::from_zero(highest),
            },
            latency: Scale::log_over(latencies.into_iter()),
            sweep: Scale::log_over(means.into_iter()),
        }
    }
}

/// Returns the lines of a distribution by workload, for each target that has all of them.
fn distributions_of<'a>(c: &Context<'a>, part: &Part) -> Vec<(&'a str, Vec<Line>)> {
    let Form::ByWorkload { op, series } = part.form else { return Vec::new() };
    let lines = |target: &str| {
        let line =
            |s: &Series| draw::distribution(c.cell(s, target)?, op, draw::series_ink(s), s.label);
        series.iter().filter_map(line).collect::<Vec<Line>>()
    };
    let all = c.targets(series).into_iter().map(|t| (t, lines(t)));
    all.filter(|(_, lines)| lines.len() == series.len()).collect()
}

fn part_panels(c: &Context<'_>, part: &Part, shared: &Shared) -> Vec<Panel> {
    match part.form {
        Form::Bars { of, among, log, series } => {
            let rows = draw::bar_rows(c, of, among, series);
            let axis = (of.unit, log);
            let any =
                (!rows.is_empty()).then(|| draw::bars(c, part.title, axis, shared.bars, &rows));
            any.into_iter().collect()
        }
        Form::ByWorkload { op, series } => by_workload(c, part, op, series, shared.latency),
        Form::ByTarget { series } => by_target(c, part, &series).into_iter().collect(),
        Form::OneByOne { series, log } => one_by_one(c, part, &series, log),
        Form::Table { of, .. } => {
            let panel = |body| Panel { target: None, title: part.title, body };
            of(c).map(panel).into_iter().collect()
        }
        Form::Traced { view, series } => traced::panels(c, part.title, view, series),
        Form::Sweep { .. } => {
            let Some(sweep) = part.form.sweep(c.sweeps) else { return Vec::new() };
            let lines = draw::sweep_lines(c, sweep);
            let any = (!lines.is_empty())
                .then(|| draw::sweep(c, part.title, sweep, shared.sweep, &lines));
            any.into_iter().collect()
        }
    }
}

fn by_workload(
    c: &Context<'_>,
    part: &Part,
    op: Option<assay_spec::Op>,
    series: &[Series],
    x: Scale,
) -> Vec<Panel> {
    let panel = |(target, lines): (&str, Vec<Line>)| {
        let of = |(s, l): (&Series, &Line)| {
            let cell = c.cell(s, target).into_iter();
            let published = cell.flat_map(|cell| published::of_cell(c.published, cell));
            published.map(|p| (l.ink, p)).collect::<Vec<_>>()
        };
        let published: Vec<(Ink, &Published)> = series.iter().zip(&lines).flat_map(of).collect();
        draw::distributions(c, part.title, Some(target), x, &lines, &published, op)
    };
    distributions_of(c, part).into_iter().map(panel).collect()
}

fn by_target(c: &Context<'_>, part: &Part, series: &Series) -> Option<Panel> {
    let mut lines = Vec::new();
    let mut published: Vec<(Ink, &Published)> = Vec::new();
    for target in c.targets(&[*series]) {
        let ink = Ink::Target(style(c.run, target));
        let cell = c.cell(series, target)?;
        lines.extend(draw::distribution(cell, None, ink, target));
        let of = published::of_cell(c.published, cell);
        published.extend(of.map(|p| (ink, p)));
    }
    let times = lines.iter().flat_map(|l| l.points.iter().map(|p| p.0));
    let x = Scale::log_over(times.chain(draw::places(&published, None)));
    let panel = || draw::distributions(c, part.title, None, x, &lines, &published, None);
    (!lines.is_empty()).then(panel)
}

fn one_by_one(c: &Context<'_>, part: &Part, series: &Series, log: bool) -> Vec<Panel> {
    let panel = |target: &str| {
        let cell = c.cell(series, target)?;
        draw::one_by_one(c, part.title, cell, draw::first_scale(c, cell, log))
    };
    c.targets(&[*series]).into_iter().filter_map(panel).collect()
}

/// Returns why no panel of a figure can be drawn.
fn why(run: &Run, sweeps: &[Sweep], figure: &Figure) -> String {
    let cells = figure.parts.iter().flat_map(|p| p.form.cells(sweeps));
    let mut names: Vec<String> = Vec::new();
    for (experiment, workload) in cells {
        let mut of = run.cells_of(experiment, workload);
        let name = match experiment {
            "" => workload.to_owned(),
            _ => format!("{experiment}/{workload}"),
        };
        if !of.any(|c| c.skipped.is_none()) && !names.contains(&name) {
            names.push(name);
        }
    }
    match names.as_slice() {
        [] => "no target has all of its cells".into(),
        [first] => format!("the run has no measured cell of {first}"),
        [first, .., last] => {
            format!("the run has no measured cells of {} workloads, {first} to {last}", names.len())
        }
    }
}

/// Returns the targets that have some but not all cells of a figure's parts.
fn absent(c: &Context<'_>, figure: &Figure) -> String {
    let mut lines = Vec::new();
    // A table shows a dash for a missing cell.
    let whole = |p: &&Part| !matches!(p.form, Form::Table { .. } | Form::Traced { .. });
    let charts = figure.parts.iter().filter(whole);
    for (part, target) in
        charts.flat_map(|part| c.run.targets().into_iter().map(move |t| (part, t)))
    {
        let cells = part.form.cells(c.sweeps).into_iter();
        let measured = |(e, w): &(&str, &str)| {
            c.run.cell(Some(e), w, target).is_some_and(|cell| cell.skipped.is_none())
        };
        let (there, missing): (Vec<_>, Vec<_>) = cells.partition(measured);
        if let (false, Some((e, w))) = (there.is_empty(), missing.first()) {
            let skipped = c.run.cell(Some(e), w, target).and_then(|c| c.skipped.clone());
            let reason = skipped.map_or(String::new(), |s| format!(" ({s})"));
            let line = format!(
                "{target} is missing where {e}/{w} is needed, which was not measured{reason}"
            );
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines.iter().map(|l| format!("<p class=\"dim absent\">{}.</p>", escape(l))).collect()
}
