//! Comparison of targets with a reference, workload by workload, as effect sizes.
//!
//! A ratio above 1 means that the target has more of the metric than the reference: more bandwidth
//! is better, more latency is worse. [`Standing`] puts the ratios into words; it uses their
//! intervals, not their values.

use crate::cost::Costs;
use crate::load::Run;
use crate::metric;
use crate::program;
use crate::stats::ratio::{Mean, of as ratio};
use crate::stats::{Basis, Estimate, shift, student};
use assay_spec::decode::Source;
use assay_spec::experiment::{Better, Experiment, WorkloadSpec};
use assay_spec::record::{CellRecord, ProgramMetric, RepeatRecord};
use serde::Serialize;
use std::collections::BTreeMap;

/// Targets compared with references.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Comparison {
    /// One row for each workload and pair of targets.
    pub rows: Vec<Row>,
    /// One row for each number that a program printed, and pair of targets.
    pub programs: Vec<ProgramRow>,
    /// What could not be compared, and why, in one line each.
    pub notes: Vec<String>,
}

/// One target against a reference under one workload.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The name of the experiment.
    pub experiment: String,
    /// The name of the workload.
    pub workload: String,
    /// The name of the target that is compared with.
    pub reference: String,
    /// The name of the target that is compared.
    pub target: String,
    /// The names of the runs of target and reference, if these are two runs.
    pub runs: Option<(String, String)>,
    /// The bandwidth of the target over that of the reference.
    pub bandwidth: Estimate,
    /// The median latency of the target over that of the reference.
    pub p50: Estimate,
    /// The 99th percentile of the latency of the target over that of the reference.
    pub p99: Estimate,
    /// The probability that a request of the target is faster than one of the reference; ties count
    /// half.
    pub superiority: Option<Estimate>,
    /// The largest distance between the two distributions of latency, 0 to 1.
    pub distance: Option<Estimate>,
    /// The three ratios in one word.
    pub standing: Standing,
    /// The prices of both targets, if both are known, have the same dates and are in one currency.
    pub cost: Option<CostRatio>,
}

/// A number that a program printed on one target against that on a reference.
#[derive(Clone, Debug, Serialize)]
pub struct ProgramRow {
    /// The name of the experiment.
    pub experiment: String,
    /// The name of the workload.
    pub workload: String,
    /// The name of the target that is compared with.
    pub reference: String,
    /// The name of the target that is compared.
    pub target: String,
    /// The names of the runs of target and reference, if these are two runs.
    pub runs: Option<(String, String)>,
    /// The name of the metric.
    pub metric: String,
    /// The value of the target over that of the reference.
    pub ratio: Estimate,
    /// The ratio in a word.
    pub standing: Standing,
}

/// The price of a target beside that of a reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostRatio {
    /// Dates and currency of the prices, e.g. `prices of 2008-11 in USD`, and the cards not
    /// included.
    pub prices: String,
    /// The price of the target.
    pub price: f64,
    /// The price of the reference.
    pub reference: f64,
    /// The price per bandwidth of the target over that of the reference; below 1, the target is the
    /// better buy.
    pub per_mb_s: Estimate,
}

/// What the intervals of the ratios of bandwidth, median and 99th percentile say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// At least one ratio is surely better and none surely worse. A ratio is surely better if its
    /// whole interval is on the better side of 1 and not within [`EVEN`] of 1.
    Better,
    /// At least one ratio is surely worse and none surely better.
    Worse,
    /// At least one ratio is surely better and another surely worse.
    Mixed,
    /// All intervals lie within [`EVEN`] of 1.
    Even,
    /// The intervals are missing or too wide to decide.
    Undecided,
}

/// The distance from 1 within which the whole interval of a ratio must lie for the ratio to be
/// even.
pub const EVEN: f64 = 0.05;

impl Standing {
    /// Returns the stable lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Standing::Better => "better",
            Standing::Worse => "worse",
            Standing::Mixed => "mixed",
            Standing::Even => "even",
            Standing::Undecided => "undecided",
        }
    }

    /// Combines the intervals of ratios. A larger ratio is better.
    fn of(ratios: [Option<(f64, f64)>; 3]) -> Standing {
        let even = |(low, high): (f64, f64)| low >= 1.0 / (1.0 + EVEN) && high <= 1.0 + EVEN;
        let surely = |side: fn((f64, f64)) -> bool| {
            ratios.into_iter().flatten().any(|interval| !even(interval) && side(interval))
        };
        match (surely(|(low, _)| low > 1.0), surely(|(_, high)| high < 1.0)) {
            (true, true) => Standing::Mixed,
            (true, false) => Standing::Better,
            (false, true) => Standing::Worse,
            (false, false) if ratios.iter().all(|r| r.is_some_and(even)) => Standing::Even,
            (false, false) => Standing::Undecided,
        }
    }
}

