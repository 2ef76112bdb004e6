//! A chart as inline SVG: frame, grid, ticks, lines, bars. Colours and dashes come from the style
//! sheet by class (`s0` to `s7`), so dark mode and print need no second drawing.

use super::axis::Scale;
use super::escape;

/// Width of every chart in user units; narrow, so that its text stays legible on a phone.
pub const WIDTH: f64 = 480.0;

/// What a chart says of itself to those who do not see it.
#[derive(Clone, Debug)]
pub struct Words {
    /// Unique on the page.
    pub id: String,
    /// Its title.
    pub title: String,
    /// One sentence of what it shows.
    pub description: String,
}

/// An axis: its scale, the text of a tick, its name with unit.
#[derive(Clone, Copy)]
pub struct Axis<'a> {
    /// Values to positions.
    pub scale: Scale,
    /// Text of a tick.
    pub label: fn(f64) -> String,
    /// Name with unit.
    pub name: &'a str,
}

/// A line of a chart.
#[derive(Clone, Debug)]
pub struct Line {
    /// Index of its colour and dash.
    pub style: usize,
    /// Name.
    pub name: String,
    /// Points in values, ascending in x.
    pub points: Vec<(f64, f64)>,
}

struct Frame {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

/// Opens an SVG with title and description.
fn open(words: &Words, height: f64) -> String {
    let (id, title) = (escape(&words.id), escape(&words.title));
    format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{title}</title>\
         <desc id=\"{id}-d\">{}</desc>",
        escape(&words.description)
    )
}

/// A chart of lines.
pub fn lines(words: &Words, x: Axis<'_>, y: Axis<'_>, lines: &[Line]) -> String {
    let height = 270.0;
    let frame = Frame { left: 76.0, top: 24.0, width: WIDTH - 102.0, height: height - 68.0 };
    let mut out = open(words, height);
    grid(&mut out, &frame, x, y);
    for line in lines {
        let points = decimate(&line.points, |(px, py)| {
            (
                frame.left + frame.width * x.scale.place(px),
                frame.top + frame.height * (1.0 - y.scale.place(py)),
            )
        });
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let style = line.style % 8;
        out += &format!(
            "<polyline class=\"line s{style}\" points=\"{}\"><title>{}</title></polyline>",
            path.join(" "),
            escape(&line.name)
        );
    }
    out + "</svg>"
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
        out.push_str(&format!(
            "<path class=\"grid\" d=\"M{at:.1} {:.1}V{bottom:.1}\"/>\
             <text class=\"tick\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            f.top,
            bottom + 17.0,
            escape(&(x.label)(tick))
        ));
    }
    out.push_str(&format!(
        "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        f.left + f.width / 2.0,
        bottom + 36.0,
        escape(x.name)
    ));
}

/// Positions at least half a unit apart: more cannot be seen.
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
    /// Index of its colour.
    pub style: usize,
    /// What it stands for.
    pub name: String,
    /// Its length.
    pub value: f64,
    /// Ends of the whisker.
    pub interval: Option<(f64, f64)>,
    /// The number in words, at its end.
    pub text: String,
}

/// Horizontal bars, names above their bars so that long ones fit.
pub fn bars(words: &Words, x: Axis<'_>, bars: &[Bar]) -> String {
    const ROW: f64 = 40.0;
    let height = bars.len() as f64 * ROW + 52.0;
    let f = Frame { left: 8.0, top: 4.0, width: WIDTH - 32.0, height: height - 52.0 };
    let mut out = open(words, height);
    vertical_grid(&mut out, &f, x);
    for (i, bar) in bars.iter().enumerate() {
        let top = f.top + i as f64 * ROW;
        let at = |v: f64| f.left + f.width * x.scale.place(v);
        let style = bar.style % 8;
        out += &format!(
            "<text class=\"label\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\
             <text class=\"value\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <rect class=\"bar s{style}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"14\"/>",
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
        // A whisker narrower than its own ends would be a blot; the number beside says it.
        if let Some((low, high)) = ends.filter(|(low, high)| high - low >= 4.0) {
            let middle = top + 27.0;
            out += &format!(
                "<path class=\"whisker\" d=\"M{low:.1} {:.1}v8M{high:.1} {:.1}v8\
                 M{low:.1} {middle:.1}H{high:.1}\"/>",
                middle - 4.0,
                middle - 4.0
            );
        }
    }
    out + "</svg>"
}

/// The key to the lines: a sample of each with its name.
pub fn legend(lines: &[Line]) -> String {
    let mut out = String::from("<ul class=\"legend\">");
    for line in lines {
        out += &format!(
            "<li><svg viewBox=\"0 0 34 10\" aria-hidden=\"true\">\
             <path class=\"line s{}\" d=\"M1 5H33\"/></svg>{}</li>",
            line.style % 8,
            escape(&line.name)
        );
    }
    out + "</ul>"
}
