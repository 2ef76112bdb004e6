//! The nodes of a parsed expression, and the reason why a text is none.

use super::dimension::Dimension;
use crate::metric::MetricError;
use std::fmt;

/// A node with the range of bytes in the text that it came from.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: NodeKind,
}

impl Node {
    /// Returns the part of `text` that the node was parsed from.
    pub(super) fn text<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.start..self.end).unwrap_or("").trim()
    }
}

#[derive(Clone, Debug)]
pub(super) enum NodeKind {
    Number(f64, Dimension),
    Reference(Reference),
    Negate(Box<Node>),
    Not(Box<Node>),
    Arithmetic(Arithmetic, Box<Node>, Box<Node>),
    Compare(ComparisonOperator, Box<Node>, Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Call(Function, Vec<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ComparisonOperator {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Abs,
    Min,
    Max,
    Spread,
    Median,
    Deviation,
    Sqrt,
    Log10,
    Knee,
    Cap,
}

/// The functions: name, function, and the minimum and maximum number of arguments.
pub(super) const FUNCTIONS: &[(&str, Function, usize, usize)] = &[
    ("abs", Function::Abs, 1, 1),
    ("min", Function::Min, 1, 64),
    ("max", Function::Max, 1, 64),
    ("spread", Function::Spread, 1, 64),
    ("median", Function::Median, 1, 64),
    ("deviation", Function::Deviation, 2, 64),
    ("sqrt", Function::Sqrt, 1, 1),
    ("log10", Function::Log10, 1, 1),
    ("knee", Function::Knee, 6, 64),
    ("cap", Function::Cap, 6, 64),
];

impl Function {
    /// Returns `true` if the arguments are pairs: a number of parts and the rate with that number.
    pub(super) const fn takes_pairs(self) -> bool {
        matches!(self, Function::Knee | Function::Cap)
    }
}

/// A metric of a cell as an expression names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The workload; empty in an expectation, which is about one cell.
    pub workload: String,
    /// The target; empty in an expectation.
    pub target: String,
    /// The metric, see [`crate::metric::NAMES`].
    pub metric: String,
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.workload.is_empty() && self.target.is_empty() {
            return f.write_str(&self.metric);
        }
        write!(f, "{}@{}:{}", self.workload, self.target, self.metric)
    }
}

/// A function that returns the value of a reference, or the reason why it has none.
pub type LookUp<'a> = &'a dyn Fn(&Reference) -> Result<f64, MetricError>;

/// The reason why a text is not an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (at byte {position}){}", advice(.hint))]
pub struct ExprError {
    /// The byte offset of the mistake in the text.
    pub position: usize,
    /// The offset of the byte after the mistake; `position` if the text ends there.
    pub end: usize,
    /// The mistake at `position`, in words.
    pub message: String,
    /// What to write instead; may be empty.
    pub hint: String,
}

fn advice(hint: &str) -> String {
    if hint.is_empty() { String::new() } else { format!(": {hint}") }
}
