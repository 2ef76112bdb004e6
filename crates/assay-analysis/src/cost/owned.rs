//! The cost of ownership of the targets of a run, the price at which each breaks even with a
//! reference, and the pages that belong in memory in front of it.

use super::cells::Costs;
use super::formulas::{FiveMinutes, Ownership, life_years};
use crate::load::Run;
use crate::metric;
use assay_spec::Op;
use assay_spec::record::CellRecord;
use serde::Serialize;

/// The assumptions for the cost of ownership.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Assumptions {
    /// The years of use.
    pub years: f64,
    /// The share of the time that a drive is busy, 0 to 1.
    pub busy: f64,
    /// The price of a kWh; `None` leaves energy out.
    pub kwh_price: Option<f64>,
    /// The energy of the building per energy of the machines.
    pub pue: f64,
    /// The share of slot, rack and machine, for each drive and year.
    pub slot_price: f64,
    /// The bytes written to a target in a day; `None` leaves wear out.
    pub writes_per_day: Option<f64>,
    /// The write amplification of the workload over that of the makers' ratings.
    pub wear: f64,
    /// The price of 10^9 bytes of memory; `None` leaves the five-minute rule out.
    pub memory_per_gb: Option<f64>,
}

/// The cost of ownership of a target. A field that is `None` is not known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OwnedTarget {
    /// The name of the target.
    pub target: String,
    /// The price of the target.
    pub price: f64,
    /// The number of drives in the target.
    pub drives: usize,
    /// The years until the drives are worn out; `None` also if wear is left out.
    pub life_years: Option<f64>,
    /// How often the drives are replaced; `None` also if wear is left out.
    pub replacements: Option<f64>,
    /// The cost of energy and slots over the years.
    pub running: Option<f64>,
    /// The total cost over the years.
    pub total: Option<f64>,
    /// The names of the properties in the price list that are missing.
    pub unknown: Vec<&'static str>,
    /// The cards that are not included because their prices are not known.
    pub not_included: Vec<String>,
}

/// The cost of ownership as it concerns a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OwnedCell {
    /// The name of the experiment.
    pub experiment: String,
    /// The name of the workload.
    pub workload: String,
    /// The name of the target.
    pub target: String,
    /// The total cost over the years per request a second.
    pub total_per_iops: Option<f64>,
    /// The price of the target at which a MB/s of it costs over the years as much as a MB/s of the
    /// reference.
    pub break_even_price: Option<f64>,
    /// For random reads, the break-even interval in seconds: pages that are accessed more often
    /// than once in this time belong in memory.
    pub five_minutes_s: Option<f64>,
    /// The page of `five_minutes_s`: the mean size of a read in bytes.
    pub page: Option<f64>,
}

/// The answer of `assay cost`.
#[derive(Clone, Debug, Serialize)]
pub struct Owned {
    /// The currency, e.g. `USD`.
    pub currency: String,
    /// The dates of the prices.
    pub dates: Vec<String>,
    /// The sources of the prices.
    pub source: String,
    /// The assumptions.
    pub supposed: Assumptions,
    /// The name of the target that break-even prices refer to.
    pub reference: String,
    /// The targets with a price.
    pub targets: Vec<OwnedTarget>,
    /// The cells of the targets with a price.
    pub cells: Vec<OwnedCell>,
}

/// The days of a year.
const DAYS: f64 = 365.0;

/// Returns the cost of ownership of all targets with a price and of their cells. Break-even prices
/// refer to the target `reference`.
pub fn owned(run: &Run, costs: &Costs, supposed: &Assumptions, reference: &str) -> Owned {
    let priced: Vec<&str> =
        run.targets().into_iter().filter(|t| costs.target(t).is_some()).collect();
    let targets = priced.iter().filter_map(|t| target(costs, supposed, t)).collect();
    let cells = run.cells.iter().filter(|c| priced.contains(&c.target.as_str()));
    let cells = cells.filter_map(|c| cell(run, costs, supposed, reference, c)).collect();
    Owned {
        currency: costs.prices.currency.clone(),
        dates: costs.prices.dates().into_iter().map(Into::into).collect(),
        source: costs.prices.sources(),
        supposed: *supposed,
        reference: reference.to_owned(),
        targets,
        cells,
    }
}

