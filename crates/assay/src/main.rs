//! The command `assay`: a laboratory for storage devices.
//!
//! Data goes to stdout, messages and progress to stderr. Exit codes: 0 done, 1 an expectation was
//! not met, 2 bad input, 3 not allowed by the machine or for safety, 4 inconclusive, 130
//! interrupted; `docs/words.md` has them in full.

mod cli;
mod output;

use assay_engine::guest;
use std::process::ExitCode;

fn main() -> ExitCode {
    if guest::is_here() {
        guest::main();
        return ExitCode::SUCCESS;
    }
    match cli::run() {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.tell();
            ExitCode::from(failure.code)
        }
    }
}
