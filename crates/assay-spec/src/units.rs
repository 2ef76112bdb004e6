//! Units in types: time in integer nanoseconds, sizes in bytes, and the way users write them.
//!
//! `KiB`, `MiB`, `GiB`, `TiB`, `PiB` are binary; `kB`, `MB`, `GB`, `TB`, `PB` are decimal. Times
//! are written with `ns`, `us` (or `µs`), `ms`, `s`, `m` (or `min`), `h`. A number without a unit
//! is refused, except 0: `4096` could be anything, `4KiB` could not.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// A time or a duration, in nanoseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

/// An amount of data or a byte address, in bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A rate of data, in bytes a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(pub u64);

impl Nanos {
    /// The start of time, or an empty duration.
    pub const ZERO: Nanos = Nanos(0);
    /// A time later than all others, which stands for "never".
    pub const NEVER: Nanos = Nanos(u64::MAX);

    /// Makes a duration of whole microseconds.
    pub const fn from_micros(us: u64) -> Nanos {
        Nanos(us * 1_000)
    }
    /// Makes a duration of whole milliseconds.
    pub const fn from_millis(ms: u64) -> Nanos {
        Nanos(ms * 1_000_000)
    }
    /// Makes a duration of whole seconds.
    pub const fn from_secs(s: u64) -> Nanos {
        Nanos(s * 1_000_000_000)
    }
    /// Returns the duration in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Returns the difference, or zero if it would be negative.
    pub fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Bytes = Bytes(0);
    /// 1 KiB.
    pub const KIB: Bytes = Bytes(1 << 10);
    /// 1 MiB.
    pub const MIB: Bytes = Bytes(1 << 20);
    /// 1 GiB.
    pub const GIB: Bytes = Bytes(1 << 30);

    /// Returns the time to transfer this amount at `rate`, rounded up.
    pub fn time_at(self, rate: Rate) -> Nanos {
        assert!(rate.0 > 0, "a rate of zero moves nothing");
        Nanos((u128::from(self.0) * 1_000_000_000).div_ceil(u128::from(rate.0)) as u64)
    }
    /// Returns `true` if this is a whole multiple of `unit`.
    pub fn is_multiple_of(self, unit: Bytes) -> bool {
        unit.0 > 0 && self.0.is_multiple_of(unit.0)
    }
}

macro_rules! arithmetic {
    ($t:ident) => {
        impl Add for $t {
            type Output = $t;
            fn add(self, other: $t) -> $t {
                $t(self.0 + other.0)
            }
        }
        impl Sub for $t {
            type Output = $t;
            fn sub(self, other: $t) -> $t {
                $t(self.0 - other.0)
            }
        }
        impl AddAssign for $t {
            fn add_assign(&mut self, other: $t) {
                self.0 += other.0;
            }
        }
        impl Mul<u64> for $t {
            type Output = $t;
            fn mul(self, k: u64) -> $t {
                $t(self.0 * k)
            }
        }
        impl Div<u64> for $t {
            type Output = $t;
            fn div(self, k: u64) -> $t {
                $t(self.0 / k)
            }
        }
    };
}
arithmetic!(Nanos);
arithmetic!(Bytes);

/// The reason why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuantityError {
    /// No number at the start, or a number that is not finite and non-negative.
    Number,
    /// A number without a unit.
    NoUnit,
    /// A unit that does not exist. Holds the text of the unit.
    Unit(String),
    /// A quantity above the largest value (2⁶³ − 1).
    TooLarge,
}

const SIZE_UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("kB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("TB", 1_000_000_000_000),
    ("TiB", 1 << 40),
    ("PB", 1_000_000_000_000_000),
    ("PiB", 1 << 50),
];
const TIME_UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Examples of sizes, for messages.
pub const SIZE_EXPECTED: &str = "a size such as `4KiB`, `256KiB`, `30GB` or `1GiB`";
/// Examples of times, for messages.
pub const TIME_EXPECTED: &str = "a time such as `250us`, `10ms`, `30s` or `5m`";

