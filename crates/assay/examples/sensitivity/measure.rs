//! Runs of a study's cells in which the drives may be changed, and what a ledger makes of them.

use crate::Options;
use assay_analysis::expr::{Expr, Reference};
use assay_analysis::ledger::{self, Knowledge, LedgerVerdicts};
use assay_analysis::load;
use assay_analysis::metric;
use assay_engine::plan::{PlanError, Use, open_target, reopen_target};
use assay_engine::run::{Asked, Observer, Run};
use assay_spec::calibration::{self, Calibration};
use assay_spec::catalog::{
    Bundled, CONTROLLERS, DEVICES, LEDGERS, PRICES, PROCESSORS, Study, find,
};
use assay_spec::claims::Ledger;
use assay_spec::decode::Source;
use assay_spec::device::{ControllerSpec, DeviceSpec, Fact, Origin, ProcessorSpec};
use assay_spec::experiment::{Experiment, Scale};
use assay_spec::record::{
    CellPlan, CellRecord, ExperimentRecord, HostRecord, IntentRecord, PriceListRecord,
    PricesRecord, TargetRecord,
};
use std::collections::BTreeSet;

/// Errors are for people to read.
pub type Result<T> = std::result::Result<T, String>;

/// A study with the cells that its ledgers name, as the drives are.
pub struct Baseline {
    study: &'static Study,
    ledgers: Vec<Ledger>,
    calibrations: Vec<Calibration>,
    named: BTreeSet<(String, String)>,
    experiments: Vec<(Experiment, ExperimentRecord)>,
    targets: Vec<TargetRecord>,
    threads: usize,
    /// The run.
    pub run: load::Run,
    /// What the ledgers say of it.
    pub verdicts: Vec<LedgerVerdicts>,
}

/// A drive, a card or a processor of a study, or what it says of the machine.
pub struct Part {
    /// As the study names it; [`HOST`] for the machine.
    pub name: String,
    /// Its values, each in the text that it stands in: the file of a drive, a card or a
    /// processor, a word of workloads for the machine.
    pub values: Vec<(String, Fact)>,
}

/// The name of the machine.
pub const HOST: &str = "host";
/// What workloads say of the machine: how these words begin, and end.
const HOST_WORDS: [(&str, [char; 2]); 2] =
    [("compute = \"", ['"', '"']), ("think = \"", ['"', '"'])];

/// The study differently.
pub struct Variant {
    /// What the ledgers say.
    pub verdicts: Vec<LedgerVerdicts>,
    /// Cells whose mean latency moved by more than the bound, and all that ran again.
    pub cells: (usize, usize),
}

/// Says only which cells have no result, and why.
struct Failures;

impl Observer for Failures {
    fn started(&self, _: &CellPlan) {}
    fn finished(&self, cell: &CellRecord, _: usize, _: usize) {
        if let Some(why) = &cell.skipped {
            eprintln!("{}: {why}", cell.id);
        }
    }
}

fn say(e: impl std::fmt::Display) -> String {
    e.to_string()
}

impl Baseline {
    /// Runs what the ledgers of the study name, but for some experiments.
    pub fn measure(study: &'static Study, options: &Options) -> Result<Baseline> {
        let (without, threads) = (&options.without, options.threads);
        let scale = options.scale.as_deref();
        let scale: Option<Scale> =
            scale.map(|s| s.parse().map_err(|()| format!("{s} is no scale"))).transpose()?;
        let mut experiments: Vec<(Experiment, ExperimentRecord)> = study
            .experiments
            .iter()
            .map(|b| decoded(b, scale, options.repeats))
            .collect::<Result<_>>()?;
        let unknown = without.iter().find(|name| experiments.iter().all(|(e, _)| e.name != **name));
        if let Some(name) = unknown {
            return Err(format!("{} has no experiment `{name}`", study.name));
        }
        experiments.retain(|(e, _)| !without.contains(&e.name));
        let ledgers: Vec<Ledger> = study
            .ledgers
            .iter()
            .filter_map(|name| find(LEDGERS, name))
            .map(|b| Ledger::parse(Source { file: b.file, text: b.text }).map_err(say))
            .collect::<Result<_>>()?;
        let named = ledgers.iter().flat_map(references);
        let named = named.map(|r| (r.workload, r.target)).collect();
        let mut base = Baseline {
            study,
            ledgers,
            calibrations: calibration::bundled().map_err(say)?,
            named,
            experiments,
            targets: Vec::new(),
            threads,
            run: load::Run::new(empty(), Vec::new()),
            verdicts: Vec::new(),
        };
        let run = base.ran(&base.experiments, Vec::new(), &|_| true)?;
        base.targets.clone_from(&run.record.targets);
        base.verdicts = base.judged(&run);
        base.run = run;
        Ok(base)
    }

