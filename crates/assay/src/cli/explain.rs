//! `assay explain`: prints the method and the source behind a number, a claim, a word or an error.

use super::options::Common;
use super::timeline;
use crate::output::plan::Plan;
use crate::output::{DONE, Failure, Outcome, data, json};
use assay_analysis::metric;
use assay_engine::safety;
use assay_spec::Kind;
use assay_spec::calibration::{self, Calibration};
use assay_spec::catalog::LEDGERS;
use assay_spec::claims::{Claim, ClaimKind, Ledger, Number};
use assay_spec::decode::Source;
use assay_spec::diagnostic::closest;
use std::path::PathBuf;

/// Options of `assay explain`.
#[derive(Debug, clap::Args)]
pub struct ExplainOptions {
    /// A word (`p99`, `drift`), an error (`device-mounted`) or a claim (`S-03`) [default: list all]
    #[arg(value_name = "WORD")]
    words: Vec<String>,
    #[command(flatten)]
    timeline: timeline::TimelineOptions,
    #[command(flatten)]
    common: Common,
}

/// The page that explains the words of tables, reports and the command line. [`words`] splits it at
/// its headings.
const WORDS: &str = include_str!("../../../../docs/words.md");

/// The explanations of errors that no other table explains: (id, text).
const TOPICS: &[(&str, &str)] = &[
    (
        "no-such-controller",
        "`assay devices` lists the controllers that drives can share; a file ends in `.toml`.",
    ),
    (
        "shared-controller",
        "A controller makes one array (`controller=`) or carries members of one array (`@`). \
         Another card of its kind is written with a number: `@perc-6i#2`.",
    ),
    (
        "array-too-small",
        "Every member of an array counts as large as its smallest one, in whole chunks; here not \
         even one chunk fits.",
    ),
    (
        "directory-unusable",
        "Workloads of files work in a directory of their own below the one that is named, and \
         remove it afterwards.",
    ),
    (
        "files-git",
        "`git` is not there, failed, or did not check out what it was to: checkouts are done by \
         the real one.",
    ),
    (
        "linux-elevator",
        "An elevator of 2009 stands before one drive; drives that share a card, or what `host=` \
         charges, have none of their own.",
    ),
    (
        "files-refused",
        "The file system refused something; most often it is full, for files are laid out whole.",
    ),
    ("no-such-model", "`assay devices` lists the modelled drives; a file ends in `.toml`."),
    (
        "unknown-target",
        "A target is `null`, `sim:NAME`, `sim:FILE.toml`, or the path of a file or block device. \
         What is nearly `sim:` is taken for a slip, not for the name of a new file; `./` in front \
         makes it a path.",
    ),
    (
        "usage",
        "The command line, or a file that it names, is not what the verb takes; the message says \
         which and how. `assay VERB --help` has every option.",
    ),
    ("no-such-file", "The file named as a device spec cannot be read."),
    (
        "plan-unknown",
        "The plan of a saved run names an experiment, a workload or a target that the run does not \
         have: its `run.json` was edited, or is damaged.",
    ),
    (
        "run-busy",
        "Another process is running or resuming this run and holds a lock on its directory. The \
         lock ends with the process, also if it is killed.",
    ),
    (
        "other-device",
        "A run is resumed on the device or file it began with: what goes by the name now has \
         another size, serial number or model. Numbers of two devices do not belong into one run.",
    ),
    (
        "run-moved",
        "While assay worked, the run directory was renamed or removed, its file system unmounted, \
         or another one mounted over it. The results are in it, and not where `--out` says.",
    ),
    ("run-exists", "A run never overwrites another. Resume it, or choose another directory."),
    (
        "other-version",
        "Another version of assay began the run. Versions may measure and model differently, so a \
         run is finished by the version that began it. `assay report` reads it as it is.",
    ),
    (
        "out-not-empty",
        "A run directory is a directory of its own: files of other origin are never replaced.",
    ),
    (
        "same-files",
        "Two cells would write the same logs and series: in the name of a file, the `/` of a \
         target's name becomes `+`, and a dot separates experiment, workload and target.",
    ),
    ("range-outside", "The workload's range begins beyond the end of the target."),
    ("out-not-writable", "The run directory cannot be created where `--out` says."),
    ("log-not-written", "The request log could not be written; the cell is not finished."),
    ("log-unreadable", "A request log is damaged or of another schema."),
    ("series-not-written", "The series could not be written; the cell is not finished."),
    ("output-not-written", "What was to be printed could not be, as on a full disk."),
    (
        "run-of-another",
        "A run on files, devices or directories is resumed by who began it: its record names what \
         is written to.",
    ),
    ("no-proc", "Without /proc nobody can say what a file is, or who uses a device."),
    ("not-written", "A file of the run directory could not be replaced; the old one stands."),
    ("device-lost", "The device was there when the run began and is not any more."),
    ("queue-overrun", "The workload keeps more requests in flight than the target has slots."),
    (
        "trace-malformed",
        "A record or a line of a block trace is not what it should be, at the byte or the line and \
         column that is named. An end in the middle of a record is told and no error.",
    ),
    (
        "trace-unknown",
        "What is imported is recognised by its content: blktrace's records by their magic number, \
         in either byte order, text by a line that begins with a device, as `8,0`.",
    ),
    ("trace-empty", "There is nothing in the file."),
    ("trace-missing", "No file, and no NAME.blktrace.N with something in it, has this name."),
    ("trace-twice", "A file would be read twice, and each of its requests counted so."),
    (
        "trace-mixed",
        "Records have the time since the machine began, text that since the trace did.",
    ),
    (
        "trace-devices",
        "One log is of one device: two devices have the same addresses. `--device` chooses.",
    ),
    (
        "trace-too-many-open",
        "Requests are kept until their completion is read. More than any queue holds have none.",
    ),
    ("trace-no-requests", "The trace has no event of a request, or none of the device."),
    ("trace-unreadable", "A file of the trace, or the standard input, could not be read."),
    (
        "too-many-errors",
        "More requests of a cell failed than its experiment allows (`errors`, 1 % unless it says \
         otherwise). The rest would tell how fast a device fails, so the cell has no result; the \
         run goes on with the next and ends with exit code 4, or 3 if all requests of a cell \
         failed.",
    ),
    (
        "budget-over",
        "Files of a workload are laid out before it is measured, and that takes as much of \
         `--budget` as a phase may: with more the cell is left out.",
    ),
    ("all-failed", "As `too-many-errors`: not one request of the cell succeeded."),
    (
        "too-much-memory",
        "What the modelled drives, guests and buffers of a run take at a time is added up before \
         it begins, and so is what the drive of a timeline takes; `--plan` shows it. The machine's \
         MemAvailable, the limit of the control group and `ulimit -v` say what there is.",
    ),
    (
        "name-too-long",
        "The log and the series of a cell are files, called by its experiment, its workload and \
         its target, and a file's name has at most 255 bytes. Nothing was begun.",
    ),
    (
        "not-replaced",
        "assay replaces a file only if it wrote it, or if `--force` says so; never a symlink, a \
         device, a FIFO or a directory.",
    ),
    (
        "target-gone",
        "`assay resume` goes on with the files and devices that the run began with, wherever it is \
         started, and makes none.",
    ),
    ("interrupted", "Ctrl-C. What was finished is kept; `assay resume DIR` goes on."),
];

