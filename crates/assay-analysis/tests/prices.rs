//! The prices that come with the program, and all of CMU's Table VI from its own inputs.

use assay_analysis::{cost, stats::Estimate};
use assay_spec::catalog::{self, DEVICES, LEDGERS, PRICES};
use assay_spec::claims::{ClaimKind, Ledger};
use assay_spec::decode::Source;
use assay_spec::device::DeviceSpec;
use assay_spec::prices::PriceList;

fn list(name: &str) -> PriceList {
    let found = catalog::find(PRICES, name).unwrap();
    PriceList::parse(Source { file: found.file, text: found.text }).unwrap()
}

fn ledger(name: &str) -> Ledger {
    let found = catalog::find(LEDGERS, name).unwrap();
    Ledger::parse(Source { file: found.file, text: found.text }).unwrap()
}

fn published(ledger: &Ledger, claim: &str, label: &str) -> f64 {
    let claim = ledger.claims.iter().find(|c| c.id == claim).unwrap();
    let value = claim.values.iter().find(|v| v.label == label);
    value.and_then(|v| v.published).unwrap_or_else(|| panic!("no {label}"))
}

/// True if `printed`, to two decimals, can be price / x for an x that is printed to two decimals.
fn follows(price: f64, x: f64, printed: f64) -> bool {
    let per = |x: f64| cost::per(price, &Estimate::bare(x, "published")).unwrap().value;
    let (low, high) = (per(x + 0.005), per(x - 0.005));
    low <= printed + 0.005 + 1e-9 && printed - 0.005 - 1e-9 <= high
}

#[test]
fn table_vi_follows_from_its_inputs_but_for_two_cells() {
    let (ledger, prices) = (ledger("cmu08"), list("cmu08"));
    let columns = [
        ("C-02", "sequential read"),
        ("C-03", "sequential write"),
        ("C-04", "random read"),
        ("C-05", "random write"),
    ];
    let (mut cells, mut wrong) = (0, Vec::new());
    for price in &prices.prices {
        for (table, column) in columns {
            let x = published(&ledger, table, &format!("{}, 4 KB", price.title));
            let label = format!("{}, {column}", price.title);
            let printed = published(&ledger, "C-06", &label);
            cells += 1;
            if !follows(price.amount, x, printed) {
                wrong.push((label, (printed * x).round()));
            }
        }
    }
    assert_eq!(cells, 32);
    // Both imply a price of 325 dollars, where Table I and the other half of the row have 350.
    let expected = [("10K RPM, sequential read", 325.0), ("10K RPM, sequential write", 325.0)];
    assert_eq!(wrong, expected.map(|(label, price)| (label.to_owned(), price)));
    let said = ledger.claims.iter().find(|c| c.id == "I-08").unwrap();
    assert_eq!(said.kind, ClaimKind::Contradiction);
}

#[test]
fn the_lists_hold_what_the_documents_print() {
    let cmu = ledger("cmu08");
    for price in &list("cmu08").prices {
        let of = |what: &str| published(&cmu, "C-01", &format!("{} {what}", price.title));
        assert_eq!((price.amount, price.capacity.0 as f64), (of("price"), of("capacity") * 1e9));
        assert!((price.per_gb() - of("price per capacity")).abs() <= 0.005 + 1e-9);
    }
    let sigmetrics = ledger("sigmetrics09");
    for price in &list("sigmetrics09").prices {
        assert_eq!(
            price.per_gb(),
            published(&sigmetrics, "S-01", &format!("{} price", price.title))
        );
    }
    let oslo = ledger("oslo09");
    for price in &list("oslo09").prices {
        let of = |what: &str| published(&oslo, "T-02", &format!("{} {what}", price.title));
        assert_eq!((price.amount, price.capacity.0 as f64), (of("price"), of("capacity") * 1e9));
        // 0.73 for the disk of 1 TB is reckoned with 1024 GB.
        let gigabytes = if price.title == "Caviar 1 TB" { 1024.0 } else { of("capacity") };
        assert!((price.amount / gigabytes - of("price per capacity")).abs() <= 0.005 + 1e-9);
    }
}

#[test]
fn modelled_drives_are_found_under_their_names() {
    let devices: Vec<DeviceSpec> = (DEVICES.iter())
        .map(|b| DeviceSpec::parse(Source { file: b.file, text: b.text }).unwrap())
        .collect();
    let modelled = |list: &PriceList| {
        let called =
            |p: &&assay_spec::prices::Price| devices.iter().any(|d| d.is_called(&p.device));
        list.prices.iter().filter(called).count()
    };
    let count = |name: &str| modelled(&list(name));
    assert_eq!((count("sigmetrics09"), count("cmu08"), count("oslo09")), (3, 8, 1));
}
