//! The tables of a report. Each scrolls in its own container, which the keyboard can reach.

use super::html::escape;
use crate::compare::{self, Comparison};
use crate::cost::{CellCost, Costs, priced_metric};
use crate::load::Run;
use crate::metric;
use crate::program;
use crate::stats::{Basis, Estimate, drift};
use crate::text::{count, money, plus_minus, time_unit};
use assay_spec::record::{CellRecord, RepeatRecord};
use assay_spec::steady::Window;
use assay_spec::units::human_size;
use assay_spec::units::three_digits;

/// Returns a table in its own container. The cells are HTML already.
pub fn table(label: &str, heading: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table>\
         <caption>{0}</caption><thead><tr>",
        escape(label)
    );
    for h in heading {
        out += &format!("<th scope=\"col\">{}</th>", escape(h));
    }
    out += "</tr></thead><tbody>";
    for row in rows {
        out += "<tr>";
        for (i, cell) in row.iter().enumerate() {
            if i == 0 {
                out += &format!("<th scope=\"row\">{cell}</th>");
            } else {
                out += &format!("<td>{cell}</td>");
            }
        }
        out += "</tr>";
    }
    out + "</tbody></table></div>"
}

/// Returns a value with its interval, or the reason why it has none, below it.
fn with_uncertainty(value: &str, e: &Estimate, factor: f64) -> String {
    let (class, below) = match e.interval {
        Some((low, high)) if low == high => (" class=\"why\"", e.basis.to_string()),
        Some((low, high)) => {
            ("", format!("{} to {}", three_digits(low * factor), three_digits(high * factor)))
        }
        None => match &e.basis {
            Basis::None(reason) => (" class=\"why\"", reason.clone()),
            other => (" class=\"why\"", other.to_string()),
        },
    };
    format!("{}<small{class}>{}</small>", escape(value), escape(&below))
}

fn latency(cell: &CellRecord, name: &str) -> String {
    metric::estimate(cell, name).map_or_else(
        |_| "–".into(),
        |e| {
            let (factor, unit) = time_unit(e.value);
            with_uncertainty(&format!("{} {unit}", three_digits(e.value * factor)), &e, factor)
        },
    )
}

const PERCENTILES: [&str; 8] = ["mean", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "max"];

/// Returns every metric of every cell, in a table for each workload.
pub fn metrics(run: &Run) -> String {
    let mut out = String::new();
    let costs = Costs::of(run);
    for (experiment, workload) in run.workloads() {
        let mut rows = Vec::new();
        let costs = costs.as_ref().filter(|c| c.any(run.cells_of(experiment, workload)));
        if run.cells_of(experiment, workload).any(program::is_of_program) {
            continue;
        }
        for cell in run.cells_of(experiment, workload) {
            let mut row = metric_row(cell);
            costs.iter().for_each(|costs| row.extend(cost_columns(costs, cell)));
            rows.push(row);
        }
        let mut heading = vec!["target", "MB/s", "IOPS"];
        heading.extend(PERCENTILES);
        heading.extend(["requests", "errors", "repeats"]);
        let per = costs.map(|c| COST_COLUMNS.map(|what| format!("{}{what}", c.prices.currency)));
        heading.extend(per.iter().flatten().map(String::as_str));
        out += &table(&format!("{experiment}: {workload}"), &heading, &rows);
        out += &costs.map_or_else(String::new, below);
    }
    out
}

/// Returns what programs printed and what their drives did, in a table for each workload.
pub fn programs(run: &Run) -> String {
    let mut out = String::new();
    let costs = Costs::of(run);
    for (experiment, workload) in run.workloads() {
        let cells: Vec<&CellRecord> =
            run.cells_of(experiment, workload).filter(|c| program::is_of_program(c)).collect();
        let Some(one) = cells.first() else { continue };
        let columns = program::drive_columns(&cells);
        let mut heading = vec!["target".to_owned()];
        heading.extend(program::metrics(one).iter().map(program::heading));
        heading.extend(columns.iter().map(|column| format!("drives: {}", column.heading)));
        heading.extend(["bound by".to_owned(), "repeats".to_owned()]);
        let costs = costs.as_ref().filter(|c| c.any(cells.iter().copied()));
        heading.extend(costs.iter().flat_map(|costs| program_cost_heading(costs, one)));
        let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
        let row = |cell: &&CellRecord| {
            let printed = |name: &str| match metric::estimate(cell, name) {
                Ok(e) => with_uncertainty(&plus_minus(&e), &e, 1.0),
                Err(e) => escape(&e.to_string()),
            };
            let mut row = vec![escape(&cell.target)];
            row.extend(program::metrics(one).iter().map(|metric| printed(&metric.name)));
            let number = |column: &program::DriveColumn| column.value(cell);
            row.extend(columns.iter().map(number).map(|n| n.map_or("–".into(), three_digits)));
            row.push(program::bound_by(cell).unwrap_or("–".into()));
            row.push(cell.repeats.len().to_string());
            row.extend(costs.iter().flat_map(|costs| program_cost(costs, cell)));
            row
        };
        let rows: Vec<Vec<String>> = cells.iter().map(row).collect();
        out += &table(&format!("{experiment}: {workload}"), &heading, &rows);
        out += &costs.map_or_else(String::new, below);
    }
    out
}

