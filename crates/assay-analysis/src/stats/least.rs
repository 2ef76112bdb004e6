//! Linear least squares by sweeping the matrix of sums of products (Goodnight, The American
//! Statistician 33, 1979).
//!
//! The sums are gathered row by row, so that nothing grows with the number of points, and any
//! choice of the columns can be fitted from the same sums. A column that the others already
//! determine is left out: it has no degree of freedom and the coefficient 0. Not for columns of
//! very different sizes: products lose half of the digits, which does not matter for the codes of
//! factors.

/// The sums of products of some columns and one response.
#[derive(Clone, Debug)]
pub struct Sums {
    columns: usize,
    points: usize,
    /// The products of the columns and, last, the response: the whole matrix, though it is
    /// symmetric.
    products: Vec<f64>,
}

/// A fit of the response by some of the columns.
#[derive(Clone, Debug)]
pub struct Fit {
    columns: usize,
    swept: Vec<bool>,
    matrix: Vec<f64>,
    /// The sum of squares that is left.
    pub rest: f64,
    /// The number of columns that do not depend on others.
    pub rank: usize,
    /// The degrees of freedom: the number of points less that of columns.
    pub freedom: usize,
}

/// The part of a column's square that must be left for the column not to depend on others.
const OWN: f64 = 1e-9;

impl Sums {
    /// Returns the sums of no points.
    pub fn new(columns: usize) -> Sums {
        Sums { columns, points: 0, products: vec![0.0; (columns + 1) * (columns + 1)] }
    }

    /// Adds a point.
    pub fn add(&mut self, row: &[f64], response: f64) {
        let wide = self.columns + 1;
        let at = |i: usize| if i < self.columns { row[i] } else { response };
        for i in (0..wide).filter(|i| at(*i) != 0.0) {
            for j in 0..wide {
                self.products[i * wide + j] += at(i) * at(j);
            }
        }
        self.points += 1;
    }

    /// Returns the best fit by the columns for which `wanted` is true, in their order.
    pub fn fit(&self, wanted: impl Fn(usize) -> bool) -> Fit {
        let wide = self.columns + 1;
        let mut matrix = self.products.clone();
        let mut swept = vec![false; self.columns];
        for k in (0..self.columns).filter(|k| wanted(*k)) {
            let pivot = matrix[k * wide + k];
            if pivot > OWN * self.products[k * wide + k] {
                sweep(&mut matrix, wide, k);
                swept[k] = true;
            }
        }
        let rank = swept.iter().filter(|s| **s).count();
        let rest = matrix[wide * wide - 1].max(0.0);
        let freedom = self.points.saturating_sub(rank);
        Fit { columns: self.columns, swept, matrix, rest, rank, freedom }
    }
}

fn sweep(matrix: &mut [f64], wide: usize, k: usize) {
    let pivot = matrix[k * wide + k];
    let row: Vec<f64> = matrix[k * wide..(k + 1) * wide].iter().map(|v| v / pivot).collect();
    for i in (0..wide).filter(|i| *i != k) {
        let factor = matrix[i * wide + k];
        if factor != 0.0 {
            for j in 0..wide {
                matrix[i * wide + j] -= factor * row[j];
            }
        }
        matrix[i * wide + k] = -factor / pivot;
    }
    matrix[k * wide..(k + 1) * wide].copy_from_slice(&row);
    matrix[k * wide + k] = 1.0 / pivot;
}

impl Fit {
    /// Returns `true` if the column has a coefficient.
    pub fn has(&self, column: usize) -> bool {
        self.swept[column]
    }

    /// Returns the sum of squares that is left over the degrees of freedom; `None` without any.
    pub fn variance(&self) -> Option<f64> {
        (self.freedom > 0).then(|| self.rest / self.freedom as f64)
    }

    /// Returns the response at `row`.
    pub fn at(&self, row: &[f64]) -> f64 {
        let wide = self.columns + 1;
        let used = (0..self.columns).filter(|i| self.swept[*i]);
        used.map(|i| row[i] * self.matrix[i * wide + self.columns]).sum()
    }

    /// Returns the standard error of [`Fit::at`]; `None` without degrees of freedom.
    pub fn error_at(&self, row: &[f64]) -> Option<f64> {
        let wide = self.columns + 1;
        let used = || (0..self.columns).filter(|i| self.swept[*i] && row[*i] != 0.0);
        let pairs = used().flat_map(|i| used().map(move |j| (i, j)));
        let spread: f64 = pairs.map(|(i, j)| row[i] * row[j] * self.matrix[i * wide + j]).sum();
        Some((self.variance()? * spread.max(0.0)).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_four_points() {
        // 1, 3, 2, 5 over 0 to 3: by hand, 1.1 + 1.1 x, 2.7 left, s² = 1.35.
        let mut sums = Sums::new(3);
        for (x, y) in [(0.0, 1.0), (1.0, 3.0), (2.0, 2.0), (3.0, 5.0)] {
            sums.add(&[1.0, x, 2.0 * x - 1.0], y);
        }
        let fit = sums.fit(|_| true);
        assert_eq!((fit.rank, fit.freedom), (2, 2));
        assert!(fit.has(1) && !fit.has(2), "the third column is made of the others");
        assert!((fit.rest - 2.7).abs() < 1e-12, "{}", fit.rest);
        assert!((fit.at(&[1.0, 10.0, 19.0]) - 12.1).abs() < 1e-12);
        // At the mean of x the error is s / 2.
        let error = fit.error_at(&[1.0, 1.5, 2.0]).unwrap();
        assert!((error - (1.35_f64 / 4.0).sqrt()).abs() < 1e-12, "{error}");
        let mean = sums.fit(|k| k == 0);
        assert!(
            (mean.rest - 8.75).abs() < 1e-12 && (mean.at(&[1.0, 9.0, 9.0]) - 2.75).abs() < 1e-12
        );
    }

    #[test]
    fn without_freedom_there_is_no_error() {
        let mut sums = Sums::new(2);
        sums.add(&[1.0, 0.0], 4.0);
        sums.add(&[1.0, 1.0], 6.0);
        let fit = sums.fit(|_| true);
        assert_eq!((fit.freedom, fit.variance(), fit.error_at(&[1.0, 1.0])), (0, None, None));
        assert!((fit.at(&[1.0, 2.0]) - 8.0).abs() < 1e-12);
    }
}
