//! The kinds and units of the parts of an expression: truth values, plain numbers, times, sizes,
//! rates.
//!
//! Units are checked before anything is measured: `p99 < 1` compares a latency with a number that
//! could be anything, and evaluation would show that only after hours. The unit of a counter that a
//! target reports itself (`wa`) is not known beforehand; an operation with such a counter passes.

use super::dimension::Dimension;
use super::lexer::dimension;
use super::node::{Arithmetic, ExprError, Function, Node, NodeKind};
use crate::metric;

/// The kind of a part of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ValueKind {
    Truth,
    /// A number; the dimension is `None` if only the target knows it.
    Number(Option<Dimension>),
}

/// Refuses an expectation that is not a truth value, or that mixes units.
pub(super) fn check(text: &str, root: &Node) -> Result<(), ExprError> {
    match kind(text, root)? {
        ValueKind::Truth => Ok(()),
        ValueKind::Number(dimension) => {
            let text = root.text(text);
            let unit = dimension.and_then(Dimension::usual_unit).unwrap_or_default();
            let message = format!("`{text}` is a number, not a comparison");
            Err(error(root, message, format!("write a comparison, e.g. `{text} < 1{unit}`")))
        }
    }
}

/// Refuses a measure whose value is not a number in `unit`.
pub(super) fn check_measure(text: &str, root: &Node, unit: &str) -> Result<(), ExprError> {
    let wanted = dimension(unit);
    match number(text, root)? {
        Some(found)
            if found != wanted && (found, wanted) != (Dimension::IOPS, Dimension::PLAIN) =>
        {
            let message = format!("`{}` is {}, not in {unit}", root.text(text), found.words());
            Err(error(root, message, format!("make it {}", wanted.words())))
        }
        _ => Ok(()),
    }
}

fn error(at: &Node, message: String, hint: String) -> ExprError {
    ExprError { position: at.start, end: at.end, message, hint }
}

fn kind(text: &str, n: &Node) -> Result<ValueKind, ExprError> {
    Ok(match &n.kind {
        NodeKind::Number(_, dimension) => ValueKind::Number(Some(*dimension)),
        NodeKind::Reference(r) => ValueKind::Number(of_metric(&r.metric)),
        NodeKind::Negate(a) => ValueKind::Number(number(text, a)?),
        NodeKind::Not(a) => truth(text, a)?,
        NodeKind::And(nodes) | NodeKind::Or(nodes) => {
            for node in nodes {
                truth(text, node)?;
            }
            ValueKind::Truth
        }
        NodeKind::Compare(_, a, b) => {
            alike(text, n, [a, b])?;
            ValueKind::Truth
        }
        NodeKind::Arithmetic(Arithmetic::Add | Arithmetic::Subtract, a, b) => {
            ValueKind::Number(alike(text, n, [a, b])?)
        }
        NodeKind::Arithmetic(op, a, b) => {
            let sign = if *op == Arithmetic::Divide { -1 } else { 1 };
            let (a, b) = (number(text, a)?, number(text, b)?);
            ValueKind::Number(a.zip(b).map(|(a, b)| a.times(b, sign)))
        }
        NodeKind::Call(function, nodes) => ValueKind::Number(of_call(text, n, *function, nodes)?),
    })
}

fn of_call(
    text: &str,
    whole: &Node,
    function: Function,
    nodes: &[Node],
) -> Result<Option<Dimension>, ExprError> {
    if function.takes_pairs() {
        return of_pairs(text, whole, function, nodes);
    }
    let mut common = number(text, &nodes[0])?;
    for pair in nodes.windows(2) {
        common = alike(text, whole, [&pair[0], &pair[1]])?.or(common);
    }
    Ok(function.gives(common))
}

impl Function {
    /// Returns the dimension of the result. `common` is the dimension of the arguments, or of the
    /// rates if the arguments are pairs.
    pub(super) fn gives(self, common: Option<Dimension>) -> Option<Dimension> {
        match self {
            Function::Abs
            | Function::Min
            | Function::Max
            | Function::Median
            | Function::Deviation
            | Function::Cap => common,
            Function::Spread | Function::Log10 | Function::Knee => Some(Dimension::PLAIN),
            Function::Sqrt => common
                .filter(|d| d.time % 2 == 0 && d.bytes % 2 == 0)
                .map(|d| Dimension { time: d.time / 2, bytes: d.bytes / 2 }),
        }
    }
}

