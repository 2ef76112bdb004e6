//! The page of a block trace: requests over time and address, blocks cumulated, box plots, rates.

use super::axis::{self, Scale};
use super::charts::figure;
use super::html::escape;
use super::html_template::HtmlTemplate;
use super::svg::boxes::{BoxRow, box_plot, scatter};
use super::svg::{self, Axis, ChartText, Ink, Line};
use super::{style, tables};
use crate::text::trace as words;
use crate::trace::{Direction, Span, Spread, Summary, cumulated, rates};
use assay_spec::Op;
use assay_spec::trace::TraceRow;
use assay_spec::units::human_time;

/// The name of the axis of time.
pub(super) const SECONDS: &str = "seconds since the trace began";
/// The name of the axis of moved data.
pub(super) const BLOCKS: &str = "blocks of 512 bytes";

/// The title and the notes of a trace's page.
#[derive(Clone, Debug)]
pub struct About {
    /// The title.
    pub title: String,
    /// Where the trace came from, in one line each.
    pub notes: Vec<String>,
}

/// Returns the page. `summary` is that of `rows`.
pub fn page(about: &About, summary: &Summary, rows: &[TraceRow]) -> String {
    let sections = [
        ("address", "Over time and address", address(rows)),
        ("blocks", "Blocks over time", over_time(summary, rows)),
        ("boxes", "How long requests took", boxes(summary)),
        ("sizes", "How long requests are", sizes(summary)),
        ("numbers", "Numbers", numbers(summary)),
    ];
    let below = about.notes.iter().map(|note| format!("<p class=\"dim\">{}</p>", escape(note)));
    let page = HtmlTemplate {
        title: &escape(&about.title),
        version: env!("CARGO_PKG_VERSION"),
        css: &[style::CSS, style::FIGURES, style::TRACES].concat(),
        skip: "figures",
        below: &below.collect::<String>(),
        foot: "Every number here is in the log.",
    };
    page.page(&sections)
}

fn words_of(id: &str, title: &str, description: String) -> ChartText {
    ChartText { id: id.to_owned(), title: title.to_owned(), description }
}

fn seconds(summary: &Summary) -> Axis<'static> {
    let end = summary.to_ns as f64 / 1e9;
    let scale = axis::between(summary.from_ns as f64 / 1e9, end);
    Axis { scale, label: axis::number, name: SECONDS }
}

/// Returns those directions of `ops` that have requests.
fn there(summary: &Summary, ops: &[Op]) -> Vec<Op> {
    let is_there = |op: &&Op| summary.directions.iter().any(|d| d.direction == op.name());
    ops.iter().filter(is_there).copied().collect()
}

fn ink(op: Op) -> Ink {
    Ink::Target(op as usize)
}

/// Returns the legend of directions.
fn legend(ops: &[Op]) -> String {
    let line = |op: &Op| Line {
        ink: ink(*op),
        name: op.name().to_owned(),
        points: Vec::new(),
        knots: false,
    };
    svg::legend(&ops.iter().map(line).collect::<Vec<Line>>())
}

fn address(rows: &[TraceRow]) -> String {
    const TITLE: &str = "Requests over time and address";
    match over_address(|said| words_of("address", TITLE, said), rows) {
        Some(chart) => figure(TITLE, &chart, ""),
        None => "<p>No request has a place.</p>".to_owned(),
    }
}

