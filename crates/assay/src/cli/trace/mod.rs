//! `assay trace`: imports block traces, in which Linux recorded every request, and shows them.

mod import;
mod show;

use crate::output::Outcome;

/// Options of `assay trace`.
#[derive(Debug, clap::Args)]
pub struct TraceOptions {
    #[command(subcommand)]
    verb: TraceVerb,
}

#[derive(Debug, clap::Subcommand)]
enum TraceVerb {
    /// Convert a trace of blktrace, or text of blkparse, into a log of its requests
    Import(import::TraceImportOptions),
    /// Show an imported trace, or the request log of any run: tables and a page
    Show(show::TraceShowOptions),
}

/// Runs the verb.
pub fn main(options: TraceOptions) -> Outcome {
    match options.verb {
        TraceVerb::Import(options) => import::main(&options),
        TraceVerb::Show(options) => show::main(&options),
    }
}
