//! Costs for a terminal: a block below the table of each workload, with the dates of the prices.

use super::table::{Table, clip};
use crate::cost::{CellCost, Costs, priced_metric};
use crate::program::is_of_program;
use crate::stats::Estimate;
use assay_spec::record::CellRecord;
use assay_spec::units::three_digits;

/// Returns the costs of some cells of one workload, and a line with the dates of the prices;
/// nothing if no price is known.
pub(super) fn lines(costs: &Costs, cells: &[&CellRecord]) -> Vec<String> {
    let of = |cell: &&CellRecord| Some((cell.target.clone(), costs.cell(cell)?));
    let priced: Vec<(String, CellCost)> = cells.iter().filter_map(of).collect();
    if priced.is_empty() {
        return Vec::new();
    }
    let mut lines = match cells.iter().find(|cell| is_of_program(cell)) {
        Some(one) => of_program(costs, one, &priced).lines(),
        None => of_requests(costs, &priced).lines(),
    };
    lines.extend(super::table::wrap(&format!("({})", costs.below()), 96));
    lines
}

fn of_requests(costs: &Costs, priced: &[(String, CellCost)]) -> Table {
    let currency = &costs.prices.currency;
    let per = |what: &str| format!("{currency}/{what}");
    let heading = ["target", currency, &per("GB"), &per("(MB/s)"), "", &per("IOPS"), ""];
    let mut table = Table::new(&heading, &[0, 4, 6]);
    for (target, cost) in priced {
        let [(bandwidth, b), (iops, i)] = [&cost.per_mb_s, &cost.per_iops].map(with_range);
        let per_gb = cost.per_gb.map_or_else(|| "-".into(), three_digits);
        table.row(vec![clip(target, 20), money(cost.price), per_gb, bandwidth, b, iops, i]);
    }
    table
}

/// Returns the costs for a workload that is a program; `one` is a cell that was measured.
fn of_program(costs: &Costs, one: &CellRecord, priced: &[(String, CellCost)]) -> Table {
    let currency = &costs.prices.currency;
    let per_gb = format!("{currency}/GB");
    let mut heading = vec!["target", currency, &per_gb];
    let printed = priced_metric(one).map(|printed| format!("{currency}/{}", printed.name));
    heading.extend(printed.iter().flat_map(|printed| [printed, ""]));
    heading.push("years of life");
    let left: &[usize] = if printed.is_some() { &[0, 4] } else { &[0] };
    let mut table = Table::new(&heading, left);
    let number = |n: Option<f64>| n.map_or_else(|| "-".into(), three_digits);
    for (target, cost) in priced {
        let mut row = vec![clip(target, 20), money(cost.price), number(cost.per_gb)];
        if printed.is_some() {
            row.extend(<[String; 2]>::from(with_range(&cost.per_printed)));
        }
        row.push(number(cost.life_years));
        table.row(row);
    }
    table
}

/// Formats a price as it was asked, without digits that were not given.
pub(crate) fn money(amount: f64) -> String {
    if amount == libm::round(amount) { format!("{amount}") } else { format!("{amount:.2}") }
}

/// Returns a price per rate and its interval, each for its own column.
fn with_range(e: &Option<Estimate>) -> (String, String) {
    let Some(e) = e else { return ("-".into(), String::new()) };
    let range = match e.interval {
        Some((low, high)) if low == high => "=".into(),
        Some((low, high)) => format!("{}..{}", three_digits(low), three_digits(high)),
        None => "*".into(),
    };
    (three_digits(e.value), range)
}
