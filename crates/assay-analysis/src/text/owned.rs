//! Cost of ownership, break-even prices and the five-minute rule, for a terminal.

use super::costs::money;
use super::table::{Table, clip, wrap};
use crate::cost::{Owned, OwnedCell, OwnedTarget, not_included};
use assay_spec::units::three_digits;

/// Returns the tables of `assay cost`.
pub fn owned(o: &Owned) -> String {
    let mut out = targets(o);
    let block = |c: &OwnedCell| (c.experiment.clone(), c.workload.clone());
    let several = o.cells.iter().any(|c| c.experiment != o.cells[0].experiment);
    for cells in o.cells.chunk_by(|a, b| block(a) == block(b)) {
        let of = if several { format!("{}/", cells[0].experiment) } else { String::new() };
        out += &format!("\n{of}{}\n", cells[0].workload);
        let minutes = cells.iter().any(|c| c.five_minutes_s.is_some());
        let per = format!("{}/IOPS, {} years", o.currency, money(o.supposed.years));
        let even = format!("even at {}", o.currency);
        let mut heading = vec!["target", &per, &even];
        if minutes {
            heading.push("memory if used every");
        }
        let mut table = Table::new(&heading, &[0]);
        cells.iter().for_each(|c| table.row(cell(o, c, minutes)));
        table.lines().iter().for_each(|line| out += &format!("  {line}\n"));
    }
    out.push('\n');
    for line in notes(o).iter().flat_map(|n| wrap(n, 98)) {
        out += &format!("{line}\n");
    }
    out
}

fn targets(o: &Owned) -> String {
    let years = format!("{} years", money(o.supposed.years));
    let heading = ["target", &o.currency, "drives", "life", "replaced", "running", &years, ""];
    let mut table = Table::new(&heading, &[0, 7]);
    o.targets.iter().for_each(|t| table.row(target(t)));
    table.lines().into_iter().map(|line| line + "\n").collect()
}

fn target(t: &OwnedTarget) -> Vec<String> {
    let amount = |v: Option<f64>| v.map_or_else(|| "unknown".into(), money);
    vec![
        clip(&t.target, 24),
        money(t.price),
        t.drives.to_string(),
        t.life_years.map_or_else(|| "-".into(), |y| format!("{} y", three_digits(y))),
        t.replacements.map_or_else(|| "-".into(), money),
        amount(t.running),
        amount(t.total),
        lacking(t),
    ]
}

/// Returns the costs that the amounts leave out, and the data that they lack.
fn lacking(t: &OwnedTarget) -> String {
    let mut all: Vec<String> = Vec::new();
    if !t.unknown.is_empty() {
        all.push(format!("no {} in the price list", t.unknown.join(", no ")));
    }
    if !t.not_included.is_empty() {
        all.push(not_included(&t.not_included));
    }
    all.join("; ")
}

fn cell(o: &Owned, c: &OwnedCell, minutes: bool) -> Vec<String> {
    let even = match c.break_even_price {
        Some(price) => money(price),
        None if c.target == o.reference => "reference".into(),
        None => "-".into(),
    };
    let total = c.total_per_iops.map_or_else(|| "unknown".into(), three_digits);
    let mut row = vec![clip(&c.target, 24), total, even];
    if minutes {
        row.push(c.five_minutes_s.map_or_else(|| "-".into(), span));
    }
    row
}

/// Formats a time in seconds, minutes, hours or days, whichever fits.
fn span(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s < 120.0 => (s, "s"),
        s if s < 7200.0 => (s / 60.0, "min"),
        s if s < 172_800.0 => (s / 3600.0, "h"),
        s => (s / 86_400.0, "d"),
    };
    format!("{} {unit}", three_digits(value))
}

fn notes(o: &Owned) -> Vec<String> {
    let s = &o.supposed;
    let mut notes =
        vec![format!("Prices of {} in {}: {}.", o.dates.join(" and "), o.currency, o.source)];
    notes.push(match s.kwh_price {
        Some(price) => format!(
            "Energy: {price} {} a kWh, drives busy {} % of the time, times {} for the building \
             (PUE).",
            o.currency,
            three_digits(100.0 * s.busy),
            s.pue
        ),
        None => "Without energy: give its price with `--kwh-price`.".into(),
    });
    notes.push(match s.writes_per_day {
        Some(bytes) => format!(
            "Wear: {} GB are written a day, with {} times the wear that the makers' ratings \
             suppose.",
            three_digits(bytes * 1e-9),
            s.wear
        ),
        None => "Without wear: give the amount written a day with `--writes`.".into(),
    });
    if s.slot_price > 0.0 {
        notes.push(format!("Slot: {} {} for each drive and year.", s.slot_price, o.currency));
    }
    notes.push(format!(
        "even at: the price at which a target gives as many IOPS for its cost over the years as \
         {}; - if there is no such price.",
        o.reference
    ));
    notes.push(match s.memory_per_gb {
        Some(price) => format!(
            "memory if used every: the five-minute rule, with memory at {price} {} per GB; keep a \
             page in memory if it is read more often than this.",
            o.currency
        ),
        None => "Without the five-minute rule: give the price of a GB of memory with \
                 `--memory-price`."
            .into(),
    });
    notes
}
