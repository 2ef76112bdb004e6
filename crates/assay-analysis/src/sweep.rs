//! Sweeps: workloads of a run's experiments that differ in one size only.
//!
//! Sweeps are not declared a second time: figures and questions use what the experiment's own text
//! says. A workload belongs to a sweep only if it has one stream, all reads or all writes, of one
//! request size.

use crate::load::Run;
use assay_spec::decode::Source;
use assay_spec::experiment::{Address, Experiment, StreamSpec, WorkloadSpec};
use assay_spec::{Bytes, Op};

/// The parameter that varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The end of the range of random requests, which begins at the start of the device.
    Range,
    /// The distance between the starts of strided requests.
    Step,
}

/// Workloads that differ in one size.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The name of the experiment.
    pub experiment: String,
    /// The parameter that varies.
    pub of: Parameter,
    /// The kind of requests: reads or writes.
    pub op: Op,
    /// The size of a request.
    pub size: Bytes,
    /// The points, at least two, in ascending order.
    pub points: Vec<Point>,
}

/// One value of the parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The value.
    pub value: Bytes,
    /// The name of the workload.
    pub workload: String,
}

impl Point {
    /// Returns the value in words: `16 MiB`.
    pub fn words(&self) -> String {
        words(self.value)
    }
}

/// Returns a size in words: `16 MiB`.
pub fn words(size: Bytes) -> String {
    let text = size.to_string();
    let unit = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    format!("{} {}", &text[..unit], &text[unit..])
}

/// Returns every sweep of the run's experiments, in the order of their texts.
pub fn all(run: &Run) -> Vec<Sweep> {
    let records = run.record.experiments.iter();
    let parsed =
        records.filter_map(|r| Experiment::parse(Source { file: &r.file, text: &r.text }).ok());
    parsed.flat_map(|e| of_experiment(&e)).collect()
}

fn of_experiment(experiment: &Experiment) -> Vec<Sweep> {
    let mut groups: Vec<(WorkloadSpec, Sweep)> = Vec::new();
    for workload in &experiment.workloads {
        let Some((of, value, op)) = swept(workload) else { continue };
        let point = Point { value, workload: workload.name.clone() };
        let rest = without(workload, of);
        match groups.iter_mut().find(|(alike, _)| *alike == rest) {
            Some((_, sweep)) => sweep.points.push(point),
            None => {
                let size = workload.streams[0].max_size();
                let experiment = experiment.name.clone();
                groups.push((rest, Sweep { experiment, of, op, size, points: vec![point] }));
            }
        }
    }
    let mut sweeps: Vec<Sweep> = groups.into_iter().map(|(_, sweep)| sweep).collect();
    sweeps.retain(|s| s.points.len() > 1);
    sweeps.iter_mut().for_each(|s| s.points.sort_by_key(|p| p.value));
    sweeps
}

/// Returns the parameter of a workload that may vary, its value, and the kind of requests.
fn swept(workload: &WorkloadSpec) -> Option<(Parameter, Bytes, Op)> {
    let [stream] = workload.streams.as_slice() else { return None };
    let StreamSpec { read_share, sizes, address, span, flush_every: 0, fua: false } = stream else {
        return None;
    };
    let op = match *read_share {
        1.0 => Op::Read,
        0.0 => Op::Write,
        _ => return None,
    };
    let (of, value) = match address {
        Address::Random if span.start == Bytes::ZERO => (Parameter::Range, span.end?),
        Address::Stride { step } => (Parameter::Step, *step),
        _ => return None,
    };
    (sizes.len() == 1).then_some((of, value, op))
}

/// Returns the workload without its name, its expectations and the value of the parameter.
fn without(workload: &WorkloadSpec, of: Parameter) -> WorkloadSpec {
    let mut rest = workload.clone();
    rest.name.clear();
    rest.expect.clear();
    for stream in &mut rest.streams {
        match of {
            Parameter::Range => stream.span.end = None,
            Parameter::Step => stream.address = Address::Stride { step: Bytes::ZERO },
        }
    }
    rest
}

/// Returns the first sweep of an experiment over this parameter, with requests of this kind and
/// size.
pub fn find<'a>(
    sweeps: &'a [Sweep],
    experiment: &str,
    of: Parameter,
    op: Op,
    size: Bytes,
) -> Option<&'a Sweep> {
    let wanted =
        |s: &&Sweep| (s.experiment.as_str(), s.of, s.op, s.size) == (experiment, of, op, size);
    sweeps.iter().find(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::sample;
    use assay_spec::record::ExperimentRecord;

    fn run(workloads: &str) -> Run {
        let head = "format = 1\nname = \"e\"\nquestion = \"q?\"\ntargets = [\"null\"]\n";
        let mut run = sample::run(Vec::new());
        run.record.experiments = vec![ExperimentRecord {
            name: "e".into(),
            file: "e.toml".into(),
            text: format!("{head}{workloads}"),
        }];
        run
    }

    fn workload(name: &str, rest: &str) -> String {
        format!("[[workload]]\nname = \"{name}\"\nmeasure = {{ time = \"1s\" }}\n{rest}\n")
    }

    const RANDOM: &str = "read_share = 0.0\nsize = \"4KiB\"\npattern = \"random\"\n";
    const STRIDE: &str = "read_share = 1.0\nsize = \"4KiB\"\npattern = \"stride\"\n";

    #[test]
    fn what_differs_in_one_size_is_a_sweep() {
        let text = workload("r-{range}", &format!("{RANDOM}range = [\"2GB\", \"1GB\"]"))
            + &workload("s-odd", &format!("{STRIDE}step = \"8KiB\""))
            + &workload("s-{step}", &format!("{STRIDE}step = [\"64KiB\", \"1MiB\"]"))
            + &workload("other", &format!("{STRIDE}step = \"2MiB\"\nthink = \"1ms\""))
            + &workload("mixed", &format!("{RANDOM}range = \"4GB\"").replace("0.0", "0.5"));
        let sweeps = all(&run(&text));
        let told = |s: &Sweep| {
            let points = s.points.iter().map(|p| format!("{}={}", p.words(), p.workload));
            (s.of, s.op, points.collect::<Vec<_>>())
        };
        let names = |all: &[&str]| all.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            sweeps.iter().map(told).collect::<Vec<_>>(),
            [
                (Parameter::Range, Op::Write, names(&["1 GB=r-1gb", "2 GB=r-2gb"])),
                (Parameter::Step, Op::Read, names(&["8 KiB=s-odd", "64 KiB=s-64k", "1 MiB=s-1m"])),
            ]
        );
        let found = |experiment, size| find(&sweeps, experiment, Parameter::Step, Op::Read, size);
        assert_eq!(found("e", Bytes(4096)), Some(&sweeps[1]));
        assert_eq!((found("e", Bytes(8192)), found("f", Bytes(4096))), (None, None));
    }

    #[test]
    fn a_text_that_does_not_decode_has_none() {
        assert_eq!(all(&run("[[workload]]\n")), []);
    }
}
