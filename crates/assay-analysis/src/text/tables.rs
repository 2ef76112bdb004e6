//! Tables for a terminal.

use super::costs::money;
use super::number::{count, plus_minus, time_unit};
use super::pair::{against, labelled, ratio};
use super::programs;
use super::table::{Table, clip, wrap};
use crate::compare::{Comparison, Row};
use crate::cost::Costs;
use crate::ledger::phrases::plain;
use crate::ledger::{LedgerVerdicts, PredicateVerdict, ValueVerdict};
use crate::load::Run;
use crate::metric;
use crate::program;
use crate::soundness;
use crate::stats::Estimate;
use assay_spec::record::CellRecord;
use assay_spec::units::{human_time, three_digits};

/// The number of lines of one kind that are shown; of the others only the number is given.
const SHOWN: usize = 4;

/// Returns the run as a table: a block for each workload, a row for each target. It has at most 100
/// columns for target names of up to 16 characters, unless a program prints many numbers.
pub fn summary_table(whole: &Run) -> String {
    let run = &*crate::factors::without(whole);
    let mut out = String::new();
    let several = run.record.experiments.len() > 1;
    let costs = Costs::of(run);
    for (experiment, workload) in run.workloads() {
        let cells: Vec<&CellRecord> = run.cells_of(experiment, workload).collect();
        let summary = cells.iter().map(|c| c.summary.as_str()).find(|s| !s.is_empty());
        // A single experiment is not named.
        let of = if several { format!("{experiment}/") } else { String::new() };
        out += &format!("{of}{workload}  {}\n", summary.unwrap_or(""));
        let table = match cells.iter().find(|cell| program::is_of_program(cell)) {
            Some(one) => programs::table(one, &cells),
            None => request_table(&cells),
        };
        let cost = costs.as_ref().map_or_else(Vec::new, |c| super::costs::lines(c, &cells));
        for line in table.lines().into_iter().chain(cost) {
            out += &format!("  {line}\n");
        }
        out.push('\n');
    }
    out += &super::factors::lines(whole);
    out += &notes(run);
    out
}

/// Returns the table of a workload of requests.
fn request_table(cells: &[&CellRecord]) -> Table {
    let heading = ["target", "MB/s", "IOPS", "mean", "p50", "p99", "p99.9", "", "max"];
    let mut table = Table::new(&heading, &[0, 7]);
    cells.iter().for_each(|cell| table.row(row(cell)));
    table
}

fn row(cell: &CellRecord) -> Vec<String> {
    let get = |name: &str| metric::estimate(cell, name);
    let bandwidth = match get("bandwidth") {
        Ok(e) => plus_minus(&e.scaled(1e-6)),
        // The reason is given below the table, at full length.
        Err(_) => return vec![clip(&cell.target, 20), "(not measured)".to_owned()],
    };
    let short = |name: &str| get(name).map_or_else(|_| "-".into(), |e| marked(&e));
    let tail = get("p99.9");
    vec![
        clip(&cell.target, 20),
        bandwidth,
        get("iops").map_or_else(|_| "-".into(), |e| mark(&e).to_owned() + &count(e.value)),
        short("mean"),
        short("p50"),
        short("p99"),
        short("p99.9"),
        tail.map_or_else(|_| String::new(), |e| range(&e)),
        get("max").map_or_else(|_| "-".into(), |e| human_time(e.value)),
    ]
}

/// The share of the value from which half an interval is marked as wide.
const WIDE: f64 = 0.05;

/// Returns the value with its mark.
fn marked(e: &Estimate) -> String {
    mark(e).to_owned() + &human_time(e.value)
}

/// Returns `~` if the interval is wide, `*` if there is none.
fn mark(e: &Estimate) -> &'static str {
    match e.interval {
        None => "*",
        Some((low, high)) if (high - e.value).max(e.value - low) > WIDE * e.value => "~",
        Some(_) => "",
    }
}

/// Returns the interval as `1.1..1.4` in the unit of the value, or `*` if there is none.
fn range(e: &Estimate) -> String {
    let (factor, _) = time_unit(e.value);
    match e.interval {
        Some((low, high)) => {
            format!("{}..{}", three_digits(low * factor), three_digits(high * factor))
        }
        None => "*".into(),
    }
}

