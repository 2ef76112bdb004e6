//! `assay cost`: prints what the targets of a run cost over years, break-even prices and the
//! five-minute rule.

use super::options::Common;
use super::pricing::Pricing;
use super::saved;
use crate::output::plan::Plan;
use crate::output::{DONE, Failure, Outcome, data, json};
use assay_analysis::cost::{Assumptions, Costs, owned};
use assay_analysis::load::Run;
use assay_analysis::text;
use assay_spec::diagnostic::closest;
use assay_spec::units::{Bytes, SIZE_EXPECTED};
use std::path::PathBuf;

/// Options of `assay cost`.
#[derive(Debug, clap::Args)]
pub struct CostOptions {
    /// The run directory [default: the latest below `runs`]
    directory: Option<PathBuf>,
    /// Only this workload
    #[arg(long, value_name = "W")]
    workload: Option<String>,
    /// Years of use
    #[arg(long, value_name = "N", default_value_t = 5.0, value_parser = years)]
    years: f64,
    /// Share of the time that drives are busy, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share)]
    busy: f64,
    /// Price of a kWh, in the currency of the prices [default: the price list's]
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    kwh_price: Option<f64>,
    /// Energy of the building divided by the energy of the machines
    #[arg(long, value_name = "F", default_value_t = 1.0, value_parser = factor)]
    pue: f64,
    /// Price of slot, rack and machine, for each drive and year
    #[arg(long, value_name = "AMOUNT", default_value_t = 0.0, value_parser = amount)]
    slot_price: f64,
    /// Data written to a target in a day, e.g. `50GB` [default: wear is left out]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    writes: Option<Bytes>,
    /// Write amplification of the work divided by the one that the makers' ratings assume
    #[arg(long, value_name = "F", default_value_t = 1.0, value_parser = wear)]
    wear: f64,
    /// Price of a GB of memory, in the currency of the prices [default: the price list's]
    #[arg(long, value_name = "AMOUNT", value_parser = positive)]
    memory_price: Option<f64>,
    /// Target that break-even prices refer to [default: the first with a price]
    #[arg(long, value_name = "TARGET")]
    against: Option<String>,
    #[command(flatten)]
    pricing: Pricing,
    #[command(flatten)]
    common: Common,
}

fn number(text: &str, low: f64, high: f64) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok().filter(|v: &f64| (low..=high).contains(v));
    number.ok_or_else(|| format!("a number from {low} to {high} is expected"))
}

fn years(text: &str) -> Result<f64, String> {
    number(text, 0.1, 100.0)
}

fn share(text: &str) -> Result<f64, String> {
    number(text, 0.0, 1.0)
}

fn amount(text: &str) -> Result<f64, String> {
    number(text, 0.0, 1e9)
}

fn positive(text: &str) -> Result<f64, String> {
    number(text, 1e-6, 1e9)
}

fn factor(text: &str) -> Result<f64, String> {
    number(text, 1.0, 10.0)
}

fn wear(text: &str) -> Result<f64, String> {
    number(text, 0.01, 1000.0)
}

fn size(text: &str) -> Result<Bytes, String> {
    let size = text.parse().ok().filter(|s: &Bytes| s.0 > 0);
    size.ok_or_else(|| format!("{SIZE_EXPECTED} is expected"))
}

/// Runs the verb.
pub fn main(options: CostOptions) -> Outcome {
    let directory = saved::or_latest(options.directory.clone())?;
    if options.common.plan {
        return Plan::reading_run(&directory).show(&options.common);
    }
    let mut run = saved::read(&directory)?;
    options.pricing.of_saved(&mut run.record)?;
    if let Some(name) = &options.workload {
        run.cells.retain(|c| c.workload == *name);
        if run.cells.is_empty() {
            let text = format!("{} has no workload `{name}`", directory.display());
            return Err(Failure::usage(text, "leave out `--workload` to see all workloads"));
        }
    }
    let costs = Costs::of(&run).ok_or_else(|| {
        Failure::usage(
            format!("no target of {} has a known price", directory.display()),
            "give one price, e.g. `--price ssd-m=300USD`, or a list: `--prices cmu08` or `--prices \
             FILE.toml`",
        )
    })?;
    let reference = reference(&options, &run, &costs)?;
    let list = costs.prices.list.as_ref();
    let supposed = Assumptions {
        years: options.years,
        busy: options.busy,
        kwh_price: options.kwh_price.or(list.and_then(|l| l.energy_per_kwh)),
        pue: options.pue,
        slot_price: options.slot_price,
        writes_per_day: options.writes.map(|b| b.0 as f64),
        wear: options.wear,
        memory_per_gb: options.memory_price.or(list.and_then(|l| l.memory_per_gb)),
    };
    let all = owned(&run, &costs, &supposed, &reference);
    if options.common.json {
        json(&all);
    } else {
        data(&text::owned(&all));
    }
    Ok(DONE)
}

/// Returns the name of the target that break-even prices are against: the one given with
/// `--against`, or the first that has a price.
///
/// # Errors
/// If the given target has no price.
fn reference(options: &CostOptions, run: &Run, costs: &Costs) -> Result<String, Failure> {
    let targets = run.targets();
    let priced: Vec<&str> = targets.into_iter().filter(|t| costs.target(t).is_some()).collect();
    let Some(name) = &options.against else {
        return Ok(priced.first().copied().unwrap_or_default().to_owned());
    };
    if priced.contains(&name.as_str()) {
        return Ok(name.clone());
    }
    let hint = match closest(name, &priced) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("name one of the targets that have a price: {}", priced.join(", ")),
    };
    Err(Failure::usage(format!("no target `{name}` has a price"), hint))
}
