//! A Gantt picture as an SVG file: above, lanes of requests in flight; below, a row for each
//! resource. Bars over time are coloured by the kind of work.
//!
//! A request takes the first lane that is free when it arrives, so that there are as many lanes as
//! requests in flight. Bars too narrow to be told apart are drawn as one, so that the size of a
//! picture depends on its resolution and not on the number of operations.

use super::axis;
use super::html::escape;
use super::picture::{self, MARGIN, PictureFrame, WIDTH};

/// The position at which the time axis begins; the names are left of it.
const LEFT: f64 = 112.0;
/// The space between two rows or lanes.
const GAP: f64 = 4.0;
const GROUP_GAP: f64 = 6.0;

/// A row: a resource, and the group it belongs to.
#[derive(Clone, Debug)]
pub struct GanttRow {
    /// The name of the resource.
    pub name: String,
    /// The group; rows of one group stand together.
    pub group: u32,
}

/// A bar in a row or a lane.
#[derive(Clone, Debug)]
pub struct GanttBar {
    /// The index of its row or request.
    pub row: usize,
    /// The index of its kind.
    pub kind: usize,
    /// The start in nanoseconds.
    pub start: f64,
    /// The end in nanoseconds.
    pub end: f64,
    /// A few letters in the bar, if there is room: a request's number.
    pub label: String,
    /// The text that is shown when the bar is pointed at.
    pub text: String,
}

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The start in nanoseconds.
    pub start: f64,
    /// The end in nanoseconds.
    pub end: f64,
    /// The number of the request.
    pub label: String,
    /// The text that is shown when the request is pointed at.
    pub text: String,
}

/// A kind of work: a class of the style sheet (`k0` to `k10`) and a word.
#[derive(Clone, Debug)]
pub struct GanttBarKind {
    /// The number of its colour.
    pub colour: usize,
    /// The word in the legend.
    pub name: String,
}

/// A whole picture.
#[derive(Clone, Debug)]
pub struct Gantt {
    /// The headline.
    pub title: String,
    /// The lines below the headline.
    pub notes: Vec<String>,
    /// The kinds in the legend; bars refer to these by index.
    pub kinds: Vec<GanttBarKind>,
    /// The requests in the order of arrival.
    pub requests: Vec<Request>,
    /// The steps of the requests.
    pub steps: Vec<GanttBar>,
    /// The rows of resources.
    pub rows: Vec<GanttRow>,
    /// The work of the resources.
    pub bars: Vec<GanttBar>,
    /// The end of the time axis in nanoseconds. Bars are cut off there.
    pub end: f64,
}

/// The positions in one picture.
struct Layout {
    ns: f64,
    /// The height of a lane; `lanes` has the lane of each request.
    lane: f64,
    lanes: Vec<usize>,
    lanes_top: f64,
    /// The height of a row; `rows` has the top of each.
    row: f64,
    rows: Vec<f64>,
    bottom: f64,
}

/// Returns the picture as the text of an SVG file.
pub fn svg(gantt: &Gantt) -> String {
    let mut body = String::new();
    let header = header(&mut body, gantt);
    let layout = Layout::new(gantt, header);
    axis(&mut body, &layout, gantt.end);
    lanes(&mut body, &layout, gantt);
    rows(&mut body, &layout, gantt);
    let description = gantt.notes.join(" ");
    picture::file(&gantt.title, &description, (WIDTH, layout.bottom + 34.0), &body)
}

impl Layout {
    fn new(gantt: &Gantt, header: f64) -> Layout {
        let lanes = lanes_of(&gantt.requests);
        let count = lanes.iter().max().map_or(1, |most| most + 1) as f64;
        let lane = (320.0 / count).clamp(2.0, 24.0);
        let row = (360.0 / gantt.rows.len().max(1) as f64).clamp(15.0, 34.0);
        let lanes_top = header + 30.0;
        let rows_top = lanes_top + lane * count + 14.0;
        let (mut rows, mut at) = (Vec::new(), rows_top);
        for (index, next) in gantt.rows.iter().enumerate() {
            let begins = index > 0 && gantt.rows[index - 1].group != next.group;
            at += if begins { GROUP_GAP } else { 0.0 };
            rows.push(at);
            at += row;
        }
        let ns = gantt.end.max(1.0);
        Layout { ns, lane, lanes, lanes_top, row, rows, bottom: at + 4.0 }
    }

    fn x(&self, ns: f64) -> f64 {
        LEFT + (WIDTH - MARGIN - LEFT) * (ns / self.ns).clamp(0.0, 1.0)
    }
}

