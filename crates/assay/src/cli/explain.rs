//! `assay explain`: the method and source behind a number, a claim, a word or an error.

use super::Common;
use crate::output::{DONE, Failure, Outcome, data, json};
use assay_engine::safety;
use assay_spec::Kind;
use assay_spec::catalog::LEDGERS;
use assay_spec::claims::Ledger;
use assay_spec::decode::Source;
use assay_spec::diagnostic::closest;

/// Options of `assay explain`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// An error (`device-mounted`), a claim (`S-03`), a word (`steady-state`); none: all of them
    id: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Words of the report and errors of a run that no other table explains.
const TOPICS: &[(&str, &str)] = &[
    (
        "interval",
        "95 % confidence intervals. With two repeats or more: Student's t over the repeats, which \
         are independent seeds on a model and independent runs on a device. With one repeat: \
         batch means over the second-by-second series. Percentiles: order statistics (the \
         binomial ranks around the percentile), which assume independent requests and so are too \
         narrow when latency drifts.",
    ),
    (
        "steady-state",
        "SNIA PTS: over the last five rounds, max - min at most 20 % of the mean, and the fitted \
         line changes by at most 10 % of the mean over the window. The rule passes a slow decline \
         and fails honest noise, so a drift test (Mann-Kendall with Theil-Sen slope) stands \
         beside it.",
    ),
    (
        "latency",
        "Completion minus submission as the workload sees it, or minus the intended arrival in an \
         open loop, so that a slow device cannot hide its queue. Recorded in a log-linear \
         histogram with at most 0.4 % error; minimum, maximum and mean are exact.",
    ),
    (
        "bandwidth",
        "Bytes of requests completed without error in the measured phase, divided by its length. \
         MB is 10^6 bytes. Requests in flight at the end of a timed phase are waited for and not \
         counted.",
    ),
    (
        "metrics",
        "bandwidth, iops, mean, sd, min, max, p50, p99, p99.9 (any percentile), share<300us, \
         share>1.3ms, share=75us..90us, errors, and what a model tells of itself (wa). Prefix \
         read. or write. for one direction.",
    ),
    (
        "verdict",
        "reproduced: within the stated tolerance and its predicate holds. deviates: measured, and \
         not. contradicted: the document disproves itself. predicted: measured, no published \
         value at hand. input: a specification that went into the model. not testable: why is \
         said. not built: the experiment is not there yet, or not in this run.",
    ),
    (
        "effect-size",
        "The ratio of bandwidths with its interval; the probability that a random request of one \
         target is slower than one of the other (Vargha-Delaney A); the largest distance between \
         the two latency distributions (Kolmogorov-Smirnov).",
    ),
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
    ("no-such-model", "`assay devices` lists the modelled drives; a file ends in `.toml`."),
    (
        "unknown-target",
        "A target is `null`, `sim:NAME`, `sim:FILE.toml`, or the path of a file or block device. \
         What is nearly `sim:` is taken for a slip, not for the name of a new file; `./` in front \
         makes it a path.",
    ),
    ("no-such-file", "The file named as a device spec cannot be read."),
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
    ("range-outside", "The workload's range begins beyond the end of the target."),
    ("out-not-writable", "The run directory cannot be created where `--out` says."),
    ("log-not-written", "The request log could not be written; the cell is not finished."),
    ("log-unreadable", "A request log is damaged or of another schema."),
    ("series-not-written", "The series could not be written; the cell is not finished."),
    ("not-written", "A file of the run directory could not be replaced; the old one stands."),
    ("device-lost", "The device was there when the run began and is not any more."),
    ("queue-overrun", "The workload keeps more requests in flight than the target has slots."),
    ("interrupted", "Ctrl-C. What was finished is kept; `assay resume DIR` goes on."),
];

/// Runs the verb.
pub fn main(options: Options) -> Outcome {
    let entries = entries()?;
    let Some(id) = &options.id else {
        let ids: Vec<&str> = entries.iter().map(|(id, _)| id.as_str()).collect();
        if options.common.json {
            json(&ids)
        } else {
            data(&ids.join("\n"))
        }
        return Ok(DONE);
    };
    let Some((id, text)) = entries.iter().find(|(known, _)| known.eq_ignore_ascii_case(id)) else {
        let ids: Vec<&str> = entries.iter().map(|(id, _)| id.as_str()).collect();
        let hint = match closest(id, &ids) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "`assay explain` lists everything there is to explain".to_owned(),
        };
        return Err(Failure::usage(format!("nothing is called `{id}`"), hint));
    };
    if options.common.json {
        json(&serde_json::json!({ "id": id, "text": text }));
    } else {
        data(&format!("{id}\n\n{text}"));
    }
    Ok(DONE)
}

/// Everything there is to explain: (id, text).
fn entries() -> Result<Vec<(String, String)>, Failure> {
    let own = |(id, text): &(&str, &str)| ((*id).to_owned(), (*text).to_owned());
    let mut entries: Vec<(String, String)> = TOPICS.iter().map(own).collect();
    entries.extend(Kind::ALL.iter().map(|(_, id, text)| own(&(*id, *text))));
    entries.extend(safety::EXPLANATIONS.iter().map(own));
    for bundled in LEDGERS {
        let ledger = Ledger::parse(Source { file: bundled.file, text: bundled.text })?;
        for claim in &ledger.claims {
            let mut text =
                format!("{}\n\nSource: {}, {}", claim.statement, ledger.citation, claim.source);
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
                if let Some(tolerance) = value.tolerance {
                    text += &format!("; tolerance {:.0} %", tolerance * 100.0);
                }
            }
            for extra in [&claim.reason, &claim.notes].into_iter().filter(|t| !t.is_empty()) {
                text += &format!("\n{extra}");
            }
            entries.push((claim.id.clone(), text));
        }
    }
    Ok(entries)
}