/// A topic that can be explained.
struct Topic {
    /// The heading that it is listed under.
    group: String,
    /// The names, the usual one first.
    names: Vec<String>,
    text: String,
}

impl Topic {
    fn new(group: &str, name: &str, text: impl Into<String>) -> Topic {
        Topic { group: group.to_owned(), names: vec![name.to_owned()], text: text.into() }
    }

    fn is_called(&self, word: &str) -> bool {
        self.names.iter().any(|name| plain(name) == word)
    }
}

/// Runs the verb.
pub fn main(options: ExplainOptions) -> Outcome {
    if let Some(target) = &options.timeline.target {
        return timeline::main(target, &options.timeline, &options.common);
    }
    if options.common.plan {
        return Plan::reading::<PathBuf>(&[]).show(&options.common);
    }
    let topics = topics()?;
    let names: Vec<&str> = topics.iter().flat_map(|t| &t.names).map(String::as_str).collect();
    if options.words.is_empty() {
        if options.common.json {
            json(&names)
        } else {
            data(&listed(&topics))
        }
        return Ok(DONE);
    }
    let word = options.words.join(" ");
    let Some(topic) = find(&topics, &word) else {
        return Err(Failure::usage(format!("nothing is called `{word}`"), nearest(&word, &names)));
    };
    if options.common.json {
        json(&serde_json::json!({
            "id": topic.names[0], "names": topic.names, "text": topic.text,
        }));
    } else {
        data(&format!("{}\n\n{}", topic.names.join(", "), topic.text));
    }
    Ok(DONE)
}

/// Returns the form in which words are compared: without backticks, in lower case, and with one `-`
/// for each run of spaces, underscores and hyphens.
fn plain(word: &str) -> String {
    let word = word.trim().trim_matches('`').to_lowercase();
    word.split([' ', '_', '-']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// Finds the topic of a word. All percentiles have one topic, and so have all shares. A metric of
/// one kind of request, such as `read.p99`, has the topic of the metric.
fn find<'a>(topics: &'a [Topic], word: &str) -> Option<&'a Topic> {
    let word = plain(word);
    let called = |word: &str| topics.iter().find(|t| t.is_called(word));
    let direction =
        ["read.", "write.", "trim.", "flush."].iter().find_map(|d| word.strip_prefix(d));
    let bare = direction.unwrap_or(&word);
    let family = match bare.strip_prefix('p') {
        Some(n) if n.parse::<f64>().is_ok_and(|n| n > 0.0 && n < 100.0) => "percentile",
        _ if bare.starts_with("share") => "share",
        // `first100` and `rest100` have the topic of `first4` and `rest`.
        _ if metric::is_known(bare) => bare.trim_end_matches(|c: char| c.is_ascii_digit()),
        _ => bare,
    };
    called(&word).or_else(|| called(family))
}

