//! What a drive is worth: price per what it gives, what it costs over years, and how long a page
//! must lie unused before it belongs on it.
//!
//! Money is a plain number in the currency of a price list; amounts of two lists are never mixed.
//! Prices are taken as exact, so an interval is that of the measurement. After Polte, Simsa and
//! Gibson 2008 (price per throughput), Gray and Putzolu 1987, Gray and Graefe 1997 and Graefe 2007
//! (five-minute rule).

mod cells;
mod owned;
mod quote;
#[cfg(test)]
mod tests;

pub(crate) use cells::not_included;
pub use cells::{CellCost, Costs};
pub use owned::{Owned, OwnedCell, OwnedTarget, Supposed, owned};
pub use quote::{Prices, PricesError, Quote};

use crate::stats::Estimate;
use assay_spec::units::Nanos;

/// Price per unit of a measured rate, e.g. $/IOPS; the ends of the interval change places. `None`
/// if nothing was measured.
pub fn per(amount: f64, rate: &Estimate) -> Option<Estimate> {
    if rate.value <= 0.0 {
        return None;
    }
    // A rate whose interval reaches down to nothing has no upper end for its price.
    let turned = |(low, high): (f64, f64)| (low > 0.0).then(|| (amount / high, amount / low));
    let interval = rate.interval.and_then(turned);
    Some(Estimate { value: amount / rate.value, interval, basis: rate.basis.clone() })
}

/// True if `printed`, to two decimals, can be `price` over a rate that was printed to two decimals
/// as `rate`.
pub fn follows(price: f64, rate: f64, printed: f64) -> bool {
    const HALF: f64 = 0.005;
    // What decimals cannot say exactly.
    const SLACK: f64 = 1e-9;
    let (low, high) = (price / (rate + HALF), price / (rate - HALF));
    low <= printed + HALF + SLACK && printed - HALF - SLACK <= high
}

/// Inputs of the five-minute rule, for a memory in front of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FiveMinutes {
    /// Pages in 10^6 or 2^20 bytes, whichever `memory_price` is of.
    pub pages_per_mb: f64,
    /// Random accesses a second that the device gives.
    pub iops: f64,
    /// Price of the device.
    pub device_price: f64,
    /// Price of a MB of memory.
    pub memory_price: f64,
}

impl FiveMinutes {
    /// A page that is asked for more often than once in this time belongs into memory. The same
    /// formula serves two tiers of drives: the price of a MB of the upper one as `memory_price`.
    pub fn break_even(&self) -> Nanos {
        let accesses = self.pages_per_mb / self.iops;
        let seconds = accesses * self.device_price / self.memory_price;
        Nanos((seconds * 1e9) as u64)
    }
}

/// Inputs of the cost of ownership of some drives of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ownership {
    /// Drives.
    pub drives: f64,
    /// Price of one.
    pub price: f64,
    /// Years of use.
    pub years: f64,
    /// Power of a busy drive.
    pub active_watts: f64,
    /// Power of an idle drive.
    pub idle_watts: f64,
    /// Share of the time that a drive is busy, 0 to 1.
    pub busy: f64,
    /// Price of a kWh.
    pub kwh_price: f64,
    /// Energy of the building per energy of the machines, 1 or more.
    pub pue: f64,
    /// Share of slot, rack and machine, for each drive and year.
    pub slot_price: f64,
    /// Years until a drive is worn out by this work; infinite if it does not wear.
    pub life_years: f64,
}

/// Hours of a year, in thousands: kWh of a watt over a year.
const KWH_OF_A_WATT: f64 = 8.76;

impl Ownership {
    /// Times that each drive is replaced because it is worn out: not at the end of the last year.
    pub fn replacements(&self) -> f64 {
        (libm::ceil(self.years / self.life_years) - 1.0).max(0.0)
    }

    /// Everything but the drives: energy and room.
    pub fn running(&self) -> f64 {
        let watts = self.busy * self.active_watts + (1.0 - self.busy) * self.idle_watts;
        let energy = watts * KWH_OF_A_WATT * self.kwh_price * self.pue;
        self.drives * self.years * (energy + self.slot_price)
    }

    /// The whole, over the years.
    pub fn total(&self) -> f64 {
        self.drives * self.price * (1.0 + self.replacements()) + self.running()
    }

    /// The price of one drive at which the whole is `other`; `None` if running alone costs more.
    pub fn break_even_price(&self, other: f64) -> Option<f64> {
        let price = (other - self.running()) / (self.drives * (1.0 + self.replacements()));
        (price >= 0.0).then_some(price)
    }
}

/// Years that a drive lasts: rated for `rated_tb` written at write amplification `rated_wa`, while
/// the work writes `tb_per_year` at `wa`.
pub fn life_years(rated_tb: f64, rated_wa: f64, tb_per_year: f64, wa: f64) -> f64 {
    rated_tb * (rated_wa / wa) / tb_per_year
}
