//! Reads and checks the two files of a run directory. It takes texts and returns values: the caller
//! opens the files.

mod check;
mod error;

use assay_spec::record::{CellRecord, CellsRecord, RunRecord, SCHEMA, TargetRecord};
use assay_spec::trace::TraceRow;
pub use error::LoadError;
use std::collections::BTreeMap;

/// A whole run: what was asked and what was measured.
#[derive(Clone, Debug)]
pub struct Run {
    /// The content of `run.json`.
    pub record: RunRecord,
    /// The cells of `cells.json`, in the order of the plan.
    pub cells: Vec<CellRecord>,
    /// The request logs of drives, by the id of their cell: those that the page needs
    /// ([`crate::report::logs_wanted`]). The caller that can read logs puts them here.
    pub logs: BTreeMap<String, Vec<TraceRow>>,
}

/// The version alone, which is read first, so that an unknown schema is not reported as an unknown
/// field.
#[derive(serde::Deserialize)]
struct Version {
    schema: u64,
}

impl Run {
    /// Returns a run without logs.
    pub fn new(record: RunRecord, cells: Vec<CellRecord>) -> Run {
        Run { record, cells, logs: BTreeMap::new() }
    }

    /// Reads a run from the texts of `run.json` and `cells.json`.
    ///
    /// # Errors
    /// If either text is not JSON or has another schema, or if the texts contradict themselves or
    /// each other.
    pub fn from_json(run_json: &str, cells_json: &str) -> Result<Run, LoadError> {
        let record: RunRecord = read("run.json", run_json)?;
        let mut cells: CellsRecord = read("cells.json", cells_json)?;
        check::cells(&record, &check::record(&record)?, &cells.cells)?;
        let places: BTreeMap<&str, usize> =
            record.plan.iter().enumerate().map(|(place, cell)| (&*cell.id, place)).collect();
        cells.cells.sort_by_key(|cell| places.get(cell.id.as_str()).copied());
        Ok(Run::new(record, cells.cells))
    }

    /// Returns the first cell of `workload` on `target`, in `experiment` if one is named.
    pub fn cell(
        &self,
        experiment: Option<&str>,
        workload: &str,
        target: &str,
    ) -> Option<&CellRecord> {
        self.cells.iter().find(|c| {
            c.workload == workload
                && c.target == target
                && experiment.is_none_or(|e| e.is_empty() || c.experiment == e)
        })
    }

    /// Returns the cell that a claim of `experiment` means: that of its own experiment, or else of
    /// another one of its study, as a claim may compare with those.
    pub fn cell_meant(
        &self,
        experiment: Option<&str>,
        workload: &str,
        target: &str,
    ) -> Option<&CellRecord> {
        let own = self.cell(experiment, workload, target);
        own.or_else(|| self.cell(None, workload, target))
    }

    /// Returns the command that makes another run like this one, quoted for a shell, without its
    /// `--out`, which exists now.
    pub fn again(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        let mut arguments = self.record.command.iter();
        while let Some(word) = arguments.next() {
            match word.as_str() {
                "--out" => drop(arguments.next()),
                other if other.starts_with("--out=") => {}
                other => words.push(quoted(other)),
            }
        }
        words.join(" ")
    }

    /// Returns (experiment, workload) of every cell, each once, in order of first appearance.
    pub fn workloads(&self) -> Vec<(&str, &str)> {
        let mut seen: Vec<(&str, &str)> = Vec::new();
        for c in &self.cells {
            let key = (c.experiment.as_str(), c.workload.as_str());
            if !seen.contains(&key) {
                seen.push(key);
            }
        }
        seen
    }

    /// Returns every target that has a cell, each once, in order of first appearance.
    pub fn targets(&self) -> Vec<&str> {
        let mut seen: Vec<&str> = Vec::new();
        for c in &self.cells {
            if !seen.contains(&c.target.as_str()) {
                seen.push(&c.target);
            }
        }
        seen
    }

    /// Returns the record of a cell's target by its name, with or without the machine's name in
    /// front.
    pub fn target(&self, name: &str) -> Option<&TargetRecord> {
        let of = |name: &str| self.record.targets.iter().find(|t| t.name == name);
        of(name).or_else(|| of(name.split_once('/')?.1))
    }

    /// Returns the cells of one workload, in order; of all experiments if `experiment` is empty.
    pub fn cells_of<'a>(
        &'a self,
        experiment: &'a str,
        workload: &'a str,
    ) -> impl Iterator<Item = &'a CellRecord> + 'a {
        let is_of = move |c: &&CellRecord| experiment.is_empty() || c.experiment == experiment;
        self.cells.iter().filter(is_of).filter(move |c| c.workload == workload)
    }
}

