//! The experiment, the machine and the method: the part of a report that others need to repeat the
//! run.

use super::html::escape;
use super::tables::table;
use crate::load::Run;
use assay_spec::units::human_size;

/// Returns the method in prose.
pub fn method() -> &'static str {
    "<p>Latency is the time from submission to completion of a request. Latencies are kept in a \
     histogram with buckets of at most 1/128 of their value, so a percentile is off by at most \
     0.4 %; \
     mean, minimum and maximum are exact. Bandwidth is bytes completed in the measured phase \
     over its \
     length, in decimal MB/s.</p>\
     <p>All intervals are at the 95 % level. With several repeats they are Student t intervals \
     over \
     the repeats. With one repeat they are batch means of the series for bandwidth, IOPS and mean \
     latency, binomial order statistics for percentiles, and Wilson intervals for shares; where \
     none \
     of these is sound, the reason stands in place of the interval. Order statistics and Wilson's \
     interval take requests as independent; queued requests are not quite, so repeats are to be \
     preferred. A ratio has the interval of the delta method on logarithms with Welch's degrees of \
     freedom.</p>\
     <p>The steady-state rule is that of SNIA PTS: over the window, range at most 20 % and fitted \
     change at most 10 % of the average. It accepts slow decline, so a drift test stands beside \
     it: \
     Mann-Kendall with the slope of Theil and Sen. Periodic behaviour makes that test see drift \
     too \
     easily: look at the size of the slope, not only at p.</p>"
}

/// Returns the warnings and notes of every cell.
pub fn warnings(run: &Run) -> String {
    let lines = crate::text::note_lines(run);
    let items: String = lines.iter().map(|line| format!("<li>{}</li>", escape(line))).collect();
    format!("<ul>{items}</ul>")
}

/// Returns machine, command, seeds and targets.
pub fn setting(run: &Run) -> String {
    let r = &run.record;
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |k: &str, v: String| rows.push(vec![k.to_owned(), left(&v)]);
    row("command", r.command.join(" "));
    row("assay", r.assay.clone());
    row("started", r.started.clone());
    row("seed", r.seed.to_string());
    row("processor", format!("{}, {} at hand", r.host.cpu, r.host.cpus));
    row("memory", r.host.memory.to_string());
    row("kernel", r.host.kernel.clone());
    for t in &r.targets {
        row(
            &escape(&t.name),
            format!("{}: {}, {}, {}", t.written, t.title, t.kind, human_size(t.capacity)),
        );
        for (key, value) in &t.identity {
            row(&escape(&format!("{}, {key}", t.name)), value.clone());
        }
    }
    table("run", &["what", "value"], &rows)
}

/// Formats free text, which is aligned to the left and may break.
fn left(text: &str) -> String {
    format!("<div class=\"l\"><code>{}</code></div>", escape(text))
}

/// Returns the seeds of every repeat and the whole specs, folded.
pub fn specs(run: &Run) -> String {
    let seed_row = |c: &assay_spec::record::CellRecord| {
        let seeds: Vec<String> = c.repeats.iter().map(|r| r.seed.to_string()).collect();
        vec![escape(&c.id), left(&seeds.join(", "))]
    };
    let rows: Vec<Vec<String>> = run.cells.iter().map(seed_row).collect();
    let mut out = folded("Seeds of every repeat", &table("seeds", &["cell", "seeds"], &rows));
    for e in &run.record.experiments {
        out += &folded(&format!("Experiment {} ({})", e.name, e.file), &pre(&e.text));
    }
    if let Some(list) = run.record.prices.as_ref().and_then(|p| p.list.as_ref()) {
        out += &folded(&format!("Prices ({})", list.file), &pre(&list.text));
    }
    for t in &run.record.targets {
        if let Some(spec) = &t.spec {
            out += &folded(&format!("Device spec {}", t.name), &pre(spec));
        }
    }
    out
}

fn folded(title: &str, body: &str) -> String {
    format!("<details><summary>{}</summary>{body}</details>", escape(title))
}

fn pre(text: &str) -> String {
    format!("<pre tabindex=\"0\">{}</pre>", escape(text))
}
