//! What targets cost: the drives in them, by lists and by hand; and where it is shown.

use assay_analysis::compare;
use assay_analysis::cost::{Assumptions, Costs, Prices, Quote, owned};
use assay_analysis::load::Run;
use assay_analysis::text;
use assay_spec::catalog::{DEVICES, PRICES, find};
use assay_spec::record::{
    CellRecord, GivenPrice, HostRecord, IntentRecord, OpRecord, PriceListRecord, PricesRecord,
    RepeatRecord, RunRecord, SCHEMA, SeriesRecord, TargetRecord,
};
use assay_spec::{Bytes, Histogram, Nanos, Op};

fn listed(name: &str) -> PricesRecord {
    let found = find(PRICES, name).unwrap();
    let list = PriceListRecord { file: found.file.into(), text: found.text.into() };
    PricesRecord { list: Some(list), given: Vec::new() }
}

fn given(device: &str, amount: f64) -> GivenPrice {
    let (currency, date) = ("USD".into(), "2026-11-21".into());
    GivenPrice { device: device.into(), amount, currency, date }
}

fn target(written: &str, kind: &str) -> TargetRecord {
    let text = |name: &str| find(DEVICES, name).unwrap().text;
    let drives = ["ssd-m", "ssd-l", "x25-m-g2", "barracuda-7200-11", "cheetah-15k"];
    let texts = drives.map(|d| format!("{}sim:{d}\n{}", TargetRecord::MARK, text(d)));
    TargetRecord {
        written: written.into(),
        name: written.strip_prefix("sim:").unwrap_or("t").into(),
        title: String::new(),
        kind: kind.into(),
        capacity: Bytes(1_000_000_000_000),
        identity: vec![("model".into(), "Samsung SSD 870 EVO 1TB".into())],
        spec: match kind {
            "model" => Some(text(written.strip_prefix("sim:").unwrap()).into()),
            "array" | "linux" => Some(texts.concat()),
            _ => None,
        },
        virtual_time: true,
        created: false,
    }
}

fn quote(record: &PricesRecord, written: &str, kind: &str) -> Option<Quote> {
    Prices::of(record).unwrap().quote(&target(written, kind))
}

/// Price and usable 10^9 bytes.
fn two(record: &PricesRecord, written: &str, kind: &str) -> Option<(f64, f64)> {
    quote(record, written, kind).map(|q| (q.amount, q.gigabytes.unwrap().round()))
}

#[test]
fn a_drive_costs_what_the_list_says_under_any_of_its_names() {
    let cmu = listed("cmu08");
    // The X25-M of 80 GB and SSD-M are one drive.
    assert_eq!(two(&cmu, "sim:ssd-m", "model"), Some((730.0, 80.0)));
    assert_eq!(two(&listed("sigmetrics09"), "sim:ssd-m", "model"), Some((800.0, 80.0)));
    assert_eq!(two(&cmu, "sim:x25-m-g2", "model"), None, "not in this list");
    assert_eq!(two(&cmu, "null", "null"), None);
}

#[test]
fn an_array_costs_the_sum_and_holds_what_redundancy_leaves() {
    let cmu = listed("cmu08");
    let array = |text: &str| two(&cmu, text, "array");
    assert_eq!(array("raid0(sim:barracuda-7200-11*4)"), Some((440.0, 3000.0)));
    assert_eq!(array("raid1(sim:barracuda-7200-11*3)"), Some((330.0, 750.0)));
    assert_eq!(array("raid10(sim:barracuda-7200-11*4)"), Some((440.0, 1500.0)));
    assert_eq!(array("raid5(sim:barracuda-7200-11*4)"), Some((440.0, 2250.0)));
    assert_eq!(array("raid6(sim:barracuda-7200-11*5)"), Some((550.0, 2250.0)));
    // The smallest decides, but not of drives one after the other.
    let mixed = "sim:barracuda-7200-11, sim:cheetah-15k";
    assert_eq!(array(&format!("raid0({mixed})")), Some((535.0, 600.0)));
    assert_eq!(array(&format!("jbod({mixed})")), Some((535.0, 1050.0)));
    assert_eq!(
        array("raid1(raid0(sim:cheetah-15k*2), sim:barracuda-7200-11)"),
        Some((960.0, 600.0))
    );
    assert_eq!(array("raid0(sim:ssd-m, sim:x25-m-g2)"), None, "one without a price");
}

