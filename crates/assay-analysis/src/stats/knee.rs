//! A fit of min(n·b, cap): what each of n equal parts adds, and where something shared ends the
//! growth.
//!
//! The fit is least squares of the logarithms, since errors of rates are proportional to them. With
//! the knee at k = cap / b, the model is ln b + ln min(n, k): for each k the best b is a mean, so
//! that the sum of squares is a profile over k alone. The intervals are those of the profile
//! likelihood (Bates and Watts, 1988, 6.1): all b and k whose sum of squares stays below the
//! least one times 1 + t²/ν. Points are taken to be no better known than [`FLOOR`]: a model
//! without noise is not one without error.
//!
//! Not for curves that bend gradually or fall again: `residual` shows how far the points lie off.

use super::student::t95;

/// The smallest relative error of a point.
pub const FLOOR: f64 = 0.01;

/// The number of positions of the knee that are tried, evenly spaced in its logarithm.
const PLACES: usize = 4000;

/// The shape of the curve as far as the points show it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Proportional as far as it was measured; a cap, if there is one, is not below `cap_above`.
    Linear {
        /// The smallest cap that the points allow.
        cap_above: f64,
    },
    /// Constant from the first point on.
    Flat,
    /// Bent at a knee.
    Knee,
    /// Not determined: the points allow more than one of these shapes.
    Undetermined,
}

/// A fit of min(n·b, cap). Each number has its 95 % interval: (low, value, high).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// The shape that the points allow.
    pub shape: Shape,
    /// The rate that each part adds.
    pub each: (f64, f64, f64),
    /// The cap; its upper end is infinite if it may be beyond the points.
    pub cap: (f64, f64, f64),
    /// The number of parts at which the growth ends.
    pub knee: (f64, f64, f64),
    /// The root mean square distance of the points from the fit, as a share.
    pub residual: f64,
}

impl Knee {
    /// Returns the knee and the cap as far as the points determine them: infinite if no bend is
    /// seen, NaN if the points allow both a line and a constant.
    pub fn bend(&self) -> (f64, f64) {
        match self.shape {
            Shape::Linear { .. } => (f64::INFINITY, f64::INFINITY),
            Shape::Undetermined => (f64::NAN, f64::NAN),
            Shape::Flat | Shape::Knee => (self.knee.1, self.cap.1),
        }
    }
}

/// Fits points of (parts, rate); `None` below three different numbers of parts, or if a number of
/// parts or a rate is not positive.
pub fn fit(points: &[(f64, f64)]) -> Option<Knee> {
    let mut counts: Vec<f64> = points.iter().map(|p| p.0).collect();
    counts.sort_by(f64::total_cmp);
    counts.dedup();
    let (first, last) = (*counts.first()?, *counts.last()?);
    let usable = points.iter().all(|(n, x)| *n > 0.0 && *x > 0.0 && x.is_finite());
    if counts.len() < 3 || !usable {
        return None;
    }
    let logs: Vec<(f64, f64)> =
        points.iter().map(|(n, x)| (libm::log(*n), libm::log(*x))).collect();
    let (start, end) = (libm::log(first), libm::log(last));
    let place = |i: usize| start + (end - start) * i as f64 / PLACES as f64;
    let profile: Vec<(f64, f64, f64)> = (0..=PLACES)
        .map(|i| {
            let knee = if i == PLACES { end } else { place(i) };
            let (each, squares) = at(&logs, knee);
            (libm::exp(knee), each, squares)
        })
        .collect();
    let best = profile.iter().min_by(|a, b| a.2.total_cmp(&b.2))?;
    let freedom = points.len() as f64 - 2.0;
    let t = t95(freedom);
    let variance = (best.2 / freedom).max(FLOOR * FLOOR);
    let allowed = best.2 + t * t * variance;
    Some(intervals(points.len() as f64, &profile, best, allowed))
}

/// Returns the best ln b for the logarithm of a knee, and the sum of squares, all in logarithms.
fn at(logs: &[(f64, f64)], knee: f64) -> (f64, f64) {
    let rest = || logs.iter().map(|(n, x)| x - n.min(knee));
    let each = rest().sum::<f64>() / logs.len() as f64;
    (each, rest().map(|r| (r - each) * (r - each)).sum())
}

