//! `assay claims`: prints the ledgers of claims, judged by the latest run or by a given one.

use super::options::Common;
use super::{report, saved};
use crate::output::plan::Plan;
use crate::output::{DONE, Failure, Outcome, data, json, talk};
use assay_analysis::ledger::LedgerVerdicts;
use assay_analysis::load::Run;
use assay_analysis::text;
use assay_spec::catalog::{LEDGERS, STUDIES};
use assay_spec::diagnostic::closest;
use std::path::{Path, PathBuf};

/// Options of `assay claims`.
#[derive(Debug, clap::Args)]
pub struct ClaimsOptions {
    /// Show only the claims of this study [default: all]
    study: Option<String>,
    /// Run directory to compare the claims with [default: the latest below `runs`]
    directory: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

/// Runs the verb.
pub fn main(mut options: ClaimsOptions) -> Outcome {
    let names: Vec<&str> = LEDGERS.iter().map(|b| b.name).collect();
    if let Some(study) = options.study.take_if(|s| !names.contains(&s.as_str())) {
        // The only argument may be a run directory: the study of its run says which ledgers are
        // meant.
        if options.directory.is_some() || !Path::new(&study).join("run.json").exists() {
            let hint = match closest(&study, &names) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!(
                    "name a ledger ({}), then a run directory if you want one",
                    names.join(", ")
                ),
            };
            return Err(Failure::usage(format!("there is no ledger `{study}`"), hint));
        }
        options.directory = Some(PathBuf::from(study));
    }
    let run_named = options.study.is_none() && options.directory.is_some();
    let directory = options.directory.or_else(saved::latest);
    if options.common.plan {
        let plan = directory.as_deref().map(Plan::reading_run).unwrap_or_default();
        return plan.show(&options.common);
    }
    let run = directory.as_deref().map(saved::read).transpose()?;
    let wanted = LEDGERS.iter().filter(|b| options.study.as_deref().is_none_or(|s| s == b.name));
    let mut verdicts: Vec<LedgerVerdicts> = Vec::new();
    for bundled in wanted {
        let tests = run.as_ref().filter(|run| is_held_against(run, bundled.name));
        if tests.is_none() && run_named {
            continue;
        }
        verdicts.push(report::judged(bundled, tests)?);
    }
    if options.common.json {
        json(&verdicts);
        return Ok(DONE);
    }
    let tables: Vec<String> = verdicts.iter().map(|v| text::ledger_table(v, 100)).collect();
    data(&tables.join("\n"));
    if let Some(directory) = directory.filter(|_| !options.common.quiet) {
        talk(&format!("judged by the run in {}", directory.display()));
    }
    Ok(DONE)
}

/// Returns `true` if the cells of `run` count for `ledger`: only if the run's study lists the
/// ledger, because a workload of the same name in a user's own file is another experiment.
fn is_held_against(run: &Run, ledger: &str) -> bool {
    let study = STUDIES.iter().find(|s| s.name == run.record.study);
    study.is_some_and(|s| s.ledgers.contains(&ledger))
}
