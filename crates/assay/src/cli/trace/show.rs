//! `assay trace show`: prints the tables and writes the page of an imported trace, or of a run's
//! request log.

use crate::cli::options::Common;
use crate::output::plan::Plan;
use crate::output::{DONE, ENVIRONMENT, Failure, Outcome, data, json, shown, talk};
use assay_analysis::report::trace::{About, page};
use assay_analysis::text::trace_tables;
use assay_analysis::trace::summary;
use assay_engine::measure::log;
use assay_engine::read::{self, Unread};
use assay_engine::run::{Replace, write_text};
use assay_spec::Nanos;
use assay_spec::trace::{SCHEMA, TraceRecord, TraceRow};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Options of `assay trace show`.
#[derive(Debug, clap::Args)]
pub struct TraceShowOptions {
    /// The directory of an imported trace, or a request log (`runs/…/log/….parquet`)
    #[arg(value_name = "DIR|FILE")]
    subject: PathBuf,
    /// File for the page [default: trace.html in DIR; for a FILE, none]
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Replace a page that assay did not write, or that was changed after assay wrote it
    #[arg(long)]
    force: bool,
    /// Only the requests of this process; in a run's log, of this job or drive
    #[arg(long, value_name = "N")]
    job: Option<u32>,
    /// Only requests that ended at this time of the trace or later
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Only requests that ended by this time of the trace
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Returns `true` if both paths lead to one file.
fn is_same_file(a: &Path, b: &Path) -> bool {
    let of = |path: &Path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    of(a).is_some_and(|a| Some(a) == of(b))
}

/// Runs the verb.
pub fn main(options: &TraceShowOptions) -> Outcome {
    let from = moment("--from", options.from.as_deref(), Nanos::ZERO)?;
    let until = moment("--until", options.until.as_deref(), Nanos::NEVER)?;
    let (path, record) = subject(&options.subject)?;
    let beside = record.as_ref().map(|_| options.subject.join("trace.html"));
    if options.html.as_deref() == Some(Path::new("-")) {
        let text = "`--html` takes a file, not the standard output";
        return Err(Failure::usage(text, "for a file of this name: `--html ./-`"));
    }
    let html = options.html.clone().or(beside);
    let inputs = [path.clone(), options.subject.join("trace.json")];
    if let Some(html) = html.as_ref().filter(|html| inputs.iter().any(|i| is_same_file(html, i))) {
        let text = format!("the page would replace {}, which it is made from", html.display());
        return Err(Failure::usage(text, "choose another name for the page"));
    }
    if options.common.plan {
        let plan = Plan::reading(&[&path]);
        return html
            .into_iter()
            .fold(plan, |plan, html| plan.writing(html, None))
            .show(&options.common);
    }
    let log::Log { mut rows, is_trace } = log::read(&path)?;
    let jobs = rows.iter().map(|row| row.job).max().unwrap_or(0);
    let wanted = |row: &TraceRow| {
        options.job.is_none_or(|job| row.job == job)
            && row.complete >= from
            && row.complete <= until
    };
    rows.retain(wanted);
    if rows.is_empty() {
        let text =
            format!("{} has no request within `--job`, `--from` and `--until`", path.display());
        return Err(Failure::usage(text, "change these options, or leave them out"));
    }
    let summary = summary(&rows, is_trace);
    if let Some(html) = &html {
        let page = page(&about(options, &path, record.as_ref()), &summary, &rows);
        write_text(html, &page, if options.force { Replace::Forced } else { Replace::Written })?;
    }
    if options.common.json {
        let record = record.as_ref();
        json(&serde_json::json!({ "log": shown(&path), "trace": record, "summary": summary }));
    } else {
        data(&trace_tables(&summary));
    }
    let quiet = options.common.quiet;
    if !is_trace && jobs > 0 && options.job.is_none() && !quiet {
        talk(&format!(
            "all jobs (or drives) from 0 to {jobs} are shown together; `--job 0` shows only job 0"
        ));
    }
    if let Some(html) = html.filter(|_| !quiet) {
        talk(&format!("page: {}", html.display()));
    }
    Ok(DONE)
}

fn moment(option: &str, text: Option<&str>, otherwise: Nanos) -> Result<Nanos, Failure> {
    let Some(text) = text else { return Ok(otherwise) };
    text.parse().map_err(|_| {
        let hint = format!("write a time such as `500ms` or `30s`, e.g. `{option} 30s`");
        Failure::usage(format!("`{option} {text}` is not a time"), hint)
    })
}

/// Returns the path of the log that `subject` means, and the record of its trace if `subject` is
/// the directory of an imported trace.
///
/// # Errors
/// If `subject` is another directory, or the record of its trace cannot be read.
fn subject(subject: &Path) -> Result<(PathBuf, Option<TraceRecord>), Failure> {
    let json = subject.join("trace.json");
    if !subject.is_dir() {
        return Ok((subject.to_owned(), None));
    }
    if !json.exists() {
        return Err(no_trace(subject));
    }
    let unreadable = |e: Unread| {
        let text = format!("{} cannot be read: {e}", json.display());
        let mut failure = Failure::usage(text, e.hint("check its permissions"));
        failure.code = ENVIRONMENT;
        failure
    };
    let text = read::bytes(&json, read::SPEC_MAX).map_err(unreadable)?;
    let value: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
    let schema = value.as_ref().and_then(|v| v["schema"].as_u64());
    if let Some(other) = schema.filter(|schema| *schema != u64::from(SCHEMA)) {
        let text = format!(
            "{} has schema {other}, but this version of assay reads only schema {SCHEMA}",
            json.display()
        );
        return Err(Failure::usage(
            text,
            "use the version of assay that the file names in `assay`",
        ));
    }
    let record = serde_json::from_slice(&text).map_err(|e| {
        let text = format!("{} is damaged: {e}", json.display());
        Failure::usage(text, "import the trace again, or name the log in its `log/` instead")
    })?;
    Ok((subject.join("log").join("trace.parquet"), Some(record)))
}

/// Returns the failure for a directory without an imported trace. Its hint names a log, if there is
/// one: the logs of a run directory can be shown one by one.
fn no_trace(directory: &Path) -> Failure {
    let entries = std::fs::read_dir(directory.join("log")).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut logs: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "parquet")).collect();
    logs.sort();
    // The log of a drive is named first, because it corresponds to a block trace.
    let drives = |path: &&PathBuf| path.to_string_lossy().contains("drive");
    let hint = match logs.iter().find(drives).or(logs.first()) {
        Some(log) => format!("name one of its {} logs, e.g. {}", logs.len(), log.display()),
        None => "import a trace with `assay trace import FILE`".to_owned(),
    };
    Failure::usage(format!("{} holds no imported trace", directory.display()), hint)
}

fn about(options: &TraceShowOptions, path: &Path, record: Option<&TraceRecord>) -> About {
    let mut notes = Vec::new();
    let mut title = "Block trace".to_owned();
    if let Some(record) = record {
        title = format!("Block trace of {}", record.device);
        let files = record.source.files.join(", ");
        notes.push(format!("{} of {files}", record.source.format));
        let told = record.unpaired.iter().map(|left| format!("{}: {}", left.what, left.count));
        let told: Vec<String> = told.collect();
        if !told.is_empty() {
            notes.push(format!("Not in the trace: {}", told.join("; ")));
        }
    } else {
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        title = name.map_or(title, |name| format!("Requests of {name}"));
    }
    let range = [("from", &options.from), ("until", &options.until)];
    let said = range.iter().filter_map(|(word, time)| Some(format!("{word} {}", time.as_ref()?)));
    let mut said: Vec<String> = said.collect();
    said.extend(options.job.map(|job| format!("job {job}")));
    if !said.is_empty() {
        notes.push(format!("Only {}", said.join(", ")));
    }
    About { title, notes }
}
