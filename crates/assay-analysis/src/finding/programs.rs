//! Says what bounds a program on each target.

use super::statement::{Finding, command, requests};
use crate::load::Run;
use crate::program::{is_of_program, limits};
use assay_spec::record::CellRecord;

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
    use crate::load::sample::{self, cell_of_program};
    use assay_spec::experiment::Better;

    #[test]
    fn targets_are_told_by_what_bounds_them() {
        let bound = |target: &str, flush: f64, read: f64| {
            let mut cell = cell_of_program(target, "tps", Better::Higher, &[150.0]);
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
}