/// Returns the first lane that is free when each request arrives.
fn lanes_of(requests: &[Request]) -> Vec<usize> {
    let mut ends: Vec<f64> = Vec::new();
    let mut lane = |request: &Request| {
        let free = ends.iter().position(|end| *end <= request.start);
        let lane = free.unwrap_or(ends.len());
        match ends.get_mut(lane) {
            Some(end) => *end = request.end,
            None => ends.push(request.end),
        }
        lane
    };
    requests.iter().map(&mut lane).collect()
}

/// Draws title, notes and legend, and returns the position where they end.
fn header(out: &mut String, gantt: &Gantt) -> f64 {
    let mut y = 30.0;
    out.push_str(&format!(
        "<text class=\"head\" x=\"{MARGIN}\" y=\"{y}\">{}</text>",
        escape(&gantt.title)
    ));
    for note in &gantt.notes {
        y += 19.0;
        out.push_str(&format!(
            "<text class=\"note\" x=\"{MARGIN}\" y=\"{y}\">{}</text>",
            escape(note)
        ));
    }
    y += 28.0;
    let mut x = MARGIN;
    for kind in &gantt.kinds {
        // The width of a text is estimated from its number of letters.
        let width = 40.0 + 7.2 * kind.name.chars().count() as f64;
        if x + width > WIDTH - MARGIN {
            (x, y) = (MARGIN, y + 20.0);
        }
        out.push_str(&format!(
            "<rect class=\"k{}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" rx=\"2\"/>\
             <text class=\"label\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
            kind.colour,
            y - 10.5,
            x + 18.0,
            escape(&kind.name)
        ));
        x += width;
    }
    y
}

/// Draws ticks above the lanes and below the rows, and the grid between them.
fn axis(out: &mut String, layout: &Layout, end: f64) {
    for tick in picture::ticks(end, 10) {
        let x = layout.x(tick);
        let label = if tick > 0.0 { axis::time(tick) } else { "0".to_owned() };
        out.push_str(&format!(
            "<path class=\"grid\" d=\"M{x:.1} {:.1}V{:.1}\"/>\
             <text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>\
             <text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            layout.lanes_top - 4.0,
            layout.bottom,
            layout.lanes_top - 9.0,
            layout.bottom + 16.0,
        ));
    }
    out.push_str(&format!(
        "<text class=\"tick\" x=\"{}\" y=\"{:.1}\">virtual time</text>",
        MARGIN,
        layout.bottom + 16.0
    ));
}

fn lanes(out: &mut String, layout: &Layout, gantt: &Gantt) {
    let gap = if layout.lane > 6.0 { GAP } else { 0.6 };
    let top = |request: usize| layout.lanes_top + layout.lanes[request] as f64 * layout.lane;
    let frame = |request: usize, start: f64, end: f64| {
        PictureFrame::between(
            layout.x(start),
            layout.x(end),
            top(request) + gap / 2.0,
            layout.lane - gap,
        )
    };
    name(out, "in flight", layout.lanes_top + layout.lane.max(14.0) / 2.0);
    for (index, request) in gantt.requests.iter().enumerate().filter(|(_, r)| r.start < layout.ns) {
        picture::rect(out, "wait", &frame(index, request.start, request.end), &request.text);
    }
    for bar in joined(&gantt.steps, layout) {
        picture::rect(out, &class(gantt, &bar), &frame(bar.row, bar.start, bar.end), &bar.text);
    }
    for (index, request) in gantt.requests.iter().enumerate().filter(|_| layout.lane > 12.0) {
        picture::label(out, "num", &frame(index, request.start, request.end), &request.label);
    }
}

fn name(out: &mut String, text: &str, middle: f64) {
    out.push_str(&format!(
        "<text class=\"row\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
        LEFT - 10.0,
        middle + 4.0,
        escape(text)
    ));
}

fn rows(out: &mut String, layout: &Layout, gantt: &Gantt) {
    let right = WIDTH - MARGIN;
    for (index, row) in gantt.rows.iter().enumerate() {
        let base = layout.rows[index] + layout.row - GAP / 2.0;
        out.push_str(&format!("<path class=\"base\" d=\"M{LEFT} {base:.1}H{right}\"/>"));
        name(out, &row.name, layout.rows[index] + layout.row / 2.0);
    }
    out.push_str(&format!(
        "<path class=\"frame\" d=\"M{LEFT} {:.1}V{:.1}\"/>",
        layout.lanes_top - 4.0,
        layout.bottom
    ));
    for bar in joined(&gantt.bars, layout) {
        let (top, height) = (layout.rows[bar.row] + GAP / 2.0, layout.row - GAP);
        let frame = PictureFrame::between(layout.x(bar.start), layout.x(bar.end), top, height);
        picture::rect(out, &class(gantt, &bar), &frame, &bar.text);
        picture::label(out, &format!("on {}", class(gantt, &bar)), &frame, &bar.label);
    }
}

