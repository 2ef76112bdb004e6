//! The schema of the run directory, which a run writes and the analysis reads. See
//! `docs/run-directory.md`.
//!
//! `run.json` holds the command, the plan and the machine ([`RunRecord`]). `cells.json` holds the
//! measurements ([`CellsRecord`]) and nothing else: no wall-clock time and no path, so that on
//! modelled targets the same seed gives the same bytes.

use crate::experiment::Better;
use crate::histogram::Histogram;
use crate::request::Op;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// The version of the run directory. A reader refuses versions that it does not know.
pub const SCHEMA: u32 = 1;

/// `run.json`: the experiments, the targets, the machine and the date of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRecord {
    /// The [`SCHEMA`] of the writer.
    pub schema: u32,
    /// The version of the writer.
    pub assay: String,
    /// The study or file name, e.g. `quick`.
    pub study: String,
    /// The title: one line for people.
    pub title: String,
    /// The exact command, one argument an element.
    pub command: Vec<String>,
    /// The seed of the run.
    pub seed: u64,
    /// The time at which the run began, in UTC: `2026-11-21T14:00:00Z`.
    pub started: String,
    /// The experiments as they were run, with their whole text.
    pub experiments: Vec<ExperimentRecord>,
    /// The targets.
    pub targets: Vec<TargetRecord>,
    /// The machine.
    pub host: HostRecord,
    /// The permissions that the user gave. They are needed again to resume the run.
    pub intent: IntentRecord,
    /// Every cell of the run, in order.
    pub plan: Vec<CellPlan>,
    /// The prices of the drives, if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<PricesRecord>,
}

/// The prices of the drives of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PricesRecord {
    /// The price list, if there is one.
    pub list: Option<PriceListRecord>,
    /// The prices that the user gave, which take precedence over those of the list.
    pub given: Vec<GivenPrice>,
}

/// A price list as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceListRecord {
    /// The file name for diagnostics.
    pub file: String,
    /// The whole text of the file.
    pub text: String,
}

/// A price that the user gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenPrice {
    /// A device of a list, a target's name, or a target as it was written.
    pub device: String,
    /// The price of one drive.
    pub amount: f64,
    /// The currency, e.g. `USD`.
    pub currency: String,
    /// The day on which the price was given: `2026-11-21`.
    pub date: String,
}

/// An experiment as it was run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentRecord {
    /// The name of the experiment.
    pub name: String,
    /// The file name for diagnostics.
    pub file: String,
    /// The whole text of the file.
    pub text: String,
}

/// A target as it was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetRecord {
    /// The target as the user wrote it, e.g. `sim:ssd-m` or a path.
    pub written: String,
    /// The short name that is used in cells, e.g. `ssd-m`.
    pub name: String,
    /// The title: one line for people.
    pub title: String,
    /// The kind: `null`, `model`, `array`, `linux`, `directory`, `file` or `block device`.
    pub kind: String,
    /// The addressable size.
    pub capacity: Bytes,
    /// The identity of a real device, such as its model and serial number; (key, value).
    pub identity: Vec<(String, String)>,
    /// The whole device spec of a modelled drive.
    pub spec: Option<String>,
    /// Whether latencies are in virtual time.
    pub virtual_time: bool,
    /// Whether this run created the file, and so may write to it when the run is resumed.
    pub created: bool,
}

impl TargetRecord {
    /// The start of the line above each text in the `spec` of an array.
    pub const MARK: &str = "#==== ";

    /// Returns the texts of an array's `spec` with their names: `sim:NAME`, `controller:NAME`.
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

/// The machine of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRecord {
    /// The kernel release.
    pub kernel: String,
    /// The processor model.
    pub cpu: String,
    /// The number of available processors.
    pub cpus: u32,
    /// The size of the memory.
    pub memory: Bytes,
}

/// The permissions that the user gave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntentRecord {
    /// The value of `--write`.
    pub write: Option<String>,
    /// The value of `--destroy`.
    pub destroy: Option<String>,
    /// The value of `--size`.
    pub size: Option<Bytes>,
    /// The value of `--budget`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Nanos>,
}

/// A cell that the run has to measure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellPlan {
    /// The id: `EXPERIMENT/WORKLOAD@TARGET`.
    pub id: String,
    /// The name of the experiment.
    pub experiment: String,
    /// The name of the workload.
    pub workload: String,
    /// The name of the target.
    pub target: String,
}

/// `cells.json`: what was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellsRecord {
    /// The [`SCHEMA`] of the writer.
    pub schema: u32,
    /// The finished cells, in the order of the plan.
    pub cells: Vec<CellRecord>,
}