fn parse_quantity(text: &str, units: &[(&str, u64)]) -> Result<u64, QuantityError> {
    let text = text.trim();
    let split =
        text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = (text[..split].replace('_', ""), text[split..].trim());
    if number.is_empty() {
        return Err(QuantityError::Number);
    }
    if unit.is_empty() && number.parse::<f64>() != Ok(0.0) {
        return Err(if number.parse::<f64>().is_ok() {
            QuantityError::NoUnit
        } else {
            QuantityError::Number
        });
    }
    let factor = match units.iter().find(|(name, _)| *name == unit) {
        Some((_, factor)) => *factor,
        None if unit.is_empty() => 1,
        None => return Err(QuantityError::Unit(unit.to_owned())),
    };
    // Integers are exact. Only fractions use floating point.
    let value = match number.parse::<u64>() {
        Ok(n) => u128::from(n) * u128::from(factor),
        Err(_) => {
            let n: f64 = number.parse().map_err(|_| QuantityError::Number)?;
            let scaled = n * factor as f64;
            if scaled >= 9.3e18 {
                return Err(QuantityError::TooLarge);
            }
            scaled.round() as u128
        }
    };
    if value > i64::MAX as u128 { Err(QuantityError::TooLarge) } else { Ok(value as u64) }
}

impl std::str::FromStr for Bytes {
    type Err = QuantityError;
    fn from_str(s: &str) -> Result<Bytes, QuantityError> {
        parse_quantity(s, SIZE_UNITS).map(Bytes)
    }
}

impl std::str::FromStr for Nanos {
    type Err = QuantityError;
    fn from_str(s: &str) -> Result<Nanos, QuantityError> {
        parse_quantity(s, TIME_UNITS).map(Nanos)
    }
}

/// Formats `value` in the largest unit of `units` that divides it, so that printing loses nothing.
fn exact(value: u64, units: &[(&str, u64)]) -> String {
    let unit = units.iter().rev().find(|(_, f)| value >= *f && value.is_multiple_of(*f));
    match unit {
        Some((name, f)) => format!("{}{}", value / f, name),
        None => format!("{value}{}", units[0].0),
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", Bytes(self.0))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const BINARY: &[(&str, u64)] =
            &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];
        const DECIMAL: &[(&str, u64)] = &[
            ("B", 1),
            ("kB", 1_000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
            ("TB", 1_000_000_000_000),
        ];
        // Both read back as the same value. Users write the shorter one: 30GB, not 29296875KiB.
        let (binary, decimal) = (exact(self.0, BINARY), exact(self.0, DECIMAL));
        f.pad(if decimal.len() < binary.len() { &decimal } else { &binary })
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: &[(&str, u64)] =
            &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
        f.pad(&exact(self.0, UNITS))
    }
}

/// A power, in microwatts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Microwatts(pub u64);

/// An energy, in picojoules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Picojoules(pub u64);

impl Microwatts {
    /// Examples of powers, for messages.
    pub const EXPECTED: &str = "a power such as `5W` or `60mW`";

    /// Returns the power in watts.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Picojoules {
    /// Examples of energies, for messages.
    pub const EXPECTED: &str = "an energy such as `0.6uJ`, `40nJ` or `1mJ`";

    /// Returns the energy in joules.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }
}

impl std::str::FromStr for Microwatts {
    type Err = QuantityError;
    fn from_str(s: &str) -> Result<Microwatts, QuantityError> {
        parse_quantity(s, &[("uW", 1), ("mW", 1_000), ("W", 1_000_000)]).map(Microwatts)
    }
}

impl std::str::FromStr for Picojoules {
    type Err = QuantityError;
    fn from_str(s: &str) -> Result<Picojoules, QuantityError> {
        const UNITS: &[(&str, u64)] = &[
            ("pJ", 1),
            ("nJ", 1_000),
            ("uJ", 1_000_000),
            ("mJ", 1_000_000_000),
            ("J", 1_000_000_000_000),
        ];
        parse_quantity(s, UNITS).map(Picojoules)
    }
}

