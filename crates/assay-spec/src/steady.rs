//! The steady-state rule exactly as SNIA's Performance Test Specification states it.
//!
//! Over the last `window` rounds y₁ … yₙ: max − min ≤ `range` × mean, and the least-squares line
//! through them changes by at most `slope` × mean from the first round to the last. The rule is
//! weak in both directions (a steady decline of 2.4 % a round passes, noise of 20 % mostly fails),
//! so the analysis also reports a drift test.

use crate::experiment::SteadyRule;

/// The numbers of the rule over one window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// The mean of the rounds.
    pub mean: f64,
    /// The largest round minus the smallest.
    pub range: f64,
    /// The least-squares slope per round.
    pub slope: f64,
    /// The change of the line over the window: |slope| × (rounds − 1).
    pub excursion: f64,
    /// The allowed range.
    pub range_allowed: f64,
    /// The allowed excursion.
    pub excursion_allowed: f64,
}

impl Window {
    /// Calculates the numbers of `rounds`. Returns `None` for fewer than two rounds.
    pub fn of(rounds: &[f64], range: f64, slope: f64) -> Option<Window> {
        let n = rounds.len() as f64;
        if rounds.len() < 2 {
            return None;
        }
        let mean = rounds.iter().sum::<f64>() / n;
        let middle = (n - 1.0) / 2.0;
        let at = |i: usize| i as f64 - middle;
        let covariance: f64 = rounds.iter().enumerate().map(|(i, y)| at(i) * (y - mean)).sum();
        let variance: f64 = (0..rounds.len()).map(|i| at(i) * at(i)).sum();
        let fitted = covariance / variance;
        let max = rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let min = rounds.iter().copied().fold(f64::INFINITY, f64::min);
        Some(Window {
            mean,
            range: max - min,
            slope: fitted,
            excursion: fitted.abs() * (n - 1.0),
            range_allowed: range * mean,
            excursion_allowed: slope * mean,
        })
    }

    /// Returns `true` if both conditions hold. A window with a mean of zero is not steady.
    pub fn holds(&self) -> bool {
        self.mean > 0.0
            && self.range <= self.range_allowed
            && self.excursion <= self.excursion_allowed
    }
}

impl SteadyRule {
    /// Returns `true` if the last `window` of `rounds` satisfy the rule.
    pub fn holds(&self, rounds: &[f64]) -> bool {
        let Some(from) = rounds.len().checked_sub(self.window as usize) else { return false };
        Window::of(&rounds[from..], self.range, self.slope).is_some_and(|w| w.holds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_window_gives_the_published_numbers() {
        // A sample report of an open implementation: mean 11726.8, allowed 2345.36 and 1172.68,
        // range 300, line -6.4 R + 11746, excursion 25.6, steady. It does not print its rounds. The
        // rounds here are the line plus 71.8 x (2, -1, -2, -1, 2), which changes neither mean nor
        // slope.
        let rounds = [11_883.2, 11_661.4, 11_583.2, 11_648.6, 11_857.6];
        let w = Window::of(&rounds, 0.20, 0.10).expect("five rounds");
        let near = |got: f64, expected: f64| assert!((got - expected).abs() < 1e-6, "{got}");
        near(w.mean, 11_726.8);
        near(w.range_allowed, 2345.36);
        near(w.excursion_allowed, 1172.68);
        near(w.range, 300.0);
        near(w.slope, -6.4);
        near(w.excursion, 25.6);
        assert!(w.holds());
    }

    #[test]
    fn each_condition_fails_alone() {
        let rule = |rounds: &[f64]| Window::of(rounds, 0.20, 0.10).is_some_and(|w| w.holds());
        assert!(rule(&[100.0, 110.0, 90.0, 100.0, 100.0]), "range exactly 20 %");
        assert!(!rule(&[100.0, 110.1, 89.9, 100.0, 100.0]), "range above 20 %");
        assert!(rule(&[95.0, 97.5, 100.0, 102.5, 105.0]), "line exactly 10 %");
        assert!(!rule(&[94.9, 97.5, 100.0, 102.5, 105.1]), "line above 10 %");
        assert!(!rule(&[0.0; 5]), "nothing is not steady");
    }
}
