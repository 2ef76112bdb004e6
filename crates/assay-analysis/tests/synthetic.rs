//! A synthetic run of four targets and four workloads, through everything the crate offers.

use assay_analysis::{compare, finding, ledger, load::Run, report, text};
use assay_spec::catalog;
use assay_spec::claims::Ledger;
use assay_spec::decode::Source;
use assay_spec::record::*;
use assay_spec::{Bytes, Histogram, Nanos, Op, seed};

/// A small generator of its own: the numbers of this test never change.
struct Lcg(u64);

impl Lcg {
    fn uniform(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }
    /// Sum of twelve uniforms: normal enough.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// Median latency in µs and spread of the logarithm for each target and workload.
const CELLS: &[(&str, [(f64, f64); 4])] = &[
    ("ssd-l", [(220.0, 0.08), (2900.0, 0.7), (1900.0, 0.1), (2850.0, 0.15)]),
    ("ssd-m", [(215.0, 0.12), (88.0, 0.25), (1010.0, 0.06), (3200.0, 0.2)]),
    ("ssd-h", [(200.0, 0.10), (84.0, 0.2), (1000.0, 0.05), (1280.0, 0.1)]),
    ("wd1600js", [(7200.0, 0.45), (2700.0, 0.6), (4400.0, 0.1), (4700.0, 0.12)]),
];

/// The seed of the run.
const SEED: u64 = 42;
const WORKLOADS: &[(&str, &str, Op, u64)] = &[
    ("rnd-rd", "random read, 4KiB, 32 jobs", Op::Read, 4096),
    ("rnd-wr", "random write, 4KiB, 32 jobs", Op::Write, 4096),
    ("seq-rd", "sequential read, 256KiB, 32 jobs", Op::Read, 262_144),
    ("seq-wr", "sequential write, 256KiB, 32 jobs", Op::Write, 262_144),
];

fn repeat(
    lcg: &mut Lcg,
    seed: u64,
    op: Op,
    size: u64,
    (median, spread): (f64, f64),
) -> RepeatRecord {
    let (length, interval) = (30_000_000_000_u64, 1_000_000_000_u64);
    let elements = (length / interval) as usize;
    let mut series = SeriesRecord {
        interval: Nanos(interval),
        requests: vec![0; elements],
        bytes: vec![0; elements],
        latency_sum_ns: vec![0; elements],
        latency_max_ns: vec![0; elements],
    };
    let (mut latency, mut now, mut requests) = (Histogram::new(), 0_u64, 0_u64);
    let scale = median * 1e3 * (1.0 + 0.004 * lcg.normal());
    loop {
        let slow = if lcg.uniform() < 0.0008 { 9.0 } else { 1.0 };
        let ns = (scale * slow * (spread * lcg.normal()).exp()) as u64;
        now += ns;
        if now >= length {
            break;
        }
        latency.record(Nanos(ns));
        requests += 1;
        let i = (now / interval) as usize;
        series.requests[i] += 1;
        series.bytes[i] += size;
        series.latency_sum_ns[i] += ns;
        series.latency_max_ns[i] = series.latency_max_ns[i].max(ns);
    }
    let rounds: Vec<f64> = (0..6).map(|_| 1e9 / scale * (1.0 + 0.01 * lcg.normal())).collect();
    let ops =
        OpRecord { op, requests, bytes: Bytes(size * requests), errors: 0, late: None, latency };
    RepeatRecord {
        seed,
        elapsed: Nanos(length),
        ops: vec![ops],
        series,
        first: None,
        steady: Some(SteadyRecord { rounds, window: 5, range: 0.2, slope: 0.1, reached: true }),
        device: vec![("wa".into(), 1.1)],
        program: Vec::new(),
        warnings: Vec::new(),
    }
}

/// An experiment with these workloads.
fn experiment(repeats: usize) -> String {
    let head = "format = 1\nname = \"general\"\nquestion = \"Which?\"\ntargets = []\n";
    let workload = |(name, ..): &(&str, &str, Op, u64)| {
        format!(
            "[[workload]]\nname = \"{name}\"\nread_share = 1.0\nsize = \"4KiB\"\n\
             pattern = \"random\"\nmeasure = {{ time = \"30s\" }}\n"
        )
    };
    let workloads: String = WORKLOADS.iter().map(workload).collect();
    format!("{head}repeats = {repeats}\n{workloads}")
}

fn synthetic(repeats: usize) -> Run {
    let mut lcg = Lcg(SEED);
    let mut cells = Vec::new();
    for (w, (workload, summary, op, size)) in WORKLOADS.iter().enumerate() {
        for (target, shapes) in CELLS {
            let own = |number: u32| {
                let seed = seed::of_repeat(SEED, "general", workload, number);
                repeat(&mut lcg, seed, *op, *size, shapes[w])
            };
            cells.push(CellRecord {
                id: format!("general/{workload}@{target}"),
                experiment: "general".into(),
                workload: (*workload).into(),
                target: (*target).into(),
                summary: (*summary).into(),
                skipped: None,
                failed: None,
                repeats: (1..=repeats as u32).map(own).collect(),
            });
        }
    }
    cells[0].repeats[0].warnings.push("the queue ran empty <b>twice</b> & more".into());
    let target = |(name, _): &(&str, _)| TargetRecord {
        written: format!("sim:{name}"),
        name: (*name).into(),
        title: "A drive of 2008".into(),
        kind: "model".into(),
        capacity: Bytes(80_000_000_000),
        identity: vec![("vendor".into(), "<none>".into())],
        spec: Some("name = \"x\" # <&>\npage = \"4KiB\"\n".into()),
        virtual_time: true,
        created: false,
    };
    let planned = |c: &CellRecord| CellPlan {
        id: c.id.clone(),
        experiment: c.experiment.clone(),
        workload: c.workload.clone(),
        target: c.target.clone(),
    };
    let record = RunRecord {
        schema: SCHEMA,
        assay: "0.1.0".into(),
        study: "quick".into(),
        title: "Four workloads that tell most of a drive's character".into(),
        command: ["assay", "run", "quick", "--seed", "42"].map(String::from).to_vec(),
        seed: SEED,
        started: "2026-11-21T14:00:00Z".into(),
        experiments: vec![ExperimentRecord {
            name: "general".into(),
            file: "general.toml".into(),
            text: experiment(repeats),
        }],
        targets: CELLS.iter().map(target).collect(),
        host: HostRecord {
            kernel: "6.18".into(),
            cpu: "Xeon".into(),
            cpus: 2,
            memory: Bytes(24 << 30),
        },
        intent: IntentRecord::default(),
        plan: cells.iter().map(planned).collect(),
        prices: None,
    };
    let run_json = serde_json::to_string(&record).unwrap();
    let cells_json = serde_json::to_string(&CellsRecord { schema: SCHEMA, cells }).unwrap();
    Run::from_json(&run_json, &cells_json).unwrap()
}

fn verdicts(run: &Run) -> ledger::LedgerVerdicts {
    let bundled = catalog::find(catalog::LEDGERS, "sigmetrics09").unwrap();
    let parsed = Ledger::parse(Source { file: bundled.file, text: bundled.text }).unwrap();
    ledger::judge(&parsed, Some(run), ledger::Knowledge::NOTHING)
}

#[test]
fn the_page_is_whole_self_contained_and_the_same_twice() {
    let run = synthetic(3);
    let ledgers = [verdicts(&run)];
    let page = report::html(&run, &ledgers);
    assert_eq!(page, report::html(&run, &ledgers));
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("report.html");
    std::fs::write(&path, &page).unwrap();
    for forbidden in ["http:", "https:", "<script", "src=", "@import", "url(", "<b>twice", "NaN"] {
        assert!(!page.contains(forbidden), "{forbidden} in the page");
    }
    assert!(page.contains("&lt;b&gt;twice&lt;/b&gt; &amp; more"));
    for tag in ["section", "svg", "table", "details", "figure", "article", "ul", "div"] {
        let opened =
            page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    let mut ids: Vec<&str> =
        page.split(" id=\"").skip(1).filter_map(|s| s.split('"').next()).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|p| p[0] != p[1]), "an id occurs twice");
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
}

