//! Tests of each question on cells whose answer is known.

use super::{access, answers};
use crate::finding::Finding;
use crate::load::{Run, sample};
use crate::sweep::{self, Parameter};
use assay_spec::record::{CellRecord, ExperimentRecord, FirstRecord};
use assay_spec::{Nanos, Op, catalog};

const STUDY: &str = "sigmetrics09";

/// Returns latencies in ns that lie around a latency in µs and differ a little, as measured ones
/// do.
fn around(us: u64) -> Vec<u64> {
    (0..400).map(|i| us * 1000 + i % 7).collect()
}

fn cell(name: &str, us: u64) -> CellRecord {
    let (experiment, workload) = name.split_once('/').unwrap();
    let latencies = around(us);
    let mut cell = sample::cell(&[&latencies]);
    (cell.experiment, cell.workload) = (experiment.into(), workload.into());
    cell.id = format!("{name}@t");
    cell
}

/// Returns a cell of reads and writes with these latencies in µs.
fn mixed(name: &str, read: u64, write: u64) -> CellRecord {
    let mut both = cell(name, read);
    let mut writes = cell(name, write).repeats[0].ops.remove(0);
    writes.op = Op::Write;
    both.repeats[0].ops.push(writes);
    both
}

/// Returns a cell whose requests are all writes.
fn writing(name: &str, us: u64) -> CellRecord {
    let mut cell = cell(name, us);
    cell.repeats[0].ops[0].op = Op::Write;
    cell
}

fn keep(mut cell: CellRecord, latencies: impl Iterator<Item = u64>) -> CellRecord {
    let kept: Vec<_> = latencies.map(|us| (Op::Read, Nanos(us * 1000))).collect();
    cell.repeats[0].first = Some(FirstRecord::new(&kept));
    cell
}

fn ask(cells: Vec<CellRecord>, id: &str) -> Finding {
    let mut run = sample::run(cells);
    run.record.experiments.push(experiment());
    answers(&run, "t", STUDY).into_iter().find(|f| f.id == format!("question/{id}/t")).expect(id)
}

/// Checks that the answer begins with a word and contains the parts.
fn says(finding: &Finding, word: &str, parts: &[&str]) {
    let text = &finding.statement;
    assert!(text.contains(&format!("? {word}: ")), "{text}");
    parts.iter().for_each(|part| assert!(text.contains(part), "`{part}`: {text}"));
    assert_eq!(finding.confidence.is_some(), word != "Not determined");
    assert!(!finding.threshold.is_empty());
}

fn three(experiment: &str, kind: &str, us: [u64; 3]) -> Vec<CellRecord> {
    let names = ["seq", "rnd", "stride"].map(|p| format!("{experiment}/{p}-{kind}-4k"));
    names.iter().zip(us).map(|(name, us)| cell(name, us)).collect()
}

#[test]
fn reads() {
    let alike = ask(three("reads", "rd", [200, 201, 200]), "1-reads");
    says(&alike, "Yes", &["sequential reads take 200 µs", "begins is not determined"]);
    let mut cells = three("reads", "rd", [75, 225, 225]);
    cells.push(keep(
        cell("reads/seq-rd-4k-500", 75),
        (0..500).map(|i| if i < 9 { 225 } else { 75 }),
    ));
    let parts =
        ["random reads take 225 µs and sequential ones 75.0 µs (3.00 times; KS", "after 9 re"];
    says(&ask(cells.clone(), "1-reads"), "No", &parts);
    cells[0].skipped = Some("it is locked".into());
    says(&ask(cells, "1-reads"), "Not determined", &["not measured: it is locked"]);
}

#[test]
fn a_stream_begins() {
    let series = |slow: usize| -> Vec<f64> {
        (0..100).map(|i| if i < slow || i % 20 == 19 { 9.0 } else { 3.0 }).collect()
    };
    assert_eq!(access::trigger(&series(0)), Some((0, 3.0)));
    assert_eq!(access::trigger(&series(7)), Some((7, 3.0)));
    let mut late = series(7);
    (late[6], late[0]) = (6.0, 9.1);
    assert_eq!(access::trigger(&late), Some((6, 3.0)), "the seventh is on the way");
    let restless: Vec<f64> = (0..100).map(|i| if i % 3 == 0 { 9.0 } else { 3.0 }).collect();
    assert_eq!(access::trigger(&restless), None);
    assert_eq!(access::trigger(&[]), None);
}