#[test]
fn linux_costs_its_drives_and_cards_only_where_they_are_priced() {
    let mut record = listed("cmu08");
    let linux = "linux(fs=ext3, md-raid0(sim:ssd-m@perc-6i*2, sim:ssd-m@perc-6i#2), memory=1GiB)";
    let q = quote(&record, linux, "linux").unwrap();
    assert_eq!((q.amount, q.drives), (2190.0, 3));
    assert_eq!(q.left_out, ["perc-6i", "perc-6i#2"]);
    record.given.push(given("perc-6i", 300.0));
    let q = quote(&record, linux, "linux").unwrap();
    assert_eq!((q.amount, q.left_out.len()), (2790.0, 0), "two cards of the kind");
    let alone = "linux(fs=ext3, sim:barracuda-7200-11, partition=64GiB)";
    assert_eq!(two(&record, alone, "linux"), Some((110.0, 750.0)), "the drive, not the partition");
}

#[test]
fn what_is_given_goes_before_the_list() {
    let mut record = listed("cmu08");
    record.given = vec![given("ssd-m", 500.0), given("raid0(sim:ssd-m*2)", 900.0)];
    assert_eq!(two(&record, "sim:ssd-m", "model"), Some((500.0, 80.0)));
    assert_eq!(two(&record, "raid0(sim:ssd-m*2)", "array"), Some((900.0, 160.0)), "the whole");
    assert_eq!(two(&record, "raid0(sim:ssd-m*3)", "array"), Some((1500.0, 240.0)));
    // Without a list the capacity is the drive's own.
    let alone = PricesRecord { list: None, given: vec![given("ssd-l", 100.0)] };
    let q = quote(&alone, "sim:ssd-l", "model").unwrap();
    assert!((q.per_gb().unwrap() - 100.0 / 32.0).abs() < 0.02, "{q:?}");
    // Devices of this machine, by path or by model.
    for name in ["/dev/sdb", "samsung-ssd-870-evo-1tb"] {
        let record = PricesRecord { list: None, given: vec![given(name, 140.0)] };
        assert_eq!(two(&record, "/dev/sdb", "block device"), Some((140.0, 1000.0)));
        assert!(Prices::of(&record).unwrap().unused(&[target("/dev/sdb", "file")]).is_empty());
    }
    record.given.push(given("nothing", 1.0));
    let targets = [target("sim:ssd-m", "model"), target("raid0(sim:ssd-m*2)", "array")];
    assert_eq!(Prices::of(&record).unwrap().unused(&targets), ["nothing"]);
}

#[test]
fn two_currencies_are_refused() {
    let mut record = listed("oslo09");
    record.given.push(given("ssd-m", 500.0));
    let error = Prices::of(&record).unwrap_err().to_string();
    assert_eq!(error, "prices in NOK and in USD cannot be compared");
    assert!(Prices::of(&PricesRecord::default()).is_err(), "nothing is no price");
}

/// A cell of one second with so many reads of 4 KiB in each repeat.
fn cell(target: &str, reads: [u64; 3]) -> CellRecord {
    let repeat = |n: u64| {
        let mut latency = Histogram::new();
        (0..n).for_each(|_| latency.record(Nanos(1000)));
        let bytes = Bytes(4096 * n);
        RepeatRecord {
            seed: 1,
            elapsed: Nanos::from_secs(1),
            ops: vec![OpRecord {
                op: Op::Read,
                requests: n,
                bytes,
                errors: 0,
                late: None,
                latency,
            }],
            series: SeriesRecord::default(),
            first: None,
            steady: None,
            device: Vec::new(),
            program: Vec::new(),
            warnings: Vec::new(),
        }
    };
    CellRecord {
        id: format!("e/w@{target}"),
        experiment: "e".into(),
        workload: "w".into(),
        target: target.into(),
        summary: "random read, 4KiB".into(),
        skipped: None,
        failed: None,
        repeats: reads.map(repeat).to_vec(),
    }
}

