//! The verdicts of the ledgers are recorded: whoever changes one is told the line that changed.
//!
//! `ASSAY_PIN=1 cargo test -p assay --test verdicts` records what comes out; its difference is for
//! people to read. And no verdict stands for its own sake: with the measurements exchanged among
//! the cells, independent claims that were reproduced are not.

#![allow(clippy::print_stdout)] // a skipped test says why

mod command;

use assay_analysis::ledger::{Knowledge, LedgerVerdicts, Verdict, judge};
use assay_analysis::load::Run;
use assay_spec::calibration;
use assay_spec::catalog::{LEDGERS, STUDIES, find};
use assay_spec::claims::Ledger;
use assay_spec::decode::Source;
use assay_spec::record::CellRecord;
use command::{assay, temporary};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Some guests of the studies on Linux take most of a machine's memory, so these studies run one
/// after the other.
static TURN: Mutex<()> = Mutex::new(());

fn pinned_in_turn(study: &str) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    pinned(study);
}

/// A study that has been run as it stands: now or, with `ASSAY_RUNS=DIR`, into `DIR/STUDY`.
fn ran(study: &str) -> Run {
    let read = |directory: PathBuf| {
        let text = |name: &str| fs::read_to_string(directory.join(name)).unwrap();
        Run::from_json(&text("run.json"), &text("cells.json")).unwrap()
    };
    if let Some(runs) = std::env::var_os("ASSAY_RUNS") {
        return read(Path::new(&runs).join(study));
    }
    let dir = temporary();
    let output = assay(dir.path(), &["run", study, "--quiet", "--out", "run"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    read(dir.path().join("run"))
}

/// What the ledgers of a study say of cells that may not be its own.
fn judged(run: &Run) -> Vec<LedgerVerdicts> {
    let calibrations = calibration::bundled().unwrap();
    let known = Knowledge { calibrations: &calibrations, offered: &|_, _| true };
    let study = STUDIES.iter().find(|s| s.name == run.record.study).unwrap();
    let ledger = |name: &&str| {
        let b = find(LEDGERS, name).unwrap();
        judge(&Ledger::parse(Source { file: b.file, text: b.text }).unwrap(), Some(run), known)
    };
    study.ledgers.iter().map(ledger).collect()
}

/// A line for each claim with the verdicts of its numbers; what was not run has none.
fn lines(ledgers: &[LedgerVerdicts]) -> String {
    let mut all = String::new();
    for row in ledgers.iter().flat_map(|l| &l.rows).filter(|r| r.verdict != Verdict::NotRun) {
        let is_calibrated = row.verdict.is_judged() && !row.is_independent();
        let standing = if is_calibrated { " (calibrated)" } else { "" };
        all += &format!("{} {}{standing}", row.id, row.verdict.name());
        let of_claim = |v: &Verdict| *v == row.verdict || !v.is_judged();
        for value in row.values.iter().filter(|v| !of_claim(&v.verdict)) {
            all += &format!("; {}: {}", value.label, value.verdict.name());
        }
        all += "\n";
    }
    all
}

fn recorded(study: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../studies/{study}/verdicts.txt"))
}

/// Holds the verdicts against those recorded.
fn check(study: &str, now: &str) {
    let path = recorded(study);
    if std::env::var_os("ASSAY_PIN").is_some() {
        fs::write(&path, now).unwrap();
        return;
    }
    let before = fs::read_to_string(&path).unwrap_or_default();
    let changes = changes(&before, now);
    assert!(changes.is_empty(), "verdicts of {study} changed:\n{changes}");
}

/// The lines that are not the same, as they were and as they are.
fn changes(before: &str, now: &str) -> String {
    let by_id = |text: &str| -> BTreeMap<String, String> {
        let of_line = |line: &str| Some((line.split_once(' ')?.0.to_owned(), line.to_owned()));
        text.lines().filter_map(of_line).collect()
    };
    let (was, is) = (by_id(before), by_id(now));
    let mut changes = String::new();
    for id in was.keys().chain(is.keys().filter(|id| !was.contains_key(*id))) {
        let (was, is) = (was.get(id), is.get(id));
        if was != is {
            let line = |l: Option<&String>| l.map_or_else(|| "nothing".into(), Clone::clone);
            changes += &format!("- {}\n+ {}\n", line(was), line(is));
        }
    }
    changes
}

/// A way to give the cells of a run each other's measurements.
type Scramble = fn(&[CellRecord]) -> Vec<CellRecord>;

const SCRAMBLES: [(&str, Scramble); 3] = [
    ("drives exchanged", |cells| rotated(cells, |c| format!("{}/{}", c.experiment, c.workload))),
    ("workloads exchanged", |cells| rotated(cells, |c| format!("{}@{}", c.experiment, c.target))),
    ("fast and slow exchanged", reversed),
];

/// Cells of one group pass their measurements on to the next.
fn rotated(cells: &[CellRecord], group: fn(&CellRecord) -> String) -> Vec<CellRecord> {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (i, cell) in cells.iter().enumerate() {
        groups.entry(group(cell)).or_default().push(i);
    }
    let mut all = cells.to_vec();
    for of in groups.values() {
        for (place, i) in of.iter().enumerate() {
            all[*i].repeats.clone_from(&cells[of[(place + 1) % of.len()]].repeats);
        }
    }
    all
}

/// The fastest cell of the run gets what the slowest measured, and so on.
fn reversed(cells: &[CellRecord]) -> Vec<CellRecord> {
    let mean = |c: &CellRecord| {
        assay_analysis::metric::estimate(c, "mean").map_or(f64::INFINITY, |e| e.value)
    };
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by(|a, b| mean(&cells[*a]).total_cmp(&mean(&cells[*b])));
    let mut all = cells.to_vec();
    for (fast, slow) in order.iter().zip(order.iter().rev()) {
        all[*fast].repeats.clone_from(&cells[*slow].repeats);
    }
    all
}

/// Independent claims that were reproduced, and those of them that still are however the cells
/// exchange what they measured.
fn unmoved(run: &Run) -> (Vec<String>, Vec<String>) {
    let reproduced = |run: &Run| -> Vec<String> {
        let rows = judged(run).into_iter().flat_map(|l| l.rows);
        let such = rows.filter(|r| r.is_independent() && r.verdict == Verdict::Reproduced);
        such.map(|r| r.id).collect()
    };
    let all = reproduced(run);
    let mut left = all.clone();
    for (_, scramble) in SCRAMBLES {
        let still = reproduced(&Run::new(run.record.clone(), scramble(&run.cells)));
        left.retain(|id| still.contains(id));
    }
    (all, left)
}

/// Runs a study, holds its verdicts against the recorded ones, and scrambles its measurements.
fn pinned(study: &str) {
    let run = ran(study);
    check(study, &lines(&judged(&run)));
    let (all, left) = unmoved(&run);
    assert!(left.len() * 20 <= all.len(), "of {all:?}, {left:?} hold whatever was measured");
}

#[test]
fn quick() {
    pinned("quick");
}

#[test]
fn sigmetrics09() {
    pinned("sigmetrics09");
}

#[test]
fn modern() {
    pinned("modern");
}

#[test]
#[ignore = "boots guests for most of an hour"]
fn cmu08() {
    pinned_in_turn("cmu08");
}

#[test]
#[ignore = "boots guests for most of an hour"]
fn sara10() {
    pinned_in_turn("sara10");
}

#[test]
#[ignore = "boots guests for most of an hour"]
fn oslo09() {
    pinned_in_turn("oslo09");
}

/// What docs/ledger.md says the rules came to is what is recorded.
#[test]
fn the_page_counts_what_is_recorded() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ledger.md");
    let page = fs::read_to_string(page).unwrap();
    let (mut independent, mut reproduced) = (0, 0);
    for study in STUDIES.iter().map(|s| s.name) {
        let verdicts = fs::read_to_string(recorded(study)).unwrap();
        let count = |verdict: &str, is_calibrated: bool| {
            let such = |line: &&str| {
                let claim = line.split(';').next().unwrap();
                claim.split(' ').nth(1) == Some(verdict)
                    && claim.ends_with("(calibrated)") == is_calibrated
            };
            verdicts.lines().filter(such).count()
        };
        let cell = |is_calibrated| {
            let words = [("reproduced", "R"), ("deviates", "D"), ("undecided", "U")];
            let counts = words.map(|(verdict, letter)| (count(verdict, is_calibrated), letter));
            let some = counts.into_iter().filter(|(n, _)| *n > 0);
            let told: Vec<_> = some.map(|(n, letter)| format!("{n} {letter}")).collect();
            if told.is_empty() { "none".to_owned() } else { told.join(", ") }
        };
        let row = page.lines().find(|line| line.starts_with(&format!("| Run `{study}` |")));
        let cells: Vec<&str> = row.unwrap_or_else(|| panic!("{study}")).split(" | ").collect();
        assert_eq!(cells[2].split("; ").next(), Some(cell(false).as_str()), "{study}: independent");
        assert_eq!(cells[3], cell(true), "{study}: calibrated");
        for verdict in ["contradicted", "input", "arithmetic"] {
            let n = count(verdict, false);
            let told = cells[4].contains(&format!("{n} {verdict}"));
            assert!(told || n == 0, "{study}: {n} {verdict}");
        }
        if study != "quick" {
            independent += ["reproduced", "deviates", "undecided"]
                .map(|v| count(v, false))
                .iter()
                .sum::<usize>();
            reproduced += count("reproduced", false);
        }
    }
    let total = format!("Of {independent} independent claims {reproduced} are reproduced.");
    assert!(page.contains(&total), "{total}");
}

#[test]
#[ignore = "boots guests for a quarter of an hour, with databases of this machine"]
fn databases() {
    let missing = DATABASES.iter().find(|program| !Path::new(program).exists());
    if let Some(program) = missing {
        return println!("skipped: this machine has no {program}");
    }
    pinned_in_turn("databases");
}

/// The programs that the study `databases` runs, where Debian has them.
const DATABASES: [&str; 9] = [
    "/usr/lib/postgresql",
    "/usr/bin/sqlite3",
    "/usr/bin/db_bench",
    "/usr/bin/mdb_load",
    "/usr/bin/redis-benchmark",
    "/usr/bin/etcd",
    "/usr/bin/ab",
    "/usr/bin/fio",
    "/usr/sbin/zfs-fuse",
];

#[test]
fn a_changed_verdict_is_told_by_its_line() {
    let before = "S-02 deviates; disk: reproduced\nS-03 reproduced\nS-04 deviates\n";
    let now = "S-02 deviates\nS-03 reproduced\nS-05 undecided\n";
    let expected = "- S-02 deviates; disk: reproduced\n+ S-02 deviates\n- S-04 deviates\n\
                    + nothing\n- nothing\n+ S-05 undecided\n";
    assert_eq!(changes(before, now), expected);
    assert_eq!(changes(before, before), "");
}
