//! Checks `cells.json`: its cells are in the plan, and its numbers can have been measured.

use crate::load::error::{LoadError, wrong};
use crate::metric;
use crate::unseen::is_unseen;
use assay_spec::experiment::Experiment;
use assay_spec::record::{
    CellPlan, CellRecord, FirstRecord, OpRecord, ProgramMetric, RepeatRecord, RunRecord,
    SeriesRecord, SteadyRecord,
};
use assay_spec::{Nanos, Op, seed};
use std::collections::{BTreeMap, BTreeSet};

/// The upper bound of the length of phases and latencies in nanoseconds: 104 days.
const TIME_END: u64 = 1 << 53;
/// The upper bound of the sum of all numbers of a kind in the file.
const TOTAL_END: u64 = 1 << 62;

/// The experiments of a record by name; `None` if another version wrote one that this one cannot
/// read.
pub(in crate::load) type Experiments<'r> = BTreeMap<&'r str, Option<Experiment>>;

/// A result whose error says what is wrong; the caller puts the place in front.
type Checked = Result<(), String>;

/// Checks the cells against the plan.
pub(in crate::load) fn check(
    record: &RunRecord,
    experiments: &Experiments<'_>,
    cells: &[CellRecord],
) -> Result<(), LoadError> {
    let plan: BTreeMap<&str, &CellPlan> = record.plan.iter().map(|p| (&*p.id, p)).collect();
    let mut seen = BTreeSet::new();
    let mut totals = Totals::default();
    for cell in cells {
        let of_cell = |what: String| wrong("cells.json", what);
        if !seen.insert(cell.id.as_str()) {
            return Err(of_cell(format!("it has the cell `{}` twice", cell.id)));
        }
        let planned = plan.get(cell.id.as_str()).filter(|p| {
            (&p.experiment, &p.workload, &p.target)
                == (&cell.experiment, &cell.workload, &cell.target)
        });
        if planned.is_none() {
            return Err(of_cell(format!("the plan has no cell `{}`", cell.id)));
        }
        let wanted = experiments.get(cell.experiment.as_str()).and_then(Option::as_ref);
        let wanted = wanted.map(|e| e.repeats.count as usize);
        if cell.summary.contains('\n') {
            return Err(of_cell(format!("cell `{}`: `summary` has several lines", cell.id)));
        }
        count(cell, wanted).map_err(|what| of_cell(format!("cell `{}`: {what}", cell.id)))?;
        for (index, one) in cell.repeats.iter().enumerate() {
            let at = |what| of_cell(format!("cell `{}`, repeat {}: {what}", cell.id, index + 1));
            let (experiment, workload) = (&cell.experiment, &cell.workload);
            let own = seed::of_repeat(record.seed, experiment, workload, index as u32 + 1);
            of_seed(one, own)
                .and_then(|()| repeat(one))
                .and_then(|()| totals.add(one))
                .map_err(at)?;
        }
    }
    Ok(())
}

/// Checks that a cell has all its repeats, or says why it has none.
fn count(cell: &CellRecord, wanted: Option<usize>) -> Checked {
    let there = cell.repeats.len();
    match (&cell.skipped, there) {
        (Some(_), 0) => Ok(()),
        (Some(_), _) => Err(format!("it was skipped, but it has {there} repeats")),
        (None, 0) => Err("it has no repeats, and no reason for that".to_owned()),
        _ if wanted.is_none_or(|wanted| wanted == there) => Ok(()),
        _ => Err(format!("it has {there} repeats, but its experiment has {}", wanted.unwrap_or(0))),
    }
}

/// Checks that a repeat has the seed that follows from the run's and its names.
fn of_seed(one: &RepeatRecord, own: u64) -> Checked {
    if one.seed == own {
        return Ok(());
    }
    Err(format!("it is of another run or cell: its seed is {}, not {own}", one.seed))
}

fn repeat(one: &RepeatRecord) -> Checked {
    if one.elapsed.0 >= TIME_END {
        return Err(format!("its phase is impossibly long: {} ns", one.elapsed.0));
    }
    let mut kinds = BTreeSet::new();
    for op in &one.ops {
        if !kinds.insert(op.op.name()) {
            return Err(format!("it has {} requests twice", op.op.name()));
        }
        requests(op).map_err(|what| format!("{} requests: {what}", op.op.name()))?;
    }
    let takes_time = |op: &OpRecord| op.latency.max().is_some_and(|max| max > Nanos::ZERO);
    if one.elapsed == Nanos::ZERO && one.ops.iter().any(takes_time) {
        return Err("`elapsed` is 0, but requests took time".to_owned());
    }
    series(&one.series, &one.ops).map_err(|what| format!("`series`: {what}"))?;
    if let Some(kept) = &one.first {
        first(kept, &one.ops).map_err(|what| format!("`first`: {what}"))?;
    }
    if let Some(rule) = &one.steady {
        steady(rule).map_err(|what| format!("`steady`: {what}"))?;
    }
    let is_name =
        |name: &str| !name.is_empty() && !name.contains(['\n', '\t']) && !name.contains(is_unseen);
    if let Some((name, value)) =
        one.device.iter().find(|(name, value)| !is_name(name) || !value.is_finite())
    {
        return Err(format!("`device` has {value} for {name:?}"));
    }
    printed(&one.program)
}