/// Returns what a reader must know to trust the table.
pub(crate) fn note_lines(run: &Run) -> Vec<String> {
    let mut notes: Vec<String> = vec![
        "± and low..high are 95 % intervals. Values without them have intervals within 5 % of the \
         value, unless marked ~ (`assay report --csv` has all intervals). = means the same in \
         every repeat. MB/s is 10^6 bytes/s."
            .into(),
    ];
    let mut add = |note: String| {
        if !notes.contains(&note) {
            notes.push(note);
        }
    };
    for cell in &run.cells {
        let at = format!("{}@{}", cell.workload, cell.target);
        if let Some(e) = metric::estimate(cell, "errors").ok().filter(|e| e.value > 0.0) {
            add(format!("{at}: {} requests ended with an error.", e.value));
        }
        for repeat in &cell.repeats {
            if repeat.steady.as_ref().is_some_and(|s| !s.reached) {
                add(format!("{at}: steady state was not reached."));
            }
            repeat.warnings.iter().for_each(|w| add(format!("{at}: {w}")));
        }
    }
    notes.extend(not_measured(run));
    notes.extend(without_interval(run));
    notes
}

/// Returns why cells were skipped: for each reason the first cells, and how many more there are.
fn not_measured(run: &Run) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for cell in &run.cells {
        let Some(reason) = cell.skipped.as_deref() else { continue };
        let at = format!("{}@{}", cell.workload, cell.target);
        match reasons.iter_mut().find(|(other, _)| *other == reason) {
            Some((_, cells)) => cells.push(at),
            None => reasons.push((reason, vec![at])),
        }
    }
    let line = |(reason, cells): (&str, Vec<String>)| {
        let more = match cells.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} others"),
        };
        let shown = cells[..cells.len().min(SHOWN)].join(", ");
        format!("{shown}{more}: not measured: {reason}.")
    };
    reasons.into_iter().map(line).collect()
}

/// Returns the first cells with numbers that have no interval, and why; and how many more there
/// are.
fn without_interval(run: &Run) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut more = 0;
    for cell in &run.cells {
        let mut named: Vec<(String, Vec<&str>)> = Vec::new();
        let printed = program::metrics(cell).iter().map(|metric| metric.name.as_str());
        for name in ["bandwidth", "mean", "p50", "p99", "p99.9"].into_iter().chain(printed) {
            if let Ok(Estimate { interval: None, basis, .. }) = metric::estimate(cell, name) {
                let why = basis.to_string();
                match named.iter_mut().find(|(other, _)| *other == why) {
                    Some((_, names)) => names.push(name),
                    None => named.push((why, vec![name])),
                }
            }
        }
        for (why, names) in named {
            let names = names.join(", ");
            match lines.len() < SHOWN {
                true => lines.push(format!("{}@{} {names}: {why}.", cell.workload, cell.target)),
                false => more += 1,
            }
        }
    }
    if more > 0 {
        lines.push(format!(
            "{more} other cells have no interval; `assay report --csv` has the reason for each."
        ));
    }
    lines
}

/// Returns what is wrong with the cells: for each check the first few cells, and once what to do.
fn doubt_lines(run: &Run) -> Vec<String> {
    let mut doubts = soundness::doubts(run);
    doubts.sort_by_key(|v| v.check);
    let mut lines = Vec::new();
    for of_check in doubts.chunk_by(|a, b| a.check == b.check) {
        let line = |v: &soundness::Doubt| format!("warning: {}: {}.", v.cell, v.statement);
        lines.extend(of_check.iter().take(SHOWN).map(line));
        if of_check.len() > SHOWN {
            let more = of_check.len() - SHOWN;
            lines.push(format!(
                "warning: the same for {more} other cells; the page lists them all."
            ));
        }
        lines.extend(of_check.first().map(|v| format!("hint: {}.", v.hint)));
    }
    lines
}

fn notes(run: &Run) -> String {
    let mut lines = note_lines(run);
    lines.extend(Costs::of(run).map(|costs| format!("Prices: {}.", costs.prices.sources())));
    lines.extend(doubt_lines(run));
    let wrapped = lines.iter().flat_map(|n| wrap(n, 98));
    wrapped.map(|line| line + "\n").collect()
}

