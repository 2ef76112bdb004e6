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
        "no-such-part",
        "`assay devices` lists controllers and processors. The name of a file ends in `.toml`.",
    ),
    (
        "shared-controller",
        "A controller either makes one array (`controller=`) or connects members of one array \
         (`@`). A second controller of the same kind is written with a number: `@perc-6i#2`.",
    ),
    (
        "array-too-small",
        "An array uses as much of each member as its smallest member holds, in whole chunks. Here \
         the smallest member is smaller than a chunk.",
    ),
    (
        "directory-unusable",
        "A workload of files makes a directory of its own in the directory that you name, and \
         removes it afterwards. Here assay cannot do this safely, or at all.",
    ),
    (
        "files-git",
        "Checkouts run the real `git`. Here `git` is not installed, failed, or did not check out \
         the tag, or the repository has fewer than two tags.",
    ),
    (
        "linux-elevator",
        "An elevator of 2009 serves one drive. It does not work before several drives that share a \
         card.",
    ),
    (
        "files-refused",
        "The file system refused an operation. Most often it is full, because assay writes the \
         files of a workload in full before it measures.",
    ),
    ("no-such-model", "`assay devices` lists the modelled drives. A device file ends in `.toml`."),
    (
        "unknown-target",
        "A target is `null`, `sim:NAME`, `sim:FILE.toml`, `raid5(…)`, `linux(…)`, or the path of a \
         file, directory or block device. assay takes a prefix close to `sim:` for a misspelling, \
         not for the name of a new file; `./` in front makes it a path.",
    ),
    (
        "usage",
        "The command line, or a file that it names, is wrong. The message says where and why. \
         `assay VERB --help` shows all options of a verb.",
    ),
    ("no-such-file", "The file of a device or a controller cannot be read."),
    (
        "plan-unknown",
        "The plan of a saved run names an experiment, a workload or a target that the run does not \
         have. Its `run.json` was edited, or is damaged.",
    ),
    (
        "run-busy",
        "Another process is running or resuming this run and holds a lock on its directory. The \
         lock ends with the process, even if it is killed.",
    ),
    (
        "other-device",
        "assay resumes a run only on the device or file that it began with. What has this name now \
         differs in size, serial number or another mark. A run must not mix two devices.",
    ),
    (
        "run-moved",
        "While assay worked, the run directory, or `log` or `series` in it, was moved or removed, \
         or its file system was unmounted or covered by another. The results are in the original \
         directory, not where `--out` says.",
    ),
    ("run-exists", "A run never overwrites another. Resume that run, or choose another directory."),
    (
        "other-version",
        "Another version of assay began the run. Versions may measure and model differently, so \
         only that version can resume the run. `assay report` reads it all the same.",
    ),
    (
        "out-not-empty",
        "A run needs a new or empty directory: it never replaces files that are not its own.",
    ),
    (
        "same-files",
        "Two cells would write files of the same name. The name begins with \
         EXPERIMENT.WORKLOAD.TARGET, with `+` for each `/`.",
    ),
    (
        "in-run-directory",
        "A new target or the image of a guest would lie in the run directory. There it could take \
         the name of a result.",
    ),
    ("range-outside", "The workload's range begins beyond the target, or its requests do not fit."),
    (
        "out-not-writable",
        "The run directory cannot be created or opened, or lacks its directory `log` or `series`.",
    ),
    ("log-not-written", "The request log could not be written; the cell is not finished."),
    ("log-unreadable", "A request log cannot be read, is damaged, or has another schema."),
    ("series-not-written", "The series could not be written; the cell is not finished."),
    ("output-not-written", "assay could not print its output, for example because a disk is full."),
    (
        "run-of-another",
        "The record of a run says which files, devices or directories assay writes to. So assay \
         resumes a run on such targets only if you or root began it.",
    ),
    ("no-proc", "assay needs /proc to find out what a file is, and who uses a device."),
    ("not-written", "assay could not write a file. An older file of the same name is unchanged."),
    ("device-lost", "The device existed when the run began, but it cannot be used now."),
    ("queue-overrun", "The workload keeps more requests in flight than the target can take."),
    (
        "trace-malformed",
        "A block trace has a malformed record or line; the message says where. A trace that ends \
         in the middle of a record is not an error: assay only reports it.",
    ),
    (
        "trace-unknown",
        "assay recognises a trace by its contents: blktrace by the magic number of its records, in \
         either byte order, and blkparse by a line that begins with a device, such as `8,0`.",
    ),
    ("trace-empty", "The file is empty."),
    ("trace-missing", "There is no file of this name, and no NAME.blktrace.N that is not empty."),
    ("trace-twice", "The same file is named twice. Each of its requests would count twice."),
    (
        "trace-mixed",
        "Times in records of blktrace count from the boot of the machine. Times in text of \
         blkparse count from the start of the trace.",
    ),
    (
        "trace-devices",
        "A log holds the requests of one device, because two devices have the same addresses. \
         Choose a device with `--device`.",
    ),
    (
        "trace-too-many-open",
        "assay keeps each request until it reads the completion. More requests have no completion \
         than any queue holds.",
    ),
    ("trace-no-requests", "The trace has no complete request, or none of the chosen device."),
    ("trace-unreadable", "A file of the trace, or the standard input, could not be read."),
    (
        "too-many-errors",
        "More requests of a cell failed than its experiment allows (`errors`, 1 % by default). The \
         numbers would show how fast the device fails, so the cell has no result. The run \
         continues, and ends with exit code 4, or 3 if all requests of a cell failed.",
    ),
    (
        "budget-over",
        "assay lays out the files of a workload before it measures. This may take as much of \
         `--budget` as one phase may. Here it took longer, so the cell is left out.",
    ),
    ("all-failed", "As `too-many-errors`, but every request of the cell failed."),
    (
        "too-much-memory",
        "The drives, guests, buffers and kept latencies of a run or timeline (`--plan` shows the \
         sum), or the cells of a run that is read, would take more memory than MemAvailable, the \
         limit of the control group, or `ulimit -v` or `-d`.",
    ),
    (
        "name-too-long",
        "The log and the series of a cell are files, named after its experiment, its workload and \
         its target. A file name has at most 255 bytes. The run has not begun.",
    ),
    (
        "not-replaced",
        "assay replaces a file only if it is unchanged since assay wrote it, or if you give \
         `--force`. assay never replaces a symlink, a device, a FIFO or a directory.",
    ),
    (
        "target-gone",
        "`assay resume` continues with the files and devices that the run began with, whatever the \
         working directory is. It does not make a missing one.",
    ),
    (
        "interrupted",
        "You pressed Ctrl-C. Finished work is kept; `assay resume DIR` continues the run.",
    ),
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