/// Parses a rate above zero, as in `50MB/s`.
pub fn rate(text: &str) -> Option<Rate> {
    let bytes = text.strip_suffix("/s").and_then(|t| t.trim().parse::<Bytes>().ok());
    bytes.filter(|bytes| bytes.0 > 0).map(|bytes| Rate(bytes.0))
}

/// Formats a time for people: three significant digits and a suitable unit, e.g. `217 µs`.
pub fn human_time(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        x if x < 999.5 => (ns, "ns"),
        x if x < 999.5e3 => (ns / 1e3, "µs"),
        x if x < 999.5e6 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// Formats the size of a device for people, in decimal units as vendors do: `80.0 GB`.
pub fn human_size(size: Bytes) -> String {
    match size.0 {
        b if b >= 1_000_000_000_000 => format!("{} TB", three_digits(b as f64 / 1e12)),
        b if b >= 1_000_000_000 => format!("{} GB", three_digits(b as f64 / 1e9)),
        b => format!("{} MB", three_digits(b as f64 / 1e6)),
    }
}

/// Formats a number with three significant digits, at most four decimals and no exponent: `0.540`,
/// `5.40`, `54.0`, `540`.
pub fn three_digits(value: f64) -> String {
    match value.abs() {
        x if x >= 99.95 => format!("{value:.0}"),
        x if x >= 9.995 => format!("{value:.1}"),
        x if x >= 0.9995 || x == 0.0 => format!("{value:.2}"),
        x if x >= 0.09995 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_read_as_written() {
        assert_eq!("4KiB".parse(), Ok(Bytes(4096)));
        assert_eq!("30GB".parse(), Ok(Bytes(30_000_000_000)));
        assert_eq!("1.5 GiB".parse(), Ok(Bytes(3 << 29)));
        assert_eq!("1PB".parse(), Ok(Bytes(1_000_000_000_000_000)));
        assert_eq!("1.5PiB".parse(), Ok(Bytes(3 << 49)));
        assert_eq!("0".parse(), Ok(Bytes(0)));
        assert_eq!("10ms".parse(), Ok(Nanos(10_000_000)));
        assert_eq!("2.5us".parse(), Ok(Nanos(2_500)));
        assert_eq!("4096".parse::<Bytes>(), Err(QuantityError::NoUnit));
        assert_eq!("4KB".parse::<Bytes>(), Err(QuantityError::Unit("KB".into())));
        assert_eq!("-1s".parse::<Nanos>(), Err(QuantityError::Number));
        assert_eq!("99999999TiB".parse::<Bytes>(), Err(QuantityError::TooLarge));
        assert_eq!("9.9.9s".parse::<Nanos>(), Err(QuantityError::Number));
    }

    #[test]
    fn display_is_exact_and_reads_back() {
        for n in [0, 1, 512, 4096, 1_000_000, 1 << 30, 30_000_000_000, 123_456_789] {
            assert_eq!(Bytes(n).to_string().parse(), Ok(Bytes(n)), "{}", Bytes(n));
            assert_eq!(Nanos(n).to_string().parse(), Ok(Nanos(n)), "{}", Nanos(n));
        }
        assert_eq!(Bytes(4096).to_string(), "4KiB");
        assert_eq!(Bytes(30_000_000_000).to_string(), "30GB");
        assert_eq!(Bytes(1000).to_string(), "1kB");
        assert_eq!(Bytes(1_025).to_string(), "1025B");
    }

    #[test]
    fn transfer_time_rounds_up() {
        assert_eq!(Bytes(4096).time_at(Rate(40_000_000)), Nanos(102_400));
        assert_eq!(Bytes(1).time_at(Rate(3_000_000_000)), Nanos(1));
    }
}