/// Draws requests as points over time and address, with a legend and a note; `None` if no request
/// has an address. `words` makes the words of the chart from a description.
pub(super) fn over_address(
    words: impl FnOnce(String) -> ChartText,
    rows: &[TraceRow],
) -> Option<String> {
    let of = |op: Op| rows.iter().filter(move |row| row.op == op);
    let mut ops = vec![Op::Read, Op::Write, Op::Trim];
    ops.retain(|op| of(*op).next().is_some());
    let points = |op: Op| -> Vec<(f64, f64)> {
        of(op).map(|row| (row.complete.0 as f64 / 1e9, row.offset.0 as f64)).collect()
    };
    let kinds: Vec<(Ink, Vec<(f64, f64)>)> = ops.iter().map(|op| (ink(*op), points(*op))).collect();
    let all = || kinds.iter().flat_map(|(_, points)| points);
    let count = all().count();
    let around = |pick: fn(&(f64, f64)) -> f64| {
        let ends = all().map(pick).fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
        axis::between(ends.0, ends.1)
    };
    if count == 0 {
        return None;
    }
    let x = Axis { scale: around(|p| p.0), label: axis::number, name: SECONDS };
    let y = Axis { scale: around(|p| p.1), label: axis::decimal_size, name: "address" };
    let words = words(format!("{count} requests, one point for the address and the end of each"));
    let (chart, apart) = scatter(&words, x, y, &kinds);
    let thinned = if apart > 0.5 { "thinned: " } else { "" };
    let note = format!(
        "{count} requests, drawn at their first address and at the time of their end; \
         {thinned}requests within {apart} of {} units of the width are drawn as one point.",
        svg::WIDTH
    );
    Some(chart + &legend(&ops) + &format!("<p class=\"dim absent\">{note}</p>"))
}

fn over_time(summary: &Summary, rows: &[TraceRow]) -> String {
    // Trims do not move data.
    let (ops, end) = (there(summary, &[Op::Read, Op::Write]), summary.to_ns);
    let named =
        |op: Op, points| Line { ink: ink(op), name: op.name().to_owned(), points, knots: false };
    let mut sums: Vec<Line> =
        ops.iter().map(|op| named(*op, cumulated(rows, |o| o == *op, end))).collect();
    if ops.len() > 1 {
        let points = cumulated(rows, |op| ops.contains(&op), end);
        sums.push(Line { ink: Ink::Target(7), name: "both".to_owned(), points, knots: false });
    }
    let rates: Vec<_> = ops.iter().map(|op| (*op, rates(rows, *op, end))).collect();
    let interval = rates.first().map_or(0.0, |(_, rates)| rates.interval);
    let every = format!("in intervals of {}", human_time(interval * 1e9));
    let requests = rates.iter().map(|(op, r)| named(*op, r.requests.clone())).collect();
    let megabytes = |points: &[(f64, f64)]| points.iter().map(|(x, y)| (*x, y / 1e6)).collect();
    let bytes = rates.iter().map(|(op, r)| named(*op, megabytes(&r.bytes))).collect();
    let mut out = String::from("<div class=\"figures\">");
    for (id, caption, name, lines) in [
        ("cumulated", "Blocks moved since the trace began".to_owned(), BLOCKS, sums),
        ("iops", format!("Requests a second, {every}"), "IOPS", requests),
        ("bandwidth", format!("Bandwidth, {every}"), "MB/s", bytes),
    ] {
        let lines: Vec<Line> = lines;
        let high = lines.iter().flat_map(|l| l.points.iter().map(|p| p.1)).fold(0.0, f64::max);
        let y = Axis { scale: Scale::from_zero(high), label: axis::short_number, name };
        let description = lines.iter().filter_map(|l| {
            Some(format!("{} ends at {}", l.name, axis::short_number(l.points.last()?.1)))
        });
        let words = words_of(id, &caption, description.collect::<Vec<_>>().join(", "));
        let chart = svg::lines(&words, seconds(summary), y, &lines);
        out += &figure(&caption, &chart, &svg::legend(&lines));
    }
    out + "</div>"
}

/// Returns the rows of box plots of the spreads that `pick` returns, in the colour of each
/// direction.
fn rows_of<'a>(
    summary: &'a Summary,
    pick: impl Fn(&'a Direction) -> Option<&'a Spread>,
    text: fn(f64) -> String,
) -> Vec<BoxRow<'a>> {
    let row = |d: &'a Direction| {
        let spread = pick(d)?;
        let op = Op::ALL.into_iter().find(|op| op.name() == d.direction);
        let said = format!("median {}, mean {}", text(spread.median), text(spread.mean));
        Some(BoxRow {
            ink: op.map_or(Ink::Target(7), ink),
            name: format!("{} ({})", d.direction, spread.count),
            spread,
            text: said,
        })
    };
    summary.directions.iter().filter_map(row).collect()
}