/// Returns the fit with the ends of everything within the allowed sum of squares.
fn intervals(
    points: f64,
    profile: &[(f64, f64, f64)],
    best: &(f64, f64, f64),
    allowed: f64,
) -> Knee {
    let within: Vec<&(f64, f64, f64)> = profile.iter().filter(|p| p.2 <= allowed).collect();
    let mut ends = [(f64::INFINITY, 0.0_f64); 3];
    for (knee, each, squares) in within.iter().copied() {
        // For this knee, b may be off its best value until the sum of squares is used up.
        let slack = libm::sqrt((allowed - squares) / points);
        let (low, high) = (libm::exp(each - slack), libm::exp(each + slack));
        let values = [(low, high), (low * knee, high * knee), (*knee, *knee)];
        for (end, (low, high)) in ends.iter_mut().zip(values) {
            *end = (end.0.min(low), end.1.max(high));
        }
    }
    let linear = profile.last().is_some_and(|p| p.2 <= allowed);
    let flat = profile.first().is_some_and(|p| p.2 <= allowed);
    let shape = match (linear, flat) {
        (true, false) => Shape::Linear { cap_above: ends[1].0 },
        (false, true) => Shape::Flat,
        (false, false) => Shape::Knee,
        (true, true) => Shape::Undetermined,
    };
    let value = libm::exp(best.1);
    // Beyond the last point nothing bounds cap and knee from above; before the first point nothing
    // bounds b from above and the knee from below.
    let open = |end: (f64, f64)| if linear { (end.0, f64::INFINITY) } else { end };
    if flat {
        ends[0].1 = f64::INFINITY;
        ends[2].0 = 0.0;
    }
    let with = |v: f64, end: (f64, f64)| (end.0, v, end.1);
    Knee {
        shape,
        each: with(value, ends[0]),
        cap: with(value * best.0, open(ends[1])),
        knee: with(best.0, open(ends[2])),
        residual: libm::sqrt(best.2 / points),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rates: &[f64]) -> Knee {
        let points: Vec<(f64, f64)> =
            rates.iter().enumerate().map(|(i, x)| ((i + 1) as f64, *x)).collect();
        fit(&points).expect("enough points")
    }

    fn inside((low, value, high): (f64, f64, f64), truth: f64) -> bool {
        low <= value && value <= high && low <= truth * 1.001 && truth <= high * 1.001
    }

    #[test]
    fn a_knee_is_found_where_it_is() {
        let knee = of(&[100.0, 200.0, 250.0, 250.0, 250.0]);
        assert_eq!(knee.shape, Shape::Knee);
        assert!(inside(knee.each, 100.0) && inside(knee.cap, 250.0) && inside(knee.knee, 2.5));
        assert!((knee.knee.1 - 2.5).abs() < 0.01 && knee.residual < 1e-3, "{knee:?}");
        assert!(knee.knee.2 - knee.knee.0 < 0.2, "five points of 1 % say that much: {knee:?}");
        // The published curve of R-01 bends at three, though it falls at the end.
        let sara = of(&[267.0, 505.0, 634.0, 671.0, 657.0]);
        assert_eq!(sara.shape, Shape::Knee);
        assert!(inside(sara.knee, 2.5) && inside(sara.cap, 654.0), "{sara:?}");
    }

    #[test]
    fn where_no_bend_is_seen_it_is_nowhere() {
        let bent = |rates: &[f64]| of(rates).bend();
        let (knee, cap) = bent(&[100.0, 200.0, 250.0, 250.0, 250.0]);
        assert!((knee - 2.5).abs() < 0.01 && (cap - 250.0).abs() < 1.0, "{knee} {cap}");
        assert_eq!(bent(&[57.0, 114.0, 171.0]), (f64::INFINITY, f64::INFINITY));
        let (knee, cap) = bent(&[100.0, 60.0, 190.0]);
        assert!(knee.is_nan() && cap.is_nan(), "not determined");
        assert!((bent(&[100.0, 100.0, 100.0]).0 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_scales_has_no_cap_but_a_least_one() {
        let linear = of(&[57.0, 114.0, 171.0, 228.0, 285.0]);
        let Shape::Linear { cap_above } = linear.shape else { panic!("{linear:?}") };
        assert!(cap_above > 270.0 && cap_above <= 285.0, "{linear:?}");
        assert_eq!((linear.cap.2, linear.knee.2), (f64::INFINITY, f64::INFINITY));
        assert!(inside(linear.each, 57.0));
    }

    #[test]
    fn what_never_grows_is_flat_and_noise_decides_nothing() {
        let flat = of(&[100.0, 100.0, 100.0, 100.0]);
        assert_eq!((flat.shape, flat.each.2, flat.knee.0), (Shape::Flat, f64::INFINITY, 0.0));
        assert!(inside(flat.cap, 100.0), "{flat:?}");
        // The points lie between flat and linear, far from both and from any bend.
        assert_eq!(of(&[100.0, 60.0, 190.0]).shape, Shape::Undetermined);
    }

    #[test]
    fn too_little_is_no_fit() {
        assert_eq!(fit(&[(1.0, 5.0), (2.0, 9.0), (2.0, 9.1)]), None);
        assert_eq!(fit(&[(1.0, 5.0), (2.0, 0.0), (3.0, 9.0)]), None);
        assert_eq!(fit(&[]), None);
    }

    #[test]
    fn the_intervals_hold_the_truth_about_as_often_as_they_say() {
        let (mut state, mut held, mut drawn) = (1_u64, 0, 0);
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for _ in 0..300 {
            // Two repeats of one to six parts with 3 % of noise, which is nearly normal.
            let truth = 2.0 + 3.0 * uniform();
            let point = |i: u32| {
                let n = f64::from(1 + i % 6);
                let noise: f64 = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                (n, 100.0 * n.min(truth) * libm::exp(0.03 * noise))
            };
            let knee = fit(&(0..12).map(point).collect::<Vec<_>>()).expect("enough points");
            drawn += 1;
            held += u32::from(knee.knee.0 <= truth && truth <= knee.knee.2);
        }
        assert!((270..=298).contains(&held), "{held} of {drawn}");
    }
}
