//! Draws the forms of panels, with the published values in them.

use super::published::{Published, of_cell};
use super::series::{Quantity, Series};
use crate::load::Run;
use crate::metric;
use crate::report::axis::{self, Scale};
use crate::report::charts::style;
use crate::report::html::escape;
use crate::report::svg::{self, Axis, Bar, ChartText, Ink, Line, Mark};
use crate::stats::Estimate;
use crate::sweep::{Parameter, Point, Sweep};
use assay_spec::histogram::midpoint;
use assay_spec::record::CellRecord;
use assay_spec::{Histogram, Nanos, Op};

/// What every panel of a figure is drawn with.
pub struct Context<'a> {
    /// The run.
    pub run: &'a Run,
    /// The published values.
    pub published: &'a [Published],
    /// The sweeps of the run's experiments.
    pub sweeps: &'a [Sweep],
    /// The number of the figure, for ids in HTML.
    pub number: &'static str,
}

/// A chart with its legends, as HTML.
pub struct Panel {
    /// The name of the target, if the panel is about one target.
    pub target: Option<String>,
    /// The title of the panel.
    pub title: &'static str,
    /// The chart and its legends.
    pub body: String,
}

impl<'a> Context<'a> {
    /// Returns the cell of a series on a target, if it was measured.
    pub fn cell(&self, s: &Series, target: &str) -> Option<&'a CellRecord> {
        let cell = self.run.cell(Some(s.experiment), s.workload, target)?;
        (cell.skipped.is_none() && !cell.repeats.is_empty()).then_some(cell)
    }

    /// Returns the targets that have the cells of all these series.
    pub fn targets(&self, all: &[Series]) -> Vec<&'a str> {
        let has = |t: &&str| all.iter().all(|s| self.cell(s, t).is_some());
        self.run.targets().into_iter().filter(has).collect()
    }

    pub(super) fn words(
        &self,
        title: &'static str,
        target: Option<&str>,
        description: String,
    ) -> ChartText {
        let of = target.map_or(String::new(), |t| format!(" of {t}"));
        ChartText {
            id: crate::report::html::slug(&format!("{}-{}{of}", self.number, title)),
            title: format!("{}: {}{of}", self.number, title),
            description,
        }
    }

    pub(super) fn ink(&self, target: &str) -> Ink {
        Ink::Target(style(self.run, target))
    }
}

/// Returns the rows of bars: for each target one for each series.
pub fn bar_rows(c: &Context<'_>, of: Quantity, among: &str, series: &[Series]) -> Vec<Bar> {
    let mut rows = Vec::new();
    for target in c.targets(series).into_iter().filter(|target| target.starts_with(among)) {
        for (index, s) in series.iter().enumerate() {
            rows.extend(c.cell(s, target).and_then(|cell| bar(c, of, s, cell, index > 0)));
        }
    }
    rows
}

fn bar(
    c: &Context<'_>,
    quantity: Quantity,
    s: &Series,
    cell: &CellRecord,
    pale: bool,
) -> Option<Bar> {
    let Quantity { metric, per, unit } = quantity;
    let e = metric::estimate(cell, metric).ok()?.scaled(1.0 / per);
    let deviation = metric::deviation(cell, metric).map(|(sd, n)| (sd / per, n));
    let e = spread(&e, deviation);
    let of = of_cell(c.published, cell);
    let published = of.filter(|p| p.metric == metric).map(|p| p.value / per).next();
    let said = |v: f64| format!(", published {}", assay_spec::units::three_digits(v));
    let name = match s.label {
        "" => cell.target.clone(),
        label => format!("{}, {label}", cell.target),
    };
    Some(Bar {
        style: style(c.run, &cell.target),
        name,
        value: e.value,
        interval: e.interval,
        text: value(&e, deviation, unit) + &published.map_or(String::new(), said),
        pale,
        published,
    })
}

