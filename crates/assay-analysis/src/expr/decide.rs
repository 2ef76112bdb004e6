//! Measures and predicates over several repeats: the mean of a measure with its interval, and the
//! decision on a comparison whose sides were measured and are not exact.

use super::evaluate::{self, EvalError};
use super::node::{ComparisonOperator, Node, NodeKind, Reference};
use crate::metric::MetricError;
use crate::stats::{Estimate, student};

/// The decision of repeats on a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// The predicate holds at neither end of the interval.
    Fails,
    /// The predicate holds at one end of the interval and not at the other.
    Undecided,
    /// The predicate holds at both ends of the interval.
    Holds,
}

impl Decision {
    fn of(truth: bool) -> Decision {
        if truth { Decision::Holds } else { Decision::Fails }
    }

    fn not(self) -> Decision {
        match self {
            Decision::Fails => Decision::Holds,
            Decision::Undecided => Decision::Undecided,
            Decision::Holds => Decision::Fails,
        }
    }
}

/// The repeats over which an expression is judged.
#[derive(Clone, Copy)]
pub struct Repeats<'a> {
    /// The number of repeats.
    pub count: usize,
    /// The function that returns the value of a reference in one of the repeats.
    pub look_up: &'a dyn Fn(usize, &Reference) -> Result<f64, MetricError>,
}

/// The smallest relative difference that counts: two sides that are closer than this part of the
/// larger one are not told apart. A latency is known to 0.4 %, the width of a bucket of the
/// histogram.
pub const CLOSEST: f64 = 0.005;

/// Returns the value of a number in each repeat.
fn numbers(n: &Node, over: Repeats<'_>) -> Result<Vec<f64>, EvalError> {
    (0..over.count).map(|i| evaluate::base(n, &|r| (over.look_up)(i, r))).collect()
}

/// Returns the mean of a number over the repeats, with its 95 % interval.
pub(super) fn estimate(n: &Node, over: Repeats<'_>) -> Result<Estimate, EvalError> {
    let none = || Estimate::bare(f64::NAN, "no repeats");
    Ok(student::of_repeats(&numbers(n, over)?).unwrap_or_else(none))
}

/// Decides whether a predicate holds. A reference that was not measured in a repeat makes the whole
/// predicate an error, whatever its other operands are.
pub(super) fn decide(n: &Node, over: Repeats<'_>) -> Result<Decision, EvalError> {
    let each = |nodes: &[Node]| -> Result<Vec<Decision>, EvalError> {
        nodes.iter().map(|n| decide(n, over)).collect()
    };
    Ok(match &n.kind {
        NodeKind::Not(a) => decide(a, over)?.not(),
        NodeKind::And(nodes) => each(nodes)?.into_iter().min().unwrap_or(Decision::Holds),
        NodeKind::Or(nodes) => each(nodes)?.into_iter().max().unwrap_or(Decision::Fails),
        NodeKind::Compare(op, a, b) => compare(*op, &numbers(a, over)?, &numbers(b, over)?),
        _ => {
            let found = numbers(n, over)?.first().map_or_else(String::new, f64::to_string);
            return Err(EvalError::Type { expected: "truth value", found });
        }
    })
}

