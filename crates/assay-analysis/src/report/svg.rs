//! A chart as inline SVG: frame, grid, ticks, lines, bars. Colours and dashes come from the style
//! sheet by class (`s0` to `s7`), so dark mode and print need no second drawing.

pub mod boxes;

use super::axis::Scale;
use super::html::escape;

/// The width of every chart in user units; narrow, so that its text stays legible on a phone.
pub const WIDTH: f64 = 480.0;

/// The description of a chart for those who do not see it.
#[derive(Clone, Debug)]
pub struct ChartText {
    /// The id, unique on the page.
    pub id: String,
    /// The title.
    pub title: String,
    /// One sentence that says what the chart shows.
    pub description: String,
}

/// An axis: its scale, the text of its ticks, and its name with unit.
#[derive(Clone, Copy)]
pub struct Axis<'a> {
    /// The scale from values to positions.
    pub scale: Scale,
    /// The function that returns the text of a tick.
    pub label: fn(f64) -> String,
    /// The name with unit.
    pub name: &'a str,
}

/// The colour, dash and width of a line or a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// The ink of a target: its index in the run.
    Target(usize),
    /// The ink of a workload in a panel with one target: no target has these colours.
    Series {
        /// The index of the colour; lower ones are broader, so that no line hides another.
        tint: usize,
        /// The index of the dash.
        dash: usize,
    },
}

impl Ink {
    /// Returns the classes in the style sheet.
    fn class(self) -> String {
        match self {
            Ink::Target(index) => format!("s{}", index % 8),
            Ink::Series { tint, dash } => format!("w{} d{}", tint % 6, dash % 4),
        }
    }
}

/// A published value, drawn as a hollow marker.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The ink of the line that the value belongs to.
    pub ink: Ink,
    /// The position, in values.
    pub at: (f64, f64),
    /// The text that is shown when the marker is pointed at.
    pub title: String,
}

/// A line of a chart.
#[derive(Clone, Debug)]
pub struct Line {
    /// The colour and dash.
    pub ink: Ink,
    /// The name.
    pub name: String,
    /// The points in values, ascending in x.
    pub points: Vec<(f64, f64)>,
    /// Whether each point is a single measurement and is drawn as one.
    pub knots: bool,
}

struct Frame {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl Frame {
    /// Converts a point from values to user units.
    fn place(&self, x: Axis<'_>, y: Axis<'_>, at: (f64, f64)) -> (f64, f64) {
        (
            self.left + self.width * x.scale.place(at.0),
            self.top + self.height * (1.0 - y.scale.place(at.1)),
        )
    }
}

/// Returns the start of an SVG element with title and description.
fn open(words: &ChartText, height: f64) -> String {
    let (id, title) = (escape(&words.id), escape(&words.title));
    format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{title}</title>\
         <desc id=\"{id}-d\">{}</desc>",
        escape(&words.description)
    )
}

/// The frame of charts with two axes, and the height of such charts.
const PLOT: (Frame, f64) =
    (Frame { left: 76.0, top: 24.0, width: WIDTH - 102.0, height: 202.0 }, 270.0);

/// Draws a chart of lines.
pub fn lines(words: &ChartText, x: Axis<'_>, y: Axis<'_>, lines: &[Line]) -> String {
    marked_lines(words, x, y, lines, &[])
}

/// Draws a chart of lines with published values.
pub fn marked_lines(
    words: &ChartText,
    x: Axis<'_>,
    y: Axis<'_>,
    lines: &[Line],
    marks: &[Mark],
) -> String {
    let (frame, height) = PLOT;
    let mut out = open(words, height);
    grid(&mut out, &frame, x, y);
    for line in lines {
        let points = decimate(&line.points, |at| frame.place(x, y, at));
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        out += &format!(
            "<polyline class=\"line {}\" points=\"{}\"><title>{}</title></polyline>",
            line.ink.class(),
            path.join(" "),
            escape(&line.name)
        );
        if line.knots {
            out +=
                &format!("<path class=\"knots {}\" d=\"{}\"/>", line.ink.class(), spots(&points));
        }
    }
    marks.iter().for_each(|m| out += &marker(m, frame.place(x, y, m.at)));
    out + "</svg>"
}

