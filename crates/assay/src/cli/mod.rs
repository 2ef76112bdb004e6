//! The verbs, one a file.

mod claims;
mod compare;
mod devices;
mod explain;
mod report;
mod resume;
mod run;
mod saved;

use crate::output::Outcome;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// A laboratory for storage devices: finds out what a drive does, what is inside, what it is worth.
#[derive(Debug, Parser)]
#[command(name = "assay", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run a study (`quick`) or an experiment file
    Run(run::Options),
    /// Drive models with their sources; block devices of this machine and what may be done to them
    Devices(devices::Options),
    /// Same work, several targets or saved runs, with effect sizes
    Compare(compare::Options),
    /// The ledger: what was published beside what was measured
    Claims(claims::Options),
    /// Write the page of a run again, or print its tables
    Report(report::Options),
    /// Go on with an interrupted run
    Resume(resume::Options),
    /// The method and source behind a number, a claim or an error
    Explain(explain::Options),
}

/// What every verb takes.
#[derive(Clone, Debug, Args)]
pub struct Common {
    /// Print JSON instead of tables
    #[arg(long)]
    pub json: bool,
    /// No progress and no talk
    #[arg(long, short)]
    pub quiet: bool,
}

/// What every verb takes that runs something.
#[derive(Clone, Debug, Args)]
pub struct Running {
    /// Directory of the run [default: runs/STUDY-TIME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Allow writing to this existing device or file; repeats its path
    #[arg(long, value_name = "PATH")]
    pub write: Option<String>,
    /// Allow destroying what is on the device with this serial number
    #[arg(long, value_name = "SERIAL")]
    pub destroy: Option<String>,
    /// Create a file target that does not exist, this large
    #[arg(long, value_name = "SIZE")]
    pub size: Option<String>,
    /// Threads for modelled drives [default: all processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// Parses the command line and does what it says.
pub fn run() -> Outcome {
    match Cli::parse().verb {
        Verb::Run(options) => run::main(options),
        Verb::Devices(options) => devices::main(options),
        Verb::Compare(options) => compare::main(options),
        Verb::Claims(options) => claims::main(options),
        Verb::Report(options) => report::main(options),
        Verb::Resume(options) => resume::main(options),
        Verb::Explain(options) => explain::main(options),
    }
}
