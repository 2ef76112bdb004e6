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
    /// What the guest runs first
    #[command(hide = true)]
    Init {
        /// What the kernel adds of its own
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        _rest: Vec<String>,
    },
}

impl LinuxOptions {
    /// Returns `true` if this program runs in a guest. There are no limits, and `/proc` is still
    /// the host's.
    pub fn is_in_guest(&self) -> bool {
        matches!(self.verb, LinuxVerb::Init { .. })
    }
}

/// Runs the verb.
pub fn main(options: LinuxOptions) -> Outcome {
    match options.verb {
        LinuxVerb::Build(options) => build::main(&options),
        LinuxVerb::Status(options) => status::main(&options),
        LinuxVerb::Run(options) => run::main(*options),
        LinuxVerb::Init { .. } => {
            assay_engine::guest::main();
            Ok(0)
        }
    }
}