/// Returns the headings of [`program_cost`]; `one` is a cell of the workload.
fn program_cost_heading(costs: &Costs, one: &CellRecord) -> Vec<String> {
    let currency = &costs.prices.currency;
    let mut heading = vec![currency.clone(), format!("{currency}/GB")];
    heading.extend(priced_metric(one).map(|printed| format!("{currency}/{}", printed.name)));
    heading.push("years of life".to_owned());
    heading
}

/// Returns the price of a program's drives, per GB, per unit of its first number, and the
/// life of its drive.
fn program_cost(costs: &Costs, cell: &CellRecord) -> Vec<String> {
    let none = || "–".to_owned();
    let cost = costs.cell(cell);
    let of = |number: fn(&CellCost) -> Option<f64>| cost.as_ref().and_then(number);
    let printed = cost.as_ref().and_then(|cost| cost.per_printed.as_ref());
    let printed = printed.map_or_else(none, |e| with_uncertainty(&three_digits(e.value), e, 1.0));
    let mut row = vec![of(|cost| Some(cost.price)).map_or_else(none, money)];
    row.push(of(|cost| cost.per_gb).map_or_else(none, three_digits));
    row.extend(priced_metric(cell).map(|_| printed));
    row.push(of(|cost| cost.life_years).map_or_else(none, three_digits));
    row
}

/// The part of the headings of the cost columns that follows the currency.
const COST_COLUMNS: [&str; 4] = ["", "/GB", "/(MB/s)", "/IOPS"];

fn cost_columns(costs: &Costs, cell: &CellRecord) -> [String; 4] {
    let none = || "–".to_owned();
    let Some(cost) = costs.cell(cell) else { return [none(), none(), none(), none()] };
    let rate = |e: &Option<Estimate>| {
        e.as_ref().map_or_else(none, |e| with_uncertainty(&three_digits(e.value), e, 1.0))
    };
    let per_gb = cost.per_gb.map_or_else(none, three_digits);
    [money(cost.price), per_gb, rate(&cost.per_mb_s), rate(&cost.per_iops)]
}

