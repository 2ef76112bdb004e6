//! A tree to a value. Missing references win over everything: what was not measured is not judged.

use super::{Arithmetic, Comparison, Function, LookUp, Node, NodeKind, Reference};
use crate::metric::MetricError;

/// What an expression comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number in base units.
    Number(f64),
    /// A truth value.
    Truth(bool),
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EvalError {
    /// A reference without a value.
    #[error("{0}: {1}")]
    Missing(Reference, MetricError),
    /// A truth value where a number must stand, or the other way round.
    #[error("expected a {expected}, `{found}` is none")]
    Type {
        /// `number` or `truth value`.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
}

/// The value of a node.
pub(super) fn node(n: &Node, look_up: LookUp<'_>) -> Result<Value, EvalError> {
    Ok(match &n.kind {
        NodeKind::Number(v, _) => Value::Number(*v),
        NodeKind::Reference(r) => {
            Value::Number(look_up(r).map_err(|e| EvalError::Missing(r.clone(), e))?)
        }
        NodeKind::Negate(a) => Value::Number(-number(a, look_up)?),
        NodeKind::Not(a) => Value::Truth(!truth(a, look_up)?),
        NodeKind::Arithmetic(op, a, b) => {
            let (a, b) = (number(a, look_up)?, number(b, look_up)?);
            Value::Number(match op {
                Arithmetic::Add => a + b,
                Arithmetic::Subtract => a - b,
                Arithmetic::Multiply => a * b,
                Arithmetic::Divide => a / b,
            })
        }
        NodeKind::Compare(op, a, b) => {
            let (a, b) = (number(a, look_up)?, number(b, look_up)?);
            Value::Truth(compare(*op, a, b))
        }
        NodeKind::And(nodes) => Value::Truth(truths(nodes, look_up)?.iter().all(|t| *t)),
        NodeKind::Or(nodes) => Value::Truth(truths(nodes, look_up)?.iter().any(|t| *t)),
        NodeKind::Call(f, nodes) => {
            let values: Result<Vec<f64>, _> = nodes.iter().map(|a| number(a, look_up)).collect();
            Value::Number(call(*f, &values?))
        }
    })
}

/// Every comparison with a value that is not a number is false, `!=` included.
fn compare(op: Comparison, a: f64, b: f64) -> bool {
    match op {
        Comparison::Less => a < b,
        Comparison::LessEqual => a <= b,
        Comparison::Greater => a > b,
        Comparison::GreaterEqual => a >= b,
        Comparison::Equal => a == b,
        Comparison::NotEqual => a != b && !a.is_nan() && !b.is_nan(),
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
        Function::Knee => bend(values).0,
        Function::Cap => bend(values).1,
    }
}

/// Knee and cap of a fit of min(n·b, cap) to pairs of n and a rate.
fn bend(values: &[f64]) -> (f64, f64) {
    let points: Vec<(f64, f64)> = values.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    crate::stats::knee::fit(&points).map_or((f64::NAN, f64::NAN), |knee| knee.bend())
}

fn number(n: &Node, look_up: LookUp<'_>) -> Result<f64, EvalError> {
    match node(n, look_up)? {
        Value::Number(v) => Ok(v),
        Value::Truth(t) => Err(EvalError::Type { expected: "number", found: t.to_string() }),
    }
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
