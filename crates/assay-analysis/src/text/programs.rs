//! Tables of workloads that are programs, for a terminal.

use super::number::plus_minus;
use super::pair::{against, labelled, ratio};
use super::table::{Table, clip};
use crate::compare::ProgramRow;
use crate::metric;
use crate::program::{self, DriveColumn};
use assay_spec::record::CellRecord;
use assay_spec::units::three_digits;

/// Returns what a program printed on each target, and what the drives did meanwhile. `one` is a
/// cell that was measured.
pub(super) fn table(one: &CellRecord, cells: &[&CellRecord]) -> Table {
    let metrics = program::metrics(one);
    let columns = program::drive_columns(cells);
    let mut heading = vec!["target".to_owned()];
    heading.extend(metrics.iter().map(program::heading));
    heading.extend(columns.iter().map(|column| column.heading.to_owned()));
    heading.push("bound by".to_owned());
    let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
    let mut table = Table::new(&heading, &[0, heading.len() - 1]);
    for cell in cells {
        let mut row = vec![clip(&cell.target, 20)];
        if cell.skipped.is_some() {
            // The reason is given below the table, at full length.
            row.push("(not measured)".to_owned());
        } else {
            let value = |name: &str| {
                metric::estimate(cell, name).map_or_else(|_| "-".into(), |e| plus_minus(&e))
            };
            row.extend(metrics.iter().map(|metric| value(&metric.name)));
            let number = |column: &DriveColumn| column.value(cell);
            row.extend(columns.iter().map(number).map(|n| n.map_or("-".into(), three_digits)));
            row.push(program::bound_by(cell).unwrap_or_else(|| "-".into()));
        }
        table.row(row);
    }
    table
}

/// Compares the numbers that programs printed: a block for each workload and reference.
pub(super) fn compared(rows: &[ProgramRow]) -> String {
    let mut out = String::new();
    let reference = |row: &ProgramRow| against(&row.target, &row.reference, row.runs.as_ref());
    let block = |row: &ProgramRow| (row.experiment.clone(), row.workload.clone(), reference(row));
    for rows in rows.chunk_by(|a, b| block(a) == block(b)) {
        let Some(first) = rows.first() else { continue };
        out += &format!("{} against {}\n", first.workload, reference(first));
        let mut table = Table::new(&["target", "metric", "x", ""], &[0, 1, 3]);
        for row in rows {
            let target = clip(&labelled(&row.target, row.runs.as_ref()), 22);
            let standing = row.standing.name().to_owned();
            table.row(vec![target, row.metric.clone(), ratio(&row.ratio), standing]);
        }
        for line in table.lines() {
            out += &format!("  {line}\n");
        }
        out.push('\n');
    }
    out
}
