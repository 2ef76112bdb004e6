//! The run directory's schema: what a run leaves behind and analysis reads. See
//! `docs/run-directory.md`.
//!
//! `run.json` holds what was asked and where ([`RunRecord`]); `cells.json` holds what was measured
//! ([`CellsRecord`]) and nothing else: no wall-clock time, no path, so that on modelled targets the
//! same seed gives the same bytes.

use crate::histogram::Histogram;
use crate::request::Op;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Version of the run directory. A reader refuses what it does not know.
pub const SCHEMA: u32 = 1;

/// `run.json`: what was asked, of what, where, when.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRecord {
    /// [`SCHEMA`] of the writer.
    pub schema: u32,
    /// Version of the writer.
    pub assay: String,
    /// Study or file name, e.g. `quick`.
    pub study: String,
    /// One line for people.
    pub title: String,
    /// The exact command, one argument an element.
    pub command: Vec<String>,
    /// The run's seed.
    pub seed: u64,
    /// When it began, UTC, `2026-11-21T14:00:00Z`.
    pub started: String,
    /// The experiments as run, whole text.
    pub experiments: Vec<ExperimentRecord>,
    /// The targets.
    pub targets: Vec<TargetRecord>,
    /// The machine.
    pub host: HostRecord,
    /// What the user allowed, needed again to resume.
    pub intent: IntentRecord,
    /// Every cell of the run, in order.
    pub plan: Vec<CellPlan>,
    /// What the drives cost, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<PricesRecord>,
}

/// What the drives of a run cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PricesRecord {
    /// A price list.
    pub list: Option<PriceListRecord>,
    /// Prices that were given by hand and go before those of the list.
    pub given: Vec<GivenPrice>,
}

/// A price list as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceListRecord {
    /// File name for diagnostics.
    pub file: String,
    /// The whole file.
    pub text: String,
}

/// A price that was given by hand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenPrice {
    /// A device of a list, a target's name, or a target as it was written.
    pub device: String,
    /// The price of one.
    pub amount: f64,
    /// In what, e.g. `USD`.
    pub currency: String,
    /// The day it was given, `2026-11-21`.
    pub date: String,
}

/// An experiment as run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentRecord {
    /// Its name.
    pub name: String,
    /// File name for diagnostics.
    pub file: String,
    /// The whole file.
    pub text: String,
}

/// A target as it was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetRecord {
    /// As the user wrote it, e.g. `sim:ssd-m` or a path.
    pub written: String,
    /// The short name used in cells, e.g. `ssd-m`.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// `null`, `model`, `file` or `block device`.
    pub kind: String,
    /// Addressable size.
    pub capacity: Bytes,
    /// Model, serial and what else identifies a real device; (key, value).
    pub identity: Vec<(String, String)>,
    /// The whole device spec of a modelled drive.
    pub spec: Option<String>,
    /// True if latencies are virtual time.
    pub virtual_time: bool,
    /// True if this run made the file, and so may write to it when it is resumed.
    pub created: bool,
}

impl TargetRecord {
    /// What begins the line above each text in the `spec` of an array.
    pub const MARK: &str = "#==== ";

    /// The texts of an array's `spec` by their names: `sim:NAME`, `controller:NAME`.
    pub fn texts(spec: &str) -> Vec<(String, String)> {
        let mut found: Vec<(String, String)> = Vec::new();
        for line in spec.split_inclusive('\n') {
            match line.strip_prefix(Self::MARK) {
                Some(name) => found.push((name.trim().to_owned(), String::new())),
                None => found.last_mut().into_iter().for_each(|(_, text)| text.push_str(line)),
            }
        }
        found
    }
}

/// The machine of the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRecord {
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Processors at hand.
    pub cpus: u32,
    /// Memory.
    pub memory: Bytes,
}

/// What the user allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntentRecord {
    /// `--write`.
    pub write: Option<String>,
    /// `--destroy`.
    pub destroy: Option<String>,
    /// `--size`.
    pub size: Option<Bytes>,
    /// `--budget`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Nanos>,
}

/// One cell to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellPlan {
    /// `EXPERIMENT/WORKLOAD@TARGET`.
    pub id: String,
    /// Experiment name.
    pub experiment: String,
    /// Workload name.
    pub workload: String,
    /// Target name.
    pub target: String,
}

/// `cells.json`: what was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellsRecord {
    /// [`SCHEMA`] of the writer.
    pub schema: u32,
    /// The finished cells, in the order of the plan.
    pub cells: Vec<CellRecord>,
}

/// One workload on one target, measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellRecord {
    /// `EXPERIMENT/WORKLOAD@TARGET`.
    pub id: String,
    /// Experiment name.
    pub experiment: String,
    /// Workload name.
    pub workload: String,
    /// Target name.
    pub target: String,
    /// One line of what the workload does, e.g. `random read, 4KiB, 32 jobs`.
    pub summary: String,
    /// Why the cell was not measured, if it was not.
    pub skipped: Option<String>,
    /// Set if it was ended because requests failed: whether all did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<bool>,
    /// The repeats.
    pub repeats: Vec<RepeatRecord>,
}

impl CellRecord {
    /// What the names of a repeat's files begin with; the first is 1.
    pub fn stem(&self, repeat: u32) -> String {
        format!("{}{repeat}", stem(&self.experiment, &self.workload, &self.target))
    }
}

