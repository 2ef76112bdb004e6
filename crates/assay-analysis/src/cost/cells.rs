//! The cost of the cells of a run: the price of each target, and the price per unit of each cell's
//! performance.

use super::formulas::{life_years, per};
use super::quote::{Prices, Quote};
use crate::load::Run;
use crate::metric;
use crate::program;
use crate::stats::Estimate;
use assay_spec::experiment::Better;
use assay_spec::record::{CellRecord, ProgramMetric};
use serde::Serialize;
use std::borrow::Borrow;

/// The prices of a run and of its targets.
#[derive(Clone, Debug)]
pub struct Costs {
    /// The prices of the run.
    pub prices: Prices,
    /// The targets that have a price, by their names in cells.
    targets: Vec<(String, Quote)>,
}

/// The price of a cell's target: the whole, and per unit of the cell's performance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellCost {
    /// The currency, e.g. `USD`.
    pub currency: String,
    /// The dates of the prices.
    pub dates: Vec<String>,
    /// The sources of the prices.
    pub source: String,
    /// The cards that are not included because their prices are not known.
    pub not_included: Vec<String>,
    /// The price of the target.
    pub price: f64,
    /// The price per 10^9 bytes.
    pub per_gb: Option<f64>,
    /// The price per 10^6 bytes a second.
    pub per_mb_s: Option<Estimate>,
    /// The price per request a second.
    pub per_iops: Option<Estimate>,
    /// The price per unit of the first number that a program printed, if more of it is better.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_printed: Option<Estimate>,
    /// The years until a program wears out its only drive, if it runs all the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub life_years: Option<f64>,
}

impl Costs {
    /// Returns the costs of a run, or `None` if no target of the run has a price.
    pub fn of(run: &Run) -> Option<Costs> {
        let prices = Prices::of(run.record.prices.as_ref()?).ok()?;
        let of = |target: &&str| {
            let record = run.target(target)?;
            Some(((*target).to_owned(), prices.quote(record)?))
        };
        let targets: Vec<_> = run.targets().iter().filter_map(of).collect();
        (!targets.is_empty()).then_some(Costs { prices, targets })
    }

    /// Returns the price of a target, or `None` if it has none.
    pub fn target(&self, name: &str) -> Option<&Quote> {
        self.targets.iter().find(|(target, _)| target == name).map(|(_, quote)| quote)
    }

    /// Returns the cost of a cell, or `None` if its target has no price.
    pub fn cell(&self, cell: &CellRecord) -> Option<CellCost> {
        let quote = self.target(&cell.target)?;
        let rate = |name: &str, unit: f64| {
            per(quote.amount, &metric::estimate(cell, name).ok()?.scaled(1.0 / unit))
        };
        Some(CellCost {
            currency: self.prices.currency.clone(),
            dates: self.prices.dates().into_iter().map(Into::into).collect(),
            source: self.prices.sources(),
            not_included: quote.left_out.clone(),
            price: quote.amount,
            per_gb: quote.per_gb(),
            per_mb_s: rate("bandwidth", 1e6),
            per_iops: rate("iops", 1.0),
            per_printed: priced_metric(cell).and_then(|printed| rate(&printed.name, 1.0)),
            life_years: life_of_drive(quote, cell),
        })
    }

    /// Returns `true` if at least one of `cells` has a price.
    pub fn any<'a>(&self, mut cells: impl Iterator<Item = &'a CellRecord>) -> bool {
        cells.any(|c| self.target(&c.target).is_some())
    }

    /// Returns the note below every table: dates, currency, and the cards that are not included.
    pub fn below(&self) -> String {
        let mut out: Vec<String> = vec![self.prices.dated()];
        let mut cards: Vec<&str> =
            self.targets.iter().flat_map(|(_, q)| &q.left_out).map(String::as_str).collect();
        cards.sort_unstable();
        cards.dedup();
        if !cards.is_empty() {
            out.push(not_included(&cards));
        }
        out.join("; ")
    }
}

/// Returns the first number that a program printed, if more of it is better.
pub(crate) fn priced_metric(cell: &CellRecord) -> Option<&ProgramMetric> {
    program::metrics(cell).first().filter(|printed| printed.better == Better::Higher)
}

/// Returns the years until the program of a cell wears out the target, if that is one drive and the
/// list has its endurance.
fn life_of_drive(quote: &Quote, cell: &CellRecord) -> Option<f64> {
    const TB: f64 = 1e12;
    let endurance = quote.endurance.filter(|_| quote.drives == 1)?;
    let written = program::written_a_second(cell).filter(|written| *written > 0.0)?;
    Some(life_years(endurance / TB, 1.0, written * SECONDS_OF_A_YEAR / TB, 1.0))
}

/// The seconds of a year of 365 days.
const SECONDS_OF_A_YEAR: f64 = 365.0 * 86_400.0;

/// Returns the note that names the cards an amount does not include.
pub(crate) fn not_included(cards: &[impl Borrow<str>]) -> String {
    format!("not included, because their prices are not known: {}", cards.join(", "))
}
