//! What a drive is worth: price per what it gives, what it costs over years, and how long a page
//! must lie unused before it belongs on it.
//!
//! Money is a plain number in the currency of a price list; amounts of two lists are never mixed.
//! Prices are taken as exact, so an interval is that of the measurement. After Polte, Simsa and
//! Gibson 2008 (price per throughput), Gray and Putzolu 1987, Gray and Graefe 1997 and Graefe 2007
//! (five-minute rule).

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Basis;

    fn minutes(pages_per_mb: f64, iops: f64, device_price: f64, memory_price: f64) -> f64 {
        let rule = FiveMinutes { pages_per_mb, iops, device_price, memory_price };
        rule.break_even().0 as f64 / 60e9
    }

    fn near(got: f64, expected: f64) {
        assert!((got - expected).abs() < 1e-9 * expected.abs().max(1.0), "{got} for {expected}");
    }

    #[test]
    fn the_rule_gives_its_authors_numbers() {
        // 1987: pages of 1 KB, 15 accesses a second for 15,000 dollars, 5,000 a MB: 205 s.
        assert!((minutes(1024.0, 15.0, 15_000.0, 5_000.0) * 60.0 - 204.8).abs() < 1e-6);
        // 1997: pages of 8 KB, 64 accesses a second, 2,000 dollars, 15 a MB: 266 s.
        assert!((minutes(128.0, 64.0, 2_000.0, 15.0) * 60.0 - 266.7).abs() < 0.1);
        // 2007: pages of 4 KB; a flash drive in 15 minutes, a disk in an hour and a half.
        assert!((minutes(256.0, 6_200.0, 999.0, 0.047) - 15.0).abs() < 0.5);
        assert!((minutes(256.0, 83.0, 80.0, 0.047) - 90.0).abs() < 3.0);
    }

    #[test]
    fn a_price_per_rate_turns_the_interval_round() {
        let rate = Estimate { value: 50.0, interval: Some((40.0, 80.0)), basis: Basis::Repeats(3) };
        let price = per(400.0, &rate).expect("a rate");
        assert_eq!((price.value, price.interval), (8.0, Some((5.0, 10.0))));
        let wide = Estimate { interval: Some((-1.0, 80.0)), ..rate.clone() };
        assert_eq!(per(400.0, &wide).expect("a rate").interval, None);
        assert_eq!(per(400.0, &Estimate { value: 0.0, ..rate }), None);
    }

    #[test]
    fn ownership_adds_drives_energy_and_room() {
        let five_years = Ownership {
            drives: 2.0,
            price: 300.0,
            years: 5.0,
            active_watts: 10.0,
            idle_watts: 5.0,
            busy: 0.2,
            kwh_price: 0.25,
            pue: 1.5,
            slot_price: 20.0,
            life_years: f64::INFINITY,
        };
        // 6 W x 8.76 kWh x 0.25 x 1.5 = 19.71 a year and drive, and 20 for the slot.
        near(five_years.running(), 2.0 * 5.0 * 39.71);
        near(five_years.total(), 600.0 + 397.1);
        near(five_years.break_even_price(five_years.total()).expect("a price"), 300.0);
        assert_eq!(five_years.break_even_price(397.0), None);
        // Worn out after two and a half years: one more each, and none at the end of the fifth.
        let wearing = |life_years| Ownership { life_years, ..five_years }.replacements();
        assert_eq!([5.0, 4.9, 2.5, 2.4].map(wearing), [0.0, 1.0, 1.0, 2.0]);
    }

    #[test]
    fn wear_follows_write_amplification() {
        near(life_years(600.0, 1.0, 60.0, 2.5), 4.0);
        near(life_years(600.0, 3.0, 60.0, 1.5), 20.0);
    }
}
