//! Factors for a terminal: the best combinations, and the effects of levels and pairs.

use super::table::{Table, wrap};
use crate::factors::{Crossed, all};
use crate::finding::factors::{by_share, counted, left_out, matters, percent};
use crate::load::Run;
use crate::stats::effects::Effects;
use assay_spec::units::three_digits;

/// The number of rows of the ranking.
const BEST: usize = 10;

/// Returns a block for each workload over factors; empty if there is none.
pub(crate) fn lines(run: &Run) -> String {
    let mut out = String::new();
    for crossed in all(run) {
        out += &format!("{}  {}\n", crossed.id(), counted(&crossed));
        for line in ranking(&crossed) {
            out += &format!("  {line}\n");
        }
        for line in crossed.effects().map(|e| effects(&crossed, &e)).unwrap_or_default() {
            out += format!("  {line}").trim_end();
            out.push('\n');
        }
        for line in left_out(&crossed).iter().flat_map(|line| wrap(&format!("{line}."), 96)) {
            out += &format!("  {line}\n");
        }
        out.push('\n');
    }
    out
}

fn ranking(crossed: &Crossed<'_>) -> Vec<String> {
    let mut heading = vec![""];
    heading.extend(crossed.factors.factors.iter().map(|f| f.name.as_str()));
    heading.push(&crossed.measure.heading);
    let left: Vec<usize> = (1..heading.len() - 1).collect();
    let mut table = Table::new(&heading, &left);
    let count = crossed.measured.len();
    // The last combination is shown below the best.
    let shown = (0..count.min(BEST)).chain((count > BEST).then(|| count - 1));
    for place in shown {
        let m = &crossed.measured[place];
        let mut row = vec![format!("{}.", place + 1)];
        let levels = crossed.factors.factors.iter().zip(&m.levels);
        row.extend(levels.map(|(f, l)| f.levels[*l].name.clone()));
        row.push(super::number::plus_minus(&m.value));
        table.row(row);
    }
    table.lines()
}

fn effects(crossed: &Crossed<'_>, effects: &Effects) -> Vec<String> {
    let factors = &crossed.factors.factors;
    let unit = &crossed.measure.heading;
    let (share, value) = match crossed.is_full {
        true => ("of variance", format!("mean {unit}")),
        false => ("", format!("{unit}, others as base")),
    };
    let mut table = Table::new(&["factor", share, "level", &value, "cells"], &[0, 2]);
    let order: Vec<usize> = match crossed.is_full {
        true => by_share(effects).into_iter().map(|(factor, _)| factor).collect(),
        false => (0..factors.len()).collect(),
    };
    let levels = crossed.levels(effects);
    for factor in order {
        let main = &effects.mains[factor];
        for (index, (cells, mean)) in levels[factor].iter().enumerate() {
            let (mut name, mut part) = (String::new(), String::new());
            if index == 0 {
                name.clone_from(&factors[factor].name);
                part = main.share.filter(|_| crossed.is_full).map_or_else(String::new, percent);
            }
            let mean = mean.as_ref().map_or_else(|| "-".into(), super::number::plus_minus);
            let level = factors[factor].levels[index].name.clone();
            table.row(vec![name, part, level, mean, cells.to_string()]);
        }
    }
    let mut lines = vec![String::new()];
    lines.extend(table.lines());
    if crossed.is_full {
        lines.extend(pairs(crossed, effects));
    }
    lines
}

fn pairs(crossed: &Crossed<'_>, effects: &Effects) -> Vec<String> {
    let factors = &crossed.factors.factors;
    let mut lines = vec![String::new()];
    for pair in effects.pairs.iter().filter(|p| matters(p)) {
        let (a, b) = (&factors[pair.of.0].name, &factors[pair.of.1].name);
        lines.push(format!("{a} with {b}: {} of the variance", percent(pair.share)));
    }
    let Some(strongest) = effects.pairs.first().filter(|p| matters(p)) else { return lines };
    let (a, b) = (&factors[strongest.of.0], &factors[strongest.of.1]);
    let corner = format!("{}: {} \\ {}", crossed.measure.heading, a.name, b.name);
    let mut heading = vec![corner.as_str()];
    heading.extend(b.levels.iter().map(|l| l.name.as_str()));
    let mut table = Table::new(&heading, &[0]);
    for (level, rates) in a.levels.iter().zip(crossed.table(strongest.of)) {
        let mut row = vec![level.name.clone()];
        row.extend(rates.iter().map(|r| r.map_or_else(|| "-".into(), three_digits)));
        table.row(row);
    }
    lines.push(String::new());
    lines.extend(table.lines());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_factors_has_no_lines() {
        let cell = crate::load::sample::cell(&[&[100, 200]]);
        assert_eq!(lines(&crate::load::sample::run(vec![cell])), "");
    }
}
