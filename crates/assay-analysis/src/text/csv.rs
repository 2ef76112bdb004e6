//! CSV (RFC 4180): one row for each cell and metric, in base units, with interval and basis.

use crate::cost::{Costs, not_included, priced_metric};
use crate::load::Run;
use crate::metric;
use crate::program;
use crate::stats::Estimate;
use assay_spec::record::CellRecord;

/// The metrics of every cell. A cell with several kinds of requests has them for each kind as well.
const METRICS: &[(&str, &str)] = &[
    ("bandwidth", "bytes/s"),
    ("iops", "1/s"),
    ("mean", "ns"),
    ("sd", "ns"),
    ("min", "ns"),
    ("p50", "ns"),
    ("p90", "ns"),
    ("p95", "ns"),
    ("p99", "ns"),
    ("p99.9", "ns"),
    ("p99.99", "ns"),
    ("p99.999", "ns"),
    ("max", "ns"),
    ("requests", "count"),
    ("errors", "count"),
];

/// Returns the whole run as CSV.
pub fn csv(run: &Run) -> String {
    let mut out = String::from(
        "experiment,workload,target,metric,unit,value,low,high,basis,repeats,requests,sd\r\n",
    );
    let costs = Costs::of(run);
    for cell in &run.cells {
        let n = metric::histogram(cell, None).count();
        let mut row = |name: &str, unit: &str, e: &Estimate, dated: &str| {
            let side = |v: Option<f64>| {
                v.filter(|v| v.is_finite()).map(|v| v.to_string()).unwrap_or_default()
            };
            let fields = [
                cell.experiment.clone(),
                cell.workload.clone(),
                cell.target.clone(),
                name.to_owned(),
                unit.to_owned(),
                side(Some(e.value)),
                side(e.interval.map(|i| i.0)),
                side(e.interval.map(|i| i.1)),
                e.basis.to_string() + dated,
                cell.repeats.len().to_string(),
                n.to_string(),
                side(metric::deviation(cell, name).map(|(sd, _)| sd)),
            ];
            out += &fields.map(|f| quoted(&f)).join(",");
            out += "\r\n";
        };
        for (name, unit) in names(cell) {
            if let Ok(e) = metric::estimate(cell, &name) {
                row(&name, unit, &e, "");
            }
        }
        let Some((costs, cost)) = costs.as_ref().and_then(|c| Some((c, c.cell(cell)?))) else {
            continue;
        };
        let mut dated = costs.prices.dated();
        if !cost.not_included.is_empty() {
            dated += &format!("; {}", not_included(&cost.not_included));
        }
        let exact = |v: f64| Estimate::bare(v, "a price");
        let printed = priced_metric(cell).map_or("", |printed| printed.name.as_str());
        let rows = [
            ("price", "", Some(exact(cost.price))),
            ("price_per_gb", "/GB", cost.per_gb.map(exact)),
            ("price_per_mb_s", "/(MB/s)", cost.per_mb_s),
            ("price_per_iops", "/IOPS", cost.per_iops),
            (&format!("price_per_{printed}"), &format!("/{printed}"), cost.per_printed),
        ];
        for (name, per, e) in rows {
            if let Some(e) = e {
                row(name, &format!("{}{per}", cost.currency), &e, &format!("; {dated}"));
            }
        }
        if let Some(years) = cost.life_years {
            row("life_years", "years", &exact(years), &format!("; {dated}"));
        }
    }
    out
}

fn names(cell: &CellRecord) -> Vec<(String, &str)> {
    let mut names: Vec<(String, &str)> = match program::is_of_program(cell) {
        true => Vec::new(),
        false => METRICS.iter().map(|(m, unit)| ((*m).to_owned(), *unit)).collect(),
    };
    let kinds = |op| cell.repeats.iter().any(|r| r.ops.iter().any(|o| o.op == op));
    let ops: Vec<_> = assay_spec::Op::ALL.into_iter().filter(|op| kinds(*op)).collect();
    if ops.len() > 1 {
        for op in ops {
            names.extend(METRICS.iter().map(|(m, unit)| (format!("{}.{m}", op.name()), *unit)));
        }
    }
    let told = cell.repeats.first().map(|r| r.device.as_slice()).unwrap_or_default();
    names.extend(told.iter().map(|(name, _)| (name.clone(), "")));
    names.extend(program::metrics(cell).iter().map(|m| (m.name.clone(), m.unit.as_str())));
    names
}

/// Quotes a field if the format requires it.
fn quoted(field: &str) -> String {
    if field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
