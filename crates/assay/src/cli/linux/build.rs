//! `assay linux build`: builds the kernel from Debian's source into the cache directory.

use crate::cli::options::Common;
use crate::cli::signals::watch_for_interrupt;
use crate::output::plan::Plan;
use crate::output::progress::keep_moving;
use crate::output::{DONE, Failure, Outcome, data, json, talk};
use assay_linux::kernel_build::{self, Origin, Progress};
use assay_spec::Bytes;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::PathBuf;
use std::time::Instant;

/// The memory that the compilers of a build take.
const BUILD_MEMORY: Bytes = Bytes(1 << 30);
/// The disk space that the source and the objects of a build take.
const BUILD_ROOM: Bytes = Bytes(3 << 30);

/// Options of `assay linux build`.
#[derive(Debug, clap::Args)]
pub struct LinuxBuildOptions {
    /// Take the source from this file instead of fetching it with apt
    #[arg(long, value_name = "TARBALL")]
    source: Option<PathBuf>,
    /// Number of processes that compile [default: one for each processor]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    #[command(flatten)]
    common: Common,
}

/// Runs the verb.
pub fn main(options: &LinuxBuildOptions) -> Outcome {
    if options.jobs == Some(0) {
        return Err(Failure::usage("`--jobs 0` allows no compiler process", "write 1 or more"));
    }
    let origin = options.source.clone().map_or(Origin::Apt, Origin::File);
    if options.common.plan {
        let directory = assay_linux::kernel::cache();
        let directory = directory.map_err(|e| Failure::from(assay_engine::Error::from(e)))?;
        return Plan::default()
            .taking(BUILD_MEMORY)
            .writing(directory, Some(BUILD_ROOM))
            .show(&options.common);
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let begun = Instant::now();
    let mut bar = Bar { bar: ProgressBar::hidden(), quiet: options.common.quiet };
    let jobs = options.jobs.unwrap_or(processors);
    watch_for_interrupt();
    let identity = kernel_build::build(&origin, jobs, assay_engine::stop::is_interrupted, &mut bar);
    bar.bar.finish_and_clear();
    let identity = identity.map_err(|e| Failure::from(assay_engine::Error::from(e)))?;
    if options.common.json {
        json(&serde_json::json!({ "kernel": identity }));
    } else {
        data(&format!("built {identity} in {} s", begun.elapsed().as_secs()));
    }
    Ok(DONE)
}

/// The progress of a build: a bar with an ETA on a terminal, otherwise one line for each step.
struct Bar {
    bar: ProgressBar,
    quiet: bool,
}

impl Progress for Bar {
    fn step(&mut self, name: &str, parts: Option<u64>) {
        self.bar.finish_and_clear();
        if self.quiet {
            return;
        }
        self.bar = match parts {
            Some(parts) => ProgressBar::new(parts).with_style(
                ProgressStyle::with_template("{msg} {bar:24} {pos}/{len} files  {eta} left")
                    .expect("the template is right"),
            ),
            None => ProgressBar::new_spinner(),
        };
        self.bar.set_message(name.to_owned());
        keep_moving(&self.bar);
        if self.bar.is_hidden() {
            talk(name);
        }
    }

    fn done(&mut self, parts: u64) {
        self.bar.set_position(parts);
    }
}