/// Draws a chart of single points: requests one by one.
pub fn dots(
    words: &ChartText,
    x: Axis<'_>,
    y: Axis<'_>,
    (ink, points): (Ink, &[(f64, f64)]),
    marks: &[Mark],
) -> String {
    let (frame, height) = PLOT;
    let mut out = open(words, height);
    grid(&mut out, &frame, x, y);
    if points.len() <= JOINED {
        let path = decimate(points, |at| frame.place(x, y, at));
        let path: Vec<String> = path.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        out += &format!("<polyline class=\"thin {}\" points=\"{}\"/>", ink.class(), path.join(" "));
    }
    // Points in the same half unit cannot be told apart and are drawn once.
    let place = |at: &(f64, f64)| {
        let (x, y) = frame.place(x, y, *at);
        ((2.0 * x).round() as i64, (2.0 * y).round() as i64)
    };
    let seen: std::collections::BTreeSet<(i64, i64)> = points.iter().map(place).collect();
    let half: Vec<(f64, f64)> =
        seen.iter().map(|(x, y)| (*x as f64 / 2.0, *y as f64 / 2.0)).collect();
    out += &format!("<path class=\"dots {}\" d=\"{}\"/>", ink.class(), spots(&half));
    marks.iter().for_each(|m| out += &marker(m, frame.place(x, y, m.at)));
    out + "</svg>"
}

/// The largest number of points that a thin line connects; with more, it would only be a blot.
const JOINED: usize = 1000;

/// Returns a path that consists of points only.
fn spots(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("M{x:.1} {y:.1}h0")).collect()
}

/// Draws a hollow diamond.
fn marker(mark: &Mark, (x, y): (f64, f64)) -> String {
    format!(
        "<path class=\"mark {}\" d=\"M{x:.1} {:.1}l6 6-6 6-6-6z\"><title>{}</title></path>",
        mark.ink.class(),
        y - 6.0,
        escape(&mark.title)
    )
}

fn grid(out: &mut String, f: &Frame, x: Axis<'_>, y: Axis<'_>) {
    let (right, bottom) = (f.left + f.width, f.top + f.height);
    for tick in y.scale.ticks() {
        let at = f.top + f.height * (1.0 - y.scale.place(tick));
        out.push_str(&format!(
            "<path class=\"grid\" d=\"M{:.1} {at:.1}H{right:.1}\"/>\
             <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            f.left,
            f.left - 6.0,
            at + 4.0,
            escape(&(y.label)(tick))
        ));
    }
    vertical_grid(out, f, x);
    out.push_str(&format!(
        "<path class=\"frame\" d=\"M{:.1} {:.1}V{bottom:.1}H{right:.1}\"/>\
         <text class=\"name\" x=\"4\" y=\"13\">{}</text>",
        f.left,
        f.top,
        escape(y.name)
    ));
}

fn vertical_grid(out: &mut String, f: &Frame, x: Axis<'_>) {
    let bottom = f.top + f.height;
    for tick in x.scale.ticks() {
        let at = f.left + f.width * x.scale.place(tick);
        let text = (x.label)(tick);
        // A label at the edge of the picture moves inwards rather than being cut off.
        let half = 3.6 * text.chars().count() as f64;
        let middle = at.clamp(half.min(WIDTH / 2.0), (WIDTH - half).max(WIDTH / 2.0));
        out.push_str(&format!(
            "<path class=\"grid\" d=\"M{at:.1} {:.1}V{bottom:.1}\"/>\
             <text class=\"tick\" x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            f.top,
            bottom + 17.0,
            escape(&text)
        ));
    }
    out.push_str(&format!(
        "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        f.left + f.width / 2.0,
        bottom + 36.0,
        escape(x.name)
    ));
}