/// Quotes a word for a shell if it has a character that a shell might interpret.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn read<T: serde::de::DeserializeOwned>(file: &'static str, text: &str) -> Result<T, LoadError> {
    let json =
        |e: serde_json::Error| LoadError::Json { file, line: e.line(), message: e.to_string() };
    let version: Version = serde_json::from_str(text).map_err(json)?;
    if version.schema != u64::from(SCHEMA) {
        return Err(LoadError::Schema { file, found: version.schema });
    }
    serde_json::from_str(text).map_err(json)
}

/// Small hand-made cells for the unit tests of this crate.
#[cfg(test)]
pub(crate) mod sample {
    use assay_spec::experiment::Better;
    use assay_spec::record::{CellRecord, HostRecord, IntentRecord, OpRecord, ProgramMetric};
    use assay_spec::record::{RepeatRecord, RunRecord, SCHEMA, SeriesRecord};
    use assay_spec::{Bytes, Histogram, Nanos, Op};

    /// Returns a cell of 4 KiB reads with these latencies in ns. Each repeat is one second long and
    /// has a write amplification of 1.5.
    pub fn cell(repeats: &[&[u64]]) -> CellRecord {
        let repeat = |latencies: &&[u64]| {
            let mut latency = Histogram::new();
            latencies.iter().for_each(|v| latency.record(Nanos(*v)));
            let requests = latencies.len() as u64;
            RepeatRecord {
                seed: 1,
                elapsed: Nanos::from_secs(1),
                ops: vec![OpRecord {
                    op: Op::Read,
                    requests,
                    bytes: Bytes(4096 * requests),
                    errors: 0,
                    late: None,
                    latency,
                }],
                series: SeriesRecord::default(),
                first: None,
                steady: None,
                device: vec![("wa".into(), 1.5)],
                program: Vec::new(),
                warnings: Vec::new(),
            }
        };
        CellRecord {
            id: "e/w@t".into(),
            experiment: "e".into(),
            workload: "w".into(),
            target: "t".into(),
            summary: "random read, 4KiB".into(),
            skipped: None,
            failed: None,
            repeats: repeats.iter().map(repeat).collect(),
        }
    }

    /// Returns the cell of a program that printed one of these numbers in each repeat.
    pub fn cell_of_program(
        target: &str,
        metric: &str,
        better: Better,
        values: &[f64],
    ) -> CellRecord {
        let mut cell = cell(&vec![&[][..]; values.len()]);
        cell.target = target.to_owned();
        for (repeat, value) in cell.repeats.iter_mut().zip(values) {
            repeat.ops.clear();
            let (name, unit) = (metric.to_owned(), "1/s".to_owned());
            repeat.program = vec![ProgramMetric { name, value: *value, unit, better }];
        }
        cell
    }

    /// Returns a run of these cells.
    pub fn run(cells: Vec<CellRecord>) -> super::Run {
        let record = RunRecord {
            schema: SCHEMA,
            assay: "0.0.0".into(),
            study: "sample".into(),
            title: "A sample".into(),
            command: vec!["assay".into(), "run".into(), "sample".into()],
            seed: 1,
            started: "2026-01-01T00:00:00Z".into(),
            experiments: Vec::new(),
            targets: Vec::new(),
            host: HostRecord::default(),
            intent: IntentRecord::default(),
            plan: Vec::new(),
            prices: None,
        };
        super::Run::new(record, cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_again_has_no_out_and_survives_a_shell() {
        let mut run = sample::run(Vec::new());
        let words = ["assay", "run", "quick", "--out", "x", "--on", "raid0(sim:ssd-m*2)", "it's"];
        run.record.command = words.map(String::from).to_vec();
        assert_eq!(run.again(), r"assay run quick --on 'raid0(sim:ssd-m*2)' 'it'\''s'");
        run.record.command = vec!["assay".into(), "--out=x".into()];
        assert_eq!(run.again(), "assay");
    }

    #[test]
    fn runs_of_before_first_requests_were_kept_are_read() {
        let cell = sample::cell(&[&[100]]);
        let text = serde_json::to_string(&cell).expect("plain data");
        assert!(!text.contains("first"), "and written as before: {text}");
        let read: CellRecord = serde_json::from_str(&text).expect("is read");
        assert_eq!(read.repeats[0].first, None);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let message = |run, cells| Run::from_json(run, cells).unwrap_err().to_string();
        assert!(message("{", "").starts_with("run.json, line 1"));
        assert_eq!(
            message(r#"{"schema": 99, "more": 1}"#, ""),
            "run.json has schema 99, but this version of assay reads only schema 1"
        );
        assert!(message(r#"{"schema": 1}"#, "").contains("missing field"));
    }
}
