//! Is this benchmark right? Runs with exactly one fault each, found by exactly the one check, and
//! sound ones that no check speaks of.

use assay_analysis::soundness::doubts;
use assay_analysis::{finding, load::Run, report, text};
use assay_spec::catalog::{self, DEVICES};
use assay_spec::record::*;
use assay_spec::{Bytes, Histogram, Nanos, Op};

/// A small generator of its own: the numbers of this test never change.
struct Lcg(u64);

impl Lcg {
    fn uniform(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// A run of one cell, sound until something is changed.
struct Made {
    op: Op,
    size: u64,
    /// Requests of each second.
    rates: Vec<f64>,
    /// Latencies are multiples of this many ns.
    tick: u64,
    told: Vec<(String, f64)>,
    target: (&'static str, &'static str),
    spec: Option<&'static str>,
    workload: String,
    memory: Bytes,
}

fn stream(read_share: &str, more: &str) -> String {
    format!(
        "read_share = {read_share}\nsize = \"4KiB\"\npattern = \"random\"\njobs = 32\n{more}\n\
         measure = {{ time = \"30s\" }}\n"
    )
}

fn file(operation: &str, length: &str, more: &str) -> String {
    format!("file = \"{operation}\"\nlength = \"{length}\"\nsize = \"4KiB\"\n{more}\n")
}

/// Random writes on a block device.
fn sound() -> Made {
    Made {
        op: Op::Write,
        size: 4096,
        rates: vec![5000.0; 30],
        tick: 1,
        told: Vec::new(),
        target: ("block device", "nvme0n1"),
        spec: None,
        workload: stream("0.0", ""),
        memory: Bytes(24 << 30),
    }
}

/// Reads of a file in a directory.
fn of_file(workload: String) -> Made {
    Made { op: Op::Read, target: ("directory", "scratch"), workload, ..sound() }
}

/// On the modelled drive `ssd-m`.
fn modelled(made: Made) -> Made {
    let spec = catalog::find(DEVICES, "ssd-m").unwrap().text;
    Made { target: ("model", "ssd-m"), spec: Some(spec), ..made }
}

fn repeat(made: &Made, seed: u64) -> RepeatRecord {
    let mut lcg = Lcg(seed);
    let mut latency = Histogram::new();
    let mut series = SeriesRecord { interval: Nanos::from_secs(1), ..SeriesRecord::default() };
    for rate in &made.rates {
        let count = (rate * (1.0 + 0.01 * lcg.normal())) as u64;
        for _ in 0..count {
            let ns = (90_000.0 * (0.15 * lcg.normal()).exp()) as u64;
            latency.record(Nanos(ns / made.tick * made.tick));
        }
        series.requests.push(count);
        series.bytes.push(count * made.size);
        series.latency_sum_ns.push(count * 90_000);
        series.latency_max_ns.push(200_000);
    }
    let requests = latency.count();
    let bytes = Bytes(requests * made.size);
    RepeatRecord {
        seed,
        elapsed: Nanos::from_secs(made.rates.len() as u64),
        ops: vec![OpRecord { op: made.op, requests, bytes, errors: 0, late: None, latency }],
        series,
        first: None,
        steady: None,
        device: made.told.clone(),
        program: Vec::new(),
        warnings: Vec::new(),
    }
}

fn run(made: &Made) -> Run {
    let (kind, name) = made.target;
    let text = format!(
        "format = 1\nname = \"e\"\nquestion = \"?\"\ntargets = [\"null\"]\n\
         [[workload]]\nname = \"w\"\n{}",
        made.workload
    );
    let source = assay_spec::decode::Source { file: "e.toml", text: &text };
    if let Err(e) = assay_spec::experiment::Experiment::parse(source) {
        panic!("{e}");
    }
    let cell = CellRecord {
        id: format!("e/w@{name}"),
        experiment: "e".into(),
        workload: "w".into(),
        target: name.into(),
        summary: "random write, 4KiB, 32 jobs".into(),
        skipped: None,
        failed: None,
        repeats: (1..4).map(|seed| repeat(made, seed)).collect(),
    };
    let target = TargetRecord {
        written: if kind == "linux" { "linux(fs=ext4, sim:ssd-m)".into() } else { name.into() },
        name: name.into(),
        title: "made".into(),
        kind: kind.into(),
        capacity: Bytes(80_000_000_000),
        identity: Vec::new(),
        spec: made.spec.map(str::to_owned),
        virtual_time: ["model", "linux"].contains(&kind),
        created: false,
    };
    let record = RunRecord {
        schema: SCHEMA,
        assay: "0.1.0".into(),
        study: "e".into(),
        title: "made".into(),
        command: vec!["assay".into(), "run".into(), "e.toml".into()],
        seed: 1,
        started: "2026-11-21T14:00:00Z".into(),
        experiments: vec![ExperimentRecord { name: "e".into(), file: "e.toml".into(), text }],
        targets: vec![target],
        host: HostRecord { memory: made.memory, ..HostRecord::default() },
        intent: IntentRecord::default(),
        plan: Vec::new(),
        prices: None,
    };
    Run::new(record, vec![cell])
}

/// The names of the checks that speak.
fn found(made: &Made) -> Vec<&'static str> {
    doubts(&run(made)).into_iter().map(|v| v.check).collect()
}

/// Exactly this check speaks, with evidence, a rule and a hint, and is heard everywhere.
fn only(check: &str, made: &Made) {
    let run = run(made);
    let all = doubts(&run);
    let [verdict] = &all[..] else { panic!("{check}: {all:?}") };
    assert_eq!(verdict.check, check, "{verdict:?}");
    assert!(!verdict.evidence.is_empty() && !verdict.threshold.is_empty());
    assert!(!verdict.hint.is_empty());
    let id = format!("sound/{check}/{}", verdict.cell);
    let findings = finding::findings(&run);
    let heard = findings.iter().find(|f| f.id == id).expect("a finding");
    assert!(heard.samples > 0 && heard.evidence.iter().any(|e| e.starts_with("hint: ")));
    let page = report::html(&run, &[]);
    assert!(page.contains("Is this benchmark right?"));
    let table = text::summary_table(&run);
    assert!(table.contains("warning: ") && table.contains("hint: "), "{table}");
}

#[test]
fn sound_runs_are_left_alone() {
    let none: Vec<&str> = Vec::new();
    assert_eq!(found(&sound()), none);
    assert_eq!(found(&modelled(sound())), none);
    // A second run of noise ten times as large.
    let noisy = (0..30).map(|i| 5000.0 + 700.0 * f64::from(i * 7 % 11 - 5) / 5.0).collect();
    assert_eq!(found(&Made { rates: noisy, ..sound() }), none);
    // Larger than memory; past the cache; forgotten before it is read in sequence.
    assert_eq!(found(&of_file(file("reread", "48GiB", "between = \"nothing\""))), none);
    assert_eq!(found(&of_file(file("random-read", "1GiB", "direct = true"))), none);
    assert_eq!(found(&of_file(file("read", "1GiB", "between = \"drop\""))), none);
    let synced = Made { op: Op::Write, ..of_file(file("write", "1GiB", "")) };
    assert_eq!(found(&synced), none);
}

#[test]
fn a_file_smaller_than_memory_is_found() {
    only("cached", &of_file(file("reread", "1GiB", "between = \"nothing\"")));
    only("cached", &of_file(file("read", "1GiB", "between = \"nothing\"")));
    // Forgotten, and each record comes once.
    assert!(found(&of_file(file("random-read", "512MiB", "between = \"drop\""))).is_empty());
    // Written, and never made safe.
    let unsafe_write = file("write", "1GiB", "sync = \"never\"");
    only("cached", &Made { op: Op::Write, ..of_file(unsafe_write) });
    // One byte less than memory, and as much as it.
    let at = |memory| Made { memory, ..of_file(file("reread", "1GiB", "between = \"nothing\"")) };
    assert_eq!(found(&at(Bytes((1 << 30) + 1))), ["cached"]);
    assert!(found(&at(Bytes(1 << 30))).is_empty());
}

#[test]
fn what_the_drives_of_a_guest_tell_decides() {
    let workload = file("random-read", "512MiB", "between = \"remount\"");
    let total = |made: &Made| repeat(made, 1).ops[0].bytes.0 as f64;
    let guest = Made { target: ("linux", "ext4-ssd-m"), ..of_file(workload) };
    let guest = Made { spec: modelled(sound()).spec, ..guest };
    let in_guest = |share: f64| Made {
        told: vec![("drive_read_bytes".to_owned(), share * total(&guest))],
        target: guest.target,
        spec: guest.spec,
        ..of_file(guest.workload.clone())
    };
    only("cached", &in_guest(0.6));
    assert!(found(&in_guest(1.1)).is_empty());
}

#[test]
fn a_fresh_drive_is_found() {
    only("fresh", &modelled(Made { workload: stream("0.0", "start = \"fresh\""), ..sound() }));
    let reads = Made { op: Op::Read, workload: stream("1.0", "start = \"fresh\""), ..sound() };
    only("fresh", &modelled(reads));
    // A real one shows it: six seconds, then the collection begins.
    let step = |high: f64| (0..30).map(|i| if i < 6 { high } else { 5000.0 }).collect();
    only("fresh", &Made { rates: step(15_000.0), ..sound() });
    assert!(found(&Made { rates: step(7_000.0), ..sound() }).is_empty());
    // Filled before.
    let filled = stream("0.0", "start = \"fresh\"")
        + "[[workload.precondition]]\nread_share = 0.0\nsize = \"128KiB\"\n\
           pattern = \"sequential\"\nbytes = \"80GB\"\n";
    assert!(found(&modelled(Made { workload: filled, ..sound() })).is_empty());
}

#[test]
fn what_still_falls_is_found() {
    let ramp = |end: f64| (0..30).map(move |i| 5000.0 * (1.0 - (1.0 - end) * f64::from(i) / 29.0));
    only("not-steady", &Made { rates: ramp(0.5).collect(), ..sound() });
    only("not-steady", &modelled(Made { rates: ramp(0.3).collect(), ..sound() }));
    // Less than a tenth over the second half.
    assert!(found(&Made { rates: ramp(0.85).collect(), ..sound() }).is_empty());
}

#[test]
fn two_seconds_are_found() {
    only("too-short", &Made { rates: vec![5000.0; 2], ..sound() });
    only("too-short", &modelled(Made { rates: vec![5000.0; 2], ..sound() }));
    only("too-short", &Made { rates: vec![5000.0; 7], ..sound() });
    assert!(found(&Made { rates: vec![5000.0; 8], ..sound() }).is_empty());
}

/// Work that ends by itself is as long as it is, unless it was cut: then no whole is told.
#[test]
fn work_on_files_that_was_cut_short_is_found() {
    let cut = |seconds: usize, told: &[(&str, f64)]| Made {
        rates: vec![5000.0; seconds],
        told: told.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        ..of_file(file("random-read", "1GiB", "direct = true"))
    };
    only("too-short", &cut(2, &[]));
    assert!(found(&cut(2, &[("full_time", 2e9)])).is_empty());
    assert!(found(&cut(8, &[])).is_empty());
}

/// A file system on a fresh drive gets free blocks for its records; what is read it wrote before.
#[test]
fn records_on_a_fresh_drive_are_found() {
    let guest = |op, work: &str| Made {
        op,
        target: ("linux", "ext4-ssd-m"),
        told: vec![("drive_read_bytes".to_owned(), 1e15)],
        ..modelled(of_file(file(work, "512MiB", "start = \"fresh\"")))
    };
    let fresh = |made: Made| Made { target: ("linux", "ext4-ssd-m"), ..made };
    only("fresh", &fresh(guest(Op::Write, "write")));
    assert!(found(&fresh(guest(Op::Read, "read"))).is_empty());
}

#[test]
fn more_than_the_link_carries_is_found() {
    // 300 MB/s at most of SATA: 5000 requests of 64 KiB are 328 MB/s.
    let of = |size| modelled(Made { size, ..sound() });
    only("above-link", &of(65_536));
    assert!(found(&of(50_000)).is_empty());
    // Nothing is known of a real link.
    assert!(found(&Made { size: 65_536, ..sound() }).is_empty());
}

/// What is slower because it is warm is not in a state of its flash.
#[test]
fn a_drive_that_was_throttled_says_so() {
    let told = |share: f64, is_warm: bool| {
        let warm = ("temperature_max_c".to_owned(), 75.0);
        let held = ("throttled_ns".to_owned(), 30e9 * share);
        let mut rates = vec![5000.0; 10];
        rates.extend([1500.0; 20]);
        let told = std::iter::once(held).chain(is_warm.then_some(warm)).collect();
        modelled(Made { rates, told, ..sound() })
    };
    only("throttled", &told(0.5, true));
    only("throttled", &told(0.011, true));
    // Unless it was for a moment, or by the limits that a volume is sold with.
    only("fresh", &told(0.009, true));
    only("fresh", &told(0.5, false));
}

#[test]
fn a_coarse_clock_is_found() {
    only("coarse-clock", &Made { tick: 10_000, ..sound() });
    only("coarse-clock", &Made { tick: 1_000_000, ..sound() });
    assert!(found(&Made { tick: 100, ..sound() }).is_empty());
    // Steps that show, but hide nothing: 4 % of the median.
    assert!(found(&Made { tick: 3_600, ..sound() }).is_empty());
    only("coarse-clock", &Made { tick: 5_000, ..sound() });
    // A model's own steps are none of a clock's.
    assert!(found(&modelled(Made { tick: 1_000_000, ..sound() })).is_empty());
}
