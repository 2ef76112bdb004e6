//! Steady state after the SNIA SSS PTS 2.0.1, section "Steady State".
//!
//! Over the last `window` rounds: max − min at most `range` (20 %) of the average, and the least
//! squares line changes by at most `slope` (10 %) of the average from the first to the last round.
//! The rule is weak both ways: it accepts slow decline and rejects noisy but stationary drives, so
//! a drift test ([`super::drift`]) belongs beside it.

/// What the rule saw in its window.
#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    /// Number of the first round of the window, from 0.
    pub first: usize,
    /// Average of the window.
    pub average: f64,
    /// max − min in the window.
    pub range: f64,
    /// Allowed max − min.
    pub allowed_range: f64,
    /// Slope of the line, per round.
    pub slope: f64,
    /// |slope| × (rounds − 1).
    pub excursion: f64,
    /// Allowed excursion.
    pub allowed_excursion: f64,
    /// Both within limits.
    pub steady: bool,
}

/// The rule's limits, as PTS sets them: 5 rounds, 20 %, 10 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Rounds in the window.
    pub window: usize,
    /// Allowed (max − min) / average.
    pub range: f64,
    /// Allowed change of the line / average.
    pub slope: f64,
}

/// The limits of SNIA PTS.
pub const PTS: Limits = Limits { window: 5, range: 0.20, slope: 0.10 };

/// Slope of the least squares line through (0, y₀), (1, y₁) ...; 0 for fewer than two values.
pub fn slope(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let (mut sx, mut sy, mut sxy, mut sxx) = (0.0, 0.0, 0.0, 0.0);
    for (x, y) in values.iter().enumerate() {
        let x = x as f64;
        sx += x;
        sy += y;
        sxy += x * y;
        sxx += x * x;
    }
    let divisor = n * sxx - sx * sx;
    if divisor > 0.0 { (n * sxy - sx * sy) / divisor } else { 0.0 }
}

/// Applies the rule to the last rounds; `None` while there are fewer than the window.
pub fn check(rounds: &[f64], limits: Limits) -> Option<Steady> {
    let first = rounds.len().checked_sub(limits.window)?;
    let window = &rounds[first..];
    let average = super::mean(window)?;
    let (low, high) = window
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)));
    let (range, slope) = (high - low, slope(window));
    let excursion = slope.abs() * (limits.window - 1) as f64;
    let (allowed_range, allowed_excursion) = (limits.range * average, limits.slope * average);
    let steady = range <= allowed_range && excursion <= allowed_excursion;
    Some(Steady {
        first,
        average,
        range,
        allowed_range,
        slope,
        excursion,
        allowed_excursion,
        steady,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sample report of an open PTS implementation: average 11726.8, allowed 2345.36 and 1172.68,
    /// measured range 300, line −6.4 R + 11746, excursion 25.6, steady. It does not print the
    /// rounds: these are the line plus 71.8 × (2, −1, −2, −1, 2), which moves neither average nor
    /// slope.
    #[test]
    fn the_published_vector() {
        let s = check(&[11883.2, 11661.4, 11583.2, 11648.6, 11857.6], PTS).unwrap();
        let near = |got: f64, expected: f64| assert!((got - expected).abs() < 1e-6, "{got}");
        near(s.average, 11726.8);
        near(s.allowed_range, 2345.36);
        near(s.allowed_excursion, 1172.68);
        near(s.range, 300.0);
        near(s.slope, -6.4);
        near(s.excursion, 25.6);
        assert!(s.steady);
    }

    #[test]
    fn the_limits_are_inclusive_and_hold_at_the_edge() {
        // Average 100, range exactly 20, no slope.
        let flat = [90.0, 110.0, 100.0, 110.0, 90.0];
        assert!(check(&flat, PTS).unwrap().steady);
        assert!(!check(&[89.0, 111.0, 100.0, 111.0, 89.0], PTS).unwrap().steady);
        // Slope 2.5 a round changes by exactly 10 % of 100.
        assert!(check(&[95.0, 97.5, 100.0, 102.5, 105.0], PTS).unwrap().steady);
        assert!(!check(&[94.0, 97.0, 100.0, 103.0, 106.0], PTS).unwrap().steady);
        assert!(check(&[1.0; 4], PTS).is_none());
        assert_eq!(check(&[9.0, 1.0, 1.0, 1.0, 1.0, 1.0], PTS).unwrap().first, 1);
    }
}
