//! Ranks targets by the first number that a program printed, and says what bounds it on each.

use super::statement::{Finding, command, requests, separate, with_interval};
use crate::compare::ratio_of;
use crate::load::Run;
use crate::metric;
use crate::program::{heading, is_of_program, limits, metrics};
use crate::stats::Estimate;
use crate::text::number::plus_minus;
use assay_spec::experiment::Better;
use assay_spec::record::CellRecord;
use assay_spec::units::three_digits;

/// Ranks the targets of a workload by the first number that its program printed.
pub(super) fn ranking(run: &Run, experiment: &str, workload: &str) -> Option<Finding> {
    let cells: Vec<&CellRecord> =
        run.cells_of(experiment, workload).filter(|cell| is_of_program(cell)).collect();
    let by = metrics(cells.first()?).first()?;
    let estimate = |cell: &&CellRecord| metric::estimate(cell, &by.name).ok();
    let mut ranked: Vec<(&CellRecord, Estimate)> =
        cells.iter().filter_map(|cell| Some((*cell, estimate(cell)?))).collect();
    ranked.sort_by(|a, b| match by.better {
        Better::Higher => b.1.value.total_cmp(&a.1.value),
        Better::Lower => a.1.value.total_cmp(&b.1.value),
    });
    let ((best, top), (worst, bottom)) = (ranked.first()?, ranked.last()?);
    if ranked.len() < 2 {
        return None;
    }
    let (more, less) = match by.better {
        Better::Higher => (best, worst),
        Better::Lower => (worst, best),
    };
    let ratio = ratio_of(more, less, &by.name).ok()?;
    let apart = separate(top, bottom);
    let statement = if apart {
        format!(
            "{workload}: `{}` of {} is {} times that of {} ({}); {} is better",
            by.name,
            more.target,
            three_digits(ratio.value),
            less.target,
            with_interval(&ratio),
            match by.better {
                Better::Higher => "more",
                Better::Lower => "less",
            }
        )
    } else if top.interval.is_none() || bottom.interval.is_none() {
        format!(
            "{workload}: {} is the best and {} the worst by `{}`, but without intervals the \
             difference may be chance",
            best.target, worst.target, by.name
        )
    } else {
        format!("{workload}: {} and {} are not distinguishable", best.target, worst.target)
    };
    let line = |(cell, e): &(&CellRecord, Estimate)| {
        format!("{} {}: {}", cell.id, heading(by), plus_minus(e))
    };
    Some(Finding {
        id: format!("ranking/{experiment}/{workload}"),
        statement,
        evidence: ranked.iter().map(line).collect(),
        threshold: format!("95 % intervals of `{}` do not overlap", by.name),
        samples: requests(&cells),
        confidence: apart.then_some(0.95),
        reproduce: command(run),
    })
}

/// The least share of the time that bounds a program.
const BOUND: f64 = 0.5;

/// Says what bounds a program on each target: what it spends most of its time with.
pub(super) fn bounds(run: &Run, experiment: &str, workload: &str) -> Option<Finding> {
    let cells: Vec<&CellRecord> =
        run.cells_of(experiment, workload).filter(|cell| is_of_program(cell)).collect();
    let bounded = cells.iter().filter_map(|cell| {
        let (name, share) = limits(cell).first().copied()?;
        (share > BOUND).then_some((name, cell.target.as_str()))
    });
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, target) in bounded {
        match groups.iter_mut().find(|(other, _)| *other == name) {
            Some((_, targets)) => targets.push(target),
            None => groups.push((name, vec![target])),
        }
    }
    if groups.is_empty() {
        return None;
    }
    let group = |(name, targets): &(&str, Vec<&str>)| format!("{name} on {}", targets.join(", "));
    let groups: Vec<String> = groups.iter().map(group).collect();
    let known = cells.iter().filter(|cell| !limits(cell).is_empty());
    let line = |cell: &&CellRecord| {
        let shares = limits(cell).into_iter();
        let shares: Vec<String> =
            shares.map(|(name, share)| format!("{name} {:.1} %", 100.0 * share)).collect();
        format!("{}: {}", cell.id, shares.join(", "))
    };
    Some(Finding {
        id: format!("bounds/{experiment}/{workload}"),
        statement: format!("{workload} is bound by {}", groups.join("; by ")),
        evidence: known.map(line).collect(),
        threshold: "more than half of the measured phase; a flush hides reads, and both hide \
                    writes"
            .to_owned(),
        samples: requests(&cells),
        confidence: None,
        reproduce: command(run),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::sample;
    use assay_spec::record::ProgramMetric;

    /// Returns a cell of a program that printed a number in each repeat.
    fn cell(target: &str, name: &str, better: Better, values: &[f64]) -> CellRecord {
        let empty: Vec<&[u64]> = values.iter().map(|_| &[][..]).collect();
        let mut cell = sample::cell(&empty);
        cell.target = target.to_owned();
        for (repeat, value) in cell.repeats.iter_mut().zip(values) {
            repeat.ops.clear();
            let (name, unit) = (name.to_owned(), "1/s".to_owned());
            repeat.program = vec![ProgramMetric { name, value: *value, unit, better }];
        }
        cell
    }

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

    #[test]
    fn targets_are_told_by_what_bounds_them() {
        let bound = |target: &str, flush: f64, read: f64| {
            let mut cell = cell(target, "tps", Better::Higher, &[150.0]);
            let seconds = cell.repeats[0].elapsed.as_secs_f64();
            let busy = [("flush", flush), ("read", read), ("write", 0.0)];
            let counter = |(kind, share)| (format!("drive_{kind}_busy_s"), share * seconds);
            cell.repeats[0].device = busy.map(counter).to_vec();
            cell
        };
        let cells = vec![
            bound("disk", 0.3, 0.6),
            bound("a", 0.9, 0.0),
            bound("even", 0.5, 0.5),
            bound("b", 0.8, 0.1),
        ];
        let found = bounds(&sample::run(cells), "e", "w").expect("three are bound");
        assert_eq!(found.statement, "w is bound by reads on disk; by flushes on a, b");
        assert!(found.evidence[0].contains("reads 60.0 %, flushes 30.0 %"), "{:?}", found.evidence);
        assert!(bounds(&sample::run(vec![bound("even", 0.5, 0.5)]), "e", "w").is_none());
    }

    #[test]
    fn what_programs_printed_is_compared_by_what_is_better() {
        let cells = vec![
            cell("disk", "latency", Better::Lower, &[8.0, 8.1]),
            cell("ssd", "latency", Better::Lower, &[1.0, 1.01]),
        ];
        let compared = crate::compare::table(&sample::run(cells), "disk");
        assert!(compared.rows.is_empty() && compared.notes.is_empty(), "{:?}", compared.notes);
        let row = &compared.programs[0];
        assert_eq!((row.target.as_str(), row.metric.as_str()), ("ssd", "latency"));
        assert_eq!(row.standing, crate::compare::Standing::Better);
    }
}
