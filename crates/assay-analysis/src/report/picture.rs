//! Stand-alone pictures as SVG files: one style sheet for light and dark, no script.

use super::axis::{self, Scale};
use super::html::escape;
use super::svg::{self, Axis, ChartText, Ink, Line};

/// The width of a picture in user units: a page of 1280 pixels less a margin.
pub(super) const WIDTH: f64 = 1240.0;
pub(super) const MARGIN: f64 = 20.0;
/// The width of a picture with one chart. Its texts are scaled with it, so they have smaller sizes.
const CHART: f64 = 860.0;

/// The colours by meaning. Transfers are blue, reads green, writes amber, moves violet, erases red,
/// so that a picture can be read without its legend; brightness also tells light and dark colours
/// apart.
const CSS: &str = "\
:root{--bg:#fff;--fg:#1c2024;--dim:#5b646d;--edge:#e3e7eb;--base:#eef1f4;--wait:#dfe4e9;\
--c0:#0072b2;--c1:#c44e00}\
.k0{fill:#7d8790}.k1{fill:#1f77c9}.k2{fill:#69b7ea}.k3{fill:#f2b701}.k4{fill:#7b5cc4}\
.k5{fill:#c9b8ef}.k6{fill:#0a8f63}.k7{fill:#8fd6b4}.k8{fill:#e88a1a}.k9{fill:#a05fb8}\
.k10{fill:#c92a3e}\
@media(prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e6e9ec;--dim:#9aa4ad;--edge:#2a3036;\
--base:#22272c;--wait:#343b42;--c0:#56b4e9;--c1:#f08a4b}\
.k0{fill:#98a3ad}.k1{fill:#3d94e0}.k2{fill:#8fd0f5}.k3{fill:#f5cf4a}.k4{fill:#9a80e0}\
.k5{fill:#5a4a86}.k6{fill:#2fbd8a}.k7{fill:#1f6b50}.k8{fill:#f0a043}.k9{fill:#c68ad8}\
.k10{fill:#ef5a6b}}\
.bg{fill:var(--bg)}.wait{fill:var(--wait)}\
text{fill:var(--fg);font:12.5px system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif}\
text.head{font-size:19px;font-weight:600}text.note{fill:var(--dim);font-size:13px}\
text.tick,text.name{fill:var(--dim);font-size:12px}text.row{font-size:11.5px}\
text.tick,text.row,text.on,text.num{font-variant-numeric:tabular-nums}\
text.on,text.num{pointer-events:none;font-size:9.5px}\
text.num{fill:var(--fg);stroke:var(--bg);stroke-width:3px;paint-order:stroke}\
text.on{fill:#fff}text.k2,text.k3,text.k5,text.k7,text.k8{fill:#14171a}\
@media(prefers-color-scheme:dark){text.on{fill:#14171a}text.k5,text.k7{fill:#fff}}\
.grid{stroke:var(--edge);fill:none}.base{stroke:var(--base);fill:none}\
.frame{stroke:var(--dim);fill:none}\
.line{fill:none;stroke-width:2;stroke-linejoin:round}\
.chart .tick,.chart .name{font-size:7.6px}.chart .line{stroke-width:1.2}\
.chart .grid,.chart .frame{stroke-width:.6}\
.line.s0{stroke:var(--c0)}.line.s1{stroke:var(--c1);stroke-dasharray:8 3}";

/// A rectangle in user units.
pub(super) struct PictureFrame {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl PictureFrame {
    pub(super) fn between(left: f64, right: f64, top: f64, height: f64) -> PictureFrame {
        PictureFrame { left, top, width: right - left, height }
    }

    /// Returns the frame that is drawn: slightly narrower on both sides, so that neighbours can be
    /// told apart, but never too thin to be seen.
    fn drawn(&self) -> PictureFrame {
        let hair = if self.width > 2.4 { 0.35 } else { 0.0 };
        let width = (self.width - 2.0 * hair).max(0.8);
        PictureFrame { left: self.left + hair, width, ..*self }
    }
}

/// Draws a few letters in the middle of a rectangle, if there is room.
pub(super) fn label(out: &mut String, class: &str, frame: &PictureFrame, text: &str) {
    if text.is_empty() || frame.width < 6.5 * text.len() as f64 + 5.0 {
        return;
    }
    out.push_str(&format!(
        "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        frame.left + frame.width / 2.0,
        frame.top + frame.height / 2.0 + 3.4,
        escape(text)
    ));
}

/// Draws a filled rectangle that shows `text` when it is pointed at.
pub(super) fn rect(out: &mut String, class: &str, frame: &PictureFrame, text: &str) {
    let frame = frame.drawn();
    out.push_str(&format!(
        "<rect class=\"{class}\" x=\"{:.2}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{:.1}\">\
         <title>{}</title></rect>",
        frame.left,
        frame.top,
        frame.width,
        frame.height,
        escape(text)
    ));
}

/// Returns round positions from 0 up to `end`, about `count` of them.
pub(super) fn ticks(end: f64, count: u32) -> Vec<f64> {
    if !(end.is_finite() && end > 0.0) {
        return vec![0.0];
    }
    let rough = end / f64::from(count);
    let decade = libm::pow(10.0, libm::floor(libm::log10(rough)));
    let steps = [1.0, 2.0, 5.0, 10.0];
    let step = decade * steps.into_iter().find(|s| s * decade >= rough * 0.999).unwrap_or(10.0);
    (0..=2 * count).map(|i| f64::from(i) * step).take_while(|t| *t <= end * 1.000_001).collect()
}

/// Returns the text of a file: a background in the colour of the page, and `body` on it.
pub(super) fn file(
    title: &str,
    description: &str,
    (width, height): (f64, f64),
    body: &str,
) -> String {
    format!(
        "<!-- drawn by assay -->\n<svg xmlns=\"http://www.w3.org/2000/svg\" \
         viewBox=\"0 0 {width} {height:.0}\" \
         width=\"{width}\" height=\"{height:.0}\" role=\"img\" aria-label=\"{}\">\
         <desc>{}</desc><style>{CSS}</style>\
         <rect class=\"bg\" width=\"100%\" height=\"100%\"/>{body}</svg>\n",
        escape(title),
        escape(description)
    )
}

/// Values of one kind that are drawn as a distribution.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The name in the legend.
    pub name: String,
    /// The values in nanoseconds, in any order.
    pub values: Vec<f64>,
}

