//! Tests that the formulas give the numbers of their authors.

use super::*;
use crate::load::sample;
use crate::stats::{Basis, Estimate};
use assay_spec::Bytes;
use assay_spec::experiment::Better;
use assay_spec::record::{PriceListRecord, PricesRecord, TargetRecord};

fn minutes(pages_per_mb: f64, iops: f64, device_price: f64, memory_price: f64) -> f64 {
    let rule = FiveMinutes { pages_per_mb, iops, device_price, memory_price };
    rule.break_even().0 as f64 / 60e9
}

/// Returns the record of a modelled target.
fn target(kind: &str, written: &str) -> TargetRecord {
    TargetRecord {
        written: written.into(),
        name: "t".into(),
        title: String::new(),
        kind: kind.into(),
        capacity: Bytes(0),
        identity: Vec::new(),
        spec: Some("{}".into()),
        virtual_time: true,
        created: false,
    }
}

fn near(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-9 * expected.abs().max(1.0), "{got} for {expected}");
}

#[test]
fn the_rule_gives_its_authors_numbers() {
    // 1987: pages of 1 KB, 15 accesses a second for 15,000 dollars, 5,000 a MB: 205 s.
    assert!((minutes(1024.0, 15.0, 15_000.0, 5_000.0) * 60.0 - 204.8).abs() < 1e-6);
    // 1997: pages of 8 KB, 64 accesses a second, 2,000 dollars, 15 a MB: 266 s.
    assert!((minutes(128.0, 64.0, 2_000.0, 15.0) * 60.0 - 266.7).abs() < 0.1);
    // 2007: pages of 4 KB; a flash drive in 15 minutes, a disk in an hour and a half.
    assert!((minutes(256.0, 6_200.0, 999.0, 0.047) - 15.0).abs() < 0.5);
    assert!((minutes(256.0, 83.0, 80.0, 0.047) - 90.0).abs() < 3.0);
}

#[test]
fn a_price_per_rate_turns_the_interval_round() {
    let rate = Estimate { value: 50.0, interval: Some((40.0, 80.0)), basis: Basis::Repeats(3) };
    let price = per(400.0, &rate).expect("a rate");
    assert_eq!((price.value, price.interval), (8.0, Some((5.0, 10.0))));
    let wide = Estimate { interval: Some((-1.0, 80.0)), ..rate.clone() };
    assert_eq!(per(400.0, &wide).expect("a rate").interval, None);
    assert_eq!(per(400.0, &Estimate { value: 0.0, ..rate }), None);
}

#[test]
fn ownership_adds_drives_energy_and_room() {
    let five_years = Ownership {
        drives: 2.0,
        price: 300.0,
        years: 5.0,
        active_watts: 10.0,
        idle_watts: 5.0,
        busy: 0.2,
        kwh_price: 0.25,
        pue: 1.5,
        slot_price: 20.0,
        life_years: f64::INFINITY,
    };
    // 6 W x 8.76 kWh x 0.25 x 1.5 = 19.71 a year and drive, and 20 for the slot.
    near(five_years.running(), 2.0 * 5.0 * 39.71);
    near(five_years.total(), 600.0 + 397.1);
    near(five_years.break_even_price(five_years.total()).expect("a price"), 300.0);
    assert_eq!(five_years.break_even_price(397.0), None);
    // Worn out after two and a half years: replaced once, and not again at the end of the fifth
    // year.
    let wearing = |life_years| Ownership { life_years, ..five_years }.replacements();
    assert_eq!([5.0, 4.9, 2.5, 2.4].map(wearing), [0.0, 1.0, 1.0, 2.0]);
}

#[test]
fn wear_follows_write_amplification() {
    near(life_years(600.0, 1.0, 60.0, 2.5), 4.0);
    near(life_years(600.0, 3.0, 60.0, 1.5), 20.0);
}

/// A program's first number has a price if more of it is better, and what it writes wears its drive
/// out.
#[test]
fn a_program_has_a_price_for_its_number_and_wears_its_drive_out() {
    let list = "format = 1\nname = \"n\"\ntitle = \"t\"\nsource = \"s\"\ndate = \"2026-11\"\n\
                currency = \"EUR\"\n[[price]]\ndevice = \"x25-e\"\ntitle = \"X\"\n\
                capacity = \"32GB\"\namount = 300\nendurance = \"1PB\"\n";
    let cost = |better: Better, written: f64| {
        let mut cell = sample::cell_of_program("t", "tps", better, &[150.0, 150.0]);
        for repeat in &mut cell.repeats {
            repeat.device.push(("drive_write_bytes".to_owned(), written));
        }
        let mut run = sample::run(vec![cell]);
        let list = PriceListRecord { file: "mine.toml".into(), text: list.into() };
        run.record.prices = Some(PricesRecord { list: Some(list), given: Vec::new() });
        run.record.targets.push(target("linux", "linux(fs=ext4, sim:x25-e)"));
        Costs::of(&run).expect("a price").cell(&run.cells[0]).expect("its target has one")
    };
    // 1 PB at 1 MB in each of the repeats' seconds.
    let more = cost(Better::Higher, 1e6);
    near(more.per_printed.expect("more is better").value, 2.0);
    near(more.life_years.expect("it writes"), 1e9 / (365.0 * 86_400.0));
    assert_eq!(cost(Better::Lower, 1e6).per_printed, None);
    assert_eq!(cost(Better::Higher, 0.0).life_years, None);
}

/// Redundancy writes more to the drives than is written to the array, and the drive with the least
/// endurance is worn out first.
#[test]
fn an_array_lasts_as_long_as_the_drive_that_is_worn_out_first() {
    let list = "format = 1\nname = \"n\"\ntitle = \"t\"\nsource = \"s\"\ndate = \"2026-11\"\n\
                currency = \"EUR\"\n[[price]]\ndevice = \"x25-e\"\ntitle = \"X\"\n\
                capacity = \"32GB\"\namount = 300\nendurance = \"100TB\"\n[[price]]\n\
                device = \"ssd-m\"\ntitle = \"M\"\ncapacity = \"80GB\"\namount = 200\n\
                endurance = \"150TB\"\n";
    let list = PriceListRecord { file: "mine.toml".into(), text: list.into() };
    let prices = Prices::of(&PricesRecord { list: Some(list), given: Vec::new() }).unwrap();
    let lasts =
        |written: &str| prices.quote(&target("array", written)).unwrap().endurance.unwrap() * 1e-12;
    near(lasts("raid0(sim:x25-e*2)"), 200.0);
    near(lasts("raid1(sim:x25-e*2)"), 100.0);
    near(lasts("raid5(sim:x25-e*4)"), 300.0);
    near(lasts("raid6(sim:x25-e*4)"), 200.0);
    near(lasts("raid10(sim:x25-e*4)"), 200.0);
    near(lasts("raid0(sim:x25-e*2, sim:ssd-m*2)"), 400.0);
    near(lasts("raid1(raid0(sim:x25-e*2), sim:ssd-m)"), 150.0);
}