#[test]
fn the_terminal_tables_fit_and_say_what_they_should() {
    let run = synthetic(3);
    let table = text::summary_table(&run);
    println_to_tmp("summary.txt", &table);
    assert!(table.lines().all(|l| l.chars().count() <= 100), "{table}");
    assert!(table.contains('±'));
    let judged = verdicts(&run);
    let table = text::ledger_table(&judged, 100);
    println_to_tmp("ledger.txt", &table);
    assert!(table.lines().all(|l| l.chars().count() <= 110), "{table}");
    assert!(judged.rows.iter().any(|r| r.verdict == ledger::Verdict::Reproduced));
    let table = text::comparison(&compare::table(&run, "ssd-l"));
    println_to_tmp("comparison.txt", &table);
    assert!(table.lines().all(|l| l.chars().count() <= 100), "{table}");
}

#[test]
fn csv_has_the_same_columns_everywhere() {
    let csv = text::csv(&synthetic(2));
    let columns = csv.lines().next().unwrap().matches(',').count();
    // The basis never has a comma but in the reason for a missing percentile, which is quoted.
    for line in csv.lines() {
        let outside: String = line.split('"').step_by(2).collect();
        assert_eq!(outside.matches(',').count(), columns, "{line}");
    }
}

#[test]
fn findings_state_what_was_built_in() {
    let run = synthetic(3);
    let all = finding::findings(&run);
    let lines: Vec<&str> = all.iter().map(|f| f.statement.as_str()).collect();
    println_to_tmp("findings.txt", &lines.join("\n"));
    let first = &all[0];
    assert_eq!(first.id, "ranking/general/rnd-rd");
    assert!(first.statement.contains("ssd-h is ") && first.statement.contains("than wd1600js"));
    assert!(first.confidence.is_some());
    let single = finding::findings(&synthetic(1));
    assert!(!single.is_empty());
}

#[test]
fn empty_and_skipped_runs_do_not_panic() {
    let mut run = synthetic(1);
    for cell in &mut run.cells {
        cell.skipped = Some("no such drive".into());
        cell.repeats.clear();
    }
    let (first, others) = (&run.cells[0], run.cells.len() - 4);
    assert!(others > 0, "more than are shown");
    let at = format!("{}@{}, ", first.workload, first.target);
    let table = text::summary_table(&run).split_whitespace().collect::<Vec<_>>().join(" ");
    let more = format!(" and {others} others: not measured: no such drive.");
    assert!(table.contains(&at) && table.contains(&more), "{table}");
    assert_eq!(table.matches("no such drive").count(), 1, "said once: {table}");
    let check = |run: &Run| {
        let page = report::html(run, &[verdicts(run)]);
        assert!(page.ends_with("</html>\n"));
        let _ = (text::summary_table(run), text::csv(run), finding::findings(run));
        let _ = text::comparison(&compare::table(run, "ssd-l"));
    };
    check(&run);
    run.cells.clear();
    check(&run);
}

fn println_to_tmp(name: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(path, text).unwrap();
}
