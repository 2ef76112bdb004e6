//! The numbers of a box plot.

use serde::Serialize;

/// The spread of values: what a box plot draws, and their mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The number of values.
    pub count: u64,
    /// The smallest.
    pub min: f64,
    /// The lower quartile, interpolated as R's type 7.
    pub q1: f64,
    /// The median, interpolated likewise.
    pub median: f64,
    /// The upper quartile, interpolated likewise.
    pub q3: f64,
    /// The largest.
    pub max: f64,
    /// The mean.
    pub mean: f64,
    /// The smallest value that is at most 1.5 boxes below the box.
    pub low: f64,
    /// The largest value that is at most 1.5 boxes above the box.
    pub high: f64,
}

impl Spread {
    /// Returns the spread of some values; `None` for no values.
    pub fn of(mut values: Vec<u64>) -> Option<Spread> {
        values.sort_unstable();
        let (first, last) = (*values.first()?, *values.last()?);
        let quantile = |share: f64| {
            let place = share * (values.len() - 1) as f64;
            let below = place.floor() as usize;
            let above = values[(below + 1).min(values.len() - 1)] as f64;
            let below_value = values[below] as f64;
            below_value + (above - below_value) * (place - below as f64)
        };
        let (q1, q3) = (quantile(0.25), quantile(0.75));
        let reach = 1.5 * (q3 - q1);
        let low = values.iter().find(|v| **v as f64 >= q1 - reach);
        let high = values.iter().rev().find(|v| **v as f64 <= q3 + reach);
        let sum: u128 = values.iter().map(|v| u128::from(*v)).sum();
        Some(Spread {
            count: values.len() as u64,
            min: first as f64,
            q1,
            median: quantile(0.5),
            q3,
            max: last as f64,
            mean: sum as f64 / values.len() as f64,
            low: *low.unwrap_or(&first) as f64,
            high: *high.unwrap_or(&last) as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference: numpy 2.3 `percentile` and matplotlib 3.10 `cbook.boxplot_stats`.
    #[test]
    fn agrees_with_the_box_plots_of_matplotlib() {
        let values = vec![7, 15, 36, 39, 40, 41, 42, 43, 47, 49, 120];
        let s = Spread::of(values).unwrap();
        assert_eq!((s.min, s.q1, s.median, s.q3, s.max), (7.0, 37.5, 41.0, 45.0, 120.0));
        assert_eq!((s.low, s.high, s.count), (36.0, 49.0, 11));
        assert!((s.mean - 479.0 / 11.0).abs() < 1e-12);
        let two = Spread::of(vec![10, 1]).unwrap();
        assert_eq!((two.q1, two.median, two.q3), (3.25, 5.5, 7.75));
        assert_eq!((two.low, two.high), (1.0, 10.0));
        let one = Spread::of(vec![5]).unwrap();
        assert_eq!((one.min, one.q1, one.median, one.q3, one.max), (5.0, 5.0, 5.0, 5.0, 5.0));
        assert_eq!(Spread::of(vec![]), None);
    }
}
