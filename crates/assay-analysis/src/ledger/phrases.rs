//! Numbers and parts of predicates as text.

use crate::expr::{Conjunct, Expr};

/// Returns the size of a ledger's unit in base units. Anything that is not a unit of time, size,
/// rate or share counts as 1.
pub(super) fn unit_size(unit: &str) -> f64 {
    match unit {
        "min" => 60e9,
        "h" => 3600e9,
        _ => crate::expr::unit(unit).unwrap_or(1.0),
    }
}

/// Returns the unit of measures in a ledger's unit: only ledgers have minutes and hours.
pub(super) fn measure_unit(unit: &str) -> &str {
    if ["min", "h"].contains(&unit) { "s" } else { unit }
}

/// Formats a number with four significant digits, without an exponent for everyday sizes.
pub(crate) fn plain(v: f64) -> String {
    let digits = if v == 0.0 || !v.is_finite() { 0.0 } else { libm::floor(libm::log10(v.abs())) };
    if !(-5.0..12.0).contains(&digits) {
        return format!("{v:.3e}");
    }
    let decimals = (3.0 - digits).clamp(0.0, 8.0) as usize;
    format!("{v:.decimals$}")
}

/// Returns the text of the operands of the outermost `and` for which `is_meant` is true, with the
/// two sides of a comparison as `sides` formats them.
pub(super) fn conjuncts(
    expr: &Expr,
    is_meant: impl Fn(&Conjunct<'_>) -> bool,
    sides: impl Fn(&Conjunct<'_>) -> Option<(String, String)>,
) -> String {
    let line = |c: Conjunct<'_>| match sides(&c) {
        Some((a, b)) => format!("{} (is {a} against {b})", c.text),
        None => c.text.to_owned(),
    };
    expr.conjuncts().into_iter().filter(|c| is_meant(c)).map(line).collect::<Vec<_>>().join("; ")
}