/// Returns the dimension of a call whose arguments are pairs of a plain number and a rate. All
/// rates must have one unit.
fn of_pairs(
    text: &str,
    whole: &Node,
    function: Function,
    nodes: &[Node],
) -> Result<Option<Dimension>, ExprError> {
    let mut common = number(text, &nodes[1])?;
    for (index, pair) in nodes.chunks_exact(2).enumerate() {
        let count = &pair[0];
        if number(text, count)?.is_some_and(|d| d != Dimension::PLAIN) {
            let message = format!("`{}` is not a number of parts", count.text(text));
            return Err(error(
                count,
                message,
                "write a number of parts, then the rate with so many parts".into(),
            ));
        }
        if index > 0 {
            common = alike(text, whole, [&nodes[1], &pair[1]])?.or(common);
        }
    }
    Ok(function.gives(common))
}

fn number(text: &str, n: &Node) -> Result<Option<Dimension>, ExprError> {
    match kind(text, n)? {
        ValueKind::Number(dimension) => Ok(dimension),
        ValueKind::Truth => {
            let message = format!("`{}` is a comparison, not a number", n.text(text));
            Err(error(n, message, "join comparisons with `and` or `or`".into()))
        }
    }
}

fn truth(text: &str, n: &Node) -> Result<ValueKind, ExprError> {
    match kind(text, n)? {
        ValueKind::Truth => Ok(ValueKind::Truth),
        ValueKind::Number(_) => {
            let message = format!("`{}` is a number, not a comparison", n.text(text));
            Err(error(n, message, "`and`, `or` and `not` join comparisons".into()))
        }
    }
}

/// Returns the dimension of two numbers that stand side by side in `whole`; refuses two units.
fn alike(text: &str, whole: &Node, pair: [&Node; 2]) -> Result<Option<Dimension>, ExprError> {
    let [a, b] = pair;
    let (da, db) = (number(text, a)?, number(text, b)?);
    let (Some(da), Some(db)) = (da, db) else { return Ok(da.or(db)) };
    // 0 fits every unit, and a plain number fits `iops`, whose name is its unit.
    let is_iops = |x, y| (x, y) == (Dimension::IOPS, Dimension::PLAIN);
    if da == db || is_zero(a) || is_iops(db, da) {
        return Ok(Some(db));
    }
    if is_zero(b) || is_iops(da, db) {
        return Ok(Some(da));
    }
    let (named, wrong, dimension) = if da == Dimension::PLAIN { (b, a, db) } else { (a, b, da) };
    let wrong_words = if is_bare(wrong) {
        "has no unit".to_owned()
    } else {
        format!("is {}", if dimension == da { db } else { da }.words())
    };
    let message = format!(
        "`{}` is {}, and `{}` {wrong_words}",
        named.text(text),
        dimension.words(),
        wrong.text(text)
    );
    Err(error(wrong, message, advice(text, whole, wrong, dimension)))
}

/// Returns what to write: the same expression with a unit, if only the unit is missing.
fn advice(text: &str, whole: &Node, wrong: &Node, wanted: Dimension) -> String {
    let Some(unit) = wanted.usual_unit() else {
        return "compare values of one kind: times, sizes, rates or plain numbers".into();
    };
    if !is_bare(wrong) {
        return format!("write {} in its place, e.g. `1{unit}`", wanted.words());
    }
    let text = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let (before, after) = (text(whole.start, wrong.end), text(wrong.end, whole.end));
    format!("write the unit, e.g. `{before}{unit}{after}`")
}

/// Returns `true` if the node is a number as written, without a unit.
fn is_bare(n: &Node) -> bool {
    match &n.kind {
        NodeKind::Number(_, dimension) => *dimension == Dimension::PLAIN,
        NodeKind::Negate(a) => is_bare(a),
        _ => false,
    }
}

fn is_zero(n: &Node) -> bool {
    matches!(n.kind, NodeKind::Number(v, _) if v == 0.0)
}

