//! The tables of a block trace.

use super::table::Table;
use crate::trace::{Direction, Span, Spread, Summary};
use assay_spec::units::{human_size, human_time, three_digits};
use assay_spec::{Bytes, Op};
use std::collections::BTreeMap;

/// A table before it is laid out.
pub struct TraceTable {
    /// The caption.
    pub caption: String,
    /// The names of the columns.
    pub heading: &'static [&'static str],
    /// The cells.
    pub rows: Vec<Vec<String>>,
}

const COUNTS: &[&str] =
    &["direction", "requests", "blocks", "bytes", "mean size", "sequential", "errors"];
const SPREAD: &[&str] =
    &["direction", "requests", "min", "lower", "median", "upper", "max", "mean"];
const SIZES: &[&str] = &["up to", "read", "write", "trim", "together", "share"];

/// Returns the meaning of a span in one line.
pub fn meaning(span: Span) -> &'static str {
    match span {
        Span::Queue => "Time in queue: from queueing to dispatch",
        Span::Device => "Time in device: from dispatch to completion",
        Span::Inserted => "From insertion into the queue to completion",
        Span::All => "Latency: from submission to completion",
    }
}

/// Formats a size in binary units.
pub fn size(bytes: f64) -> String {
    match bytes {
        b if b < 1024.0 => format!("{} B", three_digits(b)),
        b if b < 1024.0 * 1024.0 => format!("{} KiB", three_digits(b / 1024.0)),
        b if b < (1 << 30) as f64 => format!("{} MiB", three_digits(b / (1 << 20) as f64)),
        b => format!("{} GiB", three_digits(b / (1 << 30) as f64)),
    }
}

/// Returns all tables of a trace.
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
        if d.bytes > 0 { human_size(Bytes(d.bytes)) } else { "0".to_owned() },
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

/// Returns the numbers of requests by size, rounded up to the next power of two.
fn sizes(summary: &Summary) -> Option<TraceTable> {
    const OPS: [Op; 3] = [Op::Read, Op::Write, Op::Trim];
    let mut counts: BTreeMap<u64, [u64; OPS.len()]> = BTreeMap::new();
    for (place, op) in OPS.into_iter().enumerate() {
        let found = summary.directions.iter().find(|d| d.direction == op.name());
        for (bytes, count) in found.map_or(&[][..], |d| &d.sizes) {
            counts.entry(*bytes).or_default()[place] += count;
        }
    }
    let total: u64 = counts.values().flatten().sum();
    let row = |(bytes, counts): (&u64, &[u64; OPS.len()])| {
        let together: u64 = counts.iter().sum();
        let mut row = vec![size(*bytes as f64)];
        row.extend(counts.iter().chain([&together]).map(u64::to_string));
        row.push(format!("{:.1} %", 100.0 * together as f64 / total as f64));
        row
    };
    let rows: Vec<Vec<String>> = counts.iter().map(row).collect();
    let caption = "Requests by size, to the next power of two".to_owned();
    (!rows.is_empty()).then_some(TraceTable { caption, heading: SIZES, rows })
}

/// Returns the tables of a trace as text.
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