/// Returns the estimate with the interval that a bar shows: with repeats one standard deviation
/// either way, as documents draw it, otherwise the interval of the estimate.
fn spread(e: &Estimate, deviation: Option<(f64, u64)>) -> Estimate {
    let interval = deviation.map(|(sd, _)| (e.value - sd, e.value + sd)).or(e.interval);
    Estimate { interval, ..e.clone() }
}

/// Formats the value of a bar: `46.23 ± 0.31 MB/s (sd of 5)`.
fn value(e: &Estimate, deviation: Option<(f64, u64)>, unit: &str) -> String {
    let value = crate::text::plus_minus(e).replace(" =", "");
    match deviation {
        Some((sd, n)) if sd > 0.0 => format!("{value} {unit} (sd of {n})"),
        _ => format!("{value} {unit}"),
    }
}

/// Draws bars on a scale that the panels of the figure share.
pub fn bars(
    c: &Context<'_>,
    title: &'static str,
    axis: (&str, bool),
    scale: Scale,
    rows: &[Bar],
) -> Panel {
    let (unit, log) = axis;
    let list: Vec<String> = rows.iter().map(|b| format!("{} {}", b.name, b.text)).collect();
    let words = c.words(title, None, list.join("; "));
    let name = if log { format!("{unit}, log scale") } else { unit.to_owned() };
    let mut body = svg::bars(&words, Axis { scale, label: axis::number, name: &name }, rows);
    if rows.iter().any(|b| b.published.is_some()) {
        body += &svg::mark_legend("published");
    }
    Panel { target: None, title, body }
}

/// Returns the points of the exact distribution function: a step at each bucket, without a slope.
fn steps(h: &Histogram) -> Vec<(f64, f64)> {
    let (total, mut seen) = (h.count() as f64, 0);
    let mut points = Vec::new();
    for (bucket, count) in h.buckets() {
        let at = midpoint(bucket).0.max(1) as f64;
        points.push((at, seen as f64 / total));
        seen += count;
        points.push((at, seen as f64 / total));
    }
    points
}

/// Returns the line of a cell's distribution, or `None` without requests of the kind.
pub fn distribution(cell: &CellRecord, op: Option<Op>, ink: Ink, name: &str) -> Option<Line> {
    let h = metric::histogram(cell, op);
    (!h.is_empty()).then(|| Line { ink, name: name.to_owned(), points: steps(&h), knots: false })
}

/// Returns the colour and dash of a series.
pub fn series_ink(s: &Series) -> Ink {
    Ink::Series { tint: s.tint, dash: s.dash }
}

/// Draws distributions with the published values of their cells.
pub fn distributions(
    c: &Context<'_>,
    title: &'static str,
    target: Option<&str>,
    x: Scale,
    lines: &[Line],
    published: &[(Ink, &Published)],
    op: Option<Op>,
) -> Panel {
    let medians = lines.iter().filter_map(|l| {
        let at = l.points.iter().find(|p| p.1 >= 0.5)?.0;
        Some(format!("{} median {}", l.name, assay_spec::units::human_time(at)))
    });
    let words = c.words(title, target, medians.collect::<Vec<_>>().join(", "));
    let x = Axis { scale: x, label: axis::time, name: "latency, log scale" };
    let name = match op {
        Some(Op::Read) => "share of reads at most this slow",
        Some(Op::Write) => "share of writes at most this slow",
        _ => "share of requests at most this slow",
    };
    let y = Axis { scale: Scale::Linear(0.0, 1.0), label: axis::percent, name };
    let (marks, text) = marks(published, |p| on_distribution(&p.metric, p.value, op));
    let body = svg::marked_lines(&words, x, y, lines, &marks)
        + &svg::legend(lines)
        + &text
        + &between(published, op);
    Panel { target: target.map(str::to_owned), title, body }
}

/// Returns the latencies of the published values that have a position among distributions.
pub fn places(published: &[(Ink, &Published)], op: Option<Op>) -> Vec<f64> {
    let at = |(_, p): &(Ink, &Published)| Some(on_distribution(&p.metric, p.value, op)?.0);
    published.iter().filter_map(at).collect()
}

