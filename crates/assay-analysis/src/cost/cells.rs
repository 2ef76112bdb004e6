//! What the cells of a run cost: a price for each target, and per what each cell delivers.

use super::per;
use super::quote::{Prices, Quote};
use crate::load::Run;
use crate::metric;
use crate::stats::Estimate;
use assay_spec::record::CellRecord;
use serde::Serialize;
use std::borrow::Borrow;

/// The prices of a run with what its targets cost.
#[derive(Clone, Debug)]
pub struct Costs {
    /// The prices.
    pub prices: Prices,
    /// Targets, by their names in cells, that have a price.
    targets: Vec<(String, Quote)>,
}

/// What a cell's target costs, as a whole and per what the cell delivers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellCost {
    /// In what, e.g. `USD`.
    pub currency: String,
    /// When the prices were asked.
    pub dates: Vec<String>,
    /// Who says so.
    pub source: String,
    /// Cards whose prices are not known and which are not included.
    pub not_included: Vec<String>,
    /// The price of the target.
    pub price: f64,
    /// Per 10^9 bytes.
    pub per_gb: Option<f64>,
    /// Per 10^6 bytes a second.
    pub per_mb_s: Option<Estimate>,
    /// Per request a second.
    pub per_iops: Option<Estimate>,
}

impl Costs {
    /// `None` if no target of the run has a price.
    pub fn of(run: &Run) -> Option<Costs> {
        let prices = Prices::of(run.record.prices.as_ref()?).ok()?;
        let of = |target: &&str| {
            let record = run.target(target)?;
            Some(((*target).to_owned(), prices.quote(record)?))
        };
        let targets: Vec<_> = run.targets().iter().filter_map(of).collect();
        (!targets.is_empty()).then_some(Costs { prices, targets })
    }

    /// What a target costs.
    pub fn target(&self, name: &str) -> Option<&Quote> {
        self.targets.iter().find(|(target, _)| target == name).map(|(_, quote)| quote)
    }

    /// What a cell costs.
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
        })
    }

    /// Whether any of these cells has a price.
    pub fn any<'a>(&self, mut cells: impl Iterator<Item = &'a CellRecord>) -> bool {
        cells.any(|c| self.target(&c.target).is_some())
    }

    /// What stands below every table: date, currency, and what is not in it.
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

/// What an amount leaves out.
pub(crate) fn not_included(cards: &[impl Borrow<str>]) -> String {
    format!("not included, as no price is known: {}", cards.join(", "))
}
