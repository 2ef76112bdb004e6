//! `assay report`: writes the page of a run again and prints its tables, from its directory alone.

use super::options::Common;
use super::pricing::Pricing;
use super::saved;
use crate::output::plan::Plan;
use crate::output::{
    DONE, ENVIRONMENT, Failure, INCONCLUSIVE, Outcome, UNMET, data, json, shown, talk,
};
use assay_analysis::cost::Costs;
use assay_analysis::expr::{Expr, Value};
use assay_analysis::ledger::{Knowledge, LedgerVerdicts, judge};
use assay_analysis::load::Run;
use assay_analysis::program::is_of_program;
use assay_analysis::{finding, metric, program, report, text};
use assay_engine::measure::log;
use assay_engine::plan::name_in_cells;
use assay_engine::run::{Replace, RunDirectory};
use assay_spec::calibration;
use assay_spec::catalog::{Bundled, LEDGERS, STUDIES, find};
use assay_spec::claims::Ledger;
use assay_spec::decode::Source;
use assay_spec::experiment::Experiment;
use assay_spec::record::{CellPlan, CellRecord};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The file name of the page of a run.
const PAGE: &str = "report.html";

/// Options of `assay report`.
#[derive(Debug, clap::Args)]
pub struct ReportOptions {
    /// The run directory [default: the latest below `runs`]
    directory: Option<PathBuf>,
    /// Print every metric of every cell as CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Replace a page or table that assay did not write, or that was changed after assay wrote it
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pricing: Pricing,
    #[command(flatten)]
    common: Common,
}

/// Runs the verb.
pub fn main(options: ReportOptions) -> Outcome {
    let directory = saved::or_latest(options.directory)?;
    if options.common.plan {
        let plan = Plan::reading_run(&directory);
        let names = ["findings.json", "claims.json", "cells.csv", PAGE];
        let names = names.into_iter().filter(|_| !options.csv);
        let plan = names.fold(plan, |plan, name| plan.writing(directory.join(name), None));
        return plan.show(&options.common);
    }
    if options.csv {
        let mut run = saved::read(&directory)?;
        options.pricing.of_saved(&mut run.record)?;
        data(&text::csv(&run));
        return Ok(DONE);
    }
    let directory = saved::open(&directory, RunDirectory::open_for_pages)?;
    let mut run = saved::read_at(&directory.place(), directory.path())?;
    options.pricing.of_saved(&mut run.record)?;
    let left = unmeasured(&run).len();
    if left > 0 && !options.common.quiet {
        let path = directory.path().display();
        talk(&format!(
            "cells of the plan that are not measured: {left}; `assay resume {path}` measures them"
        ));
    }
    let replace = if options.force { Replace::Forced } else { Replace::Written };
    show(&directory, &run, &options.common, None, replace)
}

/// Analyses a run directory: writes its findings, ledgers, `cells.csv` and page, and prints its
/// table, or `print` instead. Returns the exit code.
pub fn finish(directory: &RunDirectory, common: &Common, print: Option<String>) -> Outcome {
    let run = saved::read_at(&directory.place(), directory.path())?;
    show(directory, &run, common, print, Replace::Written)
}

fn show(
    directory: &RunDirectory,
    run: &Run,
    common: &Common,
    print: Option<String>,
    replace: Replace,
) -> Outcome {
    let ledgers = ledgers_of(run);
    let findings = finding::findings(run);
    let page = report::html(&with_logs(&directory.place(), run), &ledgers);
    let written = [
        ("findings.json", as_json(&findings)),
        ("claims.json", as_json(&ledgers)),
        ("cells.csv", text::csv(run)),
        (PAGE, page),
    ]
    .map(|(name, text)| directory.write_text(name, &text, replace));
    let refused = written.into_iter().find_map(Result::err);
    let mut refused = refused.or_else(|| directory.check_results().err());
    // With `--json` an error replaces the output. Otherwise it comes after the results, because it
    // may only mean that a user's file is in the way, or that the directory has moved.
    if let Some(e) = refused.take_if(|_| common.json) {
        return Err(e.into());
    }
    let page = directory.path().join(PAGE);
    if common.json {
        json(&serde_json::json!({
            "directory": shown(directory.path()),
            "report": shown(&page),
            "cells": metrics(run),
            "findings": findings,
            "ledgers": ledgers,
        }));
    } else {
        data(&print.unwrap_or_else(|| text::summary_table(run)));
    }
    if !common.quiet {
        for ledger in &ledgers {
            talk(&format!("{}: {}", ledger.study, ledger.summary()));
        }
        if refused.is_none() {
            talk(&format!("report: {}", page.display()));
        }
    }
    if let Some(e) = refused {
        return Err(e.into());
    }
    Ok(exit_code(run))
}

