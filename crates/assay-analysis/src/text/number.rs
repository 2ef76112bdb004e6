//! Numbers with their uncertainty, as text.

use crate::stats::Estimate;
use assay_spec::units::{human_time, three_digits};

/// Formats a bandwidth with its uncertainty in decimal MB/s: `46.23 ± 0.31 MB/s`.
pub fn rate(e: &Estimate) -> String {
    match e.half_width() {
        Some(0.0) => format!("{} MB/s ({})", three_digits(e.value * 1e-6), e.basis),
        _ => format!("{} MB/s", plus_minus(&e.scaled(1e-6))),
    }
}

/// Formats a number with its uncertainty. The uncertainty has two digits, and the number as many
/// decimals. A `=` follows a number that was the same every time.
pub fn plus_minus(e: &Estimate) -> String {
    match e.half_width() {
        None => three_digits(e.value),
        Some(0.0) => format!("{} =", three_digits(e.value)),
        Some(half) => {
            let decimals = decimals_for(half, e.value);
            format!("{:.decimals$} ± {:.decimals$}", e.value, half)
        }
    }
}

/// Returns the number of decimals that show two digits of `half`; at most four, and none beyond the
/// fifth digit of `value`.
fn decimals_for(half: f64, value: f64) -> usize {
    let size = |v: f64| if v > 0.0 { libm::floor(libm::log10(v)) } else { f64::NEG_INFINITY };
    let wanted = (1.0 - size(half)).min(4.0 - size(value.abs()).max(0.0));
    if wanted.is_finite() { wanted.clamp(0.0, 4.0) as usize } else { 0 }
}

/// Formats a latency with its uncertainty in a fitting unit: `217.0 ± 2.0 µs`, or
/// `1.21 ms (1.10 to 1.40)`.
pub fn time(e: &Estimate) -> String {
    let (factor, unit) = time_unit(e.value);
    match e.interval {
        None => human_time(e.value),
        Some((low, high)) if is_symmetric(e, low, high) => {
            format!("{} {unit}", plus_minus(&e.scaled(factor)))
        }
        Some((low, high)) => format!(
            "{} {unit} ({} to {})",
            three_digits(e.value * factor),
            three_digits(low * factor),
            three_digits(high * factor)
        ),
    }
}

fn is_symmetric(e: &Estimate, low: f64, high: f64) -> bool {
    ((high - e.value) - (e.value - low)).abs() <= 0.02 * (high - low)
}

/// Returns the unit that fits a time in ns: the factor to convert to it, and its name.
pub fn time_unit(ns: f64) -> (f64, &'static str) {
    match ns.abs() {
        x if x < 999.5 => (1.0, "ns"),
        x if x < 999.5e3 => (1e-3, "µs"),
        x if x < 999.5e6 => (1e-6, "ms"),
        _ => (1e-9, "s"),
    }
}

/// Formats a rate in requests a second for people: `11.3k` from ten thousand on.
pub fn count(v: f64) -> String {
    match v.abs() {
        x if x < 9_999.5 => three_digits(v),
        x if x < 999_500.0 => format!("{}k", three_digits(v / 1e3)),
        _ => format!("{}M", three_digits(v / 1e6)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Basis;

    #[test]
    fn uncertainties_have_two_digits() {
        let e = |value, half| Estimate {
            value,
            interval: Some((value - half, value + half)),
            basis: Basis::Repeats(3),
        };
        assert_eq!(rate(&e(46.234e6, 0.31e6)), "46.23 ± 0.31 MB/s");
        assert_eq!(rate(&e(246.234e6, 12e6)), "246 ± 12 MB/s");
        assert_eq!(rate(&Estimate::identical(5.4e5, 3)), "0.540 MB/s (identical in all 3)");
        assert_eq!(time(&e(217_000.0, 2_000.0)), "217.0 ± 2.0 µs");
        let skewed = Estimate { interval: Some((1.1e6, 1.4e6)), ..e(1.21e6, 1.0) };
        assert_eq!(time(&skewed), "1.21 ms (1.10 to 1.40)");
        assert_eq!(time(&Estimate::bare(5e9, "x")), "5.00 s");
        assert_eq!((count(11_300.0), count(41.25)), ("11.3k".into(), "41.2".into()));
    }
}