/// Returns the ledger, published beside reproduced values, in lines of at most `width` characters.
pub fn ledger_table(verdicts: &LedgerVerdicts, width: usize) -> String {
    let width = width.max(60);
    let mut out = String::new();
    for line in wrap(&format!("{}: {}", verdicts.study, verdicts.title), width) {
        out += &format!("{line}\n");
    }
    out.push('\n');
    for row in &verdicts.rows {
        out += &format!("{:<6} {:<12} {}\n", row.id, row.verdict.name(), row.source);
        let mut indented = |text: &str, by: usize| {
            for line in wrap(text, width - by) {
                out += &format!("{}{line}\n", " ".repeat(by));
            }
        };
        indented(&row.statement, 7);
        row.places.iter().for_each(|place| indented(&format!("- {place}"), 7));
        if !row.reason.is_empty() {
            indented(&format!("because: {}", row.reason), 7);
        }
        let judged = row.check.iter().chain(&row.predicate);
        judged.filter_map(PredicateVerdict::complaint).for_each(|line| indented(&line, 7));
        row.calibration().iter().for_each(|line| indented(line, 7));
        if !row.found.is_empty() {
            indented(&format!("found: {}", row.found), 7);
        }
        let shown = row.values.iter().filter(|v| v.reproduced.is_some() || v.published.is_some());
        let mut table = Table::new(
            &["", "published", "reproduced", "", "", "deviation", "verdict"],
            &[0, 3, 4, 6],
        );
        shown.for_each(|v| table.row(value_row(v)));
        if table.lines().len() > 1 {
            for line in table.lines() {
                out += &format!("       {line}\n");
            }
        }
        for line in row.put_in().flat_map(|text| wrap(&text, width - 7)) {
            out += &format!("       {line}\n");
        }
        out.push('\n');
    }
    for line in wrap(&verdicts.summary(), width) {
        out += &format!("{line}\n");
    }
    out
}

fn value_row(v: &ValueVerdict) -> Vec<String> {
    let number = |n: Option<f64>| n.map_or_else(|| "-".into(), plain);
    vec![
        clip(&v.label, 34),
        number(v.published),
        number(v.reproduced),
        v.half_width().map_or_else(String::new, |half| format!("± {}", plain(half))),
        v.unit.clone(),
        v.deviation.map_or_else(String::new, |d| format!("{:+.1} %", 100.0 * d)),
        v.verdict.name().to_owned(),
    ]
}

/// Returns the effect sizes of a comparison: a block for each workload and reference.
pub fn comparison(c: &Comparison) -> String {
    let mut out = String::new();
    let reference = |row: &Row| against(&row.target, &row.reference, row.runs.as_ref());
    let block = |row: &Row| (row.experiment.clone(), row.workload.clone(), reference(row));
    for rows in c.rows.chunk_by(|a, b| block(a) == block(b)) {
        let Some(first) = rows.first() else { continue };
        out += &format!("{} against {}\n", first.workload, reference(first));
        let heading = ["target", "bandwidth x", "p50 x", "p99 x", "A", "KS", ""];
        let mut table = Table::new(&heading, &[0, 6]);
        rows.iter().for_each(|row| table.row(comparison_row(row)));
        for line in table.lines().into_iter().chain(comparison_costs(rows)) {
            out += &format!("  {line}\n");
        }
        out.push('\n');
    }
    out += &programs::compared(&c.programs);
    let legend = "x: value of the target over that of the reference, with 95 % interval; = every \
                  repeat gave the same, * no interval. A: probability that a request of the target \
                  is faster than one of the reference. KS: largest distance of the distributions. \
                  better, worse: the whole interval lies on one side of 1, and a part of it \
                  differs from 1 by more than 5 %.";
    for line in wrap(legend, 98).into_iter().chain(c.notes.iter().flat_map(|n| wrap(n, 98))) {
        out += &format!("{line}\n");
    }
    out
}

/// Returns the prices of the rows of a block and of their reference, with the dates of the prices.
fn comparison_costs(rows: &[Row]) -> Vec<String> {
    let priced = || rows.iter().filter_map(|row| Some((row, row.cost.as_ref()?)));
    let Some((_, first)) = priced().next() else { return Vec::new() };
    let heading = ["target", "price", "reference", "price x", "price per MB/s x"];
    let mut table = Table::new(&heading, &[0]);
    for (row, cost) in priced() {
        table.row(vec![
            clip(&labelled(&row.target, row.runs.as_ref()), 22),
            money(cost.price),
            money(cost.reference),
            three_digits(cost.price / cost.reference),
            ratio(&cost.per_mb_s),
        ]);
    }
    let mut lines = table.lines();
    lines.push(format!("({})", first.prices));
    lines
}

fn comparison_row(row: &Row) -> Vec<String> {
    let shift = |e: &Option<Estimate>| {
        let text = e.as_ref().map(|e| format!("{}{:.2}", mark_of_share(e), e.value));
        text.unwrap_or_else(|| "-".into())
    };
    vec![
        clip(&labelled(&row.target, row.runs.as_ref()), 22),
        ratio(&row.bandwidth),
        ratio(&row.p50),
        ratio(&row.p99),
        shift(&row.superiority),
        shift(&row.distance),
        row.standing.name().to_owned(),
    ]
}

/// Returns the mark of a share: its interval is wide compared with 1, not with its value.
fn mark_of_share(e: &Estimate) -> &'static str {
    match e.half_width() {
        None => "*",
        Some(half) if half > WIDE => "~",
        Some(_) => "",
    }
}
