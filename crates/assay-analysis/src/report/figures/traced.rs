//! The requests to the drives during a cell, from the request logs of its drives. The panels are
//! those of the page of a block trace.

use super::draw::{Context, Panel};
use super::series::Series;
use crate::report::axis::{self, Scale};
use crate::report::svg::boxes::{BoxRow, box_plot};
use crate::report::svg::{self, Axis, Line};
use crate::report::trace;
use crate::trace::{Span, Spread, cumulated};
use assay_spec::trace::TraceRow;
use assay_spec::units::human_time;
use assay_spec::{Nanos, Op};

/// A view of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The times that requests took, by target and direction.
    Boxes,
    /// The requests over time and address: a panel for each target.
    Address,
    /// The blocks moved over time: a line for each target.
    Moved,
}

/// The length of the time axis, as in the document.
const SHOWN: Nanos = Nanos::from_secs(30);

/// Returns the panels for which the run has logs.
pub fn panels(c: &Context<'_>, title: &'static str, view: View, series: &[Series]) -> Vec<Panel> {
    let logs = logs(c, series);
    if logs.is_empty() {
        return Vec::new();
    }
    let shared = |body| vec![Panel { target: None, title, body }];
    match view {
        View::Boxes => shared(boxes(c, title, &logs)),
        View::Moved => shared(moved(c, title, &logs)),
        View::Address => {
            let panel = |(target, rows): &(&str, &[TraceRow])| {
                let words = |said| c.words(title, Some(target), said);
                let body = trace::over_address(words, shown(rows).as_slice())?;
                Some(Panel { target: Some((*target).to_owned()), title, body })
            };
            logs.iter().filter_map(panel).collect()
        }
    }
}

/// Returns the logs of the cells of these series, with their targets.
fn logs<'a>(c: &Context<'a>, series: &[Series]) -> Vec<(&'a str, &'a [TraceRow])> {
    let log = |s: &Series, target: &'a str| {
        let rows = c.run.logs.get(&c.cell(s, target)?.id)?;
        Some((target, rows.as_slice()))
    };
    let targets = c.run.targets();
    series.iter().flat_map(|s| targets.iter().filter_map(|t| log(s, t))).collect()
}

fn shown(rows: &[TraceRow]) -> Vec<TraceRow> {
    rows.iter().filter(|row| row.complete <= SHOWN).copied().collect()
}

fn boxes(c: &Context<'_>, title: &'static str, logs: &[(&str, &[TraceRow])]) -> String {
    // The log of a modelled drive begins when a request reaches its elevator.
    let span = |row: &TraceRow| Some(Span::Inserted.of(row).or(Span::All.of(row))?.0);
    let spread = |rows: &[TraceRow], op| {
        let of = rows.iter().filter(|row| row.op == op && row.error == 0);
        Spread::of(of.filter_map(span).collect())
    };
    let ops = [Op::Read, Op::Write];
    let all = logs.iter().flat_map(|(target, rows)| ops.map(|op| (*target, op, spread(rows, op))));
    let all: Vec<(&str, Op, Spread)> =
        all.filter_map(|(target, op, spread)| Some((target, op, spread?))).collect();
    let mut rows = Vec::new();
    for (target, op, spread) in &all {
        let (name, text) = (format!("{target}, {}", op.name()), human_time(spread.median));
        rows.push(BoxRow { ink: c.ink(target), name, spread, text: format!("median {text}") });
    }
    let ends = all.iter().flat_map(|(_, _, s)| [s.min, s.max, s.mean]);
    let x = Axis { scale: Scale::log_over(ends), label: axis::time, name: "log scale" };
    let said: Vec<String> = rows.iter().map(|r| format!("{}: {}", r.name, r.text)).collect();
    box_plot(&c.words(title, None, said.join("; ")), x, &rows)
}

fn moved(c: &Context<'_>, title: &'static str, logs: &[(&str, &[TraceRow])]) -> String {
    let end = |rows: &[TraceRow]| rows.iter().map(|row| row.complete).max().unwrap_or_default();
    let line = |(target, rows): &(&str, &[TraceRow])| {
        let rows = shown(rows);
        let points = cumulated(&rows, |op| matches!(op, Op::Read | Op::Write), end(&rows).0);
        Line { ink: c.ink(target), name: (*target).to_owned(), points, knots: false }
    };
    let lines: Vec<Line> = logs.iter().map(line).collect();
    let points = || lines.iter().flat_map(|l| &l.points);
    let (last, high) = points().fold((0.0_f64, 0.0_f64), |(x, y), p| (x.max(p.0), y.max(p.1)));
    let x = Axis { scale: axis::between(0.0, last), label: axis::number, name: trace::SECONDS };
    let y = Axis { scale: Scale::from_zero(high), label: axis::short_number, name: trace::BLOCKS };
    let said = lines.iter().filter_map(|l| {
        Some(format!("{} ends at {}", l.name, axis::short_number(l.points.last()?.1)))
    });
    let words = c.words(title, None, said.collect::<Vec<_>>().join(", "));
    svg::lines(&words, x, y, &lines) + &svg::legend(&lines)
}
