//! How fast traces are read: millions of events per CPU-second, for both formats and both byte
//! orders, with and without the log. Prints; asserts nothing. The baseline in the same run is a
//! walk over the records that adds up their bytes: what merely reading them costs.
//!
//!     cargo bench -p assay-engine --bench trace [-- BLKTRACE_FILE]

#![allow(clippy::print_stdout)]

use assay_engine::measure::log::LogWriter;
use assay_engine::trace::{Input, follow};
use assay_fs::Directory;
use assay_spec::seed::mix;
use assay_spec::trace::TraceRow;
use std::io::{Cursor, Write};

/// Requests of the trace that is made, and events of each: Q G P U I D C.
const REQUESTS: u64 = 500_000;
const STEPS: [(u32, u8, u64); 7] = [
    (1, b'Q', 0),
    (4, b'G', 300),
    (9, b'P', 500),
    (10, b'U', 800),
    (12, b'I', 1000),
    (7, b'D', 1400),
    (8, b'C', 60_000),
];

fn cpu_ns() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call and the clock id is one of the kernel's own.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// A step of a request: when, which (number and letter), of which request.
type Event = (u64, u32, u8, u64);

/// Random reads and writes of 4 KiB, up to 32 in flight, two thirds of them reads.
fn events() -> Vec<Event> {
    let of = |i: u64| STEPS.map(|(number, letter, after)| (i * 2000 + after, number, letter, i));
    let mut events: Vec<Event> = (0..REQUESTS).flat_map(of).collect();
    events.sort_unstable();
    events
}

/// First block, and whether it is written.
fn place(request: u64) -> (u64, bool) {
    let random = mix(request);
    (random % (1 << 22) * 8, random >> 40 & 3 == 0)
}

fn records(events: &[Event], is_big: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(events.len() * 48);
    for (time, number, _, request) in events {
        let (sector, is_write) = place(*request);
        let action = number | if is_write { 2 << 16 } else { 1 << 16 };
        let mut put = |value: u64, width: usize| match is_big {
            true => out.extend_from_slice(&value.to_be_bytes()[8 - width..]),
            false => out.extend_from_slice(&value.to_le_bytes()[..width]),
        };
        put(0x6561_7407, 4);
        put(0, 4);
        put(*time, 8);
        put(sector, 8);
        put(4096, 4);
        put(u64::from(action), 4);
        put(4711, 4);
        put(8 << 20, 4);
        put(request % 2, 4);
        put(0, 4);
    }
    out
}

fn text(events: &[Event]) -> Vec<u8> {
    let mut out = Vec::new();
    for (time, _, letter, request) in events {
        let (sector, is_write) = place(*request);
        let (seconds, rest) = (time / 1_000_000_000, time % 1_000_000_000);
        let (letter, way) = (*letter as char, if is_write { 'W' } else { 'R' });
        let end = if letter == 'C' { "0" } else { "fio" };
        let line = format!(
            "  8,0 {:>4} {:>8} {seconds:>5}.{rest:09} {:>5}  {letter} {way:>3} {sector} + 8 \
             [{end}]",
            request % 2,
            request % 100_000,
            4711
        );
        writeln!(out, "{line}").expect("memory");
    }
    out
}

/// Bytes of all records, taken from every one.
fn walk(bytes: &[u8]) -> u64 {
    let length = |record: &[u8]| u32::from_le_bytes(record[24..28].try_into().expect("four"));
    bytes.chunks_exact(48).map(|record| u64::from(length(record))).sum()
}

/// Millions of events per CPU-second, best of five.
fn best(events: f64, mut one: impl FnMut()) -> f64 {
    let mut run = || {
        let before = cpu_ns();
        one();
        events * 1e3 / (cpu_ns() - before)
    };
    (0..5).map(|_| run()).fold(0.0, f64::max)
}

fn read(bytes: &'static [u8], logged: bool) {
    let input = Input::new("bench", Box::new(Cursor::new(bytes)));
    let mut requests = 0;
    if logged {
        let place = tempfile::tempdir().expect("a temporary directory");
        let directory = Directory::open(place.path()).expect("it is there");
        let mut log: LogWriter<TraceRow> =
            LogWriter::create(&directory, "trace.parquet").expect("a log");
        follow(vec![input], None, &mut |row| log.push(row)).expect("a trace");
        log.finish().expect("written");
    } else {
        follow(vec![input], None, &mut |_| requests += 1).expect("a trace");
        assert!(requests > 0);
    }
}

/// For as long as the program runs.
fn kept(bytes: Vec<u8>) -> &'static [u8] {
    bytes.leak()
}

fn main() {
    let named = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    if let Some(path) = named {
        let bytes = kept(std::fs::read(&path).expect("the file is readable"));
        let events = (bytes.len() / 48) as f64;
        println!("{path}: {:.1} M events per CPU-second", best(events, || read(bytes, false)));
        return;
    }
    let made = events();
    let count = made.len() as f64;
    println!("{count} events of {REQUESTS} requests; M events per CPU-second, best of 5");
    let little = kept(records(&made, false));
    let walked = best(count, || assert_eq!(walk(little), (made.len() * 4096) as u64));
    println!("{:28} {walked:7.1}", "walk over the records");
    let text = kept(text(&made));
    for (name, bytes, logged) in [
        ("records, little-endian", little, false),
        ("records, big-endian", kept(records(&made, true)), false),
        ("records, with the log", little, true),
        ("text", text, false),
        ("text, with the log", text, true),
    ] {
        let speed = best(count, || read(bytes, logged));
        println!("{name:28} {speed:7.1}  (x {:.2} of the walk)", speed / walked);
    }
}
