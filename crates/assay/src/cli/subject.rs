//! Finds the study or reads the experiment file to run, and changes it as the options say.

use crate::output::Failure;
use assay_analysis::expr::Expr;
use assay_analysis::metric;
use assay_engine::read;
use assay_spec::catalog::STUDIES;
use assay_spec::decode::{Decoded, Source, with_hint};
use assay_spec::diagnostic::{Kind, closest};
use assay_spec::experiment::{
    Expectation, Experiment, FileWork, RUN_TIME, SCALE_EXPECTED, Scale, WorkloadSpec,
};
use assay_spec::record::ExperimentRecord;
use std::path::Path;

/// The experiments to run, before any target is opened.
pub struct Subject {
    /// Study or file.
    pub study: String,
    /// One line for people.
    pub title: String,
    /// Experiments with their texts.
    pub experiments: Vec<(Experiment, ExperimentRecord)>,
}

impl Subject {
    /// Finds the study of this name, or reads the experiment in this file.
    pub(super) fn find(name: &str) -> Result<Subject, Failure> {
        if let Some(study) = STUDIES.iter().find(|s| s.name == name) {
            let experiments = study.experiments.iter().map(|b| load(b.file, b.text));
            return Ok(Subject {
                study: study.name.into(),
                title: study.title.into(),
                experiments: experiments.collect::<Result<_, Failure>>()?,
            });
        }
        if !name.ends_with(".toml") {
            let names: Vec<&str> = STUDIES.iter().map(|s| s.name).collect();
            let hint = match closest(name, &names) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => {
                    format!(
                        "name a study ({}) or an experiment file, which ends in `.toml`",
                        names.join(", ")
                    )
                }
            };
            return Err(Failure::usage(format!("there is no study `{name}`"), hint));
        }
        let text = read::text(Path::new(name), read::SPEC_MAX).map_err(|e| {
            let hint = e.hint("`examples/` has files to start from");
            Failure::usage(format!("{name} cannot be read: {e}"), hint)
        })?;
        let loaded = load(name, &text)?;
        let stem = Path::new(name).file_stem().map_or(name.into(), |s| s.to_string_lossy());
        Ok(Subject {
            study: stem.into_owned(),
            title: loaded.0.question.clone(),
            experiments: vec![loaded],
        })
    }

    /// Has the experiments that have a scale run in this one.
    pub(super) fn rescale(&mut self, text: &str) -> Result<(), Failure> {
        let scale = text.parse().map_err(|()| {
            let hint = format!("write {SCALE_EXPECTED}");
            Failure::usage(format!("`--scale {text}` is not a scale"), hint)
        })?;
        if self.set_scale(scale)? {
            return Ok(());
        }
        let hint = "leave out `--scale`, or add a key such as `scale = \"1/8\"` to an experiment \
                    on files";
        Err(Failure::usage("`--scale` has no effect: no experiment has a `scale`", hint))
    }

    /// Has the experiments run in the size of their document.
    pub(super) fn take_full_size(&mut self) -> Result<(), Failure> {
        let is_more = |(e, _): &(Experiment, ExperimentRecord)| {
            e.repeats.full > e.repeats.count || has_only_combinations(e)
        };
        if self.set_scale(Scale::FULL)? || self.experiments.iter().any(is_more) {
            return Ok(());
        }
        let text = "`--full` has no effect: every experiment already has the size and the repeats \
                    of its document";
        Err(Failure::usage(text, "leave it out"))
    }

    /// Sets the scale of the experiments that have one. Returns `true` if any has.
    fn set_scale(&mut self, scale: Scale) -> Result<bool, Failure> {
        let mut any = false;
        for one in &mut self.experiments {
            if let Some(text) = Experiment::rescaled(&one.1.text, scale) {
                *one = load(&one.1.file, &text)?;
                any = true;
            }
        }
        Ok(any)
    }

    /// Has the experiments with checkouts take them from the repository at `path`.
    pub(super) fn take_repository(&mut self, path: &Path) -> Result<(), Failure> {
        let text = format!("{} is not a git repository", path.display());
        let refused =
            || Failure::usage(text, "name a directory with `.git` in it, or a bare repository");
        let path = path.canonicalize().ok();
        let path = path.filter(|p| p.join(".git").exists() || p.join("objects").is_dir());
        let path = path.as_deref().and_then(Path::to_str).ok_or_else(refused)?;
        let mut any = false;
        for one in &mut self.experiments {
            if let Some(text) = Experiment::with_repository(&one.1.text, path) {
                *one = load(&one.1.file, &text)?;
                any = true;
            }
        }
        if any {
            return Ok(());
        }
        let hint = "leave out `--repo`, or run an experiment with a workload of `file = \"git\"`, \
                    e.g. `assay run oslo09`";
        Err(Failure::usage("`--repo` has no effect: no experiment checks anything out", hint))
    }

    /// Has every experiment repeat its cells so often, or with `full` as often as its document did.
    pub(super) fn repeat(&mut self, repeats: Option<u32>, full: bool) -> Result<(), Failure> {
        for one in &mut self.experiments {
            let as_written = one.0.repeats.count;
            let wanted = repeats.unwrap_or(if full { one.0.repeats.full } else { as_written });
            if wanted != as_written {
                *one = load(&one.1.file, &Experiment::repeated(&one.1.text, wanted))?;
            }
        }
        Ok(())
    }

    /// Has the experiments that have factors but no base measure all combinations.
    pub(super) fn take_combinations(&mut self) {
        let such = self.experiments.iter_mut().map(|(e, _)| e).filter(|e| has_only_combinations(e));
        such.for_each(Experiment::factorial);
    }

    /// Has the experiments that have factors measure all combinations.
    pub(super) fn all_combinations(&mut self, replaced: bool) -> Result<(), Failure> {
        let varied = self.experiments.iter_mut().filter(|(e, _)| e.factors.is_some());
        let count = varied.map(|(e, _)| e.factorial()).count();
        if count > 0 && !replaced {
            return Ok(());
        }
        let (why, hint) = match replaced {
            true => ("`--only` replaces all targets", "leave out `--only` or `--factorial`"),
            false => (
                "no experiment has `[factors]`",
                "use `assay run sara10 --factorial`, or declare factors as docs/spec.md describes",
            ),
        };
        Err(Failure::usage(format!("`--factorial` has no effect: {why}"), hint))
    }
}