/// Compares every target of a run with `reference`.
pub fn table(run: &Run, reference: &str) -> Comparison {
    let mut c = Comparison::default();
    let costs = Costs::of(run);
    let costs = costs.as_ref().map(|c| (c, c));
    for (experiment, workload) in run.workloads() {
        let Some(base) = run.cell(Some(experiment), workload, reference) else {
            c.notes.push(format!(
                "{workload}: the reference `{reference}` has no cell of this workload"
            ));
            continue;
        };
        for cell in run.cells_of(experiment, workload).filter(|cell| cell.target != reference) {
            c.add(cell, base, costs);
        }
    }
    c
}

/// Returns the experiment and the workload of a cell.
fn key(cell: &CellRecord) -> (String, String) {
    (cell.experiment.clone(), cell.workload.clone())
}

/// Returns the workloads of a run as they were declared, without those that this version cannot
/// read.
fn workloads(run: &Run) -> BTreeMap<(String, String), WorkloadSpec> {
    let texts = run.record.experiments.iter().map(|e| Source { file: &e.file, text: &e.text });
    let experiments = texts.filter_map(|source| Experiment::parse(source).ok());
    let named = |e: Experiment| {
        let name = e.name;
        e.workloads.into_iter().map(move |w| ((name.clone(), w.name.clone()), w))
    };
    experiments.flat_map(named).collect()
}

/// Compares two runs, each with a name. Pairs every cell of `run` with the cell of the same
/// experiment, workload and target in `base`. If each run has a single target, these two are
/// compared, whatever their names.
pub fn runs(run: (&str, &Run), base: (&str, &Run)) -> Comparison {
    let mut c = Comparison::default();
    let costs = Costs::of(run.1).zip(Costs::of(base.1));
    let costs = costs.as_ref().map(|(a, b)| (a, b)).filter(|(a, b)| {
        let alike = a.prices.comparable(&b.prices);
        if !alike {
            let (a, b) = (a.prices.dated(), b.prices.dated());
            c.notes.push(format!("costs are not compared: {a} here and {b} in {}", base.0));
        }
        alike
    });
    let alone = match (run.1.targets().as_slice(), base.1.targets().as_slice()) {
        ([_], [one]) => Some((*one).to_owned()),
        _ => None,
    };
    let declared = [workloads(run.1), workloads(base.1)];
    for cell in &run.1.cells {
        let other = alone.as_ref().unwrap_or(&cell.target);
        match base.1.cell(Some(&cell.experiment), &cell.workload, other) {
            Some(found) => {
                let [here, there] = declared.each_ref().map(|all| all.get(&key(cell)));
                if cell.summary == found.summary && here != there {
                    let what = "is declared differently (range, start, phases, …)";
                    c.notes.push(format!("{}: the workload {what} in {}", cell.workload, base.0));
                }
                if cell.summary != found.summary {
                    let text =
                        format!("{}: the workload is `{}` here and", cell.workload, cell.summary);
                    c.notes.push(format!("{text} `{}` in {}", found.summary, base.0));
                }
                c.add(cell, found, costs);
            }
            None => c.notes.push(format!("{} of {} is not in {}", cell.id, run.0, base.0)),
        }
    }
    let names = Some((run.0.to_owned(), base.0.to_owned()));
    c.rows.iter_mut().for_each(|row| row.runs.clone_from(&names));
    c.programs.iter_mut().for_each(|row| row.runs.clone_from(&names));
    c
}

impl Comparison {
    fn add(&mut self, cell: &CellRecord, base: &CellRecord, costs: Option<(&Costs, &Costs)>) {
        match cells(cell, base) {
            Ok(mut row) => {
                row.cost = costs.and_then(|costs| cost_ratio(&row, costs));
                self.rows.push(row);
            }
            Err(_) if program::is_of_program(cell) && program::is_of_program(base) => {
                self.programs.extend(printed(cell, base));
            }
            Err(e) => self.notes.push(format!("{}, {}: {e}", cell.workload, cell.target)),
        }
    }
}

