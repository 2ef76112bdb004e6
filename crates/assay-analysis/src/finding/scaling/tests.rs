//! Tests of groups and of the statements about them, on made-up cells.

use super::*;
use crate::load::sample;
use assay_spec::Bytes;
use assay_spec::catalog::{CONTROLLERS, find};
use assay_spec::record::TargetRecord;

/// Returns a cell that delivers `rate` MB/s for one second. `told` has the counters that its drives
/// report.
fn cell(name: &str, rate: f64, told: &[(&str, f64)]) -> CellRecord {
    let mut cell = sample::cell(&[&[1000]]);
    cell.target = name.into();
    cell.id = format!("e/w@{name}");
    cell.repeats[0].ops[0].bytes = Bytes((rate * 1e6) as u64);
    cell.repeats[0].device = told.iter().map(|(n, v)| ((*n).into(), *v)).collect();
    cell
}

fn target(name: &str, written: &str) -> TargetRecord {
    let card = find(CONTROLLERS, "perc-6i").expect("bundled").text;
    TargetRecord {
        written: written.into(),
        name: name.into(),
        title: String::new(),
        kind: if written.starts_with("linux") { "linux" } else { "array" }.into(),
        capacity: Bytes(1),
        identity: Vec::new(),
        spec: Some(format!("{}controller:perc-6i\n{card}", TargetRecord::MARK)),
        virtual_time: true,
        created: false,
    }
}

/// Returns the name of a target of `count` drives under btrfs, as it is written.
fn linux(count: usize, more: &str) -> String {
    match count {
        1 => format!("linux(fs=btrfs, sim:x25-m-g2@perc-6i, name=a{more})"),
        n => format!("linux(fs=btrfs, md-raid0(sim:x25-m-g2@perc-6i*{n}), name=b{n}{more})"),
    }
}

/// Returns a run with a target for each rate, of one drive, of two, and so on. `busy` is the time
/// that the card reports.
fn run(rates: &[f64], more: &str, busy: Option<f64>) -> Run {
    let mut cells = Vec::new();
    let mut targets = Vec::new();
    for (index, rate) in rates.iter().enumerate() {
        let name = format!("t{index}");
        let told: Vec<(&str, f64)> =
            busy.iter().map(|share| ("controller_1_link_busy_s", *share)).collect();
        cells.push(cell(&name, *rate, &told));
        targets.push(target(&name, &linux(index + 1, more)));
    }
    let mut run = sample::run(cells);
    run.record.targets = targets;
    run
}

fn only(run: &Run) -> Finding {
    let mut found = all(run);
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

#[test]
fn the_card_holds_a_cap_that_keeps_it_busy() {
    let f = only(&run(&[270.0, 540.0, 668.0, 670.0, 669.0], "", Some(0.998)));
    assert_eq!(f.id, "scaling/e/w@t4");
    let said = [
        "btrfs, md-raid0 of x25-m-g2-at-perc-6i, w: each drive adds 27",
        "up to the knee at 2.4",
        "The card perc-6i is the limit: busy 99.8 % of the time with 5 drives",
        "A second such card for half of the drives would raise the bandwidth, to at most 13",
    ];
    for words in said {
        assert!(f.statement.contains(words), "{words}: {}", f.statement);
    }
    let line = "the card perc-6i: can pass 671 MB/s of the total bandwidth, busy 99.8 % of the \
                time with 5 drives (told)";
    assert!(f.evidence.iter().any(|e| e == line), "{:?}", f.evidence);
    assert_eq!(f.confidence, Some(0.95));
}

#[test]
fn a_cap_below_all_that_is_declared_is_held_by_what_asks() {
    let f = only(&run(&[270.0, 400.0, 402.0, 399.0], "", Some(0.6)));
    assert!(f.statement.contains("No shared part is the limit"), "{}", f.statement);
    // If the card does not report its busy time, it is computed from the card's rate.
    let f = only(&run(&[270.0, 540.0, 600.0, 601.0], "", None));
    assert!(
        f.statement.contains("The card perc-6i is nearly the limit: busy 89.6 %"),
        "{}",
        f.statement
    );
    // A processor that is busier than the card.
    let mut busy = run(&[270.0, 470.0, 469.0, 470.0], "", Some(0.7));
    for cell in &mut busy.cells {
        cell.repeats[0].device.push(("processor_busy_s".to_owned(), 0.97));
    }
    let f = only(&busy);
    assert!(
        f.statement.contains("The machine's processor is the limit: busy 97"),
        "{}",
        f.statement
    );
    assert!(f.statement.contains("A faster processor would raise"), "{}", f.statement);
}

#[test]
fn no_knee_is_said_as_such() {
    let f = only(&run(&[57.0, 114.0, 171.0, 228.0], "", Some(0.3)));
    assert!(
        f.statement.contains("no knee is seen: a cap, if there is one, is above 21"),
        "{}",
        f.statement
    );
    let f = only(&run(&[270.0, 160.0, 520.0], "", None));
    assert!(f.statement.contains("the knee is not determined"), "{}", f.statement);
    assert_eq!(f.confidence, None);
}

#[test]
fn only_what_differs_in_nothing_else_belongs_together() {
    let mut mixed = run(&[270.0, 540.0, 668.0], "", None);
    mixed.record.targets[1] = target("t1", &linux(2, ", memory=2GiB"));
    assert!(all(&mixed).is_empty(), "another memory");
    assert!(all(&run(&[270.0, 540.0], "", None)).is_empty(), "two numbers of drives");
    let mut other = run(&[270.0, 540.0, 668.0], "", None);
    other.record.targets[2] = target("t2", "linux(fs=btrfs, md-raid5(sim:x25-m-g2@perc-6i*3))");
    assert!(all(&other).is_empty(), "another level");
    // Arrays that a card makes, without Linux.
    let mut cards = run(&[300.0, 450.0, 452.0], "", None);
    for (index, t) in cards.record.targets.iter_mut().enumerate() {
        *t =
            target(&t.name.clone(), &format!("raid0(sim:ssd-m*{}, controller=perc-6i)", index + 2));
    }
    let f = only(&cards);
    assert!(f.statement.starts_with("raid0 by perc-6i of ssd-m, w: "), "{}", f.statement);
}