/// Returns the position of a published percentile or share among distributions.
fn on_distribution(metric: &str, value: f64, op: Option<Op>) -> Option<(f64, f64)> {
    let name = match op {
        Some(op) => metric.strip_prefix(op.name()).and_then(|r| r.strip_prefix('.'))?,
        None => metric,
    };
    let limit = |text: &str| text.parse::<Nanos>().ok().map(|t| t.0 as f64);
    if let Some(rest) = name.strip_prefix("share<") {
        return Some((limit(rest)?, value));
    }
    if let Some(rest) = name.strip_prefix("share>") {
        return Some((limit(rest)?, 1.0 - value));
    }
    let percent: f64 = name.strip_prefix('p')?.parse().ok()?;
    Some((value, percent / 100.0))
}

/// Returns the published shares between two latencies as text: they are numbers, but not points of
/// a chart.
fn between(published: &[(Ink, &Published)], op: Option<Op>) -> String {
    let prefix = op.map_or(String::new(), |op| format!("{}.", op.name()));
    let of =
        |p: &&Published| p.metric.strip_prefix(&prefix).is_some_and(|m| m.starts_with("share="));
    let texts: Vec<&str> =
        published.iter().map(|(_, p)| *p).filter(of).map(|p| p.text.as_str()).collect();
    match texts.is_empty() {
        true => String::new(),
        false => format!("<p class=\"dim absent\">Published: {}.</p>", escape(&texts.join("; "))),
    }
}

/// Returns the markers of the published values that have a position, and their legend.
fn marks(
    published: &[(Ink, &Published)],
    place: impl Fn(&Published) -> Option<(f64, f64)>,
) -> (Vec<Mark>, String) {
    let mark = |(ink, p): &(Ink, &Published)| {
        Some(Mark { ink: *ink, at: place(p)?, title: format!("published: {}", p.text) })
    };
    let marks: Vec<Mark> = published.iter().filter_map(mark).collect();
    let said = |(_, p): &&(Ink, &Published)| place(p).is_some();
    let texts: Vec<&str> = published.iter().filter(said).map(|(_, p)| p.text.as_str()).collect();
    let key = match texts.is_empty() {
        true => String::new(),
        false => svg::mark_legend(&format!("published: {}", texts.join("; "))),
    };
    (marks, key)
}

/// Returns the vertical scale for the first requests of a target. It covers all latencies that the
/// experiment kept on this target, and the published ones of this workload.
pub fn first_scale(c: &Context<'_>, cell: &CellRecord, log: bool) -> Scale {
    let cells = c.run.cells.iter();
    let alike = cells.filter(|o| (&o.experiment, &o.target) == (&cell.experiment, &cell.target));
    let firsts = alike.filter_map(|o| o.repeats.first()?.first.as_ref());
    let latencies = firsts.flat_map(|f| &f.latency_ns).map(|v| *v as f64);
    let published = of_cell(c.published, cell).filter(|p| is_time(p));
    let all = latencies.chain(published.map(|p| p.value));
    if log { Scale::log_over(all) } else { Scale::from_zero(all.fold(0.0, f64::max)) }
}

/// Returns `true` if a published value is a latency.
fn is_time(p: &Published) -> bool {
    let percentile = p.metric.strip_prefix('p').is_some_and(|q| q.parse::<f64>().is_ok());
    percentile || p.metric == "mean"
}

