//! The verbs of the command line, each in a file of its own.

mod claims;
mod compare;
mod cost;
mod devices;
mod explain;
mod linux;
pub mod options;
mod pricing;
mod report;
mod resume;
mod run;
mod saved;
mod signals;
mod subject;
mod targets;
mod timeline;
mod trace;

use crate::output::{Failure, Outcome};
use assay_engine::Error;
use assay_spec::catalog::STUDIES;
use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use std::io::{self, Write};
use std::path::Path;

/// A laboratory for storage devices: finds out what a drive does, how it works inside, and what it
/// is worth.
#[derive(Debug, Parser)]
#[command(name = "assay", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run a study (`quick`) or an experiment file
    Run(run::RunOptions),
    /// List modelled drives, and this machine's block devices with what assay may do to each; or
    /// show the values of one model with their sources
    Devices(devices::DevicesOptions),
    /// Compare several targets under the same work, or saved runs, with effect sizes
    Compare(compare::CompareOptions),
    /// Show the ledger: published claims beside measurements
    Claims(claims::ClaimsOptions),
    /// Show the cost of a run's targets over years, break-even prices and the five-minute rule
    Cost(cost::CostOptions),
    /// Write the page of a run again, or print its tables
    Report(report::ReportOptions),
    /// Continue an interrupted run
    Resume(resume::ResumeOptions),
    /// Explain the method and source behind a number, a claim or an error
    Explain(explain::ExplainOptions),
    /// Build and run the real Linux kernel in virtual time on modelled drives
    Linux(linux::LinuxOptions),
    /// Import and show block traces of blktrace and blkparse
    Trace(trace::TraceOptions),
}

/// Parses the command line and runs its verb.
///
/// # Errors
/// If the command line is wrong, /proc is not mounted (all verbs but `explain` need it), or the
/// verb fails.
pub fn run() -> Outcome {
    signals::take_limits_as_errors();
    crate::output::check_writable()?;
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => return refused(&e),
    };
    // Open files and directories are reached by the paths of their descriptors in /proc/self/fd.
    if !matches!(cli.verb, Verb::Explain(_)) && !Path::new("/proc/self/fd").exists() {
        let hint = "mount it: `mount -t proc proc /proc`";
        return Err(Error::environment("no-proc", "/proc is not mounted", hint).into());
    }
    assay_engine::available::prepare_for_threads();
    match cli.verb {
        Verb::Run(options) => run::main(options),
        Verb::Devices(options) => devices::main(options),
        Verb::Compare(options) => compare::main(options),
        Verb::Claims(options) => claims::main(options),
        Verb::Cost(options) => cost::main(options),
        Verb::Report(options) => report::main(options),
        Verb::Resume(options) => resume::main(options),
        Verb::Explain(options) => explain::main(options),
        Verb::Linux(options) => linux::main(options),
        Verb::Trace(options) => trace::main(options),
    }
}

/// The options, and for each the words in the hint that say which value it takes.
const VALUES: &[(&str, &str)] = &[
    ("--seed", "a whole number from 0 to 18446744073709551615, e.g. `--seed 7`"),
    ("--threads", "a whole number from 1 to 1024, e.g. `--threads 4`"),
    ("--repeats", "a whole number from 1 to 1000, e.g. `--repeats 5`"),
    ("--size", "a size such as `4KiB`, `30GB` or `1GiB`, e.g. `--size 1GiB`"),
    ("--out", "a directory for the run, e.g. `--out runs/mine`"),
    ("--write", "the path of the target that may be written to, e.g. `--write ./scratch.img`"),
    ("--destroy", "the serial number of the device; `assay devices --json` shows it"),
    ("--prices", "a price list, e.g. `--prices cmu08` or `--prices mine.toml`"),
    ("--years", "a number from 0.1 to 100, e.g. `--years 3`"),
    ("--busy", "a share from 0 to 1, e.g. `--busy 0.2`"),
    ("--kwh-price", "an amount without its currency, e.g. `--kwh-price 0.25`"),
    ("--pue", "a number from 1 to 10, e.g. `--pue 1.4`"),
    ("--slot-price", "an amount without its currency, e.g. `--slot-price 20`"),
    ("--writes", "a size, e.g. `--writes 50GB`"),
    ("--wear", "a number from 0.01 to 1000, e.g. `--wear 2.5`"),
    ("--memory-price", "an amount without its currency, e.g. `--memory-price 3.5`"),
    ("--against", "the name of a target, as the tables show it, e.g. `--against ssd-m`"),
    ("--price", "a drive, an amount and a currency, e.g. `--price ssd-m=300USD`"),
    ("--on", "targets, separated by commas, e.g. `--on sim:ssd-m,sim:ssd-l`"),
    ("--only", "targets, separated by commas, e.g. `--only sim:ssd-m,sim:ssd-l`"),
    ("--work", "a study or an experiment file, e.g. `--work quick`"),
    ("--workload", "the name of a workload, e.g. `--workload rnd-rd`"),
    ("--device", "the major and minor number of a device, e.g. `--device 8,0`"),
    ("--import-disksim", "a file of DiskSim, e.g. `--import-disksim atlas_III.diskspecs`"),
];