/// Prints what is wrong with a run, and returns the exit code for it.
fn exit_code(run: &Run) -> u8 {
    let (unmet, open) = (unmet_expectations(run), open_expectations(run));
    unmet.iter().chain(&open).for_each(|text| talk(text));
    let failed: Vec<&CellRecord> = run.cells.iter().filter(|c| c.failed.is_some()).collect();
    for cell in &failed {
        talk(&format!("{}: {}", cell.id, cell.skipped.as_deref().unwrap_or_default()));
    }
    let nothing = !run.cells.is_empty() && run.cells.iter().all(|c| c.repeats.is_empty());
    if nothing && failed.is_empty() {
        talk("nothing was measured: every cell was skipped, for the reasons above");
    }
    let is_empty = |cell: &&CellRecord| {
        let mut ops = cell.repeats.iter().flat_map(|repeat| &repeat.ops);
        let counts = !cell.repeats.is_empty() && !is_of_program(cell);
        counts && ops.all(|op| op.requests == 0 && op.errors == 0)
    };
    let empty: Vec<&CellRecord> = run.cells.iter().filter(is_empty).collect();
    for cell in &empty {
        talk(&format!("{}: no request was completed", cell.id));
    }
    let mut rules = run.cells.iter().flat_map(|c| &c.repeats).filter_map(|r| r.steady.as_ref());
    let is_steady = rules.all(|rule| rule.reached);
    let is_whole = failed.is_empty() && open.is_empty() && empty.is_empty() && !nothing;
    match failed.iter().any(|c| c.failed == Some(true)) {
        true => ENVIRONMENT,
        false if !unmet.is_empty() => UNMET,
        false if is_steady && is_whole => DONE,
        false => INCONCLUSIVE,
    }
}

/// Returns a value as the text of a JSON file.
fn as_json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("plain data") + "\n"
}

/// Returns the run with the request logs that its page draws, as far as they exist: an experiment
/// may have `log = false`, and users may delete large files.
fn with_logs<'a>(directory: &Path, run: &'a Run) -> Cow<'a, Run> {
    let log = |cell: &CellRecord| {
        let name = format!("{}.drive.parquet", cell.stem(1));
        Some((cell.id.clone(), log::read(&directory.join("log").join(name)).ok()?.rows))
    };
    let logs: BTreeMap<_, _> = report::logs_wanted(run).into_iter().filter_map(log).collect();
    match logs.is_empty() {
        true => Cow::Borrowed(run),
        false => Cow::Owned(Run { logs, ..run.clone() }),
    }
}

/// Judges the ledgers of the run's study by the run.
pub fn ledgers_of(run: &Run) -> Vec<LedgerVerdicts> {
    let names = STUDIES.iter().find(|s| s.name == run.record.study).map_or(&[][..], |s| s.ledgers);
    let judged = |name: &&str| judged(find(LEDGERS, name)?, Some(run)).ok();
    names.iter().filter_map(judged).collect()
}

/// Judges a bundled ledger by a run, if there is one. Without a run, nothing counts as measured.
///
/// # Errors
/// If the ledger or the list of calibrations is malformed.
pub fn judged(bundled: &Bundled, run: Option<&Run>) -> Result<LedgerVerdicts, Failure> {
    let ledger = Ledger::parse(Source { file: bundled.file, text: bundled.text })?;
    let studies = STUDIES.iter().filter(|s| s.ledgers.contains(&bundled.name));
    let experiments = studies.flat_map(|s| s.experiments);
    let experiments: Vec<Experiment> = experiments
        .filter_map(|b| Experiment::parse(Source { file: b.file, text: b.text }).ok())
        .collect();
    let names = |e: &Experiment| e.targets.iter().filter_map(|t| name_in_cells(t)).collect();
    let names: Vec<Vec<String>> = experiments.iter().map(names).collect();
    let offered = |workload: &str, target: &str| {
        experiments.iter().zip(&names).any(|(e, names)| {
            let plain = e.without_host(target);
            names.iter().any(|n| n == plain) && e.workloads.iter().any(|w| w.name == workload)
        })
    };
    let calibrations = calibration::bundled()?;
    let known = Knowledge { offered: &offered, calibrations: &calibrations };
    Ok(judge(&ledger, run, known))
}

