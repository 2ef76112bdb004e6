//! Axes: scales from values to positions, and round ticks.

/// A scale from values to 0..1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// Linear from low to high.
    Linear(f64, f64),
    /// Logarithmic from low to high, both positive.
    Log(f64, f64),
    /// Logarithmic from low to high, both positive, with ticks at doublings of `low`.
    Doublings(f64, f64),
}

impl Scale {
    /// Returns a linear scale from 0 that covers `high` with a round end.
    pub fn from_zero(high: f64) -> Scale {
        let high = if high.is_finite() && high > 0.0 { high } else { 1.0 };
        let step = round_step(high / 5.0);
        Scale::Linear(0.0, (high / step).ceil() * step)
    }

    /// Returns a logarithmic scale that covers the positive values, with ends at 1, 2 or 5 times a
    /// decade.
    pub fn log_over(values: impl Iterator<Item = f64>) -> Scale {
        let positive = values.filter(|v| v.is_finite() && *v > 0.0);
        let (low, high) =
            positive.fold((f64::INFINITY, 0.0_f64), |(l, h), v| (f64::min(l, v), f64::max(h, v)));
        if low > high {
            return Scale::Log(1.0, 10.0);
        }
        let (low, high) = (round_down(low * 0.97), round_up(high * 1.03));
        Scale::Log(low, if high > low { high } else { low * 10.0 })
    }

    /// Returns the position of a value, limited to 0..1.
    pub fn place(&self, v: f64) -> f64 {
        let share = match *self {
            Scale::Linear(low, high) => (v - low) / (high - low),
            Scale::Log(low, high) | Scale::Doublings(low, high) => {
                libm::log(v / low) / libm::log(high / low)
            }
        };
        // A value at or below zero has no position on a log axis: it goes to the edge.
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }

    /// Returns the values of the ticks, few enough for labels.
    pub fn ticks(&self) -> Vec<f64> {
        match *self {
            Scale::Linear(low, high) => {
                let step = round_step((high - low) / 5.0);
                (0..=10)
                    .map(|i| low + f64::from(i) * step)
                    .filter(|v| *v <= high * 1.0001)
                    .collect()
            }
            Scale::Log(low, high) => log_ticks(low, high),
            Scale::Doublings(low, high) => doublings(low, high),
        }
    }
}

/// Returns at most seven ticks at doublings of `low`, evenly spaced.
fn doublings(low: f64, high: f64) -> Vec<f64> {
    let all = (libm::log2(high / low) + 0.001).floor().max(0.0) as i32;
    let stride = (all / 6 + i32::from(all % 6 > 0)).max(1);
    (0..=all / stride).map(|i| low * libm::pow(2.0, f64::from(i * stride))).collect()
}

/// Returns ticks at the decades, and between them if there are fewer than three decades.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let decades = libm::log10(high / low);
    if decades <= 1.6 {
        return log_ticks_at(low, high, &[1.0, 2.0, 5.0]);
    }
    let whole = log_ticks_at(low, high, &[1.0]);
    if whole.len() >= 3 { whole } else { log_ticks_at(low, high, &[1.0, 3.0]) }
}

fn log_ticks_at(low: f64, high: f64, factors: &[f64]) -> Vec<f64> {
    let decades = libm::log10(high / low);
    let stride = if decades > 7.0 { 2 } else { 1 };
    let first = libm::floor(libm::log10(low)) as i32;
    let last = libm::ceil(libm::log10(high)) as i32;
    let mut ticks = Vec::new();
    for power in (first..=last).filter(|p| p.rem_euclid(stride) == 0) {
        for f in factors {
            let tick = f * libm::pow(10.0, f64::from(power));
            if tick >= low * 0.999 && tick <= high * 1.001 {
                ticks.push(tick);
            }
        }
    }
    ticks
}

fn split(v: f64) -> (f64, f64) {
    let decade = libm::pow(10.0, libm::floor(libm::log10(v)));
    (v / decade, decade)
}

fn round_step(v: f64) -> f64 {
    round_up(v.max(1e-300))
}

fn round_up(v: f64) -> f64 {
    let (m, decade) = split(v);
    decade * [1.0, 2.0, 5.0].into_iter().find(|r| m <= r * 1.000_001).unwrap_or(10.0)
}

fn round_down(v: f64) -> f64 {
    let (m, decade) = split(v);
    decade * [5.0, 2.0].into_iter().find(|r| m >= r * 0.999_999).unwrap_or(1.0)
}

