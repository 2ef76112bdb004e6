//! Main effects and two-factor interactions of factors at levels (Montgomery, Design and Analysis
//! of Experiments, ch. 5), also where some combinations are missing.
//!
//! The fit is least squares on the cells that exist, with each factor coded so that its effects add
//! up to 0. The mean of a level is that of the additive model with all levels of the other factors
//! weighted alike: the plain mean if no cell is missing, otherwise it reflects the differences
//! between levels in cells that both have. The share of a factor is eta squared of type II: the sum
//! of squares that the additive model loses without the factor, over the total. The share of a pair
//! is what the model with all pairs loses without the pair. If cells are missing, the shares need
//! not add up to 1.
//!
//! The intervals treat what the additive model leaves, interactions included, as chance. Cells of a
//! model have no other chance, so that the tests of pairs compare these with the joint effects of
//! three and more factors.

use super::least::{Fit, Sums};
use super::special::beta_regularised;
use super::student::t95;
use super::{Basis, Estimate};

/// A cell: the level of each factor, and what was measured.
pub type Point = (Vec<usize>, f64);

/// The effects of factors.
#[derive(Clone, Debug)]
pub struct Effects {
    /// The number of cells.
    pub cells: usize,
    /// The sum of squares about the mean.
    pub total: f64,
    /// The main effect of each factor.
    pub mains: Vec<Main>,
    /// The pairs that can be told apart from the main effects, the strongest first.
    pub pairs: Vec<Pair>,
    /// The share that the additive model leaves.
    pub beyond_additive: f64,
    /// The share that all pairs leave: three and more factors, and chance.
    pub beyond_pairs: f64,
}

/// The main effect of one factor.
#[derive(Clone, Debug)]
pub struct Main {
    /// Eta squared; `None` if its levels cannot be told apart from those of other factors.
    pub share: Option<f64>,
    /// The number of cells and the mean of each level; no mean without cells.
    pub levels: Vec<(usize, Option<Estimate>)>,
}

/// The joint effect of two factors beyond what each does alone.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The two factors.
    pub of: (usize, usize),
    /// Eta squared.
    pub share: f64,
    /// The degrees of freedom.
    pub freedom: usize,
    /// The probability of such an effect by chance; `None` if nothing is left to compare with.
    pub probability: Option<f64>,
}

/// Returns the effects in the cells of factors, where `levels` has the number of levels of each
/// factor. `None` below two cells, or if all cells are equal.
pub fn analyse(levels: &[usize], points: &[Point]) -> Option<Effects> {
    let coding = Coding::new(levels, points);
    let sums = coding.sums(points);
    let total = sums.fit(|c| c == 0).rest;
    let mean = points.iter().map(|p| p.1).sum::<f64>() / points.len().max(1) as f64;
    if points.len() < 2 || total <= 1e-12 * mean * mean {
        return None;
    }
    let additive = sums.fit(|c| coding.is_additive(c));
    let whole = sums.fit(|_| true);
    let mains = (0..levels.len()).map(|f| main(&coding, points, &sums, &additive, total, f));
    let pairs = coding.pairs.iter().filter_map(|(of, columns)| {
        let without = sums.fit(|c| !columns.contains(&c));
        let freedom = whole.rank - without.rank;
        let squares = (without.rest - whole.rest).max(0.0);
        let probability = whole.variance().map(|v| chance(squares, freedom, v, whole.freedom));
        let pair = Pair { of: *of, share: squares / total, freedom, probability };
        (freedom > 0).then_some(pair)
    });
    let mut pairs: Vec<Pair> = pairs.collect();
    pairs.sort_by(|a, b| b.share.total_cmp(&a.share));
    Some(Effects {
        cells: points.len(),
        total,
        mains: mains.collect(),
        pairs,
        beyond_additive: additive.rest / total,
        beyond_pairs: whole.rest / total,
    })
}

