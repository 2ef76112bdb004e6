//! `assay trace`: imports block traces, in which Linux recorded every request, and shows them.

mod import;
mod show;

use crate::output::Outcome;

/// Options of `assay trace`.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Read a trace of blktrace, or text of blkparse, into a log of its requests
    Import(import::Options),
    /// What an imported trace, or the request log of any run, shows: tables and a page
    Show(show::Options),
}

/// Runs the verb.
pub fn main(options: Options) -> Outcome {
    match options.verb {
        Verb::Import(options) => import::main(&options),
        Verb::Show(options) => show::main(&options),
    }
}