    /// The machine, the processors, the cards, and the modelled drives of the targets, members of
    /// arrays too.
    pub fn parts(&self) -> Vec<Part> {
        let used = |b: &&Bundled| self.targets.iter().any(|t| involves(t, b.text));
        let part = |b: &Bundled, name: String, facts: Vec<Fact>| {
            let values = facts.into_iter().map(|fact| (b.text.to_owned(), fact)).collect();
            Part { name, values }
        };
        let source = |b: &'static Bundled| Source { file: b.file, text: b.text };
        let processors = PROCESSORS.iter().filter(used).filter_map(|b| {
            let processor = ProcessorSpec::parse(source(b)).ok()?;
            Some(part(b, processor.name, processor.facts))
        });
        let cards = CONTROLLERS.iter().filter(used).filter_map(|b| {
            let card = ControllerSpec::parse(source(b)).ok()?;
            Some(part(b, card.name, card.facts))
        });
        let drives = DEVICES.iter().filter(used).filter_map(|b| {
            let drive = DeviceSpec::parse(source(b)).ok()?;
            Some(part(b, drive.name, drive.facts))
        });
        let host = Part { name: HOST.to_owned(), values: self.host_values() };
        let parts = std::iter::once(host).chain(processors).chain(cards).chain(drives);
        parts.filter(|p| !p.values.is_empty()).collect()
    }

    /// What the experiments say of the machine.
    fn host_values(&self) -> Vec<(String, Fact)> {
        let mut words = BTreeSet::new();
        for (_, record) in &self.experiments {
            let lines = record.text.lines().filter(|line| !line.trim_start().starts_with('#'));
            for (line, (start, ends)) in lines.flat_map(|l| HOST_WORDS.map(|w| (l, w))) {
                for (at, _) in line.match_indices(start) {
                    let rest = &line[at + start.len()..];
                    let value = rest.split(ends).next().unwrap_or(rest).trim_end_matches('"');
                    words.insert((start, value.to_owned()));
                }
            }
        }
        let value = |(start, value): (&str, String)| {
            let path = start.trim_end_matches(['=', ' ', '"']).to_owned();
            let origin = Origin::Assumed("the machine of the document".into());
            let text = format!("{start}{value}");
            (text, Fact { path, value, words: Vec::new(), origin, from_claim: Vec::new() })
        };
        words.into_iter().map(value).collect()
    }

    /// The study with `old` replaced by `new` in every target or workload that has it.
    pub fn varied(&self, old: &str, new: &str, bound: f64) -> Result<Variant> {
        if self.experiments.iter().any(|(_, record)| record.text.contains(old)) {
            return self.on_another_host(old, new, bound);
        }
        let mut targets = self.targets.clone();
        let mut names = Vec::new();
        for target in targets.iter_mut().filter(|t| involves(t, old)) {
            target.spec = target.spec.as_ref().map(|text| text.replace(old, new));
            names.push(target.name.clone());
        }
        let of = |p: &CellPlan| {
            names.iter().any(|n| p.target == *n || p.target.ends_with(&format!("/{n}")))
        };
        let run = self.ran(&self.experiments, targets, &of)?;
        Ok(self.compared(run, bound))
    }

    /// The study with `old` replaced by `new` in its experiments.
    fn on_another_host(&self, old: &str, new: &str, bound: f64) -> Result<Variant> {
        let mut experiments = Vec::new();
        for (_, record) in &self.experiments {
            let text = record.text.replace(old, new);
            if text != record.text {
                let source = Source { file: &record.file, text: &text };
                let experiment = Experiment::parse(source).map_err(say)?;
                experiments.push((experiment, ExperimentRecord { text, ..record.clone() }));
            }
        }
        let run = self.ran(&experiments, Vec::new(), &|_| true)?;
        Ok(self.compared(run, bound))
    }

    /// What changes with these cells in place of those of the same name.
    fn compared(&self, mut run: load::Run, bound: f64) -> Variant {
        let mean = |c: &CellRecord| metric::estimate(c, "mean").map(|e| e.value).ok();
        let moved = |c: &&CellRecord| {
            let before = self.run.cells.iter().find(|b| b.id == c.id).and_then(mean);
            !before.zip(mean(c)).is_some_and(|(x, y)| (y / x - 1.0).abs() <= bound)
        };
        let cells = (run.cells.iter().filter(moved).count(), run.cells.len());
        let ran: BTreeSet<String> = run.cells.iter().map(|c| c.id.clone()).collect();
        let others = self.run.cells.iter().filter(|c| !ran.contains(&c.id));
        run.cells.extend(others.cloned());
        Variant { verdicts: self.judged(&run), cells }
    }

