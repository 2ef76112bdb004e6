//! The prices that come with the program, and all of CMU's Table VI from its own inputs.

use assay_analysis::cost;
use assay_spec::array::{MemberSpec, MemberTarget, parse_linux};
use assay_spec::catalog::{self, DEVICES, LEDGERS, PRICES, STUDIES};
use assay_spec::claims::{ClaimKind, Ledger};
use assay_spec::decode::Source;
use assay_spec::device::DeviceSpec;
use assay_spec::experiment::Experiment;
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
    // The older disk that was measured has the price of the newer one.
    for price in prices.prices.iter().filter(|p| p.device != "st380013as") {
        for (table, column) in columns {
            let x = published(&ledger, table, &format!("{}, 4 KB", price.title));
            let label = format!("{}, {column}", price.title);
            let printed = published(&ledger, "C-06", &label);
            cells += 1;
            if !cost::follows(price.amount, x, printed) {
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

/// The drives of a `linux(…)` target with their names.
fn drives(written: &str) -> Vec<String> {
    let name = |m: &MemberSpec| match &m.target {
        MemberTarget::Drive(name) => name.clone(),
        MemberTarget::Array(_) => panic!("{written}: an array in it"),
    };
    parse_linux(written).unwrap().drives().iter().map(name).collect()
}

#[test]
fn each_array_is_what_the_price_of_the_ssd_before_it_buys() {
    let studies = STUDIES.iter().flat_map(|s| s.experiments);
    let bundled = studies.clone().find(|b| b.name == "disks-for-the-money").unwrap();
    let experiment = Experiment::parse(Source { file: bundled.file, text: bundled.text }).unwrap();
    assert_eq!(experiment.prices.as_deref(), Some("cmu08"));
    let prices = list("cmu08");
    let price = |device: &str| prices.of(&[device]).unwrap().amount;
    let disk = price("barracuda-7200-11");
    let mut pairs = 0;
    for pair in experiment.targets.chunks(2) {
        let (ssd, array) = (drives(&pair[0]), drives(&pair[1]));
        let [ssd] = ssd.as_slice() else { panic!("{}", pair[0]) };
        assert!(array.iter().all(|d| d == "barracuda-7200-11"), "{}", pair[1]);
        assert_eq!(array.len(), (price(ssd) / disk) as usize, "{ssd}");
        let comment = format!("{}: {}", price(ssd), array.len());
        assert!(bundled.text.contains(&comment), "the comment says `{comment}`");
        pairs += 1;
    }
    let dearer = prices.prices.iter().filter(|p| p.per_gb() > 2.0).count();
    assert_eq!(pairs, dearer, "every SSD of the list");
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
    assert_eq!((count("sigmetrics09"), count("cmu08"), count("oslo09")), (3, 9, 1));
}
