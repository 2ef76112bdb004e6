//! The language of measures and predicates:
//! `{rnd-rd@ssd-m:p50} < 250us and spread({..}, {..}) < 1.1`.
//!
//! Numbers may carry a unit without a space (`ns us ms s`, `B KiB MiB GiB kB MB GB`, those per
//! second, `IOPS`, `x`, `%`) and are converted to base units: ns, bytes, bytes/s, 1/s, shares.
//! Values themselves carry no unit: dividing by `1MB/s` turns a bandwidth into a plain number.
//! Expectations of users and measures are checked for units that do not fit. Nesting and size are
//! limited, so that no text makes the parser or the evaluator overflow the stack.

mod decide;
mod dimension;
mod evaluate;
mod lexer;
mod node;
mod parser;
mod units;

pub use decide::{CLOSEST, Decision, Repeats};
pub use evaluate::{EvalError, Value};
pub use lexer::unit;
pub use node::{ExprError, LookUp, Reference};

use crate::stats::Estimate;
use node::{Node, NodeKind};

/// A parsed expression.
#[derive(Clone, Debug)]
pub struct Expr {
    text: String,
    root: Node,
}

/// One operand of the outermost `and`, which is judged by itself.
#[derive(Clone, Debug)]
pub struct Conjunct<'a> {
    /// The text of the operand.
    pub text: &'a str,
    node: &'a Node,
}

impl Expr {
    /// Parses an expression whose references are written `{WORKLOAD@TARGET:METRIC}`.
    ///
    /// # Errors
    /// The position and the reason if the text is not an expression.
    pub fn parse(text: &str) -> Result<Expr, ExprError> {
        Ok(Expr { text: text.to_owned(), root: parser::parse(text, false)? })
    }

    /// Parses an expectation about one cell: metrics have no workload and target, as in
    /// `p99 < 10ms`.
    ///
    /// # Errors
    /// The position and the reason if the text is not an expression, is not a comparison, or mixes
    /// units, such as a time and a number without a unit.
    pub fn parse_expectation(text: &str) -> Result<Expr, ExprError> {
        let expression = Expr { text: text.to_owned(), root: parser::parse(text, true)? };
        units::check(text, &expression.root)?;
        Ok(expression)
    }

    /// Parses a measure whose value is a number in `unit`, e.g. `ms`, `MB/s` or `count`.
    ///
    /// # Errors
    /// The position and the reason if the text is not an expression, or its value is not in `unit`.
    pub fn parse_measure(text: &str, unit: &str) -> Result<Expr, ExprError> {
        let expression = Expr::parse(text)?;
        units::check_measure(text, &expression.root, unit)?;
        Ok(expression)
    }

    /// Returns the text that the expression was parsed from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns every reference once, in order of appearance.
    pub fn references(&self) -> Vec<&Reference> {
        let (mut found, mut stack) = (Vec::new(), vec![&self.root]);
        while let Some(node) = stack.pop() {
            match &node.kind {
                NodeKind::Number(..) => {}
                NodeKind::Reference(r) if !found.contains(&r) => found.push(r),
                NodeKind::Reference(_) => {}
                NodeKind::Negate(a) | NodeKind::Not(a) => stack.push(a),
                NodeKind::Arithmetic(_, a, b) | NodeKind::Compare(_, a, b) => {
                    stack.push(b);
                    stack.push(a);
                }
                NodeKind::And(v) | NodeKind::Or(v) | NodeKind::Call(_, v) => {
                    stack.extend(v.iter().rev());
                }
            }
        }
        found
    }

    /// Returns the value of the expression. `look_up` gives the value of each reference.
    ///
    /// # Errors
    /// [`EvalError::Missing`] if a reference has no value, [`EvalError::NoNumber`] if a side of a
    /// comparison has none, [`EvalError::Type`] if a truth value stands where a number must or the
    /// other way round.
    pub fn evaluate(&self, look_up: LookUp<'_>) -> Result<Value, EvalError> {
        evaluate::node(&self.root, look_up)
    }

    /// Returns the mean of a measure over repeats, with its 95 % interval.
    ///
    /// # Errors
    /// As [`Expr::evaluate`].
    pub fn estimate(&self, over: Repeats<'_>) -> Result<Estimate, EvalError> {
        decide::estimate(&self.root, over)
    }

    /// Decides whether a predicate holds over repeats, at both ends of the interval.
    ///
    /// # Errors
    /// As [`Expr::evaluate`].
    pub fn decide(&self, over: Repeats<'_>) -> Result<Decision, EvalError> {
        decide::decide(&self.root, over)
    }

    /// Returns the operands of the outermost `and`, or the whole expression if there is none.
    pub fn conjuncts(&self) -> Vec<Conjunct<'_>> {
        let of = |node| Conjunct { text: Node::text(node, &self.text), node };
        match &self.root.kind {
            NodeKind::And(nodes) => nodes.iter().map(of).collect(),
            _ => vec![of(&self.root)],
        }
    }
}

impl Conjunct<'_> {
    /// Returns the value of this operand.
    ///
    /// # Errors
    /// As [`Expr::evaluate`].
    pub fn evaluate(&self, look_up: LookUp<'_>) -> Result<Value, EvalError> {
        evaluate::node(self.node, look_up)
    }

    /// Decides whether this operand holds over repeats.
    ///
    /// # Errors
    /// As [`Expr::evaluate`].
    pub fn decide(&self, over: Repeats<'_>) -> Result<Decision, EvalError> {
        decide::decide(self.node, over)
    }

    /// Returns the two sides of a comparison with their intervals over repeats; `None` if the
    /// operand is not a comparison or a side has no value.
    pub fn estimates(&self, over: Repeats<'_>) -> Option<(Estimate, Estimate)> {
        let NodeKind::Compare(_, a, b) = &self.node.kind else { return None };
        Some((decide::estimate(a, over).ok()?, decide::estimate(b, over).ok()?))
    }

    /// Returns the two numbers of a comparison; `None` if the operand is not a comparison or a side
    /// has no value.
    pub fn sides(&self, look_up: LookUp<'_>) -> Option<(f64, f64)> {
        let NodeKind::Compare(_, a, b) = &self.node.kind else { return None };
        match (evaluate::node(a, look_up), evaluate::node(b, look_up)) {
            (Ok(Value::Number(a)), Ok(Value::Number(b))) => Some((a, b)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
