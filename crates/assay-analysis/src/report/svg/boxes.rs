//! Box plots, and charts of points of several kinds.

use super::{Axis, ChartText, Frame, Ink, PLOT, WIDTH, grid, open, spots, vertical_grid};
use crate::report::html::escape;
use crate::trace::Spread;
use std::collections::BTreeSet;

/// A box with its whiskers.
pub struct BoxRow<'a> {
    /// The ink of the box.
    pub ink: Ink,
    /// The label of the box.
    pub name: String,
    /// The numbers that are drawn.
    pub spread: &'a Spread,
    /// The numbers in words.
    pub text: String,
}

/// Draws horizontal boxes from quartile to quartile, with the median as a line, whiskers to the
/// last value within 1.5 boxes, points at the smallest and the largest value, and a ring at the
/// mean.
pub fn box_plot(words: &ChartText, x: Axis<'_>, rows: &[BoxRow<'_>]) -> String {
    const ROW: f64 = 46.0;
    let height = rows.len() as f64 * ROW + 52.0;
    let f = Frame { left: 12.0, top: 4.0, width: WIDTH - 36.0, height: height - 52.0 };
    let mut out = open(words, height);
    vertical_grid(&mut out, &f, x);
    for (i, row) in rows.iter().enumerate() {
        let (top, s) = (f.top + i as f64 * ROW, row.spread);
        let at = |value: f64| f.left + f.width * x.scale.place(value);
        let (middle, class) = (top + 32.0, row.ink.class());
        out += &format!(
            "<text class=\"label\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\
             <text class=\"value\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <path class=\"whisker\" d=\"M{:.1} {middle:.1}H{:.1}M{:.1} {middle:.1}H{:.1}\
             M{:.1} {:.1}v8M{:.1} {:.1}v8\"/>\
             <rect class=\"bar pale {class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" \
             height=\"16\"/>\
             <path class=\"median\" d=\"M{:.1} {:.1}v16\"/>\
             <path class=\"dots {class}\" d=\"{}\"/>\
             <circle class=\"mean\" cx=\"{:.1}\" cy=\"{middle:.1}\" r=\"3.5\"/>",
            f.left,
            top + 16.0,
            escape(&row.name),
            f.left + f.width,
            top + 16.0,
            escape(&row.text),
            at(s.low),
            at(s.q1),
            at(s.q3),
            at(s.high),
            at(s.low),
            middle - 4.0,
            at(s.high),
            middle - 4.0,
            at(s.q1),
            middle - 8.0,
            (at(s.q3) - at(s.q1)).max(1.0),
            at(s.median),
            middle - 8.0,
            spots(&[(at(s.min), middle), (at(s.max), middle)]),
            at(s.mean)
        );
    }
    out + "</svg>"
}

/// The largest number of points that are drawn of each kind.
const POINTS: usize = 20_000;

/// Draws a chart of points of several kinds. Also returns how far apart, in user units, two points
/// are that are drawn separately. If there are too many points, neighbours are drawn as one: always
/// the same ones, and no isolated point is left out.
pub fn scatter(
    words: &ChartText,
    x: Axis<'_>,
    y: Axis<'_>,
    kinds: &[(Ink, Vec<(f64, f64)>)],
) -> (String, f64) {
    let (frame, height) = PLOT;
    let mut out = open(words, height);
    grid(&mut out, &frame, x, y);
    let mut apart = 0.5;
    let cells = |points: &[(f64, f64)], apart: f64| {
        let cell = |at: &(f64, f64)| {
            let (x, y) = frame.place(x, y, *at);
            ((x / apart).round() as i64, (y / apart).round() as i64)
        };
        points.iter().map(cell).collect::<BTreeSet<(i64, i64)>>()
    };
    let mut drawn: Vec<_> = kinds.iter().map(|(_, points)| cells(points, apart)).collect();
    while drawn.iter().any(|cells| cells.len() > POINTS) {
        apart += 0.5;
        drawn = kinds.iter().map(|(_, points)| cells(points, apart)).collect();
    }
    for ((ink, _), cells) in kinds.iter().zip(&drawn) {
        let points: Vec<(f64, f64)> =
            cells.iter().map(|(x, y)| (*x as f64 * apart, *y as f64 * apart)).collect();
        out += &format!("<path class=\"dots fine {}\" d=\"{}\"/>", ink.class(), spots(&points));
    }
    (out + "</svg>", apart)
}
