//! Tests with synthetic traces, in both byte orders and as text.

mod hostile;
mod pairs;
mod streams;

use super::{Input, follow};
use crate::Result;
use assay_spec::trace::{Device, TraceRecord, TraceRow};
use assay_spec::{Bytes, Nanos, Op};

const N: Nanos = Nanos::NEVER;

/// An event with the fields of a line of blkparse, except for the process.
#[derive(Clone, Copy)]
struct E {
    time: u64,
    action: &'static str,
    rwbs: &'static str,
    sector: u64,
    blocks: u32,
    error: u16,
    device: (u32, u32),
    cpu: u32,
    sequence: u32,
}

fn e(time: u64, action: &'static str, rwbs: &'static str, sector: u64, blocks: u32) -> E {
    let (error, device, cpu, sequence) = (0, (8, 0), 0, 0);
    E { time, action, rwbs, sector, blocks, error, device, cpu, sequence }
}

const NUMBERS: [(&str, u32); 16] = [
    ("Q", 1),
    ("M", 2),
    ("F", 3),
    ("G", 4),
    ("S", 5),
    ("R", 6),
    ("D", 7),
    ("C", 8),
    ("P", 9),
    ("U", 10),
    ("UT", 11),
    ("I", 12),
    ("X", 13),
    ("B", 14),
    ("A", 15),
    ("?", 77),
];

impl E {
    fn record(&self, is_big: bool, pdu: usize) -> Vec<u8> {
        let number = NUMBERS.iter().find(|(name, _)| *name == self.action).unwrap().1;
        let letters = [('R', 0), ('W', 1), ('F', 2), ('S', 3), ('A', 11), ('M', 12), ('D', 13)];
        let has = |letter| self.rwbs.contains(letter);
        let mut categories: u32 =
            letters.iter().filter(|(letter, _)| has(*letter)).map(|(_, bit)| 1 << bit).sum();
        if has('D') {
            categories |= 1 << 1;
        }
        let words: [(u64, usize); 12] = [
            (0x6561_7407, 4),
            (u64::from(self.sequence), 4),
            (self.time, 8),
            (self.sector, 8),
            (u64::from(self.blocks * 512), 4),
            (u64::from(categories << 16 | number), 4),
            (4711, 4),
            (u64::from(self.device.0 << 20 | self.device.1), 4),
            (u64::from(self.cpu), 4),
            (u64::from(self.error), 2),
            (pdu as u64, 2),
            (0, 0),
        ];
        let mut record = Vec::new();
        for (value, width) in words {
            match is_big {
                true => record.extend(&value.to_be_bytes()[8 - width..]),
                false => record.extend(&value.to_le_bytes()[..width]),
            }
        }
        assert_eq!(record.len(), 48);
        record.extend(std::iter::repeat_n(0xa5, pdu));
        record
    }

    fn line(&self) -> String {
        let place = match (self.blocks, self.action) {
            (0, "C") => format!("{} [{}]", self.sector, self.error),
            (0, _) => "[git]".to_owned(),
            (n, "C") => format!("{} + {n} [{}]", self.sector, self.error),
            (n, "A") => format!("{} + {n} <- (8,1) 4048", self.sector),
            (_, "X") => format!("{} / {} [git]", self.sector, self.sector + 8),
            (n, _) => format!("{} + {n} [git]", self.sector),
        };
        let (device, seconds) = (self.device, self.time / 1_000_000_000);
        format!(
            "  {},{}  {:>3} {:>8} {:>5}.{:09} {:>5} {:>2} {:>3} {place}\n",
            device.0,
            device.1,
            self.cpu,
            self.sequence,
            seconds,
            self.time % 1_000_000_000,
            4711,
            self.action,
            self.rwbs
        )
    }
}

fn records(events: &[E], is_big: bool) -> Vec<u8> {
    // Eight bytes follow every third record, as after a split.
    let pdu = |i: usize| if i.is_multiple_of(3) { 8 } else { 0 };
    events.iter().enumerate().flat_map(|(i, e)| e.record(is_big, pdu(i))).collect()
}

fn text(events: &[E]) -> Vec<u8> {
    events.iter().flat_map(|e| e.line().into_bytes()).collect()
}

fn input(name: &str, bytes: &[u8]) -> Input {
    Input::new(name, Box::new(std::io::Cursor::new(bytes.to_vec())))
}

/// Reads inputs; returns their requests and the description of the trace.
fn read(inputs: &[&[u8]], device: Option<&str>) -> Result<(Vec<TraceRow>, TraceRecord)> {
    let inputs = inputs.iter().enumerate().map(|(i, bytes)| input(&format!("t.{i}"), bytes));
    let device: Option<Device> = device.map(|d| d.parse().unwrap());
    let mut rows = Vec::new();
    let record = follow(inputs.collect(), device, &mut |row| rows.push(row))?;
    Ok((rows, record))
}

/// Reads the same events in several formats; the results must be the same.
fn read_all(events: &[E]) -> (Vec<TraceRow>, TraceRecord) {
    let (rows, record) = read(&[&records(events, false)], None).unwrap();
    let of_an_editor = ["\u{feff}".as_bytes(), &text(events)].concat();
    for (bytes, format, order) in [
        (records(events, true), "blktrace", Some("big")),
        (text(events), "blkparse", None),
        (of_an_editor, "blkparse", None),
    ] {
        let (again, other) = read(&[&bytes], None).unwrap();
        assert_eq!(again, rows, "{format} {order:?}");
        assert_eq!(other.source.format, format);
        assert_eq!(other.source.byte_order.as_deref(), order);
        let (record, other) = (&record, &other);
        assert_eq!((&other.requests, &other.happened), (&record.requests, &record.happened));
        assert_eq!((&other.unpaired, &other.events), (&record.unpaired, &record.events));
    }
    (rows, record)
}

fn row(times: [Nanos; 4], op: Op, sector: u64, blocks: u64) -> TraceRow {
    let [queue, insert, dispatch, complete] = times;
    TraceRow {
        submit: queue.min(insert).min(dispatch),
        complete,
        queue,
        insert,
        dispatch,
        offset: Bytes(sector * 512),
        length: Bytes(blocks * 512),
        op,
        job: 4711,
        error: 0,
    }
}

/// Returns the counts of events that could not be paired.
fn unpaired(record: &TraceRecord) -> Vec<(&str, u64)> {
    record.unpaired.iter().map(|u| (u.what.as_str(), u.count)).collect()
}
