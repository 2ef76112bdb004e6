//! The tables of prices of the CMU study: the printed values, the values computed from the printed
//! inputs, and those of this run for the same money.

use crate::cost::{CellCost, Costs, follows};
use crate::report::figures::draw::Context;
use crate::report::html::escape;
use crate::report::tables::{below, table};
use crate::stats::Estimate;
use crate::text::money;
use assay_spec::catalog::{LEDGERS, find};
use assay_spec::claims::Ledger;
use assay_spec::decode::Source;
use assay_spec::units::three_digits;

/// The drives: their names in the paper, and the targets that model them.
pub const DRIVES: [(&str, &str); 8] = [
    ("Memoright GT", "ext3/memoright-gt"),
    ("Mtron Mobi", "ext3/mtron-mobi-16"),
    ("Intel X25-M", "ext3/x25-m-g1"),
    ("Intel X25-E", "ext3/x25-e"),
    ("ioDrive", "ext3/iodrive-80"),
    ("15K RPM", "ext3/cheetah-15k"),
    ("10K RPM", "ext3/cheetah-10k"),
    ("7200 RPM", "ext3/seagate-7200"),
];

/// The number of disks that the price of each of the first five drives buys.
pub const DISKS: [usize; 5] = [4, 3, 6, 7, 21];

/// The columns of Tables VI and VII: name, table of the inputs, workload, and whether the rate is
/// in bytes.
const COLUMNS: [(&str, &str, &str, bool); 4] = [
    ("sequential read", "C-02", "seq-rd-4k", true),
    ("sequential write", "C-03", "seq-wr-4k", true),
    ("random read", "C-04", "rnd-rd-4k", false),
    ("random write", "C-05", "rnd-wr-4k", false),
];

/// The published numbers of the study by claim and label.
struct Printed(Ledger);

impl Printed {
    fn new() -> Option<Printed> {
        let bundled = find(LEDGERS, "cmu08")?;
        Ledger::parse(Source { file: bundled.file, text: bundled.text }).ok().map(Printed)
    }

    fn of(&self, claim: &str, label: &str) -> Option<f64> {
        let claim = self.0.claims.iter().find(|c| c.id == claim)?;
        claim.values.iter().find(|v| v.label == label)?.published
    }
}

fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "–".into())
}

/// Formats an amount with two decimals, halves rounded up, as in the paper.
fn cents(v: f64) -> String {
    // A float for 2312.5 may be slightly below it.
    format!("{:.2}", libm::floor(v * 100.0 + 0.5 + 1e-9) / 100.0)
}

/// Returns the costs of the run if they are in the paper's currency.
fn in_dollars(c: &Context<'_>) -> Option<Costs> {
    Costs::of(c.run).filter(|costs| costs.prices.currency == "USD")
}

/// Returns Table I: capacity, price, price per capacity, access time and erase cycles.
pub fn inputs(_: &Context<'_>) -> Option<String> {
    let printed = Printed::new()?;
    let row = |(drive, _): &(&str, &str)| {
        let of = |what: &str| printed.of("C-01", &format!("{drive} {what}"));
        let (price, capacity) = (of("price"), of("capacity"));
        let reckoned = price.zip(capacity).map(|(p, c)| cents(p / c));
        vec![
            escape(drive),
            or_dash(capacity.map(money)),
            or_dash(price.map(money)),
            or_dash(of("price per capacity").map(cents)),
            or_dash(reckoned),
            or_dash(of("access time").map(|v| format!("{v}"))),
            or_dash(of("erase cycles").map(money)),
        ]
    };
    let heading = ["drive", "GB", "USD", "USD/GB printed", "reckoned", "access ms", "erase cycles"];
    let rows: Vec<Vec<String>> = DRIVES.iter().map(row).collect();
    Some(table("Table I as printed, 2008-11, USD", &heading, &rows))
}

/// Returns Table VI: as printed, as it follows from the paper's own inputs, and for this run.
pub fn measured(c: &Context<'_>) -> Option<String> {
    let printed = Printed::new()?;
    let costs = in_dollars(c);
    let mut rows = Vec::new();
    let mut wrong = Vec::new();
    for (drive, target) in DRIVES {
        let price = printed.of("C-01", &format!("{drive} price"))?;
        let mut row = vec![escape(drive)];
        for (column, inputs, workload, bytes) in COLUMNS {
            let cell = printed.of("C-06", &format!("{drive}, {column}"));
            let input = printed.of(inputs, &format!("{drive}, 4 KB"));
            let mut text = or_dash(cell.map(cents));
            if let Some((p, x)) = cell.zip(input).filter(|(p, x)| !follows(price, *x, *p)) {
                text = format!("<strong>{text}</strong>");
                wrong.push(format!(
                    "{drive}, {column}: {} is printed, and {} over {x} is {}; it is what {:.0} \
                     dollars would give",
                    cents(p),
                    money(price),
                    cents(price / x),
                    p * x
                ));
            }
            let of_run = c.run.cell(None, workload, target);
            let ours = costs.as_ref().zip(of_run).and_then(|(costs, cell)| costs.cell(cell));
            let ours = ours.and_then(|o| if bytes { o.per_mb_s } else { o.per_iops });
            let reckoned = input.map(|x| cents(price / x));
            text += &format!("<small>reckoned {}</small>", or_dash(reckoned));
            row.push(text);
            row.push(or_dash(ours.map(|e| with_interval(&e))));
        }
        rows.push(row);
    }
    let heading = [
        "drive",
        "MB/s read",
        "this run",
        "MB/s write",
        "this run",
        "read a second",
        "this run",
        "write a second",
        "this run",
    ];
    let title = "Table VI: USD per MB/s, and per random 4 KB request a second";
    let mut out = table(title, &heading, &rows) + &costs.as_ref().map_or_else(String::new, below);
    out += &match wrong.is_empty() {
        true => "<p>Every cell follows from Tables I to V.</p>".to_owned(),
        false => format!(
            "<p>{} of the 32 cells do not follow from Tables I to V, roundings taken into account: \
             {}.</p>",
            wrong.len(),
            escape(&wrong.join("; "))
        ),
    };
    Some(out)
}

