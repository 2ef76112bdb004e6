//! The shift between two latency distributions, from histograms.
//!
//! A = P(X < Y) + P(X = Y) / 2, the probability of superiority (Vargha and Delaney, J. Educ. Behav.
//! Stat. 25, 2000), who call 0.56 small, 0.64 medium and 0.71 large. The distance of Kolmogorov and
//! Smirnov is the largest gap between the two distribution functions. Values in one bucket (0.4 %)
//! count as equal. These are effect sizes, not tests: with millions of requests every difference is
//! significant.

use assay_spec::Histogram;

/// The shift between two distributions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The probability that a value of the first is smaller than one of the second; ties count
    /// half.
    pub superiority: f64,
    /// The largest distance between the distribution functions, 0 to 1.
    pub distance: f64,
}

/// Compares two histograms; `None` if either is empty.
pub fn between(x: &Histogram, y: &Histogram) -> Option<Shift> {
    if x.is_empty() || y.is_empty() {
        return None;
    }
    let (nx, ny) = (x.count() as f64, y.count() as f64);
    let (mut xs, mut ys) = (x.buckets().peekable(), y.buckets().peekable());
    let (mut fx, mut fy, mut superiority, mut distance) = (0.0, 0.0, 0.0, 0.0_f64);
    loop {
        let next = match (xs.peek(), ys.peek()) {
            (Some(a), Some(b)) => a.0.min(b.0),
            (Some(a), None) => a.0,
            (None, Some(b)) => b.0,
            (None, None) => break,
        };
        let px = xs.next_if(|a| a.0 == next).map_or(0.0, |a| a.1 as f64 / nx);
        let py = ys.next_if(|b| b.0 == next).map_or(0.0, |b| b.1 as f64 / ny);
        superiority += py * (fx + px / 2.0);
        fx += px;
        fy += py;
        distance = distance.max(f64::abs(fx - fy));
    }
    Some(Shift { superiority, distance })
}

/// Returns the distance that two samples of one distribution, of `n` and `m` values, exceed once
/// in twenty times: 1.358 √((n + m) / nm) (Smirnov, Ann. Math. Stat. 19, 1948); 1 if either is
/// empty.
pub fn chance(n: u64, m: u64) -> f64 {
    let (n, m) = (n as f64, m as f64);
    if n * m > 0.0 { (1.358 * ((n + m) / (n * m)).sqrt()).min(1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::Nanos;

    fn histogram(values: &[u64]) -> Histogram {
        let mut h = Histogram::new();
        values.iter().for_each(|v| h.record(Nanos(*v)));
        h
    }

    /// Reference: scipy 1.17.1, `ks_2samp`, and `mannwhitneyu(x, y)`, which counts x > y: U / 56 =
    /// 0.32142857.
    #[test]
    fn agrees_with_scipy() {
        let x = histogram(&[10, 20, 20, 30, 40, 55, 60]);
        let y = histogram(&[15, 20, 35, 45, 50, 70, 80, 90]);
        let s = between(&x, &y).unwrap();
        assert!((s.superiority - (1.0 - 0.32142857142857145)).abs() < 1e-12);
        assert!((s.distance - 0.375).abs() < 1e-12);
        let back = between(&y, &x).unwrap();
        assert!((back.superiority + s.superiority - 1.0).abs() < 1e-12);
    }

    /// Reference: Kolmogorov's series for the probability of a larger distance.
    #[test]
    fn what_chance_does() {
        let x = chance(1000, 1000) * 500_f64.sqrt();
        let term = |k: i32| 2.0 * libm::exp(-2.0 * f64::from(k * k) * x * x);
        let beyond: f64 = (1..20).map(|k| if k % 2 == 1 { term(k) } else { -term(k) }).sum();
        assert!((beyond - 0.05).abs() < 1e-4, "{beyond}");
        assert_eq!((chance(0, 5), chance(1, 1)), (1.0, 1.0));
    }

    #[test]
    fn equal_disjoint_and_empty() {
        let (a, b) = (histogram(&[1, 2, 3]), histogram(&[100, 200]));
        assert!((between(&a, &a).unwrap().superiority - 0.5).abs() < 1e-12);
        let s = between(&a, &b).unwrap();
        assert!((s.superiority - 1.0).abs() < 1e-12 && (s.distance - 1.0).abs() < 1e-12);
        assert!(between(&a, &Histogram::new()).is_none());
    }
}
