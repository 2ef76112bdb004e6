//! The counters of the models that explain a figure: a line for each target.

use super::series::Series;
use crate::load::Run;
use crate::metric;
use crate::report::charts::swatch;
use crate::report::html::escape;
use assay_spec::record::CellRecord;
use assay_spec::units::{human_time, three_digits};

/// Returns a list with a line for each target that reports counters; empty if none does.
pub fn lines(run: &Run, told: &[Series]) -> String {
    let items: String = run.targets().iter().filter_map(|t| line(run, t, told)).collect();
    match items.is_empty() {
        true => String::new(),
        false => format!(
            "<p class=\"dim told-title\">Counted in the models:</p><ul class=\"told\">{items}</ul>"
        ),
    }
}

fn line(run: &Run, target: &str, told: &[Series]) -> Option<String> {
    let clause = |s: &Series| {
        let cell = run.cell(Some(s.experiment), s.workload, target)?;
        let words = words(cell);
        (!words.is_empty()).then(|| format!("{}: {}", s.label, words.join(", ")))
    };
    // Half of a comparison would mislead, so a target needs all of it.
    let clauses: Vec<String> = told.iter().map(clause).collect::<Option<_>>()?;
    let text = escape(&clauses.join("; "));
    let ink = swatch(run, target);
    (!clauses.is_empty())
        .then(|| format!("<li>{ink}<strong>{}</strong> {text}.</li>", escape(target)))
}

/// Returns the mean over the repeats of a number that the target reports.
fn of(cell: &CellRecord, name: &str) -> Option<f64> {
    metric::estimate(cell, name).ok().map(|e| e.value).filter(|v| v.is_finite())
}

fn words(cell: &CellRecord) -> Vec<String> {
    let mut all: Vec<String> = amplification(cell).into_iter().collect();
    all.extend(counts(cell));
    all.extend(busy(cell));
    all.extend(stalls(cell));
    all
}

/// The causes of writes: the name in the models, and that for people.
const CAUSES: [(&str, &str); 8] = [
    ("wa_host", "the host"),
    ("wa_partial", "partly filled pages"),
    ("wa_collect", "collecting and merging"),
    ("wa_wear", "wear levelling"),
    ("wa_map", "the map"),
    ("wa_ahead", "writing ahead"),
    ("wa_fold", "folding"),
    ("wa_pad", "padding"),
];

fn amplification(cell: &CellRecord) -> Option<String> {
    let whole = of(cell, "wa")?;
    let part = |(name, word): &(&str, &str)| {
        let value = of(cell, name).filter(|v| *v >= 0.005)?;
        Some(format!("{word} {}", three_digits(value)))
    };
    let parts: Vec<String> = CAUSES.iter().filter_map(part).collect();
    let because = if parts.len() > 1 { format!(" ({})", parts.join(", ")) } else { String::new() };
    Some(format!("write amplification {}{because}", three_digits(whole)))
}

/// The counted events: counter, words for one event, and words for several.
const EVENTS: [(&str, &str, &str); 7] = [
    ("merges_switch", "switch merge", "switch merges"),
    ("merges_partial", "partial merge", "partial merges"),
    ("merges_full", "full merge", "full merges"),
    ("urgent_collections", "write waited for a collection", "writes waited for a collection"),
    ("read_hits", "read from its cache", "reads from its cache"),
    ("media_reads", "read with the arm", "reads with the arm"),
    ("destaged", "write brought to the platters", "writes brought to the platters"),
];

fn counts(cell: &CellRecord) -> impl Iterator<Item = String> {
    EVENTS.iter().filter_map(|(name, once, often)| {
        let value = of(cell, name)?.round();
        let word = if value < 1.5 { once } else { often };
        (value > 0.0).then(|| format!("{value:.0} {word}"))
    })
}

/// Returns how many planes and channels worked at a time on average, and how much of the time the
/// link and the processor were busy: busy time over elapsed time.
fn busy(cell: &CellRecord) -> Vec<String> {
    let Some(elapsed) = of(cell, "elapsed").filter(|v| *v > 0.0) else { return Vec::new() };
    let share = |name: &str| of(cell, name).map(|v| v / elapsed);
    let mut all = Vec::new();
    all.extend(share("array_busy_ns").map(|v| format!("{}\u{a0}planes", brief(v))));
    all.extend(share("channel_busy_ns").map(|v| format!("{}\u{a0}channels", brief(v))));
    all.extend(share("link_busy_ns").map(|v| format!("link {}\u{a0}%", brief(100.0 * v))));
    all.extend(share("firmware_busy_ns").map(|v| format!("processor {}\u{a0}%", brief(100.0 * v))));
    all
}

/// The reasons why requests wait: counter of the time, and words.
const STALLS: [(&str, &str); 7] = [
    ("stall_buffer_ns", "room in the buffer"),
    ("stall_buffer_collect_ns", "room in the buffer behind collection"),
    ("stall_buffer_map_ns", "room in the buffer behind the map"),
    ("stall_map_ns", "the map"),
    ("stall_read_collect_ns", "collection before reads"),
    ("stall_write_collect_ns", "collection before writes"),
    ("stall_firmware_ns", "the processor"),
];

/// Returns the waits that make up at least a hundredth of the time, the longest first.
fn stalls(cell: &CellRecord) -> Option<String> {
    let elapsed = of(cell, "elapsed").filter(|v| *v > 0.0)?;
    let long = |(name, word): &(&str, &'static str)| {
        Some((of(cell, name).filter(|v| *v >= elapsed / 100.0)?, *word))
    };
    let mut all: Vec<(f64, &str)> = STALLS.iter().filter_map(long).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let said = all.iter().map(|(ns, word)| format!("{word} {}", human_time(*ns)));
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| format!("waits added up: {}", said.join(", ")))
}

/// Formats a number with two significant digits, which are enough to see a bottleneck.
fn brief(v: f64) -> String {
    match v {
        v if v >= 9.95 => format!("{v:.0}"),
        v if v >= 0.095 => format!("{v:.1}"),
        v if v >= 0.005 => format!("{v:.2}"),
        _ => "0".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::sample;
    use assay_spec::Nanos;

    #[test]
    fn counters_become_words() {
        let mut cell = sample::cell(&[&[100, 200]]);
        cell.repeats[0].elapsed = Nanos(1_000);
        let told =
            [("wa", 3.5), ("wa_host", 1.0), ("wa_collect", 2.5), ("array_busy_ns", 12_300.0)];
        cell.repeats[0].device = told.map(|(n, v)| (n.to_owned(), v)).to_vec();
        let expected = [
            "write amplification 3.50 (the host 1.00, collecting and merging 2.50)",
            "12\u{a0}planes",
        ];
        assert_eq!(words(&cell), expected);
        let told = [("stall_map_ns", 9.0), ("stall_buffer_ns", 30.0), ("stall_firmware_ns", 250.0)];
        cell.repeats[0].device = told.map(|(n, v)| (n.to_owned(), v)).to_vec();
        let expected = ["waits added up: the processor 250 ns, room in the buffer 30.0 ns"];
        assert_eq!(words(&cell), expected);
        cell.repeats[0].device.clear();
        assert_eq!(words(&cell), [""; 0]);
    }
}
