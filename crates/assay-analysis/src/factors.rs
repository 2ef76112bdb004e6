//! Experiments that vary factors: their cells by levels, the combinations that are impossible or
//! have no result, and the run without them.
//!
//! The cells of a factorial are too many for a row or a bar each. Tables, charts and findings about
//! single cells use the run that [`without`] returns. `finding/factors.rs` says what the cells of a
//! factorial show together; `text/factors.rs` and `report/factors.rs` show it.

use crate::load::Run;
use crate::metric;
use crate::program::{heading, metrics};
use crate::stats::Estimate;
use crate::stats::effects::{self, Effects, Point};
use crate::text::number::{plus_minus, rate};
use assay_spec::decode::Source;
use assay_spec::experiment::{Better, Experiment, Factors};
use assay_spec::record::CellRecord;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The cells of one workload over the combinations of the factors of its experiment.
pub(crate) struct Crossed<'r> {
    /// The name of the experiment.
    pub experiment: String,
    /// The name of the workload.
    pub workload: &'r str,
    /// The machine that precedes the names of the targets, with its `/`; usually empty.
    pub host: String,
    /// The factors that are varied.
    pub factors: Factors,
    /// Whether more combinations were planned than those that vary one factor at a time.
    pub is_full: bool,
    /// The number by which combinations are compared.
    pub measure: ComparedMetric,
    /// The measured combinations, the best first.
    pub measured: Vec<Measured<'r>>,
    /// The number of possible combinations, and of all combinations.
    pub possible: (usize, usize),
    /// The number of planned combinations.
    pub planned: usize,
    /// The reasons why combinations are impossible, with the number of combinations of each, the
    /// most frequent first.
    pub impossible: Vec<(String, usize)>,
    /// The reasons why planned combinations have no result, with the number of combinations of
    /// each, the most frequent first.
    pub unmeasured: Vec<(String, usize)>,
}

/// A measured combination and its cell.
pub(crate) struct Measured<'r> {
    pub levels: Vec<usize>,
    pub cell: &'r CellRecord,
    /// The value of the measure, in the unit of its heading.
    pub value: Estimate,
}

/// The number by which combinations are compared: the bandwidth, or the first number that the
/// program printed.
pub(crate) struct ComparedMetric {
    /// The name of the metric.
    pub name: String,
    /// The name with its unit, or the unit alone for the bandwidth.
    pub heading: String,
    /// Which values are better.
    pub better: Better,
    /// The value of the metric in the unit of the heading.
    unit: f64,
}

impl ComparedMetric {
    /// Returns the measure of cells of one workload.
    fn of<'c>(mut cells: impl Iterator<Item = &'c CellRecord>) -> ComparedMetric {
        match cells.find_map(|cell| metrics(cell).first()) {
            None => ComparedMetric {
                name: "bandwidth".into(),
                heading: "MB/s".into(),
                better: Better::Higher,
                unit: 1e-6,
            },
            Some(by) => ComparedMetric {
                name: by.name.clone(),
                heading: heading(by),
                better: by.better,
                unit: 1.0,
            },
        }
    }

    /// Returns `true` if the measure is a number that a program printed.
    pub fn is_printed(&self) -> bool {
        self.name != "bandwidth"
    }

    /// Formats a value with what it is.
    pub fn text(&self, value: &Estimate) -> String {
        match self.is_printed() {
            true => format!("{} {}", self.heading, plus_minus(value)),
            false => rate(&value.scaled(1e6)),
        }
    }

    fn order(&self, a: &Estimate, b: &Estimate) -> std::cmp::Ordering {
        match self.better {
            Better::Higher => b.value.total_cmp(&a.value),
            Better::Lower => a.value.total_cmp(&b.value),
        }
    }
}