fn chart(
    id: &str,
    caption: &str,
    (scale, label): (Scale, fn(f64) -> String),
    rows: &[BoxRow<'_>],
) -> String {
    let x = Axis { scale, label, name: "log scale" };
    let said: Vec<String> = rows.iter().map(|r| format!("{}: {}", r.name, r.text)).collect();
    let words = words_of(id, caption, said.join("; "));
    figure(caption, &box_plot(&words, x, rows), "")
}

fn ends(rows: &[BoxRow<'_>]) -> impl Iterator<Item = f64> {
    rows.iter().flat_map(|r| [r.spread.min, r.spread.max, r.spread.mean])
}

/// Returns a scale between two powers of two, which fits sizes.
fn doublings(rows: &[BoxRow<'_>]) -> Scale {
    let (low, high) = ends(rows).fold((f64::INFINITY, 1.0_f64), |(l, h), v| (l.min(v), h.max(v)));
    let power = |v: f64, round: fn(f64) -> f64| libm::pow(2.0, round(libm::log2(v)));
    let low = power(low.max(1.0), libm::floor);
    Scale::Doublings(low, power(high, libm::ceil).max(2.0 * low))
}

fn boxes(summary: &Summary) -> String {
    let mut out = String::from("<div class=\"figures\">");
    // The whole latency is shown only if its parts are not known.
    let in_parts = summary.directions.iter().any(|d| d.in_device.is_some() || d.in_queue.is_some());
    for span in Span::ALL.into_iter().filter(|span| (*span == Span::All) != in_parts) {
        let rows = rows_of(summary, |d| d.span(span), human_time);
        if !rows.is_empty() {
            let axis = (Scale::log_over(ends(&rows)), axis::time as fn(f64) -> String);
            out += &chart(&format!("box-{}", span.key()), words::meaning(span), axis, &rows);
        }
    }
    out + "</div><p class=\"dim absent\">Boxes reach from the lower to the upper quartile. The \
           line in a box is the median, the ring is the mean. Whiskers end at the last value \
           within 1.5 box lengths; the points are the smallest and the largest value.</p>"
}

fn sizes(summary: &Summary) -> String {
    let rows = rows_of(summary, |d| d.size.as_ref(), words::size);
    if rows.is_empty() {
        return "<p>No request has a size.</p>".to_owned();
    }
    chart("box-size", "Size of requests", (doublings(&rows), axis::binary_size), &rows)
}

fn numbers(summary: &Summary) -> String {
    let mut out = String::new();
    for table in words::tables(summary) {
        let rows: Vec<Vec<String>> =
            table.rows.iter().map(|row| row.iter().map(|cell| escape(cell)).collect()).collect();
        let heading: Vec<&str> = table.heading.to_vec();
        out += &tables::table(&table.caption, &heading, &rows);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::summary;
    use assay_spec::{Bytes, Nanos};

    #[test]
    fn the_page_is_whole_thinned_and_the_same_each_time() {
        let row = |i: u64| TraceRow {
            submit: Nanos(i * 1000),
            complete: Nanos(i * 1000 + 500 + i % 77),
            queue: Nanos(i * 1000),
            insert: Nanos::NEVER,
            dispatch: Nanos(i * 1000 + 100),
            offset: Bytes(assay_spec::seed::mix(i) % (1 << 30) / 512 * 512),
            length: Bytes(4096 << (i % 3)),
            op: Op::ALL[i as usize % 4],
            job: 0,
            error: 0,
        };
        let rows: Vec<TraceRow> = (0..200_000).map(row).collect();
        let about = About { title: "a < b".into(), notes: vec!["from <here>".into()] };
        let text = page(&about, &summary(&rows, true), &rows);
        assert_eq!(text, page(&about, &summary(&rows, true), &rows));
        assert!(text.contains("<h1>a &lt; b</h1>") && text.contains("from &lt;here&gt;"));
        assert_eq!(text.matches("<svg class=\"chart\"").count(), 8);
        assert!(text.contains("150000 requests") && text.contains("thinned: "));
        assert!(text.len() < 1_500_000, "{}", text.len());
        assert!(!text.contains("NaN") && !text.contains("inf"));
        let none = page(&about, &summary(&[], true), &[]);
        assert!(none.contains("No request has a place") && !none.contains("NaN"));
    }
}