/// Returns two distributions in one chart, on a logarithmic axis of time, as the text of an SVG
/// file.
pub fn distributions(title: &str, notes: &[String], samples: &[Sample; 2]) -> String {
    let sorted = samples.clone().map(|mut s| {
        s.values.sort_by(f64::total_cmp);
        s
    });
    let line = |(style, s): (usize, &Sample)| Line {
        ink: Ink::Target(style),
        name: s.name.clone(),
        points: steps(&s.values),
        knots: false,
    };
    let lines: Vec<Line> = sorted.iter().enumerate().map(line).collect();
    let scale = middle(&sorted);
    let x = Axis { scale, label: axis::time, name: "service time, log scale" };
    let y = Axis {
        scale: Scale::Linear(0.0, 1.0),
        label: axis::number,
        name: "share of requests at most this slow",
    };
    let words = ChartText { id: "cdf".into(), title: title.into(), description: notes.join(" ") };
    let chart = svg::lines(&words, x, y, &lines);
    let mut body = format!("<text class=\"head\" x=\"{MARGIN}\" y=\"30\">{}</text>", escape(title));
    let mut top = 30.0;
    for note in notes {
        top += 19.0;
        body += &format!("<text class=\"note\" x=\"{MARGIN}\" y=\"{top}\">{}</text>", escape(note));
    }
    top += 26.0;
    for (index, line) in lines.iter().enumerate() {
        let left = MARGIN + 170.0 * index as f64;
        body += &format!(
            "<path class=\"line s{index}\" d=\"M{left} {:.1}h34\"/>\
             <text x=\"{}\" y=\"{top}\">{}</text>",
            top - 4.0,
            left + 42.0,
            escape(&line.name)
        );
    }
    let width = CHART - 2.0 * MARGIN;
    let height = width * 270.0 / svg::WIDTH;
    let place = format!(
        "<svg x=\"{MARGIN}\" y=\"{:.1}\" width=\"{width}\" height=\"{height:.1}\" ",
        top + 12.0
    );
    body += &chart.replacen("<svg ", &place, 1);
    file(title, &notes.join(" "), (CHART, top + height + 24.0), &body)
}

/// Returns the range of values that a chart shows: all but a hundredth at the low end and a
/// thousandth at the high end, which are drawn at its edges.
fn middle(samples: &[Sample; 2]) -> Scale {
    let ends = |values: &[f64]| {
        let last = values.len().checked_sub(1)?;
        Some((values[last / 100] * 0.9, values[last - last / 1000] * 1.1))
    };
    let (a, b) = (ends(&samples[0].values), ends(&samples[1].values));
    let both = a.zip(b).map(|(a, b)| (f64::min(a.0, b.0), f64::max(a.1, b.1)));
    match both {
        Some((low, high)) if low > 0.0 && high > low => Scale::Log(low, high),
        _ => Scale::Log(1.0, 10.0),
    }
}

/// Returns the points of the distribution function.
fn steps(sorted: &[f64]) -> Vec<(f64, f64)> {
    let count = sorted.len() as f64;
    sorted.iter().enumerate().map(|(i, v)| (*v, (i + 1) as f64 / count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(1000.0, 10), (0..=10).map(|i| f64::from(i) * 100.0).collect::<Vec<_>>());
        assert_eq!(ticks(7.3, 5), [0.0, 2.0, 4.0, 6.0]);
        assert_eq!(ticks(0.0, 5), [0.0]);
    }

    #[test]
    fn both_distributions_are_in_the_file() {
        let sample = |name: &str, k: f64| Sample {
            name: name.into(),
            values: (1..=100).map(|i| f64::from(i) * k).collect(),
        };
        let samples = [sample("measured", 1e4), sample("modelled", 2e4)];
        let text = distributions("A disk", &["demerit 0.1 ms".into()], &samples);
        assert_eq!(text.matches("<polyline").count(), 2);
        assert!(text.contains("demerit 0.1 ms") && text.contains("modelled"));
    }
}