/// Returns `true` if an experiment measures its factors in all combinations or not at all.
fn has_only_combinations(experiment: &Experiment) -> bool {
    experiment.factors.as_ref().is_some_and(|factors| factors.base.is_none())
}

/// Decodes an experiment and checks its expectations.
pub fn load(file: &str, text: &str) -> Result<(Experiment, ExperimentRecord), Failure> {
    let source = Source { file, text };
    let experiment = Experiment::parse(source)?;
    for workload in &experiment.workloads {
        let printed = printed(workload);
        if let Some(name) = printed.iter().find(|name| metric::is_known(name)) {
            let of = &workload.name;
            let message = format!("assay has a metric `{name}` itself, so `{of}` cannot print one");
            let hint = "give it another name; `assay explain metrics` lists those of assay";
            return Err(Failure::usage(message, hint));
        }
        for expectation in &workload.expect {
            check_expectation(source, expectation, &printed)?;
        }
    }
    let record = ExperimentRecord {
        name: experiment.name.clone(),
        file: file.to_owned(),
        text: text.to_owned(),
    };
    Ok((experiment, record))
}

/// Returns the names of the numbers that only a workload with a program has.
fn printed(workload: &WorkloadSpec) -> Vec<&str> {
    match &workload.files {
        Some(FileWork::Program(program)) => {
            program.metrics.iter().map(|m| &*m.name).chain([RUN_TIME]).collect()
        }
        _ => Vec::new(),
    }
}

/// An expectation must parse, and its metrics must exist, before hours are spent measuring.
/// `printed` has those of the workload's program.
fn check_expectation(
    source: Source<'_>,
    expectation: &Expectation,
    printed: &[&str],
) -> Decoded<()> {
    let general = "compare a metric with a value, e.g. `p99 < 10ms`; see `assay explain metrics`";
    let error = |part, message: String, hint: String| {
        let e = source.error(Kind::Syntax, expectation.place(source.text, part), message, "");
        with_hint(e, if hint.is_empty() { general.to_owned() } else { hint })
    };
    let expression = Expr::parse_expectation(expectation)
        .map_err(|e| error(e.position..e.end, e.message, e.hint))?;
    let is_known = |name: &str| metric::is_known(name) || printed.contains(&name);
    let unknown = expression.references().into_iter().find(|r| !is_known(&r.metric));
    let Some(name) = unknown.map(|r| r.metric.as_str()) else { return Ok(()) };
    let start = expectation.find(name).unwrap_or(0);
    let names: Vec<&str> = metric::NAMES.iter().map(|(name, ..)| *name).collect();
    let hint = closest(name, &names).map(|meant| format!("did you mean `{meant}`?"));
    let message = format!("there is no metric `{name}`");
    Err(error(start..start + name.len(), message, hint.unwrap_or_default()))
}
