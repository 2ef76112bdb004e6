//! Draws what the test `disk_replay` measures: for each of DiskSim's disks, the distribution of the
//! service times that were measured and that of the modelled disk for the same requests.
//!
//!     cargo run --release -p assay-sim --example replay -- DATA OUT
//!
//! DATA has the directory `disksim` with the disks' files and traces; OUT gets `DISK.svg`.

#![allow(clippy::print_stdout)]

#[path = "../tests/disk_data/mod.rs"]
mod disk_data;
#[path = "../tests/replay/mod.rs"]
mod replay;

use assay_analysis::report::picture::{Sample, distributions};
use disk_data::{Paths, read};
use replay::{DISKS, Score};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [data, out] = arguments.as_slice() else {
        eprintln!("usage: replay DATA OUT");
        return ExitCode::from(2);
    };
    for (disk, published_us) in DISKS {
        if let Err(message) = draw(disk, published_us, Path::new(data), Path::new(out)) {
            eprintln!("{disk}: {message}");
            return ExitCode::from(3);
        }
    }
    ExitCode::SUCCESS
}

/// Replays the trace of `disk` and draws both distributions.
fn draw(disk: &str, published_us: u32, data: &Path, out: &Path) -> Result<(), String> {
    let paths = Paths::within(data, disk);
    let missing = || format!("no trace at {}", paths.trace.display());
    let trace = replay::parse(&read(&paths.trace).ok_or_else(missing)?);
    let measured: Vec<f64> = trace.iter().map(|line| line.measured_ms).collect();
    let modelled = replay::replay(&paths, &trace);
    let Score { theirs, median_error, rank_correlation, .. } = Score::of(&measured, &modelled);
    let published = f64::from(published_us) / 1e3;
    let notes = [
        format!(
            "Demerit {theirs:.3} ms (DiskSim's: {published:.3}), median error of a request \
             {median_error:.3} ms, rank correlation {rank_correlation:.3}"
        ),
        format!(
            "{} requests of a real trace, with the trace's gaps between them; no parameter was \
             fitted to it",
            trace.len()
        ),
    ];
    let sample = |name: &str, ms: &[f64]| Sample {
        name: name.to_owned(),
        values: ms.iter().map(|ms| ms * 1e6).collect(),
    };
    let samples = [sample("measured", &measured), sample("modelled", &modelled)];
    let file = out.join(format!("{}.svg", paths.name));
    let title = format!("{}: service times, measured and modelled", paths.name);
    std::fs::write(&file, distributions(&title, &notes, &samples)).map_err(|e| e.to_string())?;
    println!("{}: {}", file.display(), notes[0]);
    Ok(())
}
