//! The charts of a run: bandwidth bars, latency distributions, the measured phase over time.

use super::axis::{self, Scale};
use super::html::{escape, slug};
use super::svg::{self, Axis, Bar, ChartText, Ink, Line};

use crate::load::Run;
use crate::metric;
use crate::program;
use crate::stats::Estimate;
use crate::text::{plus_minus, rate};
use assay_spec::Histogram;
use assay_spec::histogram::midpoint;
use assay_spec::record::CellRecord;

/// Returns a chart with its caption and legend.
pub(super) fn figure(caption: &str, svg: &str, legend: &str) -> String {
    format!("<figure><figcaption>{}</figcaption>{svg}{legend}</figure>", escape(caption))
}

/// Returns the index of a target's colour and dash, the same in every chart.
pub(super) fn style(run: &Run, target: &str) -> usize {
    run.targets().iter().position(|t| *t == target).unwrap_or(0)
}

/// Returns a square in a target's colour, as HTML.
pub(super) fn swatch(run: &Run, target: &str) -> String {
    format!("<span class=\"swatch s{}\" aria-hidden=\"true\"></span>", style(run, target) % 8)
}

fn caption(cells: &[&CellRecord], workload: &str) -> String {
    let summary = cells.iter().map(|c| c.summary.as_str()).find(|s| !s.is_empty());
    summary.map_or_else(|| workload.to_owned(), |s| format!("{workload}: {s}"))
}

/// Returns a bar chart for each workload, with the bandwidth of every target.
pub fn bandwidth(run: &Run) -> String {
    let values = run.cells.iter().filter_map(|c| metric::estimate(c, "bandwidth").ok());
    // All workloads have one axis, so that bars of different charts can be compared.
    let scale = Scale::log_over(values.map(|e| e.value / 1e6));
    let mut out = String::new();
    for (experiment, workload) in run.workloads() {
        let cells: Vec<&CellRecord> = run.cells_of(experiment, workload).collect();
        let bars = bars(run, &cells, "bandwidth", 1e-6, rate);
        let chart = BarChart { kind: "bw", measure: "Bandwidth", unit: "MB/s", scale };
        out += &chart.figure(experiment, workload, &cells, &bars);
    }
    format!("<div class=\"figures\">{out}</div>")
}

/// Returns a bar chart for each workload that is a program, with the first number that it printed
/// on every target; nothing if the run has no such workload.
pub fn programs(run: &Run) -> String {
    let mut out = String::new();
    for (experiment, workload) in run.workloads() {
        let cells: Vec<&CellRecord> =
            run.cells_of(experiment, workload).filter(|c| program::is_of_program(c)).collect();
        let Some(by) = cells.first().and_then(|cell| program::metrics(cell).first()) else {
            continue;
        };
        let bars = bars(run, &cells, &by.name, 1.0, plus_minus);
        let scale = Scale::log_over(bars.iter().map(|bar| bar.value));
        let heading = program::heading(by);
        let chart = BarChart { kind: "program", measure: &heading, unit: &heading, scale };
        out += &chart.figure(experiment, workload, &cells, &bars);
    }
    if out.is_empty() { out } else { format!("<div class=\"figures\">{out}</div>") }
}

/// Returns a bar for each cell that has the metric, in units of `1 / factor`.
fn bars(
    run: &Run,
    cells: &[&CellRecord],
    metric: &str,
    factor: f64,
    text: fn(&Estimate) -> String,
) -> Vec<Bar> {
    let bar = |c: &&CellRecord| {
        let e = metric::estimate(c, metric).ok()?;
        Some(Bar {
            style: style(run, &c.target),
            name: c.target.clone(),
            value: e.value * factor,
            interval: e.scaled(factor).interval,
            text: text(&e),
            pale: false,
            published: None,
        })
    };
    cells.iter().filter_map(bar).collect()
}

/// A chart with a bar for each target.
struct BarChart<'a> {
    /// The first part of its id.
    kind: &'a str,
    measure: &'a str,
    unit: &'a str,
    scale: Scale,
}

impl BarChart<'_> {
    /// Returns the chart of a workload with its caption, or nothing without a bar.
    fn figure(
        &self,
        experiment: &str,
        workload: &str,
        cells: &[&CellRecord],
        bars: &[Bar],
    ) -> String {
        if bars.is_empty() {
            return String::new();
        }
        let list: Vec<String> = bars.iter().map(|b| format!("{} {}", b.name, b.text)).collect();
        let words = ChartText {
            id: format!("{}-{}-{}", self.kind, slug(experiment), slug(workload)),
            title: format!("{}, {workload}", self.measure),
            description: list.join(", "),
        };
        let name = format!("{}, log scale", self.unit);
        let x = Axis { scale: self.scale, label: axis::number, name: &name };
        figure(&caption(cells, workload), &svg::bars(&words, x, bars), "")
    }
}

/// Returns the points of the distribution function.
fn below(h: &Histogram) -> Vec<(f64, f64)> {
    let (total, mut seen) = (h.count() as f64, 0);
    let mut points = Vec::new();
    for (bucket, count) in h.buckets() {
        let at = midpoint(bucket).0.max(1) as f64;
        if points.is_empty() {
            points.push((at, 0.0));
        }
        seen += count;
        points.push((at, seen as f64 / total));
    }
    points
}