#[test]
fn writes() {
    let of = |us| ask(three("writes", "wr", us), "2-writes");
    says(&of([100, 900, 900]), "Yes", &["9.00 times", "no pattern is certainly slower"]);
    says(&of([100, 900, 1800]), "No", &["stride writes are slower still"]);
    says(&of([100, 101, 100]), "No", &["1.01 times"]);
    let mut cells = three("writes", "wr", [100, 900, 900]);
    cells.remove(1);
    says(&ask(cells, "2-writes"), "Not determined", &["no cell writes/rnd-wr-4k"]);
    let mut cells = three("writes", "wr", [100, 900, 900]);
    let spikes = (0..500).map(|i| if i % 16 == 15 { 880 } else { 100 });
    cells.push(keep(cell("writes/seq-wr-4k-500", 100), spikes));
    says(&ask(cells, "2-writes"), "Yes", &["come every 16 writes"]);
}

#[test]
fn a_few_outliers_leave_it_open() {
    let mut cells = three("writes", "wr", [100, 100, 100]);
    let mut latencies = around(100);
    latencies[7] = 40_000_000;
    cells[1].repeats = sample::cell(&[&latencies]).repeats;
    says(
        &ask(cells, "2-writes"),
        "Not determined",
        &["2.00 times", "may be more or less than 1.1 times"],
    );
}

#[test]
fn cache() {
    let off = |us| {
        let names = ["seq", "rnd", "stride"].map(|p| format!("disk-cache/off-{p}-wr-4k"));
        names.iter().map(|name| cell(name, us)).collect::<Vec<_>>()
    };
    let with = |us| [three("writes", "wr", [75, 75, 75]), off(us)].concat();
    says(
        &ask(with(600), "3-cache"),
        "Yes",
        &["without the cache take 600 µs and with it 75.0 µs (8.00 t"],
    );
    says(&ask(with(75), "3-cache"), "No", &["1.00 times"]);
    says(&ask(off(600), "3-cache"), "Not determined", &["no cell writes/seq-wr-4k"]);
}

fn turns(together: u64, paused: u64) -> Vec<CellRecord> {
    let mut cells =
        vec![cell("interference/only-read", 75), writing("interference/only-write", 75)];
    for turn in ["rw-n-n", "wr-n-n", "rw-n-n1", "rw-n-4mb"] {
        cells.push(mixed(&format!("interference/{turn}"), together, 75));
        cells.push(mixed(&format!("interference/{turn}-gap"), paused, 75));
    }
    cells
}

#[test]
fn interference() {
    let hurt = ask(turns(300, 75), "4-interference");
    let parts =
        ["take 300 µs and alone 75.0 µs (4.00 times", "writes do not suffer", "is 1.00 times"];
    says(&hurt, "Yes", &parts);
    assert!(hurt.evidence.iter().any(|e| e.starts_with("left out: rw-n-n1")), "strides alone");
    says(&ask(turns(75, 75), "4-interference"), "No", &["at most"]);
    let mut cells = turns(300, 75);
    cells.remove(1);
    says(&ask(cells, "4-interference"), "Not determined", &["no cell interference/only-write"]);
}

#[test]
fn background() {
    let of = |us| vec![mixed("background/mix-50", us, 75), mixed("background/mix-50-gap", 220, 75)];
    says(&ask(of(300), "5-background"), "Yes", &["reads of mix-50 take 300 µs and with pauses"]);
    says(&ask(of(225), "5-background"), "No", &["pauses do not make requests faster"]);
    let alone = of(300).into_iter().take(1).collect();
    says(&ask(alone, "5-background"), "Not determined", &["no cell background/mix-50-gap"]);
    // With pauses, a phase of 20 ms completes a request or two.
    let mut short = of(225);
    short[1].repeats = sample::cell(&[&[220_000, 75_000]]).repeats;
    says(
        &ask(short, "5-background"),
        "Not determined",
        &["with and without pauses differ too much"],
    );
}

/// Returns the bundled experiment `randomness`.
fn experiment() -> ExperimentRecord {
    let all = catalog::STUDIES.iter().flat_map(|s| s.experiments);
    let b = all.into_iter().find(|b| b.name == "randomness").expect("is bundled");
    ExperimentRecord { name: b.name.into(), file: b.file.into(), text: b.text.into() }
}