fn class(gantt: &Gantt, bar: &GanttBar) -> String {
    format!("k{}", gantt.kinds[bar.kind].colour)
}

/// Returns the bars that begin within the picture. Neighbours of one kind that cannot be told apart
/// are joined.
fn joined(bars: &[GanttBar], layout: &Layout) -> Vec<GanttBar> {
    let mut order: Vec<&GanttBar> = bars.iter().filter(|bar| bar.start < layout.ns).collect();
    order.sort_by(|a, b| {
        (a.row, a.start).partial_cmp(&(b.row, b.start)).expect("times are numbers")
    });
    let mut kept: Vec<(GanttBar, usize)> = Vec::new();
    for bar in order {
        match kept.last_mut() {
            Some((last, more))
                if (last.row, last.kind) == (bar.row, bar.kind)
                    && layout.x(bar.start) - layout.x(last.end) < 0.25
                    && layout.x(bar.end) - layout.x(bar.start) < 0.5 =>
            {
                last.end = last.end.max(bar.end);
                *more += 1;
            }
            _ => kept.push((bar.clone(), 0)),
        }
    }
    let say = |(bar, more): (GanttBar, usize)| match more {
        0 => bar,
        n => {
            let text = format!("{}\nand {n} more like it", bar.text);
            GanttBar { text, label: String::new(), ..bar }
        }
    };
    kept.into_iter().map(say).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(row: usize, kind: usize, start: f64, end: f64) -> GanttBar {
        GanttBar { row, kind, start, end, label: "7".into(), text: format!("<{start}>") }
    }

    fn request(start: f64, end: f64) -> Request {
        Request { start, end, label: "1".into(), text: "request 1".into() }
    }

    #[test]
    fn there_are_as_many_lanes_as_requests_in_flight() {
        let ends = [(0.0, 4.0), (0.0, 2.0), (2.0, 3.0), (3.0, 9.0), (4.0, 5.0)];
        let requests: Vec<Request> = ends.into_iter().map(|(a, b)| request(a, b)).collect();
        assert_eq!(lanes_of(&requests), [0, 1, 1, 1, 0]);
    }

    fn gantt(bars: Vec<GanttBar>) -> Gantt {
        let kind = |name: &str, colour| GanttBarKind { name: name.into(), colour };
        Gantt {
            title: "A & B".into(),
            notes: vec!["one".into()],
            kinds: vec![kind("read", 6), kind("write", 8)],
            requests: vec![request(0.0, 900.0)],
            steps: vec![bar(0, 0, 0.0, 500.0)],
            rows: vec![
                GanttRow { name: "bus".into(), group: 0 },
                GanttRow { name: "die".into(), group: 1 },
            ],
            bars,
            end: 1000.0,
        }
    }

    #[test]
    fn every_bar_is_drawn_with_what_is_said_of_it() {
        let text = svg(&gantt(vec![bar(0, 0, 0.0, 400.0), bar(1, 1, 400.0, 1000.0)]));
        assert_eq!(text.matches("<rect class=\"k6\"").count(), 3, "legend, step and bar");
        assert_eq!(text.matches("<rect class=\"k8\"").count(), 2);
        assert!(text.contains("A &amp; B") && text.contains("<title>&lt;400&gt;</title>"));
        assert!(
            text.starts_with("<!-- drawn by assay -->\n<svg xmlns=\"http://www.w3.org/2000/svg\"")
        );
        assert!(text.contains("500 ns") && text.contains("1 µs"));
    }

    #[test]
    fn what_cannot_be_told_apart_is_one_bar_and_what_lies_beyond_is_cut() {
        let many = (0..10_000).map(|i| bar(0, 0, f64::from(i) * 0.1, f64::from(i) * 0.1 + 0.1));
        let text = svg(&gantt(many.chain([bar(1, 1, 2000.0, 3000.0)]).collect()));
        assert_eq!(text.matches("<rect class=\"k6\"").count(), 3);
        assert!(text.contains("and 9999 more like it"));
        assert_eq!(text.matches("<rect class=\"k8\"").count(), 1, "only in the legend");
    }
}