/// Returns the points of the share of requests beyond a latency, as far as there are requests.
fn beyond(h: &Histogram) -> Vec<(f64, f64)> {
    let (total, mut seen) = (h.count(), 0);
    let mut points = Vec::new();
    for (bucket, count) in h.buckets() {
        let at = midpoint(bucket).0.max(1) as f64;
        if points.is_empty() {
            points.push((at, 1.0));
        }
        let before = (total - seen) as f64 / total as f64;
        seen += count;
        points.push((at, before));
        if seen < total {
            points.push((at, (total - seen) as f64 / total as f64));
        }
    }
    points
}

/// Returns the latency distributions, a pair of panels for each workload.
pub fn latency(run: &Run) -> String {
    let mut out = String::new();
    for (experiment, workload) in run.workloads() {
        let cells: Vec<&CellRecord> = run.cells_of(experiment, workload).collect();
        let histograms: Vec<(&&CellRecord, Histogram)> = cells
            .iter()
            .map(|c| (c, metric::histogram(c, None)))
            .filter(|(_, h)| !h.is_empty())
            .collect();
        if histograms.is_empty() {
            continue;
        }
        let lines = |points: fn(&Histogram) -> Vec<(f64, f64)>| -> Vec<Line> {
            let line = |(c, h): &(&&CellRecord, Histogram)| Line {
                ink: Ink::Target(style(run, &c.target)),
                name: c.target.clone(),
                points: points(h),
                knots: false,
            };
            histograms.iter().map(line).collect()
        };
        let (cdf, tail) = (lines(below), lines(beyond));
        let ends = cdf.iter().flat_map(|l| l.points.iter().map(|p| p.0));
        let x =
            Axis { scale: Scale::log_over(ends), label: axis::time, name: "latency, log scale" };
        let id = format!("{}-{}", slug(experiment), slug(workload));
        let medians: Vec<String> = histograms
            .iter()
            .map(|(c, _)| {
                let p50 = metric::estimate(c, "p50").map(|e| crate::text::time(&e));
                format!("{} median {}", c.target, p50.unwrap_or_default())
            })
            .collect();
        let words = |kind: &str, title: &str| ChartText {
            id: format!("{kind}-{id}"),
            title: format!("{title}, {workload}"),
            description: medians.join(", "),
        };
        let y = Axis {
            scale: Scale::Linear(0.0, 1.0),
            label: axis::number,
            name: "share of requests at most this slow",
        };
        let z = Axis {
            scale: Scale::Log(1e-5, 1.0),
            label: axis::percent_below,
            name: "the same, towards 99.999 %",
        };
        let first = svg::lines(&words("cdf", "Latency distribution"), x, y, &cdf);
        // The far end is at the bottom of the axis: the tail falls to the right.
        let second = svg::lines(&words("tail", "Latency tail"), x, z, &tail);
        out += &format!(
            "<h3>{}</h3><div class=\"figures\">{}{}</div>",
            escape(&caption(&cells, workload)),
            figure("Distribution", &first, &svg::legend(&cdf)),
            figure("Tail", &second, &svg::legend(&tail))
        );
    }
    out
}

/// Returns bandwidth and mean latency over time in the measured phase of the first repeat.
pub fn over_time(run: &Run) -> String {
    let mut out = String::new();
    for (experiment, workload) in run.workloads() {
        let cells: Vec<&CellRecord> = run.cells_of(experiment, workload).collect();
        let lines = |pick: fn(&assay_spec::record::RepeatRecord) -> Vec<f64>, factor: f64| {
            let line = |c: &&CellRecord| {
                let repeat = c.repeats.first()?;
                let step = repeat.series.interval.as_secs_f64();
                let place = |(i, v): (usize, f64)| ((i as f64 + 0.5) * step, v * factor);
                let points: Vec<_> = pick(repeat).into_iter().enumerate().map(place).collect();
                let name = c.target.clone();
                (points.len() > 1).then(|| Line {
                    ink: Ink::Target(style(run, &name)),
                    name,
                    points,
                    knots: false,
                })
            };
            cells.iter().filter_map(line).collect::<Vec<Line>>()
        };
        let rate = lines(metric::bandwidth_series, 1e-6);
        let slow = lines(metric::latency_series, 1.0);
        if rate.is_empty() {
            continue;
        }
        let end = rate.iter().chain(&slow).flat_map(|l| l.points.last()).map(|p| p.0);
        let x = Axis {
            scale: Scale::from_zero(end.fold(0.0, f64::max)),
            label: axis::number,
            name: "seconds since the measured phase began",
        };
        let panel = |kind: &str, name, label, lines: &[Line]| {
            let values = lines.iter().flat_map(|l| l.points.iter().map(|p| p.1));
            let y = Axis { scale: Scale::log_over(values), label, name };
            let names: Vec<&str> = lines.iter().map(|l| l.name.as_str()).collect();
            let words = ChartText {
                id: format!("{kind}-{}-{}", slug(experiment), slug(workload)),
                title: format!("{name} over time, {workload}"),
                description: format!("A line for each target: {}", names.join(", ")),
            };
            svg::lines(&words, x, y, lines)
        };
        out += &format!(
            "<h3>{}</h3><div class=\"figures\">{}{}</div>",
            escape(&caption(&cells, workload)),
            figure("Bandwidth", &panel("rate", "MB/s", axis::number, &rate), &svg::legend(&rate)),
            figure(
                "Mean latency",
                &panel("mean", "mean latency", axis::time, &slow),
                &svg::legend(&slow)
            )
        );
    }
    out
}