/// Returns the cells of the experiment. For a step in KiB, `write` returns the latency in µs of
/// one in so many writes; the others take 100 µs. All reads take the same time.
fn spread(write: impl Fn(u64) -> (u64, u64)) -> Vec<CellRecord> {
    let mut run = sample::run(Vec::new());
    run.record.experiments.push(experiment());
    let mut cells = Vec::new();
    for sweep in sweep::all(&run).iter().filter(|s| s.size.0 == 4096) {
        for point in &sweep.points {
            let name = format!("randomness/{}", point.workload);
            let mut one = cell(&name, if sweep.op == Op::Read { 200 } else { 300 });
            if (sweep.op, sweep.of) == (Op::Write, Parameter::Step) {
                let (us, every) = write(point.value.0 / 1024);
                let latencies: Vec<u64> =
                    (0..800).map(|i| 1000 * if i % every == 0 { us } else { 100 }).collect();
                one.repeats = sample::cell(&[&latencies]).repeats;
            }
            cells.push(one);
        }
    }
    cells
}

#[test]
fn randomness() {
    let unit = |size: u64| ask(spread(|kib| (10_000, (size / kib).max(1))), "6-randomness");
    says(&unit(8192), "Yes", &["grow with the step up to 8 MiB and", "reads do not slow down"]);
    says(&unit(2048), "Yes", &["units of that size", "up to 2 MiB"]);
    // The unit lies between two steps that were measured, 256 KiB and 1 MiB.
    says(&unit(512), "Yes", &["units of that size", "up to 512 KiB"]);
    let jump = ask(spread(|kib| (if kib < 2048 { 100 } else { 300 }, 1)), "6-randomness");
    says(
        &jump,
        "Yes",
        &["level from steps of 2 MiB on", "than a mapping unit would save: no sign"],
    );
    says(
        &ask(spread(|kib| (100 + kib, 1)), "6-randomness"),
        "Yes",
        &["not level up to steps of 128"],
    );
    says(
        &ask(spread(|_| (100, 1)), "6-randomness"),
        "No",
        &["writes do not slow down", "reads do"],
    );
    let mut cells = spread(|_| (100, 1));
    cells.retain(|c| !c.workload.contains("-wr-step-16m"));
    says(&ask(cells, "6-randomness"), "Not determined", &["no cell randomness/stride-wr-step-16m"]);
}

fn holes(after: u64, cured: u64) -> Vec<CellRecord> {
    let mut cells = Vec::new();
    for stream in ["seq-rd", "rnd-rd", "seq-wr", "rnd-wr"] {
        cells.push(cell(&format!("fragmentation/before-{stream}"), 75));
        cells.push(cell(&format!("fragmentation/after-striker-{stream}"), after));
    }
    for (cure, us) in [("idle", after), ("mixed", after), ("cure", cured)] {
        cells.push(cell(&format!("fragmentation/after-{cure}-seq-wr"), us));
    }
    cells
}

#[test]
fn fragmentation() {
    let hurt = ask(holes(1000, 75), "7-fragmentation");
    let parts = ["an hour of rest does not cure it (13.3 times", "rewriting the range cures it"];
    says(&hurt, "Yes", &parts);
    says(&ask(holes(75, 75), "7-fragmentation"), "No", &["at most"]);
    let some = holes(1000, 75).into_iter().skip(1).collect();
    says(&ask(some, "7-fragmentation"), "Not determined", &["before-seq-rd"]);
}

#[test]
fn what_is_not_measured_is_said_of_the_whole_question() {
    let mut run = sample::run(three("reads", "rd", [200, 201, 200]));
    run.record.study = STUDY.into();
    let target = |name: &str| assay_spec::record::TargetRecord {
        written: format!("sim:{name}"),
        name: name.into(),
        title: String::new(),
        kind: "model".into(),
        capacity: assay_spec::Bytes::GIB,
        identity: Vec::new(),
        spec: None,
        virtual_time: true,
        created: false,
    };
    run.record.targets = vec![target("t"), target("u")];
    let all = answers(&run, "u", STUDY);
    assert_eq!(all.len(), super::QUESTIONS.len());
    let part = "this study does not measure `reads` on this target; add `--on sim:u`";
    says(&all[0], "Not determined", &[part]);
    assert_eq!(answers(&run, "t", STUDY).iter().filter(|f| f.confidence.is_some()).count(), 1);
}

/// A question without cells is left out, except in the study that asks all questions.
#[test]
fn what_was_not_run_is_absent() {
    let run = |study: &str| -> Run {
        let mut run = sample::run(three("reads", "rd", [200, 201, 200]));
        run.record.study = study.into();
        run
    };
    assert_eq!(answers(&run("reads"), "t", STUDY).len(), 1);
    assert!(answers(&run("reads"), "u", STUDY).is_empty());
    let other = sample::run(vec![cell("reads/of-my-own", 5)]);
    assert!(answers(&other, "t", STUDY).is_empty(), "another experiment of that name");
}