/// Returns the usual metrics of every cell, with their intervals, as JSON.
fn metrics(run: &Run) -> Vec<serde_json::Value> {
    const USUAL: &[&str] =
        &["bandwidth", "iops", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "max"];
    let costs = Costs::of(run);
    let one = |cell: &CellRecord| {
        let value = |name: &str| match metric::estimate(cell, name) {
            Ok(e) => serde_json::json!(e),
            Err(e) => serde_json::json!({ "missing": e.to_string() }),
        };
        let printed = program::metrics(cell).iter().map(|metric| {
            let mut value = value(&metric.name);
            value["unit"] = serde_json::json!(metric.unit);
            value["better"] = serde_json::json!(metric.better);
            (metric.name.clone(), value)
        });
        let values: serde_json::Map<String, serde_json::Value> = match is_of_program(cell) {
            true => printed.collect(),
            false => USUAL.iter().map(|name| ((*name).to_owned(), value(name))).collect(),
        };
        let cost = costs.as_ref().and_then(|c| c.cell(cell));
        serde_json::json!({ "id": cell.id, "summary": cell.summary, "skipped": cell.skipped,
            "metrics": values, "cost": cost })
    };
    run.cells.iter().map(one).collect()
}

/// Returns the cells of the plan that have no result.
fn unmeasured(run: &Run) -> Vec<&CellPlan> {
    let has_result = |plan: &&CellPlan| run.cells.iter().any(|cell| cell.id == plan.id);
    run.record.plan.iter().filter(|plan| !has_result(plan)).collect()
}

/// Returns the expectations of cells that have no result, in words.
fn open_expectations(run: &Run) -> Vec<String> {
    let left = unmeasured(run);
    let mut open = Vec::new();
    for record in run.record.experiments.iter().filter(|_| !left.is_empty()) {
        let source = Source { file: &record.file, text: &record.text };
        let Ok(experiment) = Experiment::parse(source) else { continue };
        for workload in &experiment.workloads {
            let is_its = |plan: &&&CellPlan| {
                plan.experiment == experiment.name && plan.workload == workload.name
            };
            let text = |plan: &&CellPlan, expected| {
                format!("not judged: {expected} of {}: this cell is not measured", plan.id)
            };
            let cells = || left.iter().filter(is_its);
            let expected = workload.expect.iter();
            open.extend(expected.flat_map(|e| cells().map(move |plan| text(plan, e))));
        }
    }
    open
}

/// Returns the expectations that the run does not meet, in words.
fn unmet_expectations(run: &Run) -> Vec<String> {
    let mut unmet = Vec::new();
    for record in &run.record.experiments {
        let source = Source { file: &record.file, text: &record.text };
        let Ok(experiment) = Experiment::parse(source) else { continue };
        for workload in &experiment.workloads {
            for text in &workload.expect {
                let expression = match Expr::parse_expectation(text) {
                    Ok(expression) => expression,
                    // The run is by an earlier version, which did not check the units.
                    Err(e) => {
                        unmet.push(format!("not met: {text} of {}: {e}", workload.name));
                        continue;
                    }
                };
                for cell in run.cells_of(&experiment.name, &workload.name) {
                    let look_up = |r: &assay_analysis::expr::Reference| {
                        metric::estimate(cell, &r.metric).map(|e| e.value)
                    };
                    match expression.evaluate(&look_up) {
                        Ok(Value::Truth(true)) => {}
                        Ok(_) => unmet.push(format!("not met: {} of {}", text, cell.id)),
                        Err(e) => unmet.push(format!("not met: {} of {}: {e}", text, cell.id)),
                    }
                }
            }
        }
    }
    unmet
}