/// Compares the values of the two sides in all repeats.
fn compare(op: ComparisonOperator, a: &[f64], b: &[f64]) -> Decision {
    // A side that is not a number passes neither a comparison nor its negation.
    if a.iter().chain(b).any(|v| v.is_nan()) {
        return Decision::Undecided;
    }
    if op == ComparisonOperator::NotEqual {
        return compare(ComparisonOperator::Equal, a, b).not();
    }
    let in_each = || a.iter().zip(b).map(|(a, b)| evaluate::compare(op, *a, *b));
    // Counts can be equal; a margin is not needed then.
    if a == b || a.iter().chain(b).any(|v| !v.is_finite()) {
        return match (in_each().all(|t| t), in_each().any(|t| t)) {
            (true, _) => Decision::Holds,
            (_, false) => Decision::Fails,
            _ => Decision::Undecided,
        };
    }
    let ahead: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
    let largest = a.iter().chain(b).fold(0.0, |most: f64, v| most.max(v.abs()));
    let margin = student::of_repeats(&ahead).and_then(|e| Some((e.value, e.half_width()?)));
    let Some((ahead, half)) = margin.map(|(v, half)| (v, half.max(CLOSEST * largest))) else {
        return Decision::Undecided;
    };
    match op {
        _ if ahead.abs() <= half => Decision::Undecided,
        ComparisonOperator::Less | ComparisonOperator::LessEqual => Decision::of(ahead > 0.0),
        ComparisonOperator::Greater | ComparisonOperator::GreaterEqual => Decision::of(ahead < 0.0),
        ComparisonOperator::Equal | ComparisonOperator::NotEqual => Decision::Fails,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Expr;
    use super::*;

    /// Decides a predicate about `{a@t:m}` and `{b@t:m}`, which were measured in three repeats.
    fn decided(text: &str, a: [f64; 3], b: [f64; 3]) -> Result<Decision, EvalError> {
        let look_up = |i: usize, r: &Reference| match r.workload.as_str() {
            "a" => Ok(a[i]),
            "b" => Ok(b[i]),
            _ => Err(MetricError::Skipped("no".into())),
        };
        Expr::parse(text).unwrap().decide(Repeats { count: 3, look_up: &look_up })
    }

    #[test]
    fn an_order_needs_a_margin_beyond_the_interval() {
        use Decision::*;
        let less = |a, b| decided("{a@t:m} < {b@t:m}", a, b).unwrap();
        assert_eq!(less([1.0, 1.1, 0.9], [2.0, 2.1, 1.9]), Holds);
        assert_eq!(less([2.0, 2.1, 1.9], [1.0, 1.1, 0.9]), Fails);
        // Less in each repeat, but the interval of the differences 0.1, 0.9 and 0.1 includes 0.
        assert_eq!(less([1.0, 1.0, 1.0], [1.1, 1.9, 1.1]), Undecided);
        // The sides are paired by repeat: what both have in common does not widen the interval.
        assert_eq!(less([1.0, 5.0, 9.0], [2.0, 6.0, 10.0]), Holds);
    }

    #[test]
    fn what_always_comes_out_alike_is_not_decided_by_a_hair() {
        use Decision::*;
        let alike = |text: &str, a: f64| decided(text, [a; 3], [1.0; 3]).unwrap();
        assert_eq!(alike("{a@t:m} > {b@t:m}", 1.000_011_5), Undecided);
        assert_eq!(alike("{a@t:m} > {b@t:m}", 1.0051), Holds, "0.5 % of 1.0051 is 0.00503");
        assert_eq!(alike("{a@t:m} > {b@t:m}", 1.005), Undecided);
        // Counts are exact.
        assert_eq!(alike("{a@t:m} >= {b@t:m}", 1.0), Holds);
        assert_eq!(alike("{a@t:m} > {b@t:m}", 1.0), Fails);
        assert_eq!(alike("{a@t:m} == {b@t:m}", 1.0), Holds);
        assert_eq!(alike("{a@t:m} != {b@t:m}", 1.0), Fails);
        assert_eq!(alike("{a@t:m} == {b@t:m}", 1.001), Undecided);
        assert_eq!(alike("{a@t:m} == {b@t:m}", 1.1), Fails);
    }

    #[test]
    fn truths_combine_and_a_failure_outweighs_doubt() {
        use Decision::*;
        let of = |text: &str| decided(text, [1.0; 3], [1.001; 3]).unwrap();
        let (no, doubt, yes) = ("{a@t:m} > 2", "{a@t:m} < {b@t:m}", "{a@t:m} < 2");
        assert_eq!((of(no), of(doubt), of(yes)), (Fails, Undecided, Holds));
        assert_eq!(of(&format!("{yes} and {doubt}")), Undecided);
        assert_eq!(of(&format!("{doubt} and {no}")), Fails);
        assert_eq!(of(&format!("{doubt} or {yes}")), Holds);
        assert_eq!(of(&format!("not ({doubt})")), Undecided);
        assert_eq!(of(&format!("not ({no})")), Holds);
        let missing = decided(&format!("{no} and {{c@t:m}} > 1"), [1.0; 3], [1.0; 3]);
        assert!(matches!(missing, Err(EvalError::Missing(..))), "not measured, not judged");
        assert!(matches!(decided("{a@t:m}", [1.0; 3], [1.0; 3]), Err(EvalError::Type { .. })));
    }

    #[test]
    fn what_has_no_number_never_passes() {
        use Decision::*;
        for text in ["{a@t:m} < {b@t:m}", "{a@t:m} != {b@t:m}", "{a@t:m} == {a@t:m}"] {
            assert_eq!(decided(text, [f64::NAN; 3], [1.0; 3]), Ok(Undecided), "{text}");
            let negated = decided(&format!("not ({text})"), [f64::NAN; 3], [1.0; 3]);
            assert_eq!(negated, Ok(Undecided), "{text}");
        }
        assert_eq!(decided("{a@t:m} > {b@t:m}", [f64::INFINITY; 3], [1.0; 3]), Ok(Holds));
        let once = decided("{a@t:m} > {b@t:m}", [2.0, f64::NAN, 2.0], [1.0; 3]);
        assert_eq!(once, Ok(Undecided));
    }

    #[test]
    fn a_measure_has_an_interval() {
        let look_up = |i: usize, _: &Reference| Ok([3.0, 4.0, 5.0][i]);
        let over = Repeats { count: 3, look_up: &look_up };
        let estimate = Expr::parse("2 * {a@t:m}").unwrap().estimate(over).unwrap();
        let half = 4.302_652_73 * 2.0 / 3.0_f64.sqrt();
        assert!((estimate.value - 8.0).abs() < 1e-12);
        assert!((estimate.half_width().unwrap() - half).abs() < 1e-6);
    }
}
