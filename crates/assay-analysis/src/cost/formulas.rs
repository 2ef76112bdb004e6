//! The formulas, with plain numbers for their inputs.

use crate::stats::Estimate;
use assay_spec::units::Nanos;

/// Returns the price per unit of a measured rate, e.g. $/IOPS, or `None` if the rate is not above
/// 0. The ends of the interval are exchanged: the highest rate gives the lowest price.
pub fn per(amount: f64, rate: &Estimate) -> Option<Estimate> {
    if rate.value <= 0.0 {
        return None;
    }
    // If the interval of the rate reaches 0, the price has no upper end.
    let turned = |(low, high): (f64, f64)| (low > 0.0).then(|| (amount / high, amount / low));
    let interval = rate.interval.and_then(turned);
    Some(Estimate { value: amount / rate.value, interval, basis: rate.basis.clone() })
}

/// Returns `true` if `printed` can be `price` divided by a rate that was printed as `rate`. Both
/// printed numbers have two decimals.
pub fn follows(price: f64, rate: f64, printed: f64) -> bool {
    const HALF: f64 = 0.005;
    // The error of decimal fractions in floating point.
    const SLACK: f64 = 1e-9;
    let (low, high) = (price / (rate + HALF), price / (rate - HALF));
    low <= printed + HALF + SLACK && printed - HALF - SLACK <= high
}

/// The inputs of the five-minute rule for memory in front of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FiveMinutes {
    /// The number of pages in a MB, which is 10^6 or 2^20 bytes as in `memory_price`.
    pub pages_per_mb: f64,
    /// The random accesses a second of the device.
    pub iops: f64,
    /// The price of the device.
    pub device_price: f64,
    /// The price of a MB of memory.
    pub memory_price: f64,
}

impl FiveMinutes {
    /// Returns the break-even interval: a page that is accessed more often than once in this time
    /// belongs in memory. For two tiers of drives, `memory_price` is the price of a MB of the upper
    /// tier.
    pub fn break_even(&self) -> Nanos {
        let accesses = self.pages_per_mb / self.iops;
        let seconds = accesses * self.device_price / self.memory_price;
        Nanos((seconds * 1e9) as u64)
    }
}

/// The inputs of the cost of ownership of drives of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ownership {
    /// The number of drives.
    pub drives: f64,
    /// The price of one drive.
    pub price: f64,
    /// The years of use.
    pub years: f64,
    /// The power of a busy drive in watts.
    pub active_watts: f64,
    /// The power of an idle drive in watts.
    pub idle_watts: f64,
    /// The share of the time that a drive is busy, 0 to 1.
    pub busy: f64,
    /// The price of a kWh.
    pub kwh_price: f64,
    /// The energy of the building per energy of the machines, 1 or more.
    pub pue: f64,
    /// The share of slot, rack and machine, for each drive and year.
    pub slot_price: f64,
    /// The years until the workload wears out a drive; infinite if it does not wear.
    pub life_years: f64,
}

/// The thousands of hours in a year: the kWh that one watt takes in a year.
const KWH_OF_A_WATT: f64 = 8.76;

impl Ownership {
    /// Returns how often each drive is replaced because it is worn out. A drive that is worn out at
    /// the end of the last year is not replaced.
    pub fn replacements(&self) -> f64 {
        (libm::ceil(self.years / self.life_years) - 1.0).max(0.0)
    }

    /// Returns the cost of energy and slots over the years, without the drives.
    pub fn running(&self) -> f64 {
        let watts = self.busy * self.active_watts + (1.0 - self.busy) * self.idle_watts;
        let energy = watts * KWH_OF_A_WATT * self.kwh_price * self.pue;
        self.drives * self.years * (energy + self.slot_price)
    }

    /// Returns the total cost over the years.
    pub fn total(&self) -> f64 {
        self.drives * self.price * (1.0 + self.replacements()) + self.running()
    }

    /// Returns the price of one drive at which the total is `other`, or `None` if the running cost
    /// alone is higher.
    pub fn break_even_price(&self, other: f64) -> Option<f64> {
        let price = (other - self.running()) / (self.drives * (1.0 + self.replacements()));
        (price >= 0.0).then_some(price)
    }
}

/// Returns the years that a drive lasts. The drive is rated for `rated_tb` written at a write
/// amplification of `rated_wa`; the workload writes `tb_per_year` at `wa`.
pub fn life_years(rated_tb: f64, rated_wa: f64, tb_per_year: f64, wa: f64) -> f64 {
    rated_tb * (rated_wa / wa) / tb_per_year
}