/// Returns a linear scale with round ends around two values. It begins at zero, unless `low` is
/// more than half of `high`.
pub fn between(low: f64, high: f64) -> Scale {
    if !(low.is_finite() && low > 0.5 * high && high > low) {
        return Scale::from_zero(high);
    }
    let step = round_step((high - low) / 5.0);
    Scale::Linear((low / step).floor() * step, (high / step).ceil() * step)
}

/// Formats the number of a tick in few letters: `1.5 M`.
pub fn short_number(v: f64) -> String {
    match v.abs() {
        x if x < 10_000.0 => number(v),
        x if x < 1e6 => format!("{} k", number(v / 1e3)),
        x if x < 1e9 => format!("{} M", number(v / 1e6)),
        _ => format!("{} G", number(v / 1e9)),
    }
}

/// Formats the number of a tick without trailing zeros.
pub fn number(v: f64) -> String {
    let text = format!("{v:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text.is_empty() { "0".into() } else { text.to_owned() }
}

/// Formats a tick of a time in ns: `10 µs`, `1 ms`.
pub fn time(ns: f64) -> String {
    match ns {
        v if v <= 0.0 => "0".into(),
        v if v < 999.0 => format!("{} ns", number(v)),
        v if v < 999e3 => format!("{} µs", number(v / 1e3)),
        v if v < 999e6 => format!("{} ms", number(v / 1e6)),
        v => format!("{} s", number(v / 1e9)),
    }
}

/// Formats a tick of a size in decimal units, which ranges have: `16 GB`.
pub fn decimal_size(bytes: f64) -> String {
    match bytes {
        v if v < 999.5e6 => format!("{} MB", number(v / 1e6)),
        v => format!("{} GB", number(v / 1e9)),
    }
}

/// Formats a tick of a size in binary units, which steps have: `64 KiB`.
pub fn binary_size(bytes: f64) -> String {
    const KIB: f64 = 1024.0;
    match bytes / KIB {
        v if v < 1023.5 => format!("{} KiB", number(v)),
        v if v < 1023.5 * KIB => format!("{} MiB", number(v / KIB)),
        v => format!("{} GiB", number(v / KIB / KIB)),
    }
}

/// Formats a tick of a share: `40 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", number(100.0 * share))
}

/// Formats a tick of the share of requests below; `beyond` is the rest: 0.001 is `99.9 %`.
pub fn percent_below(beyond: f64) -> String {
    let digits = (-libm::log10(beyond)).round().max(0.0) as usize;
    let decimals = digits.saturating_sub(2);
    format!("{:.decimals$} %", 100.0 * (1.0 - beyond))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(Scale::from_zero(87.0).ticks(), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(Scale::log_over([0.54, 250.0].into_iter()), Scale::Log(0.5, 500.0));
        assert_eq!(Scale::Log(0.5, 500.0).ticks(), [1.0, 10.0, 100.0]);
        // Two decades alone would not show that the axis is logarithmic.
        assert_eq!(Scale::Log(5.0, 500.0).ticks(), [10.0, 30.0, 100.0, 300.0]);
        assert_eq!(Scale::Doublings(4.0, 32.0).ticks(), [4.0, 8.0, 16.0, 32.0]);
        assert_eq!(Scale::Doublings(1.0, 512.0).ticks(), [1.0, 4.0, 16.0, 64.0, 256.0]);
        assert_eq!((binary_size(4096.0), decimal_size(16e9)), ("4 KiB".into(), "16 GB".into()));
        assert_eq!(Scale::Log(1.0, 20.0).ticks(), [1.0, 2.0, 5.0, 10.0, 20.0]);
        assert_eq!(Scale::log_over(std::iter::empty()), Scale::Log(1.0, 10.0));
        assert_eq!(between(7.0, 87.0), Scale::from_zero(87.0));
        assert_eq!(between(1030.0, 1087.0), Scale::Linear(1020.0, 1100.0));
        assert_eq!(between(5.0, 5.0), Scale::from_zero(5.0));
        assert_eq!((short_number(1.5e6), short_number(250.0)), ("1.5 M".into(), "250".into()));
        assert_eq!(Scale::Log(1.0, 100.0).place(0.0), 0.0);
        assert!((Scale::Log(1.0, 100.0).place(10.0) - 0.5).abs() < 1e-12);
        assert_eq!(
            (time(1e4), time(2.5e6), time(0.0)),
            ("10 µs".into(), "2.5 ms".into(), "0".into())
        );
        let tails = [percent_below(1.0), percent_below(0.1), percent_below(1e-5)];
        assert_eq!(tails, ["0 %", "90 %", "99.999 %"]);
    }
}