fn run(prices: Option<PricesRecord>) -> Run {
    let record = RunRecord {
        schema: SCHEMA,
        assay: String::new(),
        study: "s".into(),
        title: String::new(),
        command: Vec::new(),
        seed: 1,
        started: String::new(),
        experiments: Vec::new(),
        targets: vec![target("sim:ssd-m", "model"), target("sim:x25-m-g2", "model")],
        host: HostRecord::default(),
        intent: IntentRecord::default(),
        plan: Vec::new(),
        prices,
    };
    let cells = vec![cell("noop/ssd-m", [90, 100, 110]), cell("x25-m-g2", [200, 200, 200])];
    Run::new(record, cells)
}

#[test]
fn a_cell_costs_its_target_per_what_it_delivers() {
    let run = run(Some(listed("cmu08")));
    let costs = Costs::of(&run).unwrap();
    let cost = costs.cell(&run.cells[0]).expect("behind a host of a name");
    let per_iops = cost.per_iops.unwrap();
    assert!((per_iops.value - 7.30).abs() < 1e-9);
    let (low, high) = per_iops.interval.unwrap();
    // Student's t over 90, 100, 110: 100 ± 24.84.
    assert!((low - 730.0 / 124.84).abs() < 0.01 && (high - 730.0 / 75.16).abs() < 0.01);
    assert!((cost.per_mb_s.unwrap().value - 730.0 / 0.4096).abs() < 1e-6);
    assert!(costs.cell(&run.cells[1]).is_none(), "no price is known");
}

#[test]
fn every_table_states_the_date_and_nothing_is_shown_without_a_price() {
    let (bare, priced) = (run(None), run(Some(listed("cmu08"))));
    for text in
        [text::summary_table(&bare), text::csv(&bare), assay_analysis::report::html(&bare, &[])]
    {
        assert!(!text.contains("USD") && !text.contains("price_per"), "{text}");
    }
    let table = text::summary_table(&priced);
    assert!(table.contains("USD/GB") && table.contains("(prices of 2008-11 in USD)"), "{table}");
    assert!(table.contains("Prices: list cmu08 of 2008-11: M. Polte"), "{table}");
    let csv = text::csv(&priced);
    let line = csv.lines().find(|l| l.contains("price_per_iops")).unwrap();
    assert!(line.starts_with("e,w,noop/ssd-m,price_per_iops,USD/IOPS,7.3,5.84"), "{line}");
    assert!(line.contains("t interval over 3 repeats; prices of 2008-11 in USD"), "{line}");
    assert!(!csv.contains("x25-m-g2,price"), "{csv}");
    let page = assay_analysis::report::html(&priced, &[]);
    assert!(page.contains("Prices of 2008-11 in USD (list cmu08 of 2008-11: M. Polte"));
}

#[test]
fn a_comparison_weighs_prices_of_one_date_only() {
    let mut prices = listed("cmu08");
    prices.given.push(given("x25-m-g2", 365.0));
    let both = run(Some(prices));
    let rows = compare::table(&both, "noop/ssd-m").rows;
    let cost = rows[0].cost.as_ref().expect("both have a price");
    assert_eq!((cost.price, cost.reference), (365.0, 730.0));
    // Half the price and twice the rate.
    assert!((cost.per_mb_s.value - 0.25).abs() < 1e-9);
    assert!(text::comparison(&compare::table(&both, "noop/ssd-m")).contains("2026-11-21"));
    let other = run(Some(listed("sigmetrics09")));
    let c = compare::runs(("b", &run(Some(listed("cmu08")))), ("a", &other));
    assert!(c.rows.iter().all(|r| r.cost.is_none()));
    let said = "costs are not compared: prices of 2008-11 in USD here and prices of 2008-10 in USD";
    assert!(c.notes.iter().any(|n| n.starts_with(said)), "{:?}", c.notes);
}

/// Two drives of 100 and 200 IOPS at 730 and 365 dollars, the second with power and endurance.
fn owned_run() -> Run {
    let text = "format = 1\nname = \"l\"\ntitle = \"L\"\nsource = \"s\"\ndate = \"2026-11\"\n\
        currency = \"USD\"\n\
        [[price]]\ndevice = \"ssd-m\"\ntitle = \"M\"\ncapacity = \"80GB\"\namount = 730\n\
        [[price]]\ndevice = \"x25-m-g2\"\ntitle = \"G2\"\ncapacity = \"160GB\"\namount = 365\n\
        watts = 3\nidle_watts = 1\nendurance = \"15TB\"\n";
    let list = Some(PriceListRecord { file: "l.toml".into(), text: text.into() });
    run(Some(PricesRecord { list, given: Vec::new() }))
}