    /// The list of the study's document.
    fn prices(&self) -> Option<PricesRecord> {
        let list = find(PRICES, self.study.name)?;
        let list = PriceListRecord { file: list.file.to_owned(), text: list.text.to_owned() };
        Some(PricesRecord { list: Some(list), given: Vec::new() })
    }

    fn judged(&self, run: &load::Run) -> Vec<LedgerVerdicts> {
        let known = Knowledge { offered: &|_, _| true, calibrations: &self.calibrations };
        self.ledgers.iter().map(|l| ledger::judge(l, Some(run), known)).collect()
    }

    /// Runs the named cells that `wanted` lets pass, on these targets or on the experiments' own.
    fn ran(
        &self,
        experiments: &[(Experiment, ExperimentRecord)],
        targets: Vec<TargetRecord>,
        wanted: &dyn Fn(&CellPlan) -> bool,
    ) -> Result<load::Run> {
        let intent = IntentRecord::default();
        let plan = Use { writes: true, only_shown: false };
        let opened = if targets.is_empty() {
            let all = experiments.iter().flat_map(|(e, _)| &e.targets);
            let mut seen = BTreeSet::new();
            let once = all.filter(|t| seen.insert((*t).clone()));
            once.map(|t| open_target(t, &intent, plan).map_err(said)).collect::<Result<_>>()?
        } else {
            let again = targets.iter();
            again
                .map(|t| reopen_target(t, &intent, &intent, true).map_err(said))
                .collect::<Result<_>>()?
        };
        let asked = Asked {
            study: self.study.name.into(),
            title: self.study.title.into(),
            command: Vec::new(),
            seed: 1,
            started: String::new(),
            intent,
            everywhere: Vec::new(),
            prices: self.prices(),
        };
        let run = Run::new(asked, experiments.to_vec(), opened, HostRecord::default());
        let mut run = run.map_err(|e| e.to_string())?;
        run.threads = self.threads;
        run.keep(|p| wanted(p) && self.named.contains(&(p.workload.clone(), p.target.clone())));
        let directory = std::env::temp_dir().join(format!("sensitivity-{}", std::process::id()));
        let begun = run.begin(&directory);
        let ran = begun.and_then(|begun| run.measure(&begun, Vec::new(), &Failures)).map_err(say);
        std::fs::remove_dir_all(&directory).map_err(say)?;
        Ok(load::Run::new(run.record().clone(), ran?))
    }
}

fn said(e: PlanError) -> String {
    match e {
        PlanError::Spec(e) => e.message.clone(),
        PlanError::Engine(e) => e.to_string(),
    }
}

/// Decodes an experiment, in another scale and with another number of repeats.
fn decoded(
    b: &Bundled,
    scale: Option<Scale>,
    repeats: Option<u32>,
) -> Result<(Experiment, ExperimentRecord)> {
    let rescaled = scale.and_then(|scale| Experiment::rescaled(b.text, scale));
    let (file, text) = (b.file.to_owned(), rescaled.unwrap_or_else(|| b.text.to_owned()));
    let text = match repeats {
        Some(count) => Experiment::repeated(&text, count),
        None => text,
    };
    let experiment = Experiment::parse(Source { file: b.file, text: &text }).map_err(say)?;
    let name = experiment.name.clone();
    Ok((experiment, ExperimentRecord { name, file, text }))
}

/// Every number that a ledger names.
fn references(ledger: &Ledger) -> Vec<Reference> {
    let measures = |c: &assay_spec::claims::Claim| {
        let values = c.values.iter().filter_map(|v| v.measure.clone());
        values.chain(c.predicate.clone()).collect::<Vec<String>>()
    };
    let texts = ledger.claims.iter().flat_map(measures);
    let parsed: Vec<Expr> = texts.filter_map(|t| Expr::parse(&t).ok()).collect();
    parsed.iter().flat_map(Expr::references).cloned().collect()
}

fn involves(target: &TargetRecord, text: &str) -> bool {
    target.spec.as_ref().is_some_and(|spec| spec.contains(text.trim_end()))
}

fn empty() -> assay_spec::record::RunRecord {
    assay_spec::record::RunRecord {
        schema: assay_spec::record::SCHEMA,
        assay: String::new(),
        study: String::new(),
        title: String::new(),
        command: Vec::new(),
        seed: 1,
        started: String::new(),
        experiments: Vec::new(),
        targets: Vec::new(),
        host: HostRecord::default(),
        intent: IntentRecord::default(),
        plan: Vec::new(),
        prices: None,
    }
}