/// Compares the numbers that a program printed on two targets.
fn printed(cell: &CellRecord, base: &CellRecord) -> Vec<ProgramRow> {
    let one = |metric: &ProgramMetric| {
        let ratio = ratio_of(cell, base, &metric.name).ok()?;
        let better = match metric.better {
            Better::Higher => ratio.interval,
            Better::Lower => ratio.interval.map(|(low, high)| (1.0 / high, 1.0 / low)),
        };
        Some(ProgramRow {
            experiment: cell.experiment.clone(),
            workload: cell.workload.clone(),
            reference: base.target.clone(),
            target: cell.target.clone(),
            runs: None,
            metric: metric.name.clone(),
            standing: Standing::of([better; 3]),
            ratio,
        })
    };
    program::metrics(cell).iter().filter_map(one).collect()
}

fn cost_ratio(row: &Row, (of, base): (&Costs, &Costs)) -> Option<CostRatio> {
    let (price, reference) = (of.target(&row.target)?.amount, base.target(&row.reference)?.amount);
    let per_mb_s = crate::cost::per(price / reference, &row.bandwidth)?;
    Some(CostRatio { prices: of.below(), price, reference, per_mb_s })
}

/// Compares two cells.
///
/// # Errors
/// If one of them was not measured.
pub fn cells(cell: &CellRecord, base: &CellRecord) -> Result<Row, metric::MetricError> {
    let [bandwidth, p50, p99] = ["bandwidth", "p50", "p99"].map(|m| ratio_of(cell, base, m));
    let (bandwidth, p50, p99) = (bandwidth?, p50?, p99?);
    let inverse = |e: &Estimate| e.interval.map(|(low, high)| (1.0 / high, 1.0 / low));
    Ok(Row {
        experiment: cell.experiment.clone(),
        workload: cell.workload.clone(),
        reference: base.target.clone(),
        target: cell.target.clone(),
        runs: None,
        standing: Standing::of([bandwidth.interval, inverse(&p50), inverse(&p99)]),
        superiority: shifted(cell, base, |s| s.superiority),
        distance: shifted(cell, base, |s| s.distance),
        bandwidth,
        p50,
        p99,
        cost: None,
    })
}

/// Returns a measure of the shift between the latencies of two cells. The value comes from all
/// latencies, the interval from the repeats, paired in order. Latencies of one repeat depend on
/// each other, so that they alone give no interval.
fn shifted(cell: &CellRecord, base: &CellRecord, of: fn(&shift::Shift) -> f64) -> Option<Estimate> {
    let (a, b) = (metric::histogram(cell, None), metric::histogram(base, None));
    let value = of(&shift::between(&a, &b)?);
    let one = |r: &RepeatRecord| metric::histogram_of_repeat(r, None);
    let pairs = cell.repeats.iter().zip(&base.repeats);
    let pairs: Option<Vec<f64>> =
        pairs.map(|(x, y)| shift::between(&one(x), &one(y)).map(|s| of(&s))).collect();
    let estimate = student::of_repeats(&pairs?)?;
    let interval = estimate.interval.map(|(low, high)| {
        let half = (high - low) / 2.0;
        ((value - half).max(0.0), (value + half).min(1.0))
    });
    Some(Estimate { value, interval, basis: estimate.basis })
}

