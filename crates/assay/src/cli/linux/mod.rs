//! `assay linux`: builds the kernel for virtual time, and runs commands in a guest.

mod build;
mod run;
mod shell;
mod status;

use crate::output::Outcome;

/// Options of `assay linux`.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Build the kernel, once, into the cache directory
    Build(build::Options),
    /// Whether the kernel is built and can run here
    Status(status::Options),
    /// Run a command in the guest, on modelled drives
    Run(Box<run::Options>),
    /// What the guest runs first
    #[command(hide = true)]
    Init {
        /// What the kernel adds of its own
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        _rest: Vec<String>,
    },
}

/// Runs the verb.
pub fn main(options: Options) -> Outcome {
    match options.verb {
        Verb::Build(options) => build::main(&options),
        Verb::Status(options) => status::main(&options),
        Verb::Run(options) => run::main(*options),
        Verb::Init { .. } => {
            assay_engine::guest::main();
            Ok(0)
        }
    }
}
