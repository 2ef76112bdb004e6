//! Real traces against the modelled disks: what DiskSim's validation does.
//!
//! Four disks, 10,000 requests each with measured service times: every request is issued the
//! trace's gap after the end of the one before. The demerit (Ruemmler and Wilkes, IEEE Computer
//! 1994) is the root mean square horizontal distance between the distributions of measured and of
//! modelled service times; DiskSim takes it over a histogram with steps of 1 % (`rms.c`,
//! `statdefs`), and publishes its own (`valid/runvalid`). All parameters come through the importer,
//! none was fitted to a trace.
//!
//! The gaps are far longer than a turn and known too coarsely to tell the angle of the platter, so
//! rotation is right in distribution and not request by request.
//!
//! `cargo run --release -p assay-sim --example replay -- DIR OUT` draws the same as pictures.

#![allow(clippy::print_stdout)]

mod disk_data;
mod replay;

use assay_spec::Op;
use disk_data::{Paths, read};
use replay::{DISKS, Score, demerit, demerit_of_disksim, parse, quantile, sorted, spearman};

/// The two distributions over each other: `m` measured, `s` modelled, `*` both.
fn draw(measured: &[f64], modelled: &[f64]) {
    const ROWS: usize = 12;
    const COLUMNS: usize = 72;
    let (measured, modelled) = (sorted(measured), sorted(modelled));
    let most = quantile(&measured, 0.999).max(quantile(&modelled, 0.999));
    let share =
        |values: &[f64], ms: f64| values.partition_point(|v| *v <= ms) as f64 / values.len() as f64;
    let row = |values: &[f64], column: usize| {
        let ms = most * (column + 1) as f64 / COLUMNS as f64;
        ((1.0 - share(values, ms)) * (ROWS - 1) as f64).round() as usize
    };
    for line in 0..ROWS {
        let cell = |column| match (row(&measured, column) == line, row(&modelled, column) == line) {
            (true, true) => '*',
            (true, false) => 'm',
            (false, true) => 's',
            _ => ' ',
        };
        let curve: String = (0..COLUMNS).map(cell).collect();
        let percent = 100.0 * (1.0 - line as f64 / (ROWS - 1) as f64);
        println!("  {percent:>4.0} % |{}", curve.trim_end());
    }
    println!("         0{:>71.1} ms", most);
}

#[test]
fn the_distributions_are_those_of_the_real_disks() {
    for (disk, published_us) in DISKS {
        let published = f64::from(published_us) / 1e3;
        let paths = Paths::of(disk);
        let Some(trace) = read(&paths.trace) else {
            println!("skipped: no {}", paths.trace.display());
            continue;
        };
        let trace = parse(&trace);
        let measured: Vec<f64> = trace.iter().map(|l| l.measured_ms).collect();
        let modelled = replay::replay(&paths, &trace);
        let Score { plain, theirs, median_error, rank_correlation } =
            Score::of(&measured, &modelled);
        println!(
            "{disk}: demerit {theirs:.3} ms (DiskSim {published:.3}), {plain:.4} over all \
             quantiles; median |error| {median_error:.3} ms, rank correlation \
             {rank_correlation:.3}"
        );
        for op in [Op::Read, Op::Write] {
            let of = |values: &[f64]| -> Vec<f64> {
                let all = values.iter().zip(&trace);
                all.filter(|(_, l)| l.request.op == op).map(|(v, _)| *v).collect()
            };
            let (real, ours) = (sorted(&of(&measured)), sorted(&of(&modelled)));
            let pair = |q| format!("{:.2}/{:.2}", quantile(&real, q), quantile(&ours, q));
            let list: Vec<String> = [0.1, 0.25, 0.5, 0.75, 0.9, 0.99].map(pair).to_vec();
            println!("  {:<5} p10..p99 measured/modelled ms: {}", op.name(), list.join("  "));
        }
        draw(&measured, &modelled);
        // At the three digits in which DiskSim's own is published.
        assert!((theirs * 1e3).round() as u32 <= published_us, "{disk}: {theirs} ms");
    }
}

#[test]
fn demerits_and_ranks_are_what_they_should_be() {
    let a: Vec<f64> = (1..=10_000).map(|i| f64::from(i) / 1e3).collect();
    let later: Vec<f64> = a.iter().map(|ms| ms + 0.5).collect();
    assert!((demerit(&a, &later) - 0.5).abs() < 1e-9);
    assert!((demerit_of_disksim(&a, &later) - 0.5).abs() < 5e-3, "to the width of a bucket");
    let reversed: Vec<f64> = a.iter().rev().copied().collect();
    assert!(demerit(&a, &reversed) < 1e-12, "the order does not count");
    assert!((spearman(&a, &reversed) + 1.0).abs() < 1e-12);
    // Four pairs with one tie: 0.9487 by hand, (1-6·0.25/60 corrected for the tie).
    let tied = spearman(&[1.0, 2.0, 2.0, 3.0], &[1.0, 2.0, 3.0, 4.0]);
    assert!((tied - 0.948_683_298).abs() < 1e-9, "{tied}");
}
