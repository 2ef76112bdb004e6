//! `assay linux`: builds the kernel for virtual time, and runs commands in a guest.

mod build;
mod run;
mod shell;
mod status;

use crate::output::Outcome;

/// Options of `assay linux`.
#[derive(Debug, clap::Args)]
pub struct LinuxOptions {
    #[command(subcommand)]
    verb: LinuxVerb,
}

#[derive(Debug, clap::Subcommand)]
enum LinuxVerb {
    /// Build the kernel, once, into the cache directory
    Build(build::LinuxBuildOptions),
    /// Show whether the kernel is built and can run here
    Status(status::LinuxStatusOptions),
    /// Run a command in the guest, on modelled drives
    Run(Box<run::LinuxRunOptions>),
}

/// Runs the verb.
pub fn main(options: LinuxOptions) -> Outcome {
    match options.verb {
        LinuxVerb::Build(options) => build::main(&options),
        LinuxVerb::Status(options) => status::main(&options),
        LinuxVerb::Run(options) => run::main(*options),
    }
}