fn target(costs: &Costs, supposed: &Assumptions, name: &str) -> Option<OwnedTarget> {
    let quote = costs.target(name)?;
    let ownership = ownership(costs, supposed, name);
    let mut unknown = Vec::new();
    if supposed.kwh_price.is_some() && quote.watts.is_none() {
        unknown.push("watts");
    }
    if supposed.kwh_price.is_some() && supposed.busy < 1.0 && quote.idle_watts.is_none() {
        unknown.push("idle_watts");
    }
    if supposed.writes_per_day.is_some() && quote.endurance.is_none() {
        unknown.push("endurance");
    }
    let life = ownership.map(|o| o.life_years).filter(|life| life.is_finite());
    Some(OwnedTarget {
        target: name.to_owned(),
        price: quote.amount,
        drives: quote.drives,
        life_years: life,
        replacements: ownership.filter(|o| o.life_years.is_finite()).map(|o| o.replacements()),
        running: ownership.map(|o| o.running()),
        total: ownership.map(|o| o.total()),
        unknown,
        not_included: quote.left_out.clone(),
    })
}

/// Returns the target as equal drives at the mean price of one, or `None` if a value that is needed
/// is not known.
fn ownership(costs: &Costs, supposed: &Assumptions, name: &str) -> Option<Ownership> {
    let quote = costs.target(name)?;
    let drives = quote.drives as f64;
    let (active, idle) = match supposed.kwh_price {
        None => (0.0, 0.0),
        Some(_) if supposed.busy < 1.0 => (quote.watts?, quote.idle_watts?),
        Some(_) => (quote.watts?, 0.0),
    };
    let life_years = match supposed.writes_per_day {
        None => f64::INFINITY,
        Some(bytes) => {
            let per_year = bytes * DAYS * 1e-12;
            life_years(quote.endurance? * 1e-12, 1.0, per_year, supposed.wear)
        }
    };
    Some(Ownership {
        drives,
        price: quote.amount / drives,
        years: supposed.years,
        active_watts: active / drives,
        idle_watts: idle / drives,
        busy: supposed.busy,
        kwh_price: supposed.kwh_price.unwrap_or(0.0),
        pue: supposed.pue,
        slot_price: supposed.slot_price,
        life_years,
    })
}

fn cell(
    run: &Run,
    costs: &Costs,
    supposed: &Assumptions,
    reference: &str,
    cell: &CellRecord,
) -> Option<OwnedCell> {
    let rate = |c: &CellRecord, name: &str| {
        metric::estimate(c, name).ok().map(|e| e.value).filter(|v| *v > 0.0)
    };
    let (bandwidth, iops) = (rate(cell, "bandwidth")?, rate(cell, "iops")?);
    let own = ownership(costs, supposed, &cell.target);
    let even = || {
        let base = run.cell_meant(Some(&cell.experiment), &cell.workload, reference)?;
        let share = bandwidth / rate(base, "bandwidth")?;
        let theirs = ownership(costs, supposed, reference)?.total();
        // From the price of one drive to that of the target.
        own?.break_even_price(theirs * share).map(|price| price * own.map_or(1.0, |o| o.drives))
    };
    let page = bandwidth / iops;
    let minutes = || {
        let rule = FiveMinutes {
            pages_per_mb: 1e6 / page,
            iops,
            device_price: costs.target(&cell.target)?.amount,
            memory_price: supposed.memory_per_gb? * 1e-3,
        };
        Some(rule.break_even().0 as f64 * 1e-9)
    };
    let minutes = is_random_read(cell).then(minutes).flatten();
    Some(OwnedCell {
        experiment: cell.experiment.clone(),
        workload: cell.workload.clone(),
        target: cell.target.clone(),
        total_per_iops: own.map(|o| o.total() / iops),
        break_even_price: even().filter(|_| cell.target != reference),
        five_minutes_s: minutes,
        page: minutes.map(|_| page),
    })
}

/// Returns `true` if a cell has only random reads: those that memory in front of the drive would
/// save.
fn is_random_read(cell: &CellRecord) -> bool {
    let mut ops = cell.repeats.iter().flat_map(|r| &r.ops);
    ops.all(|o| o.op == Op::Read) && cell.summary.starts_with("random read")
}