/// Ends the program after it has printed help or the version, if `e` asks for them or no subcommand
/// was given. Otherwise returns the failure for a wrong command line.
fn refused(e: &clap::Error) -> Outcome {
    let bare = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if !e.use_stderr() || e.kind() == bare {
        let shown = e.print().and_then(|()| std::io::stdout().flush());
        match shown.map_err(|error| (error.kind(), crate::output::not_written(&error))) {
            Err((kind, failure)) if kind != io::ErrorKind::BrokenPipe => return Err(failure),
            _ => std::process::exit(e.exit_code()),
        }
    }
    // Only the first paragraph is kept: the usage below it is also in `--help`, which the hint
    // names.
    let text = e.to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let lines: Vec<&str> = first.lines().map(str::trim).collect();
    let text = lines.join(" ");
    Err(Failure::usage(text.strip_prefix("error: ").unwrap_or(&text), advice(e)))
}

/// Returns the hint for a mistake in the command line.
fn advice(e: &clap::Error) -> String {
    let told = |kind| e.get(kind).map(ToString::to_string).unwrap_or_default();
    let argument = told(ContextKind::InvalidArg);
    let option = argument.split_whitespace().next().unwrap_or_default();
    let help = format!(
        "`assay {}--help` shows the arguments and options",
        verb().map_or("".into(), |v| v + " ")
    );
    let is_explain = verb().as_deref() == Some("explain");
    match e.kind() {
        ErrorKind::InvalidSubcommand => unknown_verb(&told(ContextKind::InvalidSubcommand), e),
        ErrorKind::UnknownArgument => match told(ContextKind::SuggestedArg).as_str() {
            "" => help,
            meant => format!("did you mean `{meant}`?"),
        },
        ErrorKind::ArgumentConflict if e.to_string().contains("multiple times") => {
            "give it once".to_owned()
        }
        ErrorKind::ArgumentConflict => "give one of the two".to_owned(),
        ErrorKind::MissingRequiredArgument => match verb().as_deref() {
            Some("run") => "name a study or an experiment file: `assay run quick`".to_owned(),
            Some("compare") => "name two targets: `assay compare sim:ssd-m sim:ssd-l`".to_owned(),
            Some("resume") => "name the directory of the run: `assay resume DIR`".to_owned(),
            _ => help,
        },
        // The mistake is in an option's value: it is missing, invalid, or there are too many. The
        // options of `explain` take other values than those in `VALUES`.
        _ => match VALUES.iter().find(|(name, _)| *name == option && !is_explain) {
            Some((_, value)) => format!("write {value}"),
            None => help,
        },
    }
}

/// Returns the first word of the command line if it is a verb.
fn verb() -> Option<String> {
    let word = std::env::args_os().nth(1)?.into_string().ok()?;
    Cli::command().get_subcommands().any(|c| c.get_name() == word).then_some(word)
}

/// Returns the hint for a word that is no verb: the word may be a study or a file for `assay run`,
/// or a misspelt verb.
fn unknown_verb(word: &str, e: &clap::Error) -> String {
    if word.ends_with(".toml") || STUDIES.iter().any(|s| s.name == word) {
        return format!("did you mean `assay run {word}`?");
    }
    match e.get(ContextKind::SuggestedSubcommand).map(ToString::to_string) {
        Some(meant) => format!("did you mean `assay {meant}`?"),
        None => "`assay --help` lists the verbs".to_owned(),
    }
}
