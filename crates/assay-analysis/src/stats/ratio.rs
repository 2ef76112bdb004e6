//! The ratio of two means with its interval: delta method on logarithms, degrees of freedom after
//! Welch and Satterthwaite (Welch, Biometrika 34, 1947).
//!
//! On the log scale a ratio and its inverse get the same interval, and it never goes below zero.
//! For positive means of independent samples whose relative error is small (below about 30 %).

use super::student::t95;
use super::{Basis, Estimate, mean, variance};

/// A mean with its standard error.
#[derive(Clone, Debug, PartialEq)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// The standard error and its degrees of freedom, if the mean has one.
    pub error: Option<(f64, f64)>,
    /// The source of the error.
    pub basis: Basis,
}

impl Mean {
    /// Returns the mean of independent repeats; `None` for no values.
    pub fn of_repeats(values: &[f64]) -> Option<Mean> {
        let value = mean(values)?;
        let n = values.len();
        let error = variance(values).map(|v| ((v / n as f64).sqrt(), (n - 1) as f64));
        let basis = match error {
            Some(_) => Basis::Repeats(n as u64),
            None => Basis::None("one repeat".into()),
        };
        Some(Mean { value, error, basis })
    }

    /// Returns the mean of an estimate whose interval is symmetric: that of repeats or batches.
    pub fn of_estimate(estimate: &Estimate) -> Mean {
        let freedom = match estimate.basis {
            Basis::Repeats(n) | Basis::Batches(n) | Basis::Identical(n) if n > 1 => {
                Some((n - 1) as f64)
            }
            _ => None,
        };
        let error = freedom.zip(estimate.interval).map(|(freedom, (low, high))| {
            // The lower end of the interval may have been cut at zero, but not the upper one.
            let half = (high - estimate.value).max(estimate.value - low);
            (half / t95(freedom), freedom)
        });
        Mean { value: estimate.value, error, basis: estimate.basis.clone() }
    }
}

/// Returns `a` / `b` with its 95 % interval.
pub fn of(a: &Mean, b: &Mean) -> Estimate {
    let value = a.value / b.value;
    if !(a.value > 0.0 && b.value > 0.0) {
        return Estimate::bare(value, "a mean that is not positive has no ratio");
    }
    let ((ea, fa), (eb, fb)) = match (a.error, b.error) {
        (Some(a), Some(b)) => (a, b),
        _ => {
            let basis = if a.error.is_none() { &a.basis } else { &b.basis };
            let reason = match basis {
                Basis::None(reason) => reason.clone(),
                other => other.to_string(),
            };
            return Estimate::bare(value, reason);
        }
    };
    let (va, vb) = ((ea / a.value).powi(2), (eb / b.value).powi(2));
    let total = va + vb;
    if total == 0.0 {
        return Estimate::identical(value, (fa.min(fb) + 1.0) as u64);
    }
    let freedom = total * total / (va * va / fa + vb * vb / fb);
    let half = t95(freedom) * total.sqrt();
    let interval = Some((value * libm::exp(-half), value * libm::exp(half)));
    let basis = match (&a.basis, &b.basis) {
        (Basis::Batches(m), Basis::Batches(n) | Basis::Repeats(n))
        | (Basis::Repeats(n), Basis::Batches(m)) => Basis::Batches((*m).min(*n)),
        (Basis::Repeats(m), Basis::Repeats(n)) => Basis::Repeats((*m).min(*n)),
        (Basis::Identical(_), other) => other.clone(),
        (other, _) => other.clone(),
    };
    Estimate { value, interval, basis }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference: the same formulas in NumPy with scipy 1.17.1 `stats.t.ppf` (2.521 degrees).
    #[test]
    fn agrees_with_scipy() {
        let a = Mean::of_repeats(&[100.0, 102.0, 98.0, 101.0]).unwrap();
        let b = Mean::of_repeats(&[50.0, 53.0, 49.0]).unwrap();
        let r = of(&a, &b);
        let (low, high) = r.interval.unwrap();
        assert!((r.value - 1.9786184210526316).abs() < 1e-12);
        assert!((low - 1.8091210693422166).abs() < 1e-9, "{low}");
        assert!((high - 2.1639960544775754).abs() < 1e-9, "{high}");
        let inverse = of(&b, &a).interval.unwrap();
        assert!((inverse.0 * high - 1.0).abs() < 1e-12);
    }

    #[test]
    fn degenerate_means_give_a_reason_or_a_point() {
        let one = Mean::of_repeats(&[5.0]).unwrap();
        let exact = Mean::of_repeats(&[5.0, 5.0]).unwrap();
        assert!(of(&one, &exact).interval.is_none());
        assert_eq!(of(&exact, &exact).interval, Some((1.0, 1.0)));
        let zero = Mean::of_repeats(&[0.0, 0.0]).unwrap();
        assert!(of(&exact, &zero).interval.is_none());
    }

    #[test]
    fn an_estimate_gives_back_its_standard_error() {
        let values = [100.0, 102.0, 98.0, 101.0];
        let direct = Mean::of_repeats(&values).unwrap();
        let e = super::super::student::of_repeats(&values).unwrap();
        let through = Mean::of_estimate(&e);
        assert!((direct.error.unwrap().0 - through.error.unwrap().0).abs() < 1e-9);
    }
}
