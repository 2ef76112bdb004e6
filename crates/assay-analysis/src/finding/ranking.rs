//! Ranks the targets of a workload: by bandwidth, or by the first number that its program printed.

use super::statement::{
    Finding, bandwidth_line, command, requests, separate, short, with_interval,
};
use crate::compare::ratio_of;
use crate::load::Run;
use crate::metric;
use crate::program::{heading, metrics};
use crate::stats::Estimate;
use crate::text::number::plus_minus;
use assay_spec::experiment::Better;
use assay_spec::record::{CellRecord, ProgramMetric};
use assay_spec::units::three_digits;

/// A target's cell with the number that it is ranked by.
type Ranked<'r> = (&'r CellRecord, Estimate);

/// Ranks the targets of a workload. Returns nothing if fewer than two of them were measured.
pub(super) fn ranking(run: &Run, experiment: &str, workload: &str) -> Option<Finding> {
    let all = || run.cells_of(experiment, workload);
    let printed = all().find_map(|cell| metrics(cell).first());
    let name = printed.map_or("bandwidth", |metric| metric.name.as_str());
    let better = printed.map_or(Better::Higher, |metric| metric.better);
    let mut ranked: Vec<Ranked<'_>> =
        all().filter_map(|cell| Some((cell, metric::estimate(cell, name).ok()?))).collect();
    ranked.sort_by(|a, b| match better {
        Better::Higher => b.1.value.total_cmp(&a.1.value),
        Better::Lower => a.1.value.total_cmp(&b.1.value),
    });
    let (best, worst) = (ranked.first()?, ranked.last()?);
    if ranked.len() < 2 {
        return None;
    }
    let apart = separate(&best.1, &worst.1);
    let statement = match printed {
        _ if apart => difference(best.0, worst.0, printed)?,
        None => doubt(&short(best.0), best, worst, "the fastest", "the slowest"),
        Some(_) => doubt(workload, best, worst, "the best", &format!("the worst by `{name}`")),
    };
    let line = |(cell, estimate): &Ranked<'_>| match printed {
        None => bandwidth_line(cell),
        Some(by) => format!("{} {}: {}", cell.id, heading(by), plus_minus(estimate)),
    };
    let of = if printed.is_some() { format!("`{name}`") } else { format!("the {name}") };
    let cells: Vec<&CellRecord> = ranked.iter().map(|(cell, _)| *cell).collect();
    Some(Finding {
        id: format!("ranking/{experiment}/{workload}"),
        statement,
        evidence: ranked.iter().map(line).collect(),
        threshold: format!("95 % intervals of {of} do not overlap"),
        samples: requests(&cells),
        confidence: apart.then_some(0.95),
        reproduce: command(run),
    })
}

/// Says how many times the best target is better than the worst.
fn difference(
    best: &CellRecord,
    worst: &CellRecord,
    printed: Option<&ProgramMetric>,
) -> Option<String> {
    let Some(by) = printed else {
        let ratio = ratio_of(best, worst, "bandwidth").ok()?;
        let (what, times) = (short(best), three_digits(ratio.value));
        let interval = with_interval(&ratio);
        return Some(format!(
            "{what}: {} is {times} times faster than {} ({interval})",
            best.target, worst.target
        ));
    };
    let (more, less, word) = match by.better {
        Better::Higher => (best, worst, "more"),
        Better::Lower => (worst, best, "less"),
    };
    let ratio = ratio_of(more, less, &by.name).ok()?;
    Some(format!(
        "{}: `{}` of {} is {} times that of {} ({}); {word} is better",
        best.workload,
        by.name,
        more.target,
        three_digits(ratio.value),
        less.target,
        with_interval(&ratio)
    ))
}

/// Says why nothing is said about the order of the best and the worst target.
fn doubt(what: &str, best: &Ranked<'_>, worst: &Ranked<'_>, first: &str, last: &str) -> String {
    let (top, bottom) = (&best.0.target, &worst.0.target);
    if best.1.interval.is_some() && worst.1.interval.is_some() {
        return format!("{what}: {top} and {bottom} are not distinguishable");
    }
    format!(
        "{what}: {top} is {first} and {bottom} {last}, but without intervals the difference may \
         be chance"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::sample::{self, cell_of_program as cell};

    fn statement(cells: Vec<CellRecord>) -> String {
        ranking(&sample::run(cells), "e", "w").expect("two targets").statement
    }

    #[test]
    fn the_better_target_is_named_and_without_intervals_it_may_be_chance() {
        let (more, less) = (Better::Higher, Better::Lower);
        let tps = |target, values: &[f64]| cell(target, "tps", more, values);
        let text = statement(vec![tps("disk", &[150.0, 151.0]), tps("ssd", &[2100.0, 2101.0])]);
        assert!(text.starts_with("w: `tps` of ssd is 14.0 times that of disk"), "{text}");
        assert!(text.ends_with("more is better"), "{text}");
        let time = |target, values: &[f64]| cell(target, "commit_time", less, values);
        let text = statement(vec![time("disk", &[8.0, 8.1]), time("ssd", &[1.0, 1.1])]);
        assert!(text.starts_with("w: `commit_time` of disk is 7.67 times that of ssd"), "{text}");
        assert!(text.ends_with("less is better"), "{text}");
        let text = statement(vec![tps("disk", &[150.0]), tps("ssd", &[2100.0])]);
        assert!(text.starts_with("w: ssd is the best and disk the worst by `tps`, but"), "{text}");
        let text = statement(vec![tps("a", &[150.0, 250.0]), tps("b", &[160.0, 260.0])]);
        assert_eq!(text, "w: b and a are not distinguishable");
    }
}