/// Draws the first requests of a cell. The vertical axis is shared by a target's panels.
pub fn one_by_one(
    c: &Context<'_>,
    title: &'static str,
    cell: &CellRecord,
    y: Scale,
) -> Option<Panel> {
    let first = cell.repeats.first()?.first.as_ref()?;
    let numbered = first.latency_ns.iter().enumerate();
    let points: Vec<(f64, f64)> = numbered.map(|(i, ns)| (i as f64 + 1.0, *ns as f64)).collect();
    let end = points.last().filter(|_| points.len() > 1)?.0;
    let target = cell.target.as_str();
    let x = Axis { scale: Scale::Linear(0.0, end), label: axis::number, name: "request number" };
    let name = if matches!(y, Scale::Log(..)) { "latency, log scale" } else { "latency" };
    let y = Axis { scale: y, label: axis::time, name };
    let published: Vec<(Ink, &Published)> =
        of_cell(c.published, cell).map(|p| (c.ink(target), p)).collect();
    let at_the_edge = |p: &Published| is_time(p).then_some((end, p.value));
    let (marks, text) = marks(&published, at_the_edge);
    let slowest = first.latency_ns.iter().max().map_or(0.0, |v| *v as f64);
    let description = format!(
        "{} requests, the slowest {}",
        points.len(),
        assay_spec::units::human_time(slowest)
    );
    let words = c.words(title, Some(target), description);
    let body = svg::dots(&words, x, y, (c.ink(target), &points), &marks) + &text;
    Some(Panel { target: Some(target.to_owned()), title, body })
}

/// Returns the lines of a sweep: the mean latencies of each target.
pub fn sweep_lines(c: &Context<'_>, sweep: &Sweep) -> Vec<Line> {
    let line = |target: &str| {
        let at = |point: &Point| {
            let cell = c.run.cell(Some(&sweep.experiment), &point.workload, target)?;
            Some((point.value.0 as f64, metric::estimate(cell, "mean").ok()?.value))
        };
        let points: Vec<(f64, f64)> = sweep.points.iter().filter_map(at).collect();
        let name = target.to_owned();
        (points.len() > 1).then(|| Line { ink: c.ink(target), name, points, knots: true })
    };
    c.run.targets().into_iter().filter_map(line).collect()
}

/// Draws a sweep on a vertical scale that the panels of the figure share.
pub fn sweep(
    c: &Context<'_>,
    title: &'static str,
    sweep: &Sweep,
    y: Scale,
    lines: &[Line],
) -> Panel {
    let values: Vec<f64> = sweep.points.iter().map(|p| p.value.0 as f64).collect();
    let (low, high) = (values[0], values[values.len() - 1]);
    let x = match sweep.of {
        Parameter::Range => Axis {
            scale: Scale::Log(low, high),
            label: axis::decimal_size,
            name: "range of the random requests, log scale",
        },
        Parameter::Step => Axis {
            scale: Scale::Doublings(low, high),
            label: axis::binary_size,
            name: "distance between the starts of two requests, log scale",
        },
    };
    let y = Axis { scale: y, label: axis::time, name: "mean latency, log scale" };
    let mut published = Vec::new();
    for (value, point) in values.iter().zip(&sweep.points) {
        for l in lines {
            let cell = c.run.cell(Some(&sweep.experiment), &point.workload, &l.name);
            let of = cell.into_iter().flat_map(|cell| of_cell(c.published, cell));
            published.extend(of.filter(|p| p.metric == "mean").map(|p| (l.ink, *value, p)));
        }
    }
    let place = |wanted: &Published| {
        published.iter().find(|(_, _, p)| *p == wanted).map(|(_, value, p)| (*value, p.value))
    };
    let of_lines: Vec<(Ink, &Published)> = published.iter().map(|(i, _, p)| (*i, *p)).collect();
    let (marks, text) = marks(&of_lines, place);
    let ends = lines.iter().filter_map(|l| {
        let (first, last) = (l.points.first()?.1, l.points.last()?.1);
        let time = assay_spec::units::human_time;
        Some(format!("{} from {} to {}", l.name, time(first), time(last)))
    });
    let words = c.words(title, None, ends.collect::<Vec<_>>().join(", "));
    let body = svg::marked_lines(&words, x, y, lines, &marks) + &svg::legend(lines) + &text;
    Panel { target: None, title, body }
}