/// Returns the means of all pairs of levels of two factors, with the levels of all others weighted
/// alike; `None` where there is no cell.
pub fn table(levels: &[usize], points: &[Point], of: (usize, usize)) -> Vec<Vec<Option<f64>>> {
    let coding = Coding::new(levels, points);
    let own = coding.pairs.iter().find(|(pair, _)| *pair == of).map(|(_, c)| c.clone());
    let own = own.unwrap_or(0..0);
    let fit = coding.sums(points).fit(|c| coding.is_additive(c) || own.contains(&c));
    let sound = coding.has_all_mains(&fit);
    let cell = |a: usize, b: usize| {
        let exists = points.iter().any(|(l, _)| l[of.0] == a && l[of.1] == b);
        (exists && sound).then(|| fit.at(&coding.row(&[(of.0, a), (of.1, b)])))
    };
    (0..levels[of.0]).map(|a| (0..levels[of.1]).map(|b| cell(a, b)).collect()).collect()
}

fn main(
    coding: &Coding,
    points: &[Point],
    sums: &Sums,
    additive: &Fit,
    total: f64,
    factor: usize,
) -> Main {
    let sound = coding.has_all_mains(additive);
    let without = sums.fit(|c| coding.is_additive(c) && !coding.mains[factor].contains(&c));
    let share = sound.then(|| ((without.rest - additive.rest) / total).max(0.0));
    let mean = |level: usize| {
        let row = coding.row(&[(factor, level)]);
        let value = additive.at(&row);
        let why = "with one factor at a time, chance cannot be estimated";
        additive.error_at(&row).map_or_else(
            || Estimate::bare(value, why),
            |error| {
                let half = t95(additive.freedom as f64) * error;
                let interval = Some((value - half, value + half));
                Estimate { value, interval, basis: Basis::LeastSquares(points.len() as u64) }
            },
        )
    };
    let of = |level: usize| {
        let cells = points.iter().filter(|(l, _)| l[factor] == level).count();
        (cells, (cells > 0 && sound).then(|| mean(level)))
    };
    Main { share, levels: (0..coding.levels[factor].len()).map(of).collect() }
}

/// Returns P(F ≥ f) for the F ratio f of these squares.
fn chance(squares: f64, freedom: usize, variance: f64, rest: usize) -> f64 {
    let (a, b) = (freedom as f64, rest as f64);
    let f = squares / a / variance;
    if !f.is_finite() { 0.0 } else { beta_regularised(b / 2.0, a / 2.0, b / (b + a * f)) }
}

/// The columns of the fit.
struct Coding {
    /// The position of each factor's level among those that have cells.
    levels: Vec<Vec<Option<usize>>>,
    /// The number of levels of each factor that have cells.
    used: Vec<usize>,
    mains: Vec<std::ops::Range<usize>>,
    pairs: Vec<((usize, usize), std::ops::Range<usize>)>,
    columns: usize,
}

impl Coding {
    fn new(levels: &[usize], points: &[Point]) -> Coding {
        let (mut coded, mut used, mut mains, mut columns) = (Vec::new(), Vec::new(), Vec::new(), 1);
        for (factor, count) in levels.iter().enumerate() {
            let mut next = 0..;
            let has = |level: usize| points.iter().any(|(l, _)| l[factor] == level);
            let places = (0..*count).map(|level| if has(level) { next.next() } else { None });
            coded.push(places.collect::<Vec<_>>());
            used.push(coded[factor].iter().flatten().count());
            let own = used[factor].saturating_sub(1);
            mains.push(columns..columns + own);
            columns += own;
        }
        let mut pairs = Vec::new();
        for a in 0..levels.len() {
            for b in a + 1..levels.len() {
                let own = mains[a].len() * mains[b].len();
                pairs.push(((a, b), columns..columns + own));
                columns += own;
            }
        }
        Coding { levels: coded, used, mains, pairs, columns }
    }

    fn is_additive(&self, column: usize) -> bool {
        self.mains.last().is_none_or(|last| column < last.end)
    }

    fn has_all_mains(&self, fit: &Fit) -> bool {
        (0..self.columns).filter(|c| self.is_additive(*c)).all(|c| fit.has(c))
    }