/// Checks the numbers that a program printed.
fn printed(metrics: &[ProgramMetric]) -> Checked {
    let mut names = BTreeSet::new();
    for ProgramMetric { name, value, unit, .. } in metrics {
        let is_text = |text: &str| !text.contains(['\n', '\t']) && !text.contains(is_unseen);
        let is_name = !name.is_empty() && is_text(name) && !metric::is_known(name);
        if !is_name || !is_text(unit) || !value.is_finite() {
            return Err(format!("`program` has {value} {unit:?} for {name:?}"));
        }
        if !names.insert(name) {
            return Err(format!("`program` has {name:?} twice"));
        }
    }
    Ok(())
}

fn requests(op: &OpRecord) -> Checked {
    if op.requests != op.latency.count() {
        let held = op.latency.count();
        return Err(format!("{} were counted, but the histogram holds {held}", op.requests));
    }
    if op.requests == 0 && op.bytes.0 > 0 {
        return Err(format!("none completed, but they moved {} bytes", op.bytes.0));
    }
    Ok(())
}

/// Checks that the series is made of the same requests as the totals.
fn series(series: &SeriesRecord, ops: &[OpRecord]) -> Checked {
    let length = series.requests.len();
    let lists = [&series.bytes, &series.latency_sum_ns, &series.latency_max_ns];
    if lists.iter().any(|list| list.len() != length) {
        return Err("its lists have different lengths".to_owned());
    }
    // The phase had no completions, or its series was not kept.
    if length == 0 {
        return Ok(());
    }
    let end = series.interval.0.checked_mul(length as u64).filter(|end| *end < TIME_END);
    if end.is_none() || series.interval == Nanos::ZERO {
        return Err(format!("{length} intervals of {} ns", series.interval.0));
    }
    let sum = |list: &[u64]| list.iter().map(|v| u128::from(*v)).sum::<u128>();
    let of_ops = |value: fn(&OpRecord) -> u128| ops.iter().map(value).sum::<u128>();
    let same = [
        ("requests", sum(&series.requests), of_ops(|op| u128::from(op.requests))),
        ("bytes", sum(&series.bytes), of_ops(|op| u128::from(op.bytes.0))),
        ("latency_sum_ns", sum(&series.latency_sum_ns), of_ops(|op| op.latency.sum())),
    ];
    for (name, there, wanted) in same {
        if there != wanted {
            return Err(format!(
                "the sum of `{name}` is {there}, but that of the requests is {wanted}"
            ));
        }
    }
    let most = ops.iter().filter_map(|op| op.latency.max()).max().map_or(0, |max| max.0);
    match series.latency_max_ns.iter().max().filter(|max| **max != most) {
        Some(max) => Err(format!(
            "its slowest request took {max} ns, but the slowest of all requests took {most} ns"
        )),
        None => Ok(()),
    }
}

fn first(kept: &FirstRecord, ops: &[OpRecord]) -> Checked {
    let (count, letters) = (kept.latency_ns.len(), kept.ops.len());
    let known = |c: char| Op::ALL.iter().any(|op| op.name().starts_with(c));
    if !kept.ops.chars().all(known) {
        return Err(format!("{:?} are not kinds of requests", kept.ops));
    }
    if letters != count && !(letters == 1 && count > 0) {
        return Err(format!("it has {count} latencies, but {letters} kinds"));
    }
    if count as u128 > ops.iter().map(|op| u128::from(op.requests)).sum() {
        return Err(format!("it has {count} latencies, more than there were requests"));
    }
    match kept.latency_ns.iter().find(|ns| **ns >= TIME_END) {
        Some(ns) => Err(format!("a request took impossibly long: {ns} ns")),
        None => Ok(()),
    }
}

fn steady(rule: &SteadyRecord) -> Checked {
    let fine = |value: &f64| value.is_finite() && *value >= 0.0;
    if !rule.rounds.iter().chain([&rule.range, &rule.slope]).all(fine) {
        return Err("a number is negative or not a number".to_owned());
    }
    if rule.window == 0 || (rule.reached && rule.rounds.len() < rule.window as usize) {
        let rounds = rule.rounds.len();
        return Err(format!("a window of {} in {rounds} rounds", rule.window));
    }
    Ok(())
}

/// The sums over the whole file: if they fit, so do those over any of its cells.
#[derive(Default)]
struct Totals([u64; 4]);

impl Totals {
    fn add(&mut self, one: &RepeatRecord) -> Checked {
        let of_ops = one.ops.iter().map(|op| [0, op.requests, op.errors, op.bytes.0]);
        for numbers in of_ops.chain([[one.elapsed.0, 0, 0, 0]]) {
            for (total, number) in self.0.iter_mut().zip(numbers) {
                let sum = total.checked_add(number).filter(|sum| *sum < TOTAL_END);
                *total = sum.ok_or_else(|| format!("{number} is too much together with others"))?;
            }
        }
        Ok(())
    }
}