/// Returns positions that are at least half a unit apart: more cannot be seen.
fn decimate(points: &[(f64, f64)], place: impl Fn((f64, f64)) -> (f64, f64)) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (i, point) in points.iter().enumerate() {
        let (x, y) = place(*point);
        let far = kept.last().is_none_or(|(a, b)| (x - a).abs() >= 0.5 || (y - b).abs() >= 0.5);
        if far || i + 1 == points.len() {
            kept.push((x, y));
        }
    }
    kept
}

/// A bar with its whisker.
#[derive(Clone, Debug)]
pub struct Bar {
    /// The index of its colour.
    pub style: usize,
    /// The label of the bar.
    pub name: String,
    /// The value that its length shows.
    pub value: f64,
    /// The ends of the whisker.
    pub interval: Option<(f64, f64)>,
    /// The value in words, at the end of the bar.
    pub text: String,
    /// Whether it is paler than others of its colour, as a later one of a group.
    pub pale: bool,
    /// The published value, drawn as a hollow marker.
    pub published: Option<f64>,
}

/// Draws horizontal bars, with the names above them so that long ones fit.
pub fn bars(words: &ChartText, x: Axis<'_>, bars: &[Bar]) -> String {
    const ROW: f64 = 40.0;
    let height = bars.len() as f64 * ROW + 52.0;
    let f = Frame { left: 8.0, top: 4.0, width: WIDTH - 32.0, height: height - 52.0 };
    let mut out = open(words, height);
    vertical_grid(&mut out, &f, x);
    for (i, bar) in bars.iter().enumerate() {
        let top = f.top + i as f64 * ROW;
        let at = |v: f64| f.left + f.width * x.scale.place(v);
        let style = bar.style % 8;
        let pale = if bar.pale { " pale" } else { "" };
        out += &format!(
            "<text class=\"label\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\
             <text class=\"value\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <rect class=\"bar s{style}{pale}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" \
             height=\"14\"/>",
            f.left + 2.0,
            top + 15.0,
            escape(&bar.name),
            f.left + f.width,
            top + 15.0,
            escape(&bar.text),
            f.left,
            top + 20.0,
            (at(bar.value) - f.left).max(1.0)
        );
        let ends = bar.interval.map(|(low, high)| (at(low), at(high)));
        // A whisker narrower than its own ends would be a blot; the text beside the bar has the
        // numbers.
        if let Some((low, high)) = ends.filter(|(low, high)| high - low >= 4.0) {
            let middle = top + 27.0;
            out += &format!(
                "<path class=\"whisker\" d=\"M{low:.1} {:.1}v8M{high:.1} {:.1}v8\
                 M{low:.1} {middle:.1}H{high:.1}\"/>",
                middle - 4.0,
                middle - 4.0
            );
        }
        if let Some(value) = bar.published {
            let (ink, title) = (Ink::Target(bar.style), "published".to_owned());
            out += &marker(&Mark { ink, at: (value, 0.0), title }, (at(value), top + 27.0));
        }
    }
    out + "</svg>"
}

/// Returns the legend of the lines: a sample of each with its name.
pub fn legend(lines: &[Line]) -> String {
    let mut out = String::from("<ul class=\"legend\">");
    for line in lines {
        out += &format!(
            "<li><svg viewBox=\"0 0 34 10\" aria-hidden=\"true\">\
             <path class=\"line {}\" d=\"M1 5H33\"/></svg>{}</li>",
            line.ink.class(),
            escape(&line.name)
        );
    }
    out + "</ul>"
}

/// Returns the legend of the hollow markers.
pub fn mark_legend(text: &str) -> String {
    format!(
        "<ul class=\"legend\"><li><svg viewBox=\"0 0 34 14\" aria-hidden=\"true\">\
         <path class=\"mark\" d=\"M17 1l6 6-6 6-6-6z\"/></svg>{}</li></ul>",
        escape(text)
    )
}