/// The measurement of one workload on one target.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellRecord {
    /// The id: `EXPERIMENT/WORKLOAD@TARGET`.
    pub id: String,
    /// The name of the experiment.
    pub experiment: String,
    /// The name of the workload.
    pub workload: String,
    /// The name of the target.
    pub target: String,
    /// One line about the workload, e.g. `random read, 4KiB, 32 jobs`.
    pub summary: String,
    /// The reason why the cell was not measured; `None` if it was.
    pub skipped: Option<String>,
    /// `Some` if the cell was ended because requests failed; the value says whether all of them
    /// did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<bool>,
    /// The repeats.
    pub repeats: Vec<RepeatRecord>,
}

impl CellRecord {
    /// Returns the start of the names of a repeat's files. The first repeat is 1.
    pub fn stem(&self, repeat: u32) -> String {
        format!("{}{repeat}", stem(&self.experiment, &self.workload, &self.target))
    }
}

impl CellPlan {
    /// Returns the start of the names of the cell's files, which the number of the repeat follows.
    pub fn stem(&self) -> String {
        stem(&self.experiment, &self.workload, &self.target)
    }

    /// Returns `true` if a file of this name is a log or series of the cell.
    pub fn has_file(&self, name: &str) -> bool {
        let rest = name.strip_prefix(&self.stem());
        let rest = rest.and_then(|rest| rest.strip_suffix(".parquet"));
        let repeat = rest.map(|rest| rest.strip_suffix(".drive").unwrap_or(rest));
        repeat.is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
    }
}

/// Returns the start of the names of a cell's files, which the number of the repeat follows.
fn stem(experiment: &str, workload: &str, target: &str) -> String {
    // A `/` in a target's name, which ends a host's name, would make a directory. `+` replaces it.
    format!("{experiment}.{workload}.{}.", target.replace('/', "+"))
}

/// A repeat of a cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepeatRecord {
    /// The seed of the repeat.
    pub seed: u64,
    /// The length of the measured phase on the target's clock.
    pub elapsed: Nanos,
    /// The results of each kind of request that occurred.
    pub ops: Vec<OpRecord>,
    /// The measured phase, second by second.
    pub series: SeriesRecord,
    /// The first requests one by one, if the workload keeps them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<FirstRecord>,
    /// The outcome of the steady-state rule, if a phase had one.
    pub steady: Option<SteadyRecord>,
    /// The counters that the target reports, e.g. write amplification; (name, value).
    pub device: Vec<(String, f64)>,
    /// The numbers that the workload's program printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub program: Vec<ProgramMetric>,
    /// The warnings that a reader must know to trust the numbers.
    pub warnings: Vec<String>,
}

/// A number that a program printed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramMetric {
    /// The name.
    pub name: String,
    /// The number as it was printed.
    pub value: f64,
    /// The unit, which the experiment says.
    pub unit: String,
    /// Which values are better.
    pub better: Better,
}

/// The results of one kind of request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpRecord {
    /// The kind of request.
    pub op: Op,
    /// The number of requests that completed without error.
    pub requests: u64,
    /// The bytes of the requests that completed without error.
    pub bytes: Bytes,
    /// The number of requests that completed with an error. They are not in the histogram.
    pub errors: u64,
    /// The latency of the slowest request that was in flight when the phase ended, if it is longer
    /// than all latencies. The histogram does not contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<Nanos>,
    /// The latencies of the requests that completed without error.
    pub latency: Histogram,
}

/// A measured phase over time. Element i covers `[i, i + 1) * interval`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesRecord {
    /// The length of an element.
    pub interval: Nanos,
    /// The number of completions.
    pub requests: Vec<u64>,
    /// The number of completed bytes.
    pub bytes: Vec<u64>,
    /// The sum of the latencies in ns; divided by `requests` it is the mean.
    pub latency_sum_ns: Vec<u64>,
    /// The largest latency in ns.
    pub latency_max_ns: Vec<u64>,
}

/// The first requests of a measured phase, in the order of submission. Requests that failed or were
/// still in flight at the end of the phase are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstRecord {
    /// The latencies in ns.
    pub latency_ns: Vec<u64>,
    /// The kind of each request, as the first letter of [`Op::name`]; one letter if all kinds are
    /// equal.
    pub ops: String,
}

impl FirstRecord {
    /// Makes the record of requests with their latencies, in order.
    pub fn new(requests: &[(Op, Nanos)]) -> FirstRecord {
        let letter = |op: Op| op.name().chars().next().unwrap_or_default();
        let all: String = requests.iter().map(|(op, _)| letter(*op)).collect();
        let alike = requests.windows(2).all(|pair| pair[0].0 == pair[1].0);
        FirstRecord {
            latency_ns: requests.iter().map(|(_, latency)| latency.0).collect(),
            ops: if alike { all.chars().take(1).collect() } else { all },
        }
    }

    /// Returns the latencies in ns of one kind of request, or of all kinds for `None`.
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

/// The outcome of a steady-state rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SteadyRecord {
    /// The IOPS of each round.
    pub rounds: Vec<f64>,
    /// The number of rounds in the window.
    pub window: u32,
    /// The allowed (max − min) / mean.
    pub range: f64,
    /// The allowed change of the fitted line over the window, relative to the mean.
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