/// Returns one metric of `cell` over the same metric of `base`, with its interval.
///
/// # Errors
/// If one of them was not measured.
pub fn ratio_of(
    cell: &CellRecord,
    base: &CellRecord,
    name: &str,
) -> Result<Estimate, metric::MetricError> {
    let (a, b) = (metric::estimate(cell, name)?, metric::estimate(base, name)?);
    if (a.value, b.value) == (0.0, 0.0) {
        // In a guest, both cells took no time.
        return Ok(Estimate { value: 1.0, interval: None, basis: a.basis });
    }
    let ordered = |e: &Estimate| matches!(e.basis, Basis::OrderStatistics(_));
    if let (true, Some(x), Some(y)) = (ordered(&a) || ordered(&b), a.interval, b.interval) {
        // Quantile intervals have no standard error: the quotients of opposite ends bound the
        // ratio.
        if x.0 > 0.0 && y.0 > 0.0 {
            let basis = if ordered(&a) { a.basis } else { b.basis };
            let interval = Some((x.0 / y.1, x.1 / y.0));
            return Ok(Estimate { value: a.value / b.value, interval, basis });
        }
    }
    Ok(ratio(&Mean::of_estimate(&a), &Mean::of_estimate(&b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::sample;

    #[test]
    fn one_target_twice_as_slow() {
        let fast = sample::cell(&[&[100, 102, 104], &[101, 103, 105]]);
        let mut slow = sample::cell(&[&[200, 204, 208], &[202, 206, 210]]);
        slow.target = "slow".into();
        let run = sample::run(vec![fast, slow]);
        let c = table(&run, "t");
        assert_eq!(c.rows.len(), 1);
        let row = &c.rows[0];
        assert!((row.p50.value - 2.0).abs() < 0.01, "{:?}", row.p50);
        assert_eq!(row.bandwidth.value, 1.0);
        assert_eq!(row.superiority.as_ref().unwrap().value, 0.0);
        assert_eq!(row.standing, Standing::Worse);
        assert_eq!(table(&run, "nobody").notes.len(), 1);
    }

    /// The medians are equal and the tail is thirty times as long: the superiority alone would call
    /// the difference negligible.
    #[test]
    fn a_long_tail_is_worse_though_most_requests_are_alike() {
        let usual: Vec<u64> = (0..2000).map(|i| 100_000 + i % 7).collect();
        let tail: Vec<u64> =
            (0..2000).map(|i| if i % 20 == 0 { 3_000_000 } else { 100_000 + i % 7 }).collect();
        let (fast, mut slow) = (sample::cell(&[&usual, &usual]), sample::cell(&[&tail, &tail]));
        slow.target = "slow".into();
        let row = &table(&sample::run(vec![fast, slow]), "t").rows[0];
        assert!((row.superiority.as_ref().unwrap().value - 0.475).abs() < 0.001);
        assert!((row.p50.value - 1.0).abs() < 0.01 && row.p99.value > 29.0);
        assert_eq!(row.standing, Standing::Worse);
    }

    /// Records that a guest has in memory take no time: two such runs are equal, not undefined.
    #[test]
    fn what_took_no_time_twice_is_the_same() {
        let (one, mut other) = (sample::cell(&[&[0, 0, 0]]), sample::cell(&[&[0, 0, 0]]));
        other.target = "other".into();
        let row = &table(&sample::run(vec![one, other]), "t").rows[0];
        assert_eq!((row.p50.value, row.p50.interval), (1.0, None));
        assert_eq!(row.p99.value, 1.0);
    }

    #[test]
    fn words_follow_the_intervals() {
        let at = |low, high| Some((low, high));
        let cases = [
            ([at(1.0, 1.0), at(0.98, 1.02), at(1.01, 1.03)], Standing::Even),
            ([at(1.0, 1.0), at(0.98, 1.02), at(0.5, 1.5)], Standing::Undecided),
            ([at(1.0, 1.0), at(0.98, 1.02), None], Standing::Undecided),
            ([at(1.2, 1.3), at(0.98, 1.02), None], Standing::Better),
            ([at(1.2, 1.3), at(0.5, 0.6), at(1.0, 1.0)], Standing::Mixed),
        ];
        for (ratios, expected) in cases {
            assert_eq!(Standing::of(ratios), expected, "{ratios:?}");
        }
    }

    #[test]
    fn two_runs_pair_their_targets_by_name() {
        let (one, mut two) = (sample::cell(&[&[100, 102]]), sample::cell(&[&[200, 204]]));
        two.target = "u".into();
        let (a, b) =
            (sample::run(vec![one.clone(), two.clone()]), sample::run(vec![two.clone(), one]));
        let c = runs(("b", &b), ("a", &a));
        let pairs: Vec<_> =
            c.rows.iter().map(|r| (r.target.as_str(), r.reference.as_str())).collect();
        assert_eq!(pairs, [("u", "u"), ("t", "t")]);
        assert_eq!(c.rows[0].runs, Some(("b".into(), "a".into())));
        assert!(c.rows.iter().all(|r| r.p50.value == 1.0));
        let only = sample::run(vec![two]);
        let c = runs(("c", &only), ("d", &sample::run(vec![sample::cell(&[&[100, 102]])])));
        assert_eq!(c.rows.len(), 1, "one target each: those two are meant");
        assert_eq!(runs(("a", &a), ("c", &only)).notes, ["e/w@t of a is not in c"]);
    }

    #[test]
    fn what_programs_printed_is_compared_by_what_is_better() {
        let of = sample::cell_of_program;
        let cells = vec![
            of("disk", "latency", assay_spec::experiment::Better::Lower, &[8.0, 8.1]),
            of("ssd", "latency", assay_spec::experiment::Better::Lower, &[1.0, 1.01]),
        ];
        let compared = table(&sample::run(cells), "disk");
        assert!(compared.rows.is_empty() && compared.notes.is_empty(), "{:?}", compared.notes);
        let row = &compared.programs[0];
        assert_eq!((row.target.as_str(), row.metric.as_str()), ("ssd", "latency"));
        assert_eq!(row.standing, Standing::Better);
    }
}
