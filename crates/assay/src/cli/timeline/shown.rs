//! Shows a timeline as a table, as JSON or as a picture.

use crate::output::one_line;
use assay_analysis::report::gantt::{self, Gantt, GanttRow};
use assay_analysis::text::Table;
use assay_engine::timeline::parts::{Part, Why, is_own, parts};
use assay_engine::timeline::{Bar, Cause, Kind, Resource, Served, Timeline};
use assay_spec::Nanos;
use assay_spec::device::{DeviceKind, DeviceSpec, FtlSpec};
use assay_spec::units::human_time;
use std::collections::{BTreeMap, BTreeSet};

/// A timeline, with the drive and the workload that it is of.
pub(super) struct Shown<'a> {
    pub timeline: Timeline,
    pub spec: DeviceSpec,
    /// The workload in words: `rnd-wr` or `FILE.toml#NAME`.
    pub words: &'a str,
    /// The number of requests before the timeline.
    pub skip: u32,
}

/// Formats a time for the table and the tooltips.
fn at(time: Nanos) -> String {
    format!("{:.3} ms", time.0 as f64 / 1e6)
}

impl Shown<'_> {
    fn is_disk(&self) -> bool {
        matches!(self.spec.kind, DeviceKind::Hdd(_))
    }

    fn copies_are(&self) -> &'static str {
        match &self.spec.kind {
            DeviceKind::Ssd(ssd) if matches!(ssd.ftl, FtlSpec::Hybrid(_)) => "merge",
            _ => "collection",
        }
    }

    fn word(&self, kind: Kind) -> &'static str {
        match kind {
            Kind::Command if !self.is_disk() => "firmware",
            Kind::Write if !self.is_disk() => "program",
            Kind::Copy => self.copies_are(),
            Kind::Turn => "wait for the platter",
            other => other.word(),
        }
    }

    fn name(&self, resource: Resource) -> &str {
        let all = &self.timeline.resources;
        all.iter().find(|(r, ..)| *r == resource).map_or("controller", |(_, name, _)| name)
    }

    /// Returns the time when the last request was answered, and the time from which the drive had
    /// nothing more to do.
    fn ends(&self) -> (Nanos, Nanos) {
        let answered = self.timeline.requests.iter().map(|r| r.end).max().unwrap_or_default();
        let done = self.timeline.bars.iter().map(|b| b.end).max().unwrap_or_default();
        (answered, done.max(answered))
    }

    fn notes(&self) -> Vec<String> {
        let Timeline { requests, depth, .. } = &self.timeline;
        let (answered, done) = self.ends();
        let before = match self.skip {
            0 => String::new(),
            n => format!(", after {n} others"),
        };
        let mut notes = vec![format!(
            "{} requests ({}){before}, {depth} in flight, all answered after {}",
            requests.len(),
            self.words,
            human_time(answered.0 as f64)
        )];
        notes.push(format!("Time of the requests: {}", self.where_time_went()));
        notes.extend(self.blocks());
        let later = (done - answered).0 as f64;
        if later > 0.0 {
            notes.push(format!(
                "After the last answer the drive goes on writing and collecting for {}{}",
                human_time(later),
                if self.end() < done.0 as f64 { ", which is not shown" } else { "" }
            ));
        }
        notes
    }

    /// Describes the free and the erased blocks of a flash drive after all work. Returns `None` if
    /// the drive does not count them.
    fn blocks(&self) -> Option<String> {
        let told = |name: &str| {
            let found = self.timeline.counters.iter().find(|(n, _)| n == name);
            found.map(|(_, value)| *value)
        };
        let (free, least, most) = (told("free_blocks")?, told("erases_min")?, told("erases_max")?);
        let (median, erased) = (told("erases_median")?, told("blocks_erased")?);
        Some(format!(
            "At the end {free} blocks are free; {erased} blocks were erased in this time. Each \
             block has been erased {least} to {most} times so far, half of the blocks at most \
             {median} times"
        ))
    }

    /// Lists the largest shares of the time of all requests, by cause.
    fn where_time_went(&self) -> String {
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for part in (0..self.timeline.requests.len()).flat_map(|number| self.parts(number)) {
            let reason = match part.why {
                // The list has one entry for all dies, and one for all buses.
                Why::Behind(Resource::Array(_), kind) => self.behind("a die", kind),
                Why::Behind(Resource::Channel(_), kind) => self.behind("a bus", kind),
                why => self.reason(why),
            };
            *sums.entry(reason).or_default() += part.time.0;
        }
        let total = sums.values().sum::<u64>().max(1) as f64;
        let mut sums: Vec<(String, f64)> =
            sums.into_iter().map(|(why, ns)| (why, 100.0 * ns as f64 / total)).collect();
        sums.sort_by(|a, b| b.1.total_cmp(&a.1));
        let said = sums.iter().filter(|(_, share)| *share >= 0.5).take(5);
        said.map(|(why, share)| format!("{share:.0} % {why}")).collect::<Vec<_>>().join(", ")
    }

    /// Returns the end of the time axis in nanoseconds: the end of all work if it is soon after the
    /// last answer, otherwise a little after the last answer.
    fn end(&self) -> f64 {
        let (answered, done) = self.ends();
        let (answered, done) = (answered.0 as f64, done.0 as f64);
        if done <= answered * 1.3 { done } else { answered * 1.03 }
    }

    /// Returns the title, the notes, and a table with one line for each request: its times, and
    /// what its time was spent on.
    pub(super) fn table(&self) -> String {
        let heading =
            ["#", "op", "offset", "size", "arrival", "start", "end", "took", "time spent"];
        let mut table = Table::new(&heading, &[1, 8]);
        for (number, request) in self.timeline.requests.iter().enumerate() {
            let Served { op, offset, length, arrival, end } = *request;
            table.row(vec![
                (number + 1).to_string(),
                op.name().to_owned(),
                offset.to_string(),
                length.to_string(),
                at(arrival),
                at(self.begin(number).unwrap_or(arrival)),
                at(end),
                human_time((end - arrival).0 as f64),
                self.why(number),
            ]);
        }
        let mut lines = vec![one_line(&self.spec.title).into_owned()];
        lines.extend(self.notes());
        lines.push(String::new());
        lines.extend(table.lines());
        lines.join("\n")
    }

    /// Returns the start of a request's first step.
    fn begin(&self, number: usize) -> Option<Nanos> {
        let own = |b: &&Bar| is_own(b, number as u32);
        self.timeline.bars.iter().find(own).map(|bar| bar.start)
    }

    fn parts(&self, number: usize) -> Vec<Part> {
        let Served { arrival, end, .. } = self.timeline.requests[number];
        parts(&self.timeline.bars, number as u32, arrival, end)
    }

    /// Lists the up to four longest parts of a request's time, without those that are shorter than
    /// a twentieth of it.
    fn why(&self, number: usize) -> String {
        let parts = self.parts(number);
        let total: u64 = parts.iter().map(|p| p.time.0).sum();
        let matters = |p: &&Part| p.time.0 * 20 >= total;
        let say = |p: &Part| format!("{} {}", self.reason(p.why), human_time(p.time.0 as f64));
        let said: Vec<String> = parts.iter().filter(matters).take(4).map(say).collect();
        said.join(" + ")
    }

    /// Describes a wait for the resource `name`, which was busy with a step of `kind`. Commands and
    /// transfers are not mentioned: they are what the firmware, a link or a bus does.
    fn behind(&self, name: &str, kind: Kind) -> String {
        match kind {
            Kind::Command | Kind::In | Kind::Out | Kind::CacheHit => format!("wait for {name}"),
            _ => format!("wait for {name} ({})", self.word(kind)),
        }
    }

    fn reason(&self, why: Why) -> String {
        match why {
            Why::Step(kind) => self.word(kind).to_owned(),
            Why::Behind(Resource::Firmware, kind) => self.behind("the firmware", kind),
            Why::Behind(Resource::Link, kind) => self.behind("the link", kind),
            Why::Behind(Resource::Arm, kind) => self.behind("the arm", kind),
            Why::Behind(resource, kind) => self.behind(self.name(resource), kind),
            Why::Room if self.is_disk() => "room in the cache".to_owned(),
            Why::Room => "room in the buffer".to_owned(),
            Why::Other if self.is_disk() => "controller".to_owned(),
            Why::Other => "the rest of its stripe".to_owned(),
        }
    }

    pub(super) fn records(&self) -> serde_json::Value {
        let ns = |t: Nanos| t.0;
        let requests = self.timeline.requests.iter().enumerate().map(|(number, r)| {
            let part = |p: &Part| serde_json::json!({ "for": self.reason(p.why), "ns": p.time.0 });
            serde_json::json!({
                "request": number + 1, "op": r.op.name(), "offset": r.offset.0,
                "length": r.length.0, "arrival_ns": ns(r.arrival), "end_ns": ns(r.end),
                "start_ns": self.begin(number).map(ns),
                "time": self.parts(number).iter().map(part).collect::<Vec<_>>(),
            })
        });
        let bars = self.timeline.bars.iter().map(|b| {
            serde_json::json!({
                "resource": self.name(b.resource), "kind": self.word(b.kind),
                "request": b.request.map(|r| r + 1), "page": b.page, "physical": b.physical,
                "operations": b.count.max(1), "start_ns": ns(b.start), "end_ns": ns(b.end),
            })
        });
        serde_json::json!({
            "target": self.spec.name, "workload": self.words, "depth": self.timeline.depth,
            "requests": requests.collect::<Vec<_>>(), "bars": bars.collect::<Vec<_>>(),
            "counters": self.timeline.counters.iter().cloned()
                .collect::<BTreeMap<String, f64>>(),
        })
    }

    pub(super) fn picture(&self) -> Gantt {
        let used: BTreeSet<Kind> = self.timeline.bars.iter().map(|b| b.kind).collect();
        let kinds: Vec<Kind> = used.into_iter().collect();
        let index = |kind: Kind| kinds.iter().position(|k| *k == kind).unwrap_or(0);
        let rows = self.rows();
        let row = |bar: &Bar| {
            let resource = (bar.resource, bar.kind == Kind::Seek);
            rows.iter().position(|(r, seeks, _)| *r == bar.resource && (*seeks == resource.1))
        };
        let draw = |row: usize, bar: &Bar| gantt::GanttBar {
            row,
            kind: index(bar.kind),
            start: bar.start.0 as f64,
            end: bar.end.0 as f64,
            label: bar.request.map(|r| (r + 1).to_string()).unwrap_or_default(),
            text: self.tip(bar),
        };
        let bars = self.timeline.bars.iter().filter_map(|b| Some(draw(row(b)?, b))).collect();
        Gantt {
            title: self.spec.title.clone(),
            notes: self.notes(),
            kinds: kinds.iter().map(|k| legend(self.word(*k), *k)).collect(),
            requests: self.timeline.requests.iter().enumerate().map(|r| self.request(r)).collect(),
            steps: self.steps(index),
            rows: rows.into_iter().map(|(_, _, row)| row).collect(),
            bars,
            end: self.end(),
        }
    }

    /// Returns the rows of the resources. A disk's arm has two: `arm` for its seeks and `head` for
    /// its other work. The flag says whether the row is for seeks.
    fn rows(&self) -> Vec<(Resource, bool, GanttRow)> {
        let row = |(resource, name, group): &(Resource, String, u32)| {
            let row = |name: &str, seeks| {
                (*resource, seeks, GanttRow { name: name.to_owned(), group: *group })
            };
            match resource {
                Resource::Arm => vec![row("arm", true), row("head", false)],
                _ => vec![row(name, false)],
            }
        };
        self.timeline.resources.iter().flat_map(row).collect()
    }

    /// Returns the steps of each request for its lane, cut off at the time of the answer.
    fn steps(&self, index: impl Fn(Kind) -> usize) -> Vec<gantt::GanttBar> {
        let own = |bar: &Bar| {
            let number = bar.request.filter(|r| is_own(bar, *r))? as usize;
            let end = bar.end.min(self.timeline.requests.get(number)?.end);
            (end > bar.start).then(|| gantt::GanttBar {
                row: number,
                kind: index(bar.kind),
                start: bar.start.0 as f64,
                end: end.0 as f64,
                label: String::new(),
                text: self.tip(bar),
            })
        };
        self.timeline.bars.iter().filter_map(own).collect()
    }

    fn request(&self, (number, request): (usize, &Served)) -> gantt::Request {
        let Served { op, offset, length, arrival, end } = *request;
        let text = format!(
            "request {}: {} of {length} at {offset}\n{} to {} ({})\n{}",
            number + 1,
            op.name(),
            at(arrival),
            at(end),
            human_time((end - arrival).0 as f64),
            self.why(number)
        );
        let (start, end) = (arrival.0 as f64, end.0 as f64);
        gantt::Request { start, end, label: (number + 1).to_string(), text }
    }

    /// Returns the tooltip of a bar.
    fn tip(&self, bar: &Bar) -> String {
        let mut text = format!("{} on {}", self.word(bar.kind), self.name(bar.resource));
        if bar.count > 1 {
            text = format!("{text}, {} operations", bar.count);
        }
        match bar.request {
            Some(request) if is_own(bar, request) => text += &format!("\nrequest {}", request + 1),
            Some(request) => text += &format!("\ncaused by request {}", request + 1),
            None => {}
        }
        if bar.cause == Some(Cause::Partial) {
            text += ", the rest of a page that the request writes only in part";
        }
        let unit = if self.is_disk() { "sector" } else { "page" };
        if let Some(page) = bar.page {
            text += &format!("\n{unit} {page}");
        }
        if let Some(physical) = bar.physical {
            text += &format!("\nphysical page {physical}");
        }
        let length = human_time(bar.length().0 as f64);
        text + &format!("\n{} to {} ({length})", at(bar.start), at(bar.end))
    }
}

fn legend(word: &str, kind: Kind) -> gantt::GanttBarKind {
    gantt::GanttBarKind { colour: kind as usize, name: word.to_owned() }
}
