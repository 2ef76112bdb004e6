//! Numbers in a text, computed from the cells of a run: `[EXPRESSION; UNIT]`. A text with them
//! cannot show the numbers of an earlier run.

use super::phrases::{plain, unit_size};
use crate::expr::{Expr, LookUp, Value};

/// Returns the text with its numbers computed. A number that cannot be measured becomes a dash.
pub(super) fn fill(text: &str, find: LookUp<'_>) -> String {
    let mut out = String::new();
    for piece in pieces(text) {
        match piece {
            Piece::Text(words) => out += words,
            Piece::Number { expression, unit } => {
                let number = reckoned(expression, find).map(|base| base / unit_size(unit));
                out += &number.map_or_else(|_| "–".into(), short);
                if !unit.is_empty() {
                    out += " ";
                    out += unit;
                }
            }
        }
    }
    out
}

/// Returns the number that an expression comes to.
pub(super) fn reckoned(text: &str, find: LookUp<'_>) -> Result<f64, String> {
    let expr = Expr::parse(text).map_err(|e| format!("it does not parse: {e}"))?;
    match expr.evaluate(find) {
        Ok(Value::Number(n)) => Ok(n),
        Ok(Value::Truth(_)) => Err("it is a truth value, not a number".into()),
        Err(e) => Err(e.to_string()),
    }
}

/// A piece of a text: words or a number.
pub(super) enum Piece<'a> {
    Text(&'a str),
    Number { expression: &'a str, unit: &'a str },
}

/// Splits a text at its numbers. A bracket without a semicolon belongs to the words.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some((before, inside, after)) = bracket(rest) {
        all.push(Piece::Text(&rest[..before]));
        match inside.rsplit_once(';') {
            Some((expression, unit)) => {
                all.push(Piece::Number { expression: expression.trim(), unit: unit.trim() });
            }
            None => all.push(Piece::Text(&rest[before..after])),
        }
        rest = &rest[after..];
    }
    all.push(Piece::Text(rest));
    all
}

/// Returns the first pair of brackets: its start, its content and its end.
fn bracket(text: &str) -> Option<(usize, &str, usize)> {
    let start = text.find('[')?;
    let length = text[start..].find(']')?;
    Some((start, &text[start + 1..start + length], start + length + 1))
}

/// Formats a number with three significant digits, or all digits before the point, without zeros at
/// the end.
fn short(v: f64) -> String {
    let size = libm::floor(libm::log10(v.abs()));
    if !(-4.0..6.0).contains(&size) {
        return if v == 0.0 { "0".into() } else { plain(v) };
    }
    let text = format!("{v:.*}", (2.0 - size).max(0.0) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::MetricError;

    fn filled(text: &str) -> String {
        fill(text, &|r| match r.workload.as_str() {
            "w" => Ok(233_400.0),
            _ => Err(MetricError::Skipped("no".into())),
        })
    }

    #[test]
    fn numbers_come_from_the_cells() {
        assert_eq!(filled("takes [{w@t:mean}; us]."), "takes 233 us.");
        assert_eq!(filled("[{w@t:mean} * 2; ms] and [1 / 4; %]"), "0.467 ms and 25 %");
        assert_eq!(filled("[4 * 1000;]"), "4000");
        assert_eq!(filled("not run: [{v@t:mean}; us]"), "not run: – us");
    }

    #[test]
    fn other_brackets_stay() {
        for text in ["", "no number", "see [3]", "open [", "close ] and [", "ends [a"] {
            assert_eq!(filled(text), text);
        }
    }

    #[test]
    fn three_digits_are_enough() {
        let shown = [0.0, 0.012_346, 0.56, 1.0, 12.34, 999.6, 43_210.4, 1e9].map(short);
        let expected = ["0", "0.0123", "0.56", "1", "12.3", "1000", "43210", "1000000000"];
        assert_eq!(shown, expected);
    }
}
