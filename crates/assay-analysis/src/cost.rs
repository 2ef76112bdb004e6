//! Formulas for the value of a drive: price per unit of performance, cost of ownership over years,
//! and how long a page must lie unused before it belongs on the drive.
//!
//! Money is a plain number in the currency of a price list; amounts of two lists are never mixed.
//! Prices are taken as exact, so that an interval is that of the measurement. Sources: Polte, Simsa
//! and Gibson 2008 (price per throughput); Gray and Putzolu 1987, Gray and Graefe 1997 and Graefe
//! 2007 (five-minute rule).

mod cells;
mod formulas;
mod owned;
pub(crate) mod quote;

#[cfg(test)]
mod tests;

pub use cells::{CellCost, Costs};
pub(crate) use cells::{not_included, priced_metric};
pub use formulas::{FiveMinutes, Ownership, follows, life_years, per};
pub use owned::{Assumptions, Owned, OwnedCell, OwnedTarget, owned};
pub use quote::{Prices, PricesError, Quote};