    fn sums(&self, points: &[Point]) -> Sums {
        let mut sums = Sums::new(self.columns);
        for (levels, value) in points {
            let all: Vec<(usize, usize)> = levels.iter().copied().enumerate().collect();
            sums.add(&self.row(&all), *value);
        }
        sums
    }

    /// Returns the codes of a level: 1 in its own column; the last level is −1 in all columns.
    fn codes(&self, factor: usize, level: usize) -> Vec<f64> {
        let own = self.mains[factor].len();
        match self.levels[factor][level] {
            Some(place) if place + 1 == self.used[factor] => vec![-1.0; own],
            place => (0..own).map(|c| f64::from(u8::from(place == Some(c)))).collect(),
        }
    }

    /// Returns the columns at some levels. Factors that are not named are at the mean of all their
    /// levels.
    fn row(&self, at: &[(usize, usize)]) -> Vec<f64> {
        let mut row = vec![0.0; self.columns];
        row[0] = 1.0;
        let codes: Vec<(usize, Vec<f64>)> =
            at.iter().map(|(factor, level)| (*factor, self.codes(*factor, *level))).collect();
        for (factor, codes) in &codes {
            row[self.mains[*factor].clone()].copy_from_slice(codes);
        }
        let of = |factor: usize| codes.iter().find(|(f, _)| *f == factor).map(|(_, c)| c);
        for ((a, b), columns) in &self.pairs {
            let (Some(x), Some(y)) = (of(*a), of(*b)) else { continue };
            let products = x.iter().flat_map(|x| y.iter().map(move |y| x * y));
            columns.clone().zip(products).for_each(|(c, product)| row[c] = product);
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, expected: f64) -> bool {
        (got - expected).abs() <= 1e-6 * expected.abs().max(1.0)
    }

    /// Montgomery's battery life: three materials at three temperatures, four batteries each.
    #[test]
    fn a_textbooks_analysis_of_variance() {
        let data: [[[f64; 4]; 3]; 3] = [
            [[130.0, 155.0, 74.0, 180.0], [34.0, 40.0, 80.0, 75.0], [20.0, 70.0, 82.0, 58.0]],
            [[150.0, 188.0, 159.0, 126.0], [136.0, 122.0, 106.0, 115.0], [25.0, 70.0, 58.0, 45.0]],
            [[138.0, 110.0, 168.0, 160.0], [174.0, 120.0, 150.0, 139.0], [96.0, 104.0, 82.0, 60.0]],
        ];
        let mut points = Vec::new();
        for (m, row) in data.iter().enumerate() {
            for (t, cell) in row.iter().enumerate() {
                points.extend(cell.iter().map(|life| (vec![m, t], *life)));
            }
        }
        let e = analyse(&[3, 3], &points).unwrap();
        let squares = |share: f64| share * e.total;
        assert!((e.total - 77_646.97).abs() < 0.01, "{}", e.total);
        assert!((squares(e.mains[0].share.unwrap()) - 10_683.72).abs() < 0.01);
        assert!((squares(e.mains[1].share.unwrap()) - 39_118.72).abs() < 0.01);
        assert!((squares(e.pairs[0].share) - 9_613.78).abs() < 0.01);
        assert!((squares(e.beyond_pairs) - 18_230.75).abs() < 0.01);
        assert_eq!((e.pairs[0].of, e.pairs[0].freedom), ((0, 1), 4));
        // F = 3.56 with 4 and 27 degrees of freedom, for which Montgomery has P = 0.0186.
        let p = e.pairs[0].probability.unwrap();
        assert!((p - 0.0186).abs() < 1e-4, "{p}");
        // No cell is missing, so the means are plain: 83.17, 108.33 and 125.08 for the materials.
        let means: Vec<f64> =
            e.mains[0].levels.iter().map(|(_, m)| m.as_ref().unwrap().value).collect();
        assert!(near(means[0], 998.0 / 12.0) && near(means[1], 1300.0 / 12.0));
        assert!(near(means[2], 1501.0 / 12.0), "{means:?}");
        let cells = table(&[3, 3], &points, (0, 1));
        assert!(near(cells[0][0].unwrap(), 134.75) && near(cells[2][1].unwrap(), 145.75));
    }

    #[test]
    fn a_missing_cell_is_made_up_for() {
        // 10 and 14; 20 and nothing: the second row is 10 more where both rows have a cell.
        let points = [(vec![0, 0], 10.0), (vec![0, 1], 14.0), (vec![1, 0], 20.0)];
        let e = analyse(&[2, 2], &points).unwrap();
        let mean = |f: usize, l: usize| e.mains[f].levels[l].1.as_ref().unwrap().value;
        assert!(near(mean(0, 0), 12.0) && near(mean(0, 1), 22.0), "not 20, the plain mean");
        assert!(near(mean(1, 0), 15.0) && near(mean(1, 1), 19.0));
        assert_eq!(e.mains[0].levels[1].0, 1);
        assert!(e.mains[0].levels[0].1.as_ref().unwrap().interval.is_none(), "nothing is left");
        assert!(e.pairs.is_empty(), "three cells do not tell a pair from its two factors");
        assert!(near(e.beyond_additive, 0.0));
        assert_eq!(table(&[2, 2], &points, (0, 1))[1][1], None);
    }

    /// Reference: numpy 2, `linalg.lstsq` of the coded columns with and without each term.
    #[test]
    fn shares_and_means_of_an_unbalanced_design() {
        let mut points = Vec::new();
        for a in 0..3 {
            for b in 0..2 {
                for c in 0..2 {
                    // The third level of `a` has no cell with the second level of `b`.
                    if (a, b) != (2, 1) {
                        let value = 10 * a + 4 * b + c + 6 * a * b + 3 * a * a * c;
                        points.push((vec![a, b, c], value as f64));
                    }
                }
            }
        }
        let e = analyse(&[3, 2, 2], &points).unwrap();
        let share = |f: usize| e.mains[f].share.unwrap();
        let got = [share(0), share(1), share(2), e.beyond_additive, e.beyond_pairs];
        let expected = [
            0.8899162756463336,
            0.0901646885638053,
            0.048670530867605116,
            0.06127518630968813,
            0.0,
        ];
        for (got, expected) in got.iter().zip(expected) {
            assert!(near(*got, expected), "{got} {expected}");
        }
        let pairs: Vec<_> = e.pairs.iter().map(|p| (p.of, p.freedom)).collect();
        assert_eq!(pairs, [((0, 2), 2), ((0, 1), 1), ((1, 2), 1)]);
        assert!(near(e.pairs[0].share, 0.03795197350262214), "{:?}", e.pairs);
        assert!(near(e.pairs[1].share, 0.016560861164780578), "{:?}", e.pairs);
        let first = e.mains[0].levels[2].1.as_ref().unwrap();
        let (low, high) = first.interval.unwrap();
        assert!(near(first.value, 30.0), "{first:?}");
        assert!(near(low, 22.583080669436885) && near(high, 37.416919330563076), "{first:?}");
    }

    #[test]
    fn what_cannot_be_told_is_not_said() {
        assert!(analyse(&[2], &[]).is_none());
        assert!(analyse(&[2], &[(vec![0], 5.0), (vec![1], 5.0)]).is_none(), "all the same");
        // Two factors that always change together.
        let e = analyse(&[2, 2], &[(vec![0, 0], 1.0), (vec![1, 1], 2.0)]).unwrap();
        assert!(e.mains.iter().all(|m| m.share.is_none() && m.levels[0].1.is_none()));
        // A level without cells.
        let e = analyse(&[3], &[(vec![0], 1.0), (vec![0], 2.0), (vec![2], 5.0)]).unwrap();
        assert_eq!((e.mains[0].levels[1].0, &e.mains[0].levels[1].1), (0, &None));
        assert!(near(e.mains[0].levels[2].1.as_ref().unwrap().value, 5.0));
    }
}