fn with_interval(e: &Estimate) -> String {
    let below = match e.interval {
        Some((low, high)) if low < high => {
            format!("<small>{} to {}</small>", three_digits(low), three_digits(high))
        }
        _ => String::new(),
    };
    three_digits(e.value) + &below
}

/// Returns Table VII: what the makers advertise, and how much of it this run finds.
pub fn advertised(c: &Context<'_>) -> Option<String> {
    let printed = Printed::new()?;
    let costs = in_dollars(c);
    let mut rows = Vec::new();
    for (drive, target) in &DRIVES[..DISKS.len()] {
        let mut row = vec![escape(drive)];
        for (column, _, workload, bytes) in COLUMNS {
            let cell = printed.of("C-07", &format!("{drive}, advertised {column}"));
            row.push(or_dash(cell.map(cents)));
            let of_run = c.run.cell(Some("iozone"), workload, target);
            let ours = costs.as_ref().zip(of_run).and_then(|(costs, cell)| costs.cell(cell));
            let ours = ours.and_then(|o| if bytes { o.per_mb_s } else { o.per_iops });
            // Twice the price per rate is half the rate.
            row.push(or_dash(ours.zip(cell).map(|(ours, p)| three_digits(ours.value / p))));
        }
        rows.push(row);
    }
    let heading = [
        "drive",
        "MB/s read",
        "run ×",
        "MB/s write",
        "run ×",
        "read a second",
        "run ×",
        "write a second",
        "run ×",
    ];
    let note = "<p class=\"dim\">Run ×: how many times the advertised price per rate this run \
                costs, and so how many times less than advertised one thread on ext3 gets. No \
                value is printed for the disks, the Mtron's random writes, and both random columns \
                of the X25-M.</p>";
    let title = "Table VII: the same of what the makers advertise, 2008-11, USD";
    Some(table(title, &heading, &rows) + note)
}

/// The workloads of the comparison: name for people, workload, and whether the rate is in bytes.
const BOUGHT: [(&str, &str, bool); 5] = [
    ("sequential read", "seq-rd", true),
    ("sequential write", "seq-wr", true),
    ("random read, one", "rnd-rd", false),
    ("random read, 32", "rnd-rd-qd32", false),
    ("random write", "rnd-wr", false),
];

/// Returns what each SSD gives beside the RAID-0 of disks that its price buys.
pub fn disks_for_the_money(c: &Context<'_>) -> Option<String> {
    let costs = Costs::of(c.run)?;
    let currency = &costs.prices.currency;
    let cost = |workload: &str, target: &str| -> Option<(CellCost, f64, f64)> {
        let cell = c.run.cell(Some("disks-for-the-money"), workload, target)?;
        let rate = |name| crate::metric::estimate(cell, name).ok().map(|e| e.value);
        Some((costs.cell(cell)?, rate("bandwidth")? * 1e-6, rate("iops")?))
    };
    let mut rows = Vec::new();
    for ((drive, ssd), count) in DRIVES.iter().zip(DISKS) {
        let ssd = ssd.replace("ext3/", "money/");
        let array = format!("money/barracuda-7200-11*{count}");
        for (name, workload, bytes) in BOUGHT {
            let Some((one, many)) = cost(workload, &ssd).zip(cost(workload, &array)) else {
                continue;
            };
            let rate = |of: &(CellCost, f64, f64)| if bytes { of.1 } else { of.2 };
            rows.push(vec![
                format!("{}, {} {currency}", escape(drive), money(one.0.price)),
                format!("{count} disks, {} {currency}", money(many.0.price)),
                name.to_owned(),
                if bytes { "MB/s" } else { "IOPS" }.to_owned(),
                three_digits(rate(&one)),
                three_digits(rate(&many)),
                three_digits(rate(&one) / rate(&many)),
            ]);
        }
    }
    if rows.is_empty() {
        return None;
    }
    let heading = ["SSD", "RAID-0", "", "unit", "SSD's", "array's", "SSD over array"];
    let title = "One SSD, and the 7200 RPM disks that its price buys";
    Some(table(title, &heading, &rows) + &below(&costs))
}
