//! Evaluation of a tree to a value. If one operand was not measured, the whole expression is an
//! error, so that nothing is judged without its measurements.

use super::dimension::Dimension;
use super::node::{Arithmetic, ComparisonOperator, Function, LookUp, Node, NodeKind, Reference};
use super::units::of_metric;
use crate::metric::MetricError;

/// The value of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number in base units.
    Number(f64),
    /// A truth value.
    Truth(bool),
}

/// The reason why an expression has no value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EvalError {
    /// A reference has no value.
    #[error("{0}: {1}")]
    Missing(Reference, MetricError),
    /// A side of a comparison is not a number, such as 0 / 0.
    #[error("one side of a comparison has no value (like 0 / 0)")]
    NoNumber,
    /// A truth value stands where a number must stand, or the other way round.
    #[error("expected a {expected}, but `{found}` is not one")]
    Type {
        /// The type that must stand there: `number` or `truth value`.
        expected: &'static str,
        /// The value that stands there.
        found: String,
    },
}

/// Returns the value of a node.
pub(super) fn node(n: &Node, look_up: LookUp<'_>) -> Result<Value, EvalError> {
    Ok(match &n.kind {
        NodeKind::Not(a) => Value::Truth(!truth(a, look_up)?),
        NodeKind::Compare(op, a, b) => {
            let (a, b) = (number(a, look_up)?.base, number(b, look_up)?.base);
            // A comparison with NaN is neither true nor false: `not` would make it true.
            if a.is_nan() || b.is_nan() {
                return Err(EvalError::NoNumber);
            }
            Value::Truth(compare(*op, a, b))
        }
        NodeKind::And(nodes) => Value::Truth(truths(nodes, look_up)?.iter().all(|t| *t)),
        NodeKind::Or(nodes) => Value::Truth(truths(nodes, look_up)?.iter().any(|t| *t)),
        _ => Value::Number(number(n, look_up)?.base),
    })
}

/// Returns the value of a node that is a number, in base units.
pub(super) fn base(n: &Node, look_up: LookUp<'_>) -> Result<f64, EvalError> {
    Ok(number(n, look_up)?.base)
}

/// A number in base units, and its dimension if that is known.
#[derive(Clone, Copy)]
struct DimensionedNumber {
    base: f64,
    dimension: Option<Dimension>,
}

fn number(n: &Node, look_up: LookUp<'_>) -> Result<DimensionedNumber, EvalError> {
    Ok(match &n.kind {
        NodeKind::Number(base, dimension) => {
            DimensionedNumber { base: *base, dimension: Some(*dimension) }
        }
        NodeKind::Reference(r) => {
            let base = look_up(r).map_err(|e| EvalError::Missing(r.clone(), e))?;
            DimensionedNumber { base, dimension: of_metric(&r.metric) }
        }
        NodeKind::Negate(a) => {
            let a = number(a, look_up)?;
            DimensionedNumber { base: -a.base, ..a }
        }
        NodeKind::Arithmetic(op, a, b) => arithmetic(*op, number(a, look_up)?, number(b, look_up)?),
        NodeKind::Call(function, nodes) => {
            let all: Result<Vec<DimensionedNumber>, _> =
                nodes.iter().map(|a| number(a, look_up)).collect();
            let all = all?;
            let values: Vec<f64> = all.iter().map(|q| q.base).collect();
            // In pairs, the counts are plain numbers and the rates have a unit, which `common`
            // finds.
            DimensionedNumber {
                base: call(*function, &values),
                dimension: function.gives(common(&all)),
            }
        }
        NodeKind::Not(_) | NodeKind::Compare(..) | NodeKind::And(_) | NodeKind::Or(_) => {
            let Value::Truth(found) = node(n, look_up)? else { unreachable!("it is a truth") };
            return Err(EvalError::Type { expected: "number", found: found.to_string() });
        }
    })
}

fn arithmetic(op: Arithmetic, a: DimensionedNumber, b: DimensionedNumber) -> DimensionedNumber {
    let sign = match op {
        Arithmetic::Add => {
            return DimensionedNumber { base: a.base + b.base, dimension: common(&[a, b]) };
        }
        Arithmetic::Subtract => {
            return DimensionedNumber { base: a.base - b.base, dimension: common(&[a, b]) };
        }
        Arithmetic::Multiply => 1,
        Arithmetic::Divide => -1,
    };
    let base = if sign > 0 { a.base * b.base } else { a.base / b.base };
    let Some((a, b)) = a.dimension.zip(b.dimension) else {
        return DimensionedNumber { base, dimension: None };
    };
    let dimension = a.times(b, sign);
    let scale = a.in_ns() + sign * b.in_ns() - dimension.in_ns();
    let base = if scale < 0 { base * 1e9_f64.powi(-scale) } else { base / 1e9_f64.powi(scale) };
    DimensionedNumber { base, dimension: Some(dimension) }
}

/// Returns the dimension of numbers that stand side by side. A plain number such as 0 takes the
/// dimension of the others.
fn common(all: &[DimensionedNumber]) -> Option<Dimension> {
    let known = || all.iter().filter_map(|q| q.dimension);
    known().find(|d| *d != Dimension::PLAIN).or_else(|| known().next())
}

pub(super) fn compare(op: ComparisonOperator, a: f64, b: f64) -> bool {
    match op {
        ComparisonOperator::Less => a < b,
        ComparisonOperator::LessEqual => a <= b,
        ComparisonOperator::Greater => a > b,
        ComparisonOperator::GreaterEqual => a >= b,
        ComparisonOperator::Equal => a == b,
        ComparisonOperator::NotEqual => a != b,
    }
}

fn call(f: Function, values: &[f64]) -> f64 {
    let fold = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick).unwrap_or(f64::NAN);
    match f {
        Function::Abs => fold(|a, _| a).abs(),
        Function::Sqrt => fold(|a, _| a).sqrt(),
        Function::Log10 => libm::log10(fold(|a, _| a)),
        Function::Min => fold(f64::min),
        Function::Max => fold(f64::max),
        Function::Spread => fold(f64::max) / fold(f64::min),
        Function::Median => crate::stats::median(values).unwrap_or(f64::NAN),
        Function::Deviation => crate::stats::variance(values).map_or(f64::NAN, f64::sqrt),
        Function::Knee => bend(values).0,
        Function::Cap => bend(values).1,
    }
}

/// Returns knee and cap of a fit of min(n·b, cap) to pairs of n and a rate; NaN if there is none.
fn bend(values: &[f64]) -> (f64, f64) {
    let points: Vec<(f64, f64)> = values.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    crate::stats::knee::fit(&points).map_or((f64::NAN, f64::NAN), |knee| knee.bend())
}

fn truth(n: &Node, look_up: LookUp<'_>) -> Result<bool, EvalError> {
    match node(n, look_up)? {
        Value::Truth(t) => Ok(t),
        Value::Number(v) => Err(EvalError::Type { expected: "truth value", found: v.to_string() }),
    }
}

fn truths(nodes: &[Node], look_up: LookUp<'_>) -> Result<Vec<bool>, EvalError> {
    nodes.iter().map(|n| truth(n, look_up)).collect()
}