impl Crossed<'_> {
    /// Returns the number of levels of each factor.
    pub fn counts(&self) -> Vec<usize> {
        self.factors.factors.iter().map(|f| f.levels.len()).collect()
    }

    /// Returns the levels and the value of each measured combination.
    pub fn points(&self) -> Vec<Point> {
        self.measured.iter().map(|m| (m.levels.clone(), m.value.value)).collect()
    }

    /// Analyses the effects of the factors.
    pub fn effects(&self) -> Option<Effects> {
        effects::analyse(&self.counts(), &self.points())
    }

    /// Returns the mean value at all levels of a pair of factors.
    pub fn table(&self, of: (usize, usize)) -> Vec<Vec<Option<f64>>> {
        effects::table(&self.counts(), &self.points(), of)
    }

    /// Returns `EXPERIMENT/WORKLOAD`, with the machine behind `@` if there is one.
    pub fn id(&self) -> String {
        let at = self.host.trim_end_matches('/');
        let at = if at.is_empty() { String::new() } else { format!("@{at}") };
        format!("{}/{}{at}", self.experiment, self.workload)
    }

    /// Returns, for each factor and level, the number of cells and the mean value. With all
    /// combinations the mean is over all levels of the other factors; with one factor at a time it
    /// is that of the one cell whose other factors are as in the base.
    pub fn levels(&self, effects: &Effects) -> Vec<Vec<(usize, Option<Estimate>)>> {
        if self.is_full {
            return effects.mains.iter().map(|m| m.levels.clone()).collect();
        }
        let alone = |factor: usize, level: usize| {
            let mut levels = self.factors.base.clone().expect("only a base is varied around");
            levels[factor] = level;
            let found = self.measured.iter().find(|m| m.levels == levels);
            (usize::from(found.is_some()), found.map(|m| m.value.clone()))
        };
        let of = |(factor, count)| (0..count).map(|level| alone(factor, level)).collect();
        self.counts().into_iter().enumerate().map(of).collect()
    }

    /// Returns the combination of the base levels, if it was measured.
    pub fn base(&self) -> Option<&Measured<'_>> {
        self.measured.iter().find(|m| Some(&m.levels) == self.factors.base.as_ref())
    }
}

/// Returns the experiments of a run that have factors.
fn declared(run: &Run) -> Vec<(Experiment, Factors)> {
    let read = |e: &assay_spec::record::ExperimentRecord| {
        // Most experiments have no factors, and decoding is not free.
        let experiment = e
            .text
            .contains("[factors")
            .then(|| Experiment::parse(Source { file: &e.file, text: &e.text }).ok());
        let experiment = experiment.flatten()?;
        let factors = experiment.factors.clone()?;
        Some((experiment, factors))
    };
    run.record.experiments.iter().filter_map(read).collect()
}

/// Returns the name of each target, by the target as written.
fn names(run: &Run) -> BTreeMap<&str, &str> {
    run.record.targets.iter().map(|t| (t.written.as_str(), t.name.as_str())).collect()
}

/// Returns every workload of every experiment with factors of which the run has combinations.
pub(crate) fn all(run: &Run) -> Vec<Crossed<'_>> {
    let mut found = Vec::new();
    for (experiment, factors) in declared(run) {
        for workload in &experiment.workloads {
            let Some((_, workload)) = run
                .record
                .plan
                .iter()
                .map(|p| (&p.experiment, &p.workload))
                .find(|(e, w)| **e == experiment.name && **w == workload.name)
            else {
                continue;
            };
            for host in &experiment.hosts {
                found.push(crossed(run, &experiment.name, workload, &host.target(""), &factors));
            }
        }
    }
    found.retain(|crossed| crossed.planned > 0);
    found
}

