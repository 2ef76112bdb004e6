//! A block trace as tables.

use super::Table;
use crate::trace::{Direction, Span, Spread, Summary};
use assay_spec::Bytes;
use assay_spec::units::{human_size, human_time, three_digits};
use std::collections::BTreeSet;

/// A table before it is laid out.
pub struct TraceTable {
    /// What it shows.
    pub caption: String,
    /// Names of the columns.
    pub heading: &'static [&'static str],
    /// The cells.
    pub rows: Vec<Vec<String>>,
}

const COUNTS: &[&str] =
    &["direction", "requests", "blocks", "bytes", "mean size", "sequential", "errors"];
const SPREAD: &[&str] =
    &["direction", "requests", "min", "quartile", "median", "quartile", "max", "mean"];
const SIZES: &[&str] = &["up to", "read", "write", "trim", "all", "share"];

/// What a span is, in a line.
pub fn meaning(span: Span) -> &'static str {
    match span {
        Span::Queue => "Time in queue: from queueing to dispatch",
        Span::Device => "Time in device: from dispatch to completion",
        Span::Inserted => "From insertion into the queue to completion",
        Span::All => "Latency: from submission to completion",
    }
}

/// A size in binary units.
pub fn size(bytes: f64) -> String {
    match bytes {
        b if b < 1024.0 => format!("{} B", three_digits(b)),
        b if b < 1024.0 * 1024.0 => format!("{} KiB", three_digits(b / 1024.0)),
        b => format!("{} MiB", three_digits(b / 1024.0 / 1024.0)),
    }
}

/// All tables of a trace.
pub fn tables(summary: &Summary) -> Vec<TraceTable> {
    let mut tables = vec![TraceTable {
        caption: "Requests".to_owned(),
        heading: COUNTS,
        rows: summary.directions.iter().map(counts).collect(),
    }];
    let spread = |caption: &str, pick: &dyn Fn(&Direction) -> Option<Spread>, text| {
        let row = |d: &Direction| pick(d).map(|s| numbers(d.direction, &s, text));
        let rows: Vec<Vec<String>> = summary.directions.iter().filter_map(row).collect();
        let caption = caption.to_owned();
        (!rows.is_empty()).then_some(TraceTable { caption, heading: SPREAD, rows })
    };
    tables.extend(spread("Size", &|d| d.size, size));
    for span in Span::ALL {
        tables.extend(spread(meaning(span), &|d| d.span(span).copied(), human_time));
    }
    tables.extend(sizes(summary));
    tables
}

fn counts(d: &Direction) -> Vec<String> {
    vec![
        d.direction.to_owned(),
        d.requests.to_string(),
        d.blocks.to_string(),
        human_size(Bytes(d.bytes)),
        d.size.map_or("–".to_owned(), |s| size(s.mean)),
        d.sequential.map_or("–".to_owned(), |share| format!("{:.1} %", 100.0 * share)),
        d.errors.to_string(),
    ]
}

fn numbers(name: &str, s: &Spread, text: fn(f64) -> String) -> Vec<String> {
    let mut row = vec![name.to_owned(), s.count.to_string()];
    row.extend([s.min, s.q1, s.median, s.q3, s.max, s.mean].map(text));
    row
}

/// Requests by size, to the next power of two.
fn sizes(summary: &Summary) -> Option<TraceTable> {
    let all = summary.directions.last()?;
    let of = |name: &str, bytes: u64| {
        let found = summary.directions.iter().find(|d| d.direction == name);
        let size = found.and_then(|d| d.sizes.iter().find(|(size, _)| *size == bytes));
        size.map_or(0, |(_, count)| *count)
    };
    let total: u64 = all.sizes.iter().map(|(_, count)| count).sum();
    let row = |bytes: u64| {
        let count = of("all", bytes);
        let mut row = vec![size(bytes as f64)];
        row.extend(["read", "write", "trim"].map(|name| of(name, bytes).to_string()));
        row.push(count.to_string());
        row.push(format!("{:.1} %", 100.0 * count as f64 / total as f64));
        row
    };
    let known: BTreeSet<u64> = all.sizes.iter().map(|(bytes, _)| *bytes).collect();
    let rows: Vec<Vec<String>> = known.into_iter().map(row).collect();
    let caption = "Requests by size, to the next power of two".to_owned();
    (!rows.is_empty()).then_some(TraceTable { caption, heading: SIZES, rows })
}

/// The tables of a trace as text.
pub fn trace_tables(summary: &Summary) -> String {
    let mut lines = Vec::new();
    for table in tables(summary) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(table.caption);
        let mut text = Table::new(table.heading, &[0]);
        table.rows.into_iter().for_each(|row| text.row(row));
        lines.extend(text.lines().into_iter().map(|line| format!("  {line}")));
    }
    lines.join("\n")
}
