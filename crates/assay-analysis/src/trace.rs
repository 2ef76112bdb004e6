//! The numbers of a block trace, or of the log of a run: requests, blocks and bytes by direction,
//! how many requests are sequential, and how long they took in queue and device.

mod numbers;
mod series;

pub use numbers::Spread;
pub use series::{Rates, cumulated, rates};

use assay_spec::trace::{BLOCK, TraceRow};
use assay_spec::{Nanos, Op};
use serde::Serialize;
use std::collections::BTreeMap;

/// A part of a request's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// From queueing to dispatch.
    Queue,
    /// From dispatch to completion.
    Device,
    /// From insertion into the elevator to completion; from queueing if the request was in no
    /// elevator.
    Inserted,
    /// From the first known moment to completion.
    All,
}

impl Span {
    /// All spans, in the order of tables.
    pub const ALL: [Span; 4] = [Span::Queue, Span::Device, Span::Inserted, Span::All];

    /// Returns the name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Span::Queue => "time in queue",
            Span::Device => "time in device",
            Span::Inserted => "insert to complete",
            Span::All => "latency",
        }
    }

    /// Returns the name in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Span::Queue => "in_queue",
            Span::Device => "in_device",
            Span::Inserted => "insert_to_complete",
            Span::All => "latency",
        }
    }

    /// Returns the length of the span in a request, if both ends are known.
    pub fn of(self, row: &TraceRow) -> Option<Nanos> {
        let inserted = if row.insert == Nanos::NEVER { row.queue } else { row.insert };
        let (from, to) = match self {
            Span::Queue => (row.queue, row.dispatch),
            Span::Device => (row.dispatch, row.complete),
            Span::Inserted => (inserted, row.complete),
            Span::All => (row.submit, row.complete),
        };
        (from != Nanos::NEVER && to != Nanos::NEVER).then(|| to.saturating_sub(from))
    }
}

/// The requests of one direction, or of reads and writes together.
#[derive(Clone, Debug, Serialize)]
pub struct Direction {
    /// The name: `read`, `write`, `trim`, `flush`, or `both`, which is reads and writes.
    pub direction: &'static str,
    /// The number of requests that ended without an error.
    pub requests: u64,
    /// The number of requests that ended with an error, which only this number counts.
    pub errors: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The number of blocks of 512 bytes.
    pub blocks: u64,
    /// The share of requests that begin where the previous one of their direction ended; `None` if
    /// no request has an address.
    pub sequential: Option<f64>,
    /// The numbers of requests by size, rounded up to the next power of two: (bytes, requests).
    pub sizes: Vec<(u64, u64)>,
    /// The size of requests in bytes.
    pub size: Option<Spread>,
    /// The time from queueing to dispatch, in ns.
    pub in_queue: Option<Spread>,
    /// The time from dispatch to completion, in ns.
    pub in_device: Option<Spread>,
    /// The time from insertion to completion, in ns.
    pub insert_to_complete: Option<Spread>,
    /// The time from the first known moment to completion, in ns.
    pub latency: Option<Spread>,
}

impl Direction {
    /// Returns the numbers of a span.
    pub fn span(&self, span: Span) -> Option<&Spread> {
        match span {
            Span::Queue => self.in_queue.as_ref(),
            Span::Device => self.in_device.as_ref(),
            Span::Inserted => self.insert_to_complete.as_ref(),
            Span::All => self.latency.as_ref(),
        }
    }
}

/// The numbers of a trace.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The first beginning of a request, in ns.
    pub from_ns: u64,
    /// The last end of a request, in ns.
    pub to_ns: u64,
    /// The directions that have requests; last, reads and writes together if there are both. Trims
    /// and flushes do not count there, as they move nothing.
    pub directions: Vec<Direction>,
}

/// Returns the numbers of some requests. Whether they are sequential is decided over all of them if
/// they are of `one_device`, otherwise for each job separately.
pub fn summary(rows: &[TraceRow], one_device: bool) -> Summary {
    let sequential = sequential(rows, one_device);
    let of = |name, ops: &[Op]| direction(name, rows, &sequential, ops);
    let there = |op: &Op| rows.iter().any(|row| row.op == *op);
    let mut directions: Vec<Direction> =
        Op::ALL.into_iter().filter(there).map(|op| of(op.name(), &[op])).collect();
    let both = [Op::Read, Op::Write];
    if both.iter().all(there) {
        directions.push(of("both", &both));
    }
    Summary {
        from_ns: rows.iter().map(|row| row.submit.0).min().unwrap_or(0),
        to_ns: rows.iter().map(|row| row.complete.0).max().unwrap_or(0),
        directions,
    }
}

fn direction(name: &'static str, rows: &[TraceRow], sequential: &[bool], ops: &[Op]) -> Direction {
    let is_of = |row: &TraceRow| ops.contains(&row.op);
    let mine = || rows.iter().filter(|row| is_of(row));
    let good = || mine().filter(|row| row.error == 0);
    let span = |span: Span| Spread::of(good().filter_map(|row| Some(span.of(row)?.0)).collect());
    let placed = || rows.iter().zip(sequential).filter(|(row, _)| is_of(row) && has_place(row));
    let (places, follow) = (placed().count(), placed().filter(|(_, follows)| **follows).count());
    let mut sizes = BTreeMap::new();
    for row in good().filter(|row| row.length.0 > 0) {
        *sizes.entry(row.length.0.next_power_of_two()).or_insert(0) += 1;
    }
    let requests = good().count() as u64;
    let bytes = good().map(|row| row.length.0).sum();
    Direction {
        direction: name,
        requests,
        errors: mine().count() as u64 - requests,
        bytes,
        blocks: bytes / BLOCK.0,
        sequential: (places > 0).then(|| follow as f64 / places as f64),
        sizes: sizes.into_iter().collect(),
        size: Spread::of(good().map(|row| row.length.0).filter(|bytes| *bytes > 0).collect()),
        in_queue: span(Span::Queue),
        in_device: span(Span::Device),
        insert_to_complete: span(Span::Inserted),
        latency: span(Span::All),
    }
}

fn has_place(row: &TraceRow) -> bool {
    row.op != Op::Flush && row.error == 0
}

/// Returns which requests begin where the previous one ended, in the order of their dispatches.
fn sequential(rows: &[TraceRow], one_device: bool) -> Vec<bool> {
    let moment = |row: &TraceRow| match row.dispatch {
        Nanos::NEVER => row.submit,
        dispatch => dispatch,
    };
    let mut order: Vec<usize> = (0..rows.len()).filter(|i| has_place(&rows[*i])).collect();
    order.sort_by_key(|i| (moment(&rows[*i]), *i));
    let mut ends = BTreeMap::new();
    let mut found = vec![false; rows.len()];
    for i in order {
        let row = &rows[i];
        let stream = (if one_device { 0 } else { row.job }, row.op as u8);
        let end = row.offset.0.saturating_add(row.length.0);
        found[i] = ends.insert(stream, end) == Some(row.offset.0);
    }
    found
}

#[cfg(test)]
mod tests;