fn crossed<'r>(
    run: &'r Run,
    experiment: &str,
    workload: &'r str,
    host: &str,
    factors: &Factors,
) -> Crossed<'r> {
    let (names, of) = (names(run), |e: &str, w: &str| e == experiment && w == workload);
    let cells = run.cells.iter().filter(|c| of(&c.experiment, &c.workload));
    let cells: BTreeMap<&str, &CellRecord> = cells.map(|c| (c.target.as_str(), c)).collect();
    let planned = run.record.plan.iter().filter(|p| of(&p.experiment, &p.workload));
    let planned: BTreeSet<&str> = planned.map(|p| p.target.as_str()).collect();
    let few: BTreeSet<Vec<usize>> = factors.one_at_a_time().into_iter().map(|p| p.levels).collect();
    let (mut impossible, mut unmeasured) = (BTreeMap::new(), BTreeMap::new());
    let mut crossed = Crossed {
        experiment: experiment.to_owned(),
        workload,
        host: host.to_owned(),
        factors: factors.clone(),
        is_full: false,
        measure: ComparedMetric::of(cells.values().copied()),
        measured: Vec::new(),
        possible: (0, 0),
        planned: 0,
        impossible: Vec::new(),
        unmeasured: Vec::new(),
    };
    for point in factors.all() {
        crossed.possible.1 += 1;
        let written = match point.target {
            Ok(written) => written,
            Err(why) => {
                *impossible.entry(why).or_insert(0) += 1;
                continue;
            }
        };
        crossed.possible.0 += 1;
        let name = names.get(written.as_str()).map(|name| format!("{host}{name}"));
        let Some(name) = name.filter(|name| planned.contains(name.as_str())) else { continue };
        crossed.planned += 1;
        crossed.is_full |= !few.contains(&point.levels);
        let measure = &crossed.measure;
        let value = |cell| metric::estimate(cell, &measure.name).map(|e| e.scaled(measure.unit));
        match cells.get(name.as_str()).map(|cell| (*cell, value(cell))) {
            Some((cell, Ok(value))) => {
                crossed.measured.push(Measured { levels: point.levels, cell, value });
            }
            Some((_, Err(e))) => *unmeasured.entry(e.to_string()).or_insert(0) += 1,
            None => *unmeasured.entry("not yet measured".to_owned()).or_insert(0) += 1,
        }
    }
    crossed.measured.sort_by(|a, b| crossed.measure.order(&a.value, &b.value));
    crossed.impossible = most_first(impossible);
    crossed.unmeasured = most_first(unmeasured);
    crossed
}

fn most_first(counts: BTreeMap<String, usize>) -> Vec<(String, usize)> {
    let mut all: Vec<(String, usize)> = counts.into_iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    all
}

/// Returns the run without the cells and targets of factors, or the run itself if it has none.
pub(crate) fn without(run: &Run) -> Cow<'_, Run> {
    let mut varied: BTreeSet<String> = BTreeSet::new();
    let mut experiments: BTreeSet<String> = BTreeSet::new();
    let names = names(run);
    for (experiment, factors) in declared(run) {
        let written = factors.all().into_iter().filter_map(|p| p.target.ok());
        let own: Vec<&str> = written.filter_map(|w| names.get(w.as_str()).copied()).collect();
        for host in &experiment.hosts {
            varied.extend(own.iter().map(|name| host.target(name)));
        }
        varied.extend(own.into_iter().map(str::to_owned));
        experiments.insert(experiment.name);
    }
    if experiments.is_empty() {
        return Cow::Borrowed(run);
    }
    let is_own = |e: &str, t: &str| experiments.contains(e) && varied.contains(t);
    let cells = run.cells.iter().filter(|c| !is_own(&c.experiment, &c.target)).cloned().collect();
    let mut record = run.record.clone();
    record.plan.retain(|p| !is_own(&p.experiment, &p.target));
    let plain: BTreeSet<&str> = record.plan.iter().map(|p| p.target.as_str()).collect();
    record.targets.retain(|t| !varied.contains(&t.name) || plain.contains(t.name.as_str()));
    Cow::Owned(Run { record, cells, logs: run.logs.clone() })
}