/// Returns a hint for a word that names no topic: the nearest name, if one is near.
fn nearest(word: &str, names: &[&str]) -> String {
    let part = plain(word);
    let within = || names.iter().find(|n| part.len() > 2 && plain(n).contains(&part)).copied();
    match closest(&part, names).or_else(within) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "`assay explain` lists everything there is to explain".to_owned(),
    }
}

/// Returns the names of all topics in lines below the headings of their groups.
fn listed(topics: &[Topic]) -> String {
    const WIDTH: usize = 98;
    let mut lines = vec!["`assay explain WORD` explains one of these.".to_owned()];
    for group in topics.chunk_by(|a, b| a.group == b.group) {
        lines.extend([String::new(), group[0].group.clone()]);
        let mut line = String::new();
        for name in group.iter().flat_map(|t| &t.names) {
            if line.chars().count() + name.chars().count() + ", ".len() > WIDTH - 2 {
                lines.push(format!("  {line},"));
                line.clear();
            }
            let gap = if line.is_empty() { "" } else { ", " };
            line += &format!("{gap}{name}");
        }
        lines.push(format!("  {line}"));
    }
    lines.join("\n")
}

/// Returns all topics.
///
/// # Errors
/// If a bundled ledger, or the list of calibrations, is malformed.
fn topics() -> Result<Vec<Topic>, Failure> {
    let mut topics = words(WORDS);
    let of = |group: &'static str| {
        move |(id, text): &(&'static str, &'static str)| Topic::new(group, id, *text)
    };
    topics.extend(Kind::ALL.iter().map(|(_, id, text)| of("Mistakes in files")(&(*id, *text))));
    topics.extend(TOPICS.iter().map(of("Errors")));
    topics.extend(safety::EXPLANATIONS.iter().map(of("Errors")));
    topics.extend(assay_linux::error::EXPLANATIONS.iter().map(of("Errors")));
    let chosen = calibration::bundled()?;
    for bundled in LEDGERS {
        let ledger = Ledger::parse(Source { file: bundled.file, text: bundled.text })?;
        let group = format!("Claims of {}", ledger.study);
        for claim in &ledger.claims {
            topics.push(Topic::new(&group, &claim.id, of_claim(&ledger, claim, &chosen)));
        }
    }
    Ok(topics)
}

/// Splits a page into topics: `## group`, `### name, name`, then the text.
fn words(page: &str) -> Vec<Topic> {
    let mut topics = Vec::new();
    for group in page.split("\n## ").skip(1) {
        let (group, sections) = group.split_once('\n').unwrap_or((group, ""));
        for section in sections.split("\n### ").skip(1) {
            let (names, text) = section.split_once('\n').unwrap_or((section, ""));
            topics.push(Topic {
                group: group.to_owned(),
                names: names.split(", ").map(str::to_owned).collect(),
                text: text.trim().to_owned(),
            });
        }
    }
    topics
}

/// Describes a claim with its source, its numbers, how they are judged, and the values that were
/// chosen with the claim in sight.
fn of_claim(ledger: &Ledger, claim: &Claim, chosen: &[Calibration]) -> String {
    let mut text = format!("{}\n\nSource: {}, {}", claim.statement, ledger.citation, claim.source);
    if let Some(predicate) = &claim.predicate {
        text += &format!("\nHolds if: {predicate}");
    }
    for value in &claim.values {
        let published = match value.published {
            Some(n) => format!("{n} {}", value.unit),
            None => "no published value at hand".to_owned(),
        };
        text += &format!("\n{}: {published}", value.label);
        if let Some(measure) = &value.measure {
            text += &format!("; measured as {measure}");
        }
        if value.measure.is_some() {
            text += &format!("; tolerance {:.0} %", value.tolerance * 100.0);
        }
        if !value.implied.is_empty() {
            text += &format!(" (\u{201c}{}\u{201d})", value.implied);
        }
    }
    if let Some(reckoning) = &claim.reckoning {
        reckoning.places.iter().for_each(|place| text += &format!("\n- {place}"));
        if let Some(check) = &reckoning.check {
            let number = |n: &Number| format!("{} = {} {}", n.name, n.published, n.unit);
            let numbers: Vec<String> = reckoning.numbers.iter().map(number).collect();
            let what = match claim.kind {
                ClaimKind::Arithmetic => "Follows",
                _ => "Would have to hold",
            };
            text += &format!("\n{what}: {check}, with {}", numbers.join(", "));
        }
    }
    for c in chosen.iter().filter(|c| c.from.claim == claim.id) {
        let number = c.from.label.as_ref().map_or_else(String::new, |label| format!("{label}: "));
        text += &format!("\n{number}in sight when this was chosen: {}", c.place);
    }
    for extra in [&claim.reason, &claim.notes].into_iter().filter(|t| !t.is_empty()) {
        text += &format!("\n{extra}");
    }
    text
}
