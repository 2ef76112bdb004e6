//! `assay trace import`: turns traced events of the block layer into a log of requests.

use crate::cli::options::Common;
use crate::cli::run::Place;
use crate::cli::signals::watch_for_interrupt;
use crate::output::plan::Plan;
use crate::output::{DONE, Failure, Outcome, data, json, shown, talk};
use assay_analysis::text::Table;
use assay_engine::machine::utc_now;
use assay_engine::trace::{Import, import};
use assay_spec::Bytes;
use assay_spec::trace::{BLOCK, Device, TraceRecord};
use assay_spec::units::human_size;
use std::path::PathBuf;

/// The memory that an import takes, for chunks of its log and requests that have not ended yet.
const MEMORY: Bytes = Bytes(128 << 20);

/// Options of `assay trace import`.
#[derive(Debug, clap::Args)]
pub struct TraceImportOptions {
    /// Files of blktrace or blkparse; NAME stands for NAME.blktrace.0 and so on, `-` for the
    /// standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// Import the requests of this device, written as in blkparse, e.g. `8,0`
    #[arg(long, value_name = "MAJOR,MINOR")]
    device: Option<String>,
    /// Directory to create [default: runs/trace-TIME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

/// Runs the verb.
pub fn main(options: &TraceImportOptions) -> Outcome {
    let device = options.device.as_deref().map(device).transpose()?;
    watch_for_interrupt();
    let place = Place::new(options.out.clone(), "trace", &utc_now());
    if options.common.plan {
        // The log is at most as large as the files that it is made from.
        // Of the standard input and of a NAME.blktrace.* it is not known.
        let length = |name: &String| std::fs::metadata(name).ok().map(|found| found.len());
        let read = options.files.iter().map(length).sum::<Option<u64>>().map(Bytes);
        return Plan::default().taking(MEMORY).writing(place.path(), read).show(&options.common);
    }
    let command = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let asked = Import { names: &options.files, device, command };
    let (record, directory) = place.create(|path| Ok((import(&asked, path)?, path.to_owned())))?;
    if options.common.json {
        json(&serde_json::json!({ "directory": shown(&directory), "trace": record }));
    } else {
        data(&table(&record));
    }
    if !options.common.quiet {
        for left in &record.unpaired {
            talk(&format!("{}: {} ({})", left.what, left.count, left.why));
        }
        let directory = directory.display();
        talk(&format!("trace: {directory}; `assay trace show {directory}` shows its requests"));
    }
    Ok(DONE)
}

fn device(text: &str) -> Result<Device, Failure> {
    text.parse().map_err(|()| {
        let hint = "write the major and minor number, e.g. `--device 8,0`; `lsblk` shows them";
        Failure::usage(format!("`{text}` is not a device"), hint)
    })
}

/// Returns the table of a trace's requests by direction.
fn table(record: &TraceRecord) -> String {
    let mut table = Table::new(&["direction", "requests", "blocks", "bytes", "errors"], &[0]);
    for of in &record.requests {
        table.row(vec![
            of.op.name().to_owned(),
            of.requests.to_string(),
            (of.bytes.0 / BLOCK.0).to_string(),
            human_size(of.bytes),
            of.errors.to_string(),
        ]);
    }
    let seconds = record.length_ns as f64 / 1e9;
    format!("{} over {seconds:.3} s\n{}", record.device, table.lines().join("\n"))
}