const NOTHING_MORE: Assumptions = Assumptions {
    years: 5.0,
    busy: 1.0,
    kwh_price: None,
    pue: 1.0,
    slot_price: 0.0,
    writes_per_day: None,
    wear: 1.0,
    memory_per_gb: None,
};

fn near(got: Option<f64>, expected: f64) {
    let got = got.expect("a number");
    assert!((got - expected).abs() < 1e-9 * expected.abs().max(1.0), "{got} for {expected}");
}

#[test]
fn ownership_without_more_is_the_price_and_break_even_follows_the_rates() {
    let run = owned_run();
    let costs = Costs::of(&run).unwrap();
    let o = owned(&run, &costs, &NOTHING_MORE, "noop/ssd-m");
    assert_eq!(o.targets.iter().map(|t| t.total).collect::<Vec<_>>(), [Some(730.0), Some(365.0)]);
    assert!(o.targets.iter().all(|t| t.unknown.is_empty() && t.life_years.is_none()));
    near(o.cells[0].total_per_iops, 7.3);
    assert_eq!(o.cells[0].break_even_price, None, "the reference itself");
    // Twice the rate is worth twice the price.
    near(o.cells[1].break_even_price, 1460.0);
    let back = owned(&run, &costs, &NOTHING_MORE, "x25-m-g2");
    near(back.cells[0].break_even_price, 182.5);
    assert_eq!(back.cells[0].five_minutes_s, None, "without the price of memory");
}

/// A study may ask one drive in one experiment and another in the next: those are compared, too.
#[test]
fn the_reference_is_found_in_another_experiment() {
    let mut run = owned_run();
    let [first, second] = &mut run.cells[..] else { panic!("two cells") };
    first.experiment = "other".into();
    assert_eq!(first.workload, second.workload);
    let costs = Costs::of(&run).unwrap();
    let o = owned(&run, &costs, &NOTHING_MORE, "noop/ssd-m");
    near(o.cells[1].break_even_price, 1460.0);
}

#[test]
fn energy_and_wear_enter_where_they_are_known() {
    let run = owned_run();
    let costs = Costs::of(&run).unwrap();
    let supposed = Assumptions {
        busy: 0.5,
        kwh_price: Some(0.25),
        pue: 1.5,
        slot_price: 10.0,
        writes_per_day: Some(10e9),
        wear: 2.0,
        ..NOTHING_MORE
    };
    let o = owned(&run, &costs, &supposed, "x25-m-g2");
    assert_eq!(o.targets[0].unknown, ["watts", "idle_watts", "endurance"]);
    assert_eq!((o.targets[0].total, o.cells[0].total_per_iops), (None, None));
    let g2 = &o.targets[1];
    // 15 TB at twice the wear and 3.65 TB a year: 2.05 years, so a third drive in the fifth year.
    near(g2.life_years, 15.0 / 2.0 / 3.65);
    near(g2.replacements, 2.0);
    // 2 W x 8.76 kWh x 0.25 x 1.5 and 10 for room, five times.
    near(g2.running, 5.0 * (2.0 * 8.76 * 0.25 * 1.5 + 10.0));
    near(g2.total, 3.0 * 365.0 + g2.running.unwrap());
    let text = text::owned(&o);
    for said in ["unknown", "no watts, no idle_watts, no endurance in the price list", "2026-11"] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn the_five_minute_rule_is_asked_of_random_reads() {
    let mut run = owned_run();
    let costs = Costs::of(&run).unwrap();
    let supposed = Assumptions { memory_per_gb: Some(47.0), ..NOTHING_MORE };
    let o = owned(&run, &costs, &supposed, "noop/ssd-m");
    assert_eq!(o.cells[0].page, Some(4096.0));
    // (10^6 / 4096 pages a MB / 100 a second) x (730 / 0.047 a MB).
    let seconds = 1e6 / 4096.0 / 100.0 * 730.0 / 0.047;
    assert!((o.cells[0].five_minutes_s.unwrap() - seconds).abs() < 1e-6);
    run.cells[0].summary = "sequential read, 4KiB".into();
    assert_eq!(owned(&run, &costs, &supposed, "noop/ssd-m").cells[0].five_minutes_s, None);
}