impl CellPlan {
    /// Returns `true` if a file of this name is a log or series of the cell.
    pub fn has_file(&self, name: &str) -> bool {
        let rest = name.strip_prefix(&stem(&self.experiment, &self.workload, &self.target));
        let rest = rest.and_then(|rest| rest.strip_suffix(".parquet"));
        let repeat = rest.map(|rest| rest.strip_suffix(".drive").unwrap_or(rest));
        repeat.is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
    }
}

/// The beginning of the names of a cell's files, which the number of the repeat follows.
fn stem(experiment: &str, workload: &str, target: &str) -> String {
    // A name of a host ends with `/`, which would be a directory; no other name has a `+`.
    format!("{experiment}.{workload}.{}.", target.replace('/', "+"))
}

/// One repeat of a cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepeatRecord {
    /// The repeat's seed.
    pub seed: u64,
    /// Length of the measured phase on the target's clock.
    pub elapsed: Nanos,
    /// What each kind of request gave; only kinds that occurred.
    pub ops: Vec<OpRecord>,
    /// The measured phase, second by second.
    pub series: SeriesRecord,
    /// The first requests one by one, if the workload keeps them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<FirstRecord>,
    /// How the steady-state rule ended, if a phase had one.
    pub steady: Option<SteadyRecord>,
    /// Numbers the target tells of itself, e.g. write amplification; (name, value).
    pub device: Vec<(String, f64)>,
    /// What a reader must know to trust the numbers.
    pub warnings: Vec<String>,
}

/// What one kind of request gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpRecord {
    /// The kind.
    pub op: Op,
    /// Completed without error.
    pub requests: u64,
    /// Bytes of those.
    pub bytes: Bytes,
    /// Completed with an error; not in the histogram.
    pub errors: u64,
    /// What the slowest took that was in flight when the phase was over, if that is longer than all
    /// latencies: it is not among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<Nanos>,
    /// Latencies of those without error.
    pub latency: Histogram,
}

/// A measured phase over time; element i covers `[i, i + 1) * interval`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesRecord {
    /// Length of an element.
    pub interval: Nanos,
    /// Completions.
    pub requests: Vec<u64>,
    /// Bytes completed.
    pub bytes: Vec<u64>,
    /// Sum of latencies in ns; divided by `requests` it is the mean.
    pub latency_sum_ns: Vec<u64>,
    /// Largest latency in ns.
    pub latency_max_ns: Vec<u64>,
}

/// The first requests of a measured phase, in the order of submission; those that failed or were
/// still in flight at its end are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstRecord {
    /// Their latencies.
    pub latency_ns: Vec<u64>,
    /// The kind of each: first letters of [`Op::name`]; a single one if all are of one kind.
    pub ops: String,
}

impl FirstRecord {
    /// Requests with their latencies in ns, in order.
    pub fn new(requests: &[(Op, Nanos)]) -> FirstRecord {
        let letter = |op: Op| op.name().chars().next().unwrap_or_default();
        let all: String = requests.iter().map(|(op, _)| letter(*op)).collect();
        let alike = requests.windows(2).all(|pair| pair[0].0 == pair[1].0);
        FirstRecord {
            latency_ns: requests.iter().map(|(_, latency)| latency.0).collect(),
            ops: if alike { all.chars().take(1).collect() } else { all },
        }
    }

    /// The latencies in ns of one kind of request, or of all.
    pub fn latencies(&self, op: Option<Op>) -> Vec<u64> {
        let Some(wanted) = op.and_then(|op| op.name().bytes().next()) else {
            return self.latency_ns.clone();
        };
        let letters = self.ops.as_bytes();
        let of =
            |index: usize| if letters.len() == 1 { letters.first() } else { letters.get(index) };
        let kept = self.latency_ns.iter().enumerate();
        kept.filter(|(index, _)| of(*index) == Some(&wanted)).map(|(_, ns)| *ns).collect()
    }
}

/// How a steady-state rule ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SteadyRecord {
    /// IOPS of each round.
    pub rounds: Vec<f64>,
    /// Rounds in the window.
    pub window: u32,
    /// Allowed (max − min) / mean.
    pub range: f64,
    /// Allowed change of the fitted line over the window, relative to the mean.
    pub slope: f64,
    /// Whether the rule held at the end.
    pub reached: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_requests_are_kept_with_their_kinds() {
        let (r, w) = (Op::Read, Op::Write);
        let mixed = FirstRecord::new(&[(r, Nanos(5)), (w, Nanos(9)), (r, Nanos(6))]);
        assert_eq!(mixed.ops, "rwr");
        assert_eq!(mixed.latencies(None), [5, 9, 6]);
        assert_eq!((mixed.latencies(Some(r)), mixed.latencies(Some(w))), (vec![5, 6], vec![9]));
        let reads = FirstRecord::new(&[(r, Nanos(5)), (r, Nanos(6))]);
        assert_eq!(reads.ops, "r");
        assert_eq!((reads.latencies(Some(r)), reads.latencies(Some(w))), (vec![5, 6], vec![]));
        assert_eq!(FirstRecord::new(&[]), FirstRecord::default());
    }
}