/// Returns the note below a table: date, currency and source of the prices.
pub(crate) fn below(costs: &Costs) -> String {
    let (below, sources) = (costs.below(), costs.prices.sources());
    format!("<p class=\"dim\">{} ({}).</p>", escape(&capital(&below)), escape(&sources))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

fn metric_row(cell: &CellRecord) -> Vec<String> {
    let mut row = vec![escape(&cell.target)];
    let rate = |name: &str, factor: f64, text: fn(&Estimate) -> String| {
        metric::estimate(cell, name).map_or_else(
            |e| escape(&e.to_string()),
            |e| {
                let spread = metric::deviation(cell, name).filter(|(sd, _)| *sd > 0.0);
                let sd = |(sd, n): (f64, u64)| {
                    format!("<small>sd {} of {n}</small>", three_digits(sd * factor))
                };
                with_uncertainty(&text(&e.scaled(factor)), &e, factor)
                    + &spread.map_or_else(String::new, sd)
            },
        )
    };
    row.push(rate("bandwidth", 1e-6, |e| three_digits(e.value)));
    row.push(rate("iops", 1.0, |e| count(e.value)));
    row.extend(PERCENTILES.iter().map(|p| latency(cell, p)));
    for name in ["requests", "errors"] {
        row.push(metric::estimate(cell, name).map_or("–".into(), |e| format!("{}", e.value)));
    }
    row.push(cell.repeats.len().to_string());
    row
}

/// Returns the effect sizes of every target against the first listed one.
pub fn comparison(run: &Run) -> String {
    let targets = run.targets();
    let Some(reference) = targets.first().filter(|_| targets.len() > 1) else {
        return "<p>One target: nothing to compare.</p>".into();
    };
    let c = compare::table(run, reference);
    let rows: Vec<Vec<String>> = c.rows.iter().map(comparison_row).collect();
    let mut heading =
        vec!["workload", "target", "bandwidth ratio", "p50 ratio", "p99 ratio", "A", "KS"];
    heading.push("in a word");
    let costs = Costs::of(run).filter(|_| c.rows.iter().any(|row| row.cost.is_some()));
    let mut rows = rows;
    if costs.is_some() {
        heading.push("price per MB/s ratio");
        for (row, of) in rows.iter_mut().zip(&c.rows) {
            let text = |e: &Estimate| with_uncertainty(&three_digits(e.value), e, 1.0);
            row.push(of.cost.as_ref().map_or_else(|| "–".into(), |cost| text(&cost.per_mb_s)));
        }
    }
    format!(
        "<p>Each target against <strong>{}</strong>. A ratio above 1 means the target has more. \
         A is \
         the probability that a request of the target is the faster of the two, ties half; KS is \
         the \
         largest distance between the two distributions.</p>{}{}{}",
        escape(reference),
        table(&format!("against {reference}"), &heading, &rows) + &programs_compared(&c, reference),
        costs.as_ref().map_or_else(String::new, below),
        notes(&c)
    )
}

/// Compares the numbers that programs printed with those on the reference; nothing without such
/// numbers.
fn programs_compared(c: &Comparison, reference: &str) -> String {
    if c.programs.is_empty() {
        return String::new();
    }
    let row = |row: &compare::ProgramRow| {
        vec![
            escape(&row.workload),
            escape(&row.target),
            escape(&row.metric),
            with_uncertainty(&three_digits(row.ratio.value), &row.ratio, 1.0),
            row.standing.name().to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = c.programs.iter().map(row).collect();
    let heading = ["workload", "target", "metric", "ratio", "in a word"];
    table(&format!("programs against {reference}"), &heading, &rows)
}

fn notes(c: &Comparison) -> String {
    c.notes.iter().map(|n| format!("<p class=\"dim\">{}</p>", escape(n))).collect()
}

fn comparison_row(row: &compare::Row) -> Vec<String> {
    let ratio = |e: &Estimate| with_uncertainty(&three_digits(e.value), e, 1.0);
    let shift = |e: &Option<Estimate>| {
        let text = |e: &Estimate| with_uncertainty(&format!("{:.3}", e.value), e, 1.0);
        e.as_ref().map_or_else(|| "–".into(), text)
    };
    vec![
        escape(&row.workload),
        escape(&row.target),
        ratio(&row.bandwidth),
        ratio(&row.p50),
        ratio(&row.p99),
        shift(&row.superiority),
        shift(&row.distance),
        row.standing.name().to_owned(),
    ]
}

/// Returns steady state and drift of the first repeat of each cell.
pub fn stability(run: &Run) -> String {
    let mut rows = Vec::new();
    for cell in &run.cells {
        let Some(repeat) = cell.repeats.first() else { continue };
        rows.push(vec![
            escape(&format!("{}@{}", cell.workload, cell.target)),
            steady_words(repeat),
            drift_words(&metric::bandwidth_series(repeat)),
            drift_words(&metric::latency_series(repeat)),
        ]);
    }
    let heading = ["cell", "steady-state rule", "drift of bandwidth", "drift of mean latency"];
    table("steady state and drift over the measured phase, first repeat", &heading, &rows)
}

fn steady_words(repeat: &RepeatRecord) -> String {
    let Some(s) = &repeat.steady else { return "no rule asked for".into() };
    let from = s.rounds.len().saturating_sub(s.window as usize);
    let word = if s.reached { "steady" } else { "not steady" };
    match Window::of(&s.rounds[from..], s.range, s.slope) {
        None => format!("{word}<small>{} rounds</small>", s.rounds.len()),
        Some(c) => {
            let share = |v: f64| 100.0 * v / c.mean;
            format!(
                "{word} after {} rounds<small>range {:.1} % of {:.0} %, slope {:.1} % of \
                 {:.0} %</small>",
                s.rounds.len(),
                share(c.range),
                100.0 * s.range,
                share(c.excursion),
                100.0 * s.slope
            )
        }
    }
}

fn drift_words(series: &[f64]) -> String {
    let Some(d) = drift::test(series) else { return "too short to tell".into() };
    let (low, value, high) = d.relative;
    let word = if d.drifts() { "drifts" } else { "no drift seen" };
    format!(
        "{word}<small>{:+.1} % ({:+.1} to {:+.1}) over the phase, p = {:.2}</small>",
        100.0 * value,
        100.0 * low,
        100.0 * high,
        d.p
    )
}

/// Returns a card for each target with its bandwidth under the first four workloads.
pub fn cards(run: &Run) -> String {
    let mut out = String::from("<div class=\"cards\">");
    for target in run.targets() {
        let about = run.record.targets.iter().find(|t| t.name == target);
        out += &format!("<section class=\"card\"><h2>{}</h2>", escape(target));
        if let Some(t) = about {
            let time = if t.virtual_time { ", virtual time" } else { "" };
            let line = format!("{} ({}, {}{time})", t.title, t.kind, human_size(t.capacity));
            out += &format!("<p class=\"dim\">{}</p>", escape(&line));
        }
        out += "<dl>";
        for cell in run.cells.iter().filter(|c| c.target == target).take(4) {
            let (name, factor, unit) = match program::metrics(cell).first() {
                Some(printed) => (&*printed.name, 1.0, &*printed.unit),
                None => ("bandwidth", 1e-6, "MB/s"),
            };
            let value = metric::estimate(cell, name).map_or_else(
                |_| "not measured".into(),
                |e| format!("{} {unit}", plus_minus(&e.scaled(factor))),
            );
            out += &format!(
                "<div><dt>{}</dt><dd>{}</dd></div>",
                escape(&cell.workload),
                escape(&value)
            );
        }
        out += "</dl></section>";
    }
    out + "</div>"
}