/// Returns the dimension of a metric as in [`metric::NAMES`]; `None` if only the target knows it.
pub(super) fn of_metric(name: &str) -> Option<Dimension> {
    // Only the experiment knows the units of printed numbers.
    if !metric::is_known(name) {
        return None;
    }
    if !metric::is_measured(name) {
        let times = name.ends_with("_time").then_some(Dimension::TIME);
        return times.or_else(|| name.starts_with("client_").then_some(Dimension::RATE));
    }
    let kinds = ["read.", "write.", "trim.", "flush."];
    let bare = kinds.iter().find_map(|kind| name.strip_prefix(kind)).unwrap_or(name);
    Some(match bare {
        "bandwidth" => Dimension::RATE,
        "iops" | "mean_rate" => Dimension::IOPS,
        "requests" | "errors" | "period" => Dimension::PLAIN,
        _ if bare.starts_with("share") => Dimension::PLAIN,
        // Means, extremes, percentiles, and the length of the phase.
        _ => Dimension::TIME,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Expr;
    use super::*;

    #[test]
    fn every_metric_has_the_unit_of_its_table() {
        let unit = |name| match of_metric(name) {
            None => "",
            Some(Dimension::TIME) => "ns",
            Some(Dimension::RATE) => "bytes/s",
            Some(Dimension::IOPS) => "1/s",
            Some(_) => "count",
        };
        let plain = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        for (name, expected, _) in metric::NAMES.iter().filter(|(name, ..)| plain(name)) {
            assert_eq!(unit(name), *expected, "{name}");
        }
        assert_eq!((unit("read.p99.9"), unit("share<1ms"), unit("wa")), ("ns", "count", ""));
        assert_eq!((unit("queue_read_time"), unit("client_sd")), ("ns", "bytes/s"));
        assert_eq!((unit("first4"), unit("read.rest20"), unit("period")), ("ns", "ns", "count"));
    }

    #[test]
    fn what_fits_together_passes() {
        let fine = [
            "p99 < 1ms",
            "p99 < 10 * p50",
            "p99 - p50 < 1ms",
            "p99 > 0",
            "iops > 1000",
            "1000 < iops",
            "iops > 1000IOPS",
            "bandwidth >= 200MB/s",
            "bandwidth / 1MB/s > 200",
            "bandwidth / iops > 4KiB",
            "iops * mean < 32",
            "errors == 0 and share<300us > 90%",
            "not (read.p99 > 3 * write.p99)",
            "wa < 1.5",
            "wa < 1.5ms",
            "first4 > 2 * rest",
            "period == 64",
            "spread(p50, p99) < 3",
            "max(p50, p99) < 1s",
            "sqrt(p50 * p99) < 1ms",
            "knee(1, bandwidth, 2, 90MB/s, 3, 95MB/s) < 2.5",
            "cap(1, bandwidth, 2, 90MB/s, 3, 95MB/s) < 100MB/s",
        ];
        for text in fine {
            Expr::parse_expectation(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        }
    }

    #[test]
    fn what_does_not_is_refused_with_what_would() {
        let cases = [
            ("p99 < 1", 6, "`p99` is a time, and `1` has no unit", "`p99 < 1ms`"),
            ("10 > p50", 0, "`p50` is a time, and `10` has no unit", "`10ms > p50`"),
            ("p99 < -1", 6, "`p99` is a time, and `-1` has no unit", "`p99 < -1ms`"),
            ("bandwidth > 200", 12, "is a transfer rate, and `200`", "`bandwidth > 200MB/s`"),
            ("bandwidth > 1GB", 12, "and `1GB` is a size", "`1MB/s`"),
            ("p99 < 4KiB", 6, "`p99` is a time, and `4KiB` is a size", "`1ms`"),
            ("iops > 1ms", 7, "`iops` is requests a second, and `1ms` is a time", "`1IOPS`"),
            ("errors < 1ms", 0, "`1ms` is a time, and `errors` is a plain number", "`1ms`"),
            ("p99 - 1 < 2ms", 6, "`1` has no unit", "`p99 - 1ms`"),
            ("errors == 0 and p99 < 1", 22, "`1` has no unit", "`p99 < 1ms`"),
            ("knee(1, p50, 2, 1ms, 3, 4) < 2", 24, "and `4` has no unit", "4ms"),
            (
                "knee(1ms, p50, 2, 1ms, 3, 1ms) < 2",
                5,
                "`1ms` is not a number of parts",
                "then the rate",
            ),
            ("cap(1, p50, 2, 1ms, 3, 1ms) < 2", 30, "`2` has no unit", "< 2ms`"),
            ("max(p50, 3) < 1ms", 9, "`3` has no unit", "`max(p50, 3ms)`"),
            ("p99", 0, "`p99` is a number, not a comparison", "`p99 < 1ms`"),
            ("errors", 0, "`errors` is a number", "`errors < 1`"),
            ("p99 and errors == 0", 0, "`p99` is a number", "join comparisons"),
            ("(p99 < 1ms) + 1 > 2", 0, "`(p99 < 1ms)` is a comparison", "`and` or `or`"),
        ];
        for (text, position, message, hint) in cases {
            let e = Expr::parse_expectation(text).expect_err(text);
            assert_eq!(e.position, position, "{text}: {e}");
            assert!(e.message.contains(message) && e.hint.contains(hint), "{text}: {e}");
        }
    }
}
