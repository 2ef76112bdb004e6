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

#![allow(clippy::print_stdout)]

mod disk_data;

use assay_sim::{Drive, build};
use assay_spec::{Bytes, Nanos, Op, Request};
use disk_data::{Paths, device, read};

/// Disk and DiskSim's own demerit in microseconds.
const DISKS: [(&str, u32); 4] =
    [("atlas_III", 378), ("barracuda", 349), ("cheetah4LP", 318), ("atlas10k", 268)];

struct Line {
    request: Request,
    measured_ms: f64,
    gap: Nanos,
}

fn parse(text: &str) -> Vec<Line> {
    let line = |text: &str| {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let number = |i: usize| fields[i].parse::<f64>().expect("a number");
        let op = if fields[0] == "R" { Op::Read } else { Op::Write };
        let (offset, length) = (Bytes(number(2) as u64 * 512), Bytes(number(3) as u64 * 512));
        Line {
            request: Request { tag: 0, op, offset, length },
            measured_ms: number(4) / 1e3,
            gap: Nanos((number(5) * 1e3).round() as u64),
        }
    };
    text.lines().map(line).collect()
}

/// Service times of the modelled disk, in milliseconds.
fn replay(paths: &Paths, trace: &[Line]) -> Vec<f64> {
    let mut drive = build(&device(paths), true);
    let (mut now, mut done) = (Nanos::ZERO, Vec::new());
    let mut serve = |line: &Line| {
        drive.submit(now, line.request);
        drive.run(Nanos::NEVER, &mut done);
        let end = done.pop().expect("one ended").at;
        let service = (end - now).0 as f64 / 1e6;
        now = end + line.gap;
        service
    };
    trace.iter().map(&mut serve).collect()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

/// Root mean square distance of the quantiles, one a request.
fn demerit(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (sorted(a), sorted(b));
    let squares: f64 = a.iter().zip(&b).map(|(x, y)| (x - y).powi(2)).sum();
    (squares / a.len() as f64).sqrt()
}

/// The same as DiskSim takes it: bounds of 1750 buckets in microseconds, each 1 % and 1 us above
/// the one before; a value counts at the upper bound of its bucket, and quantiles are read off
/// every 0.01 %, linear between the bounds.
fn demerit_of_disksim(a: &[f64], b: &[f64]) -> f64 {
    let mut bounds = vec![0_u64];
    while bounds.len() < 1750 {
        let last = bounds[bounds.len() - 1];
        bounds.push(last + 1 + last / 100);
    }
    let distribution = |values: &[f64]| {
        let mut shares = vec![0.0; bounds.len()];
        for value in values {
            let bucket = bounds.partition_point(|bound| *bound <= (value * 1e3) as u64);
            shares[bucket.min(bounds.len() - 1)] += 1.0;
        }
        let mut sum = 0.0;
        for share in &mut shares {
            sum += *share;
            *share = sum / values.len() as f64;
        }
        shares
    };
    let (a, b) = (distribution(a), distribution(b));
    let at = |shares: &[f64], share: f64| {
        let i = shares.partition_point(|s| *s < share - 1e-12).min(shares.len() - 1);
        let (low, high) = (bounds[i - 1] as f64 / 1e3, bounds[i] as f64 / 1e3);
        low + (share - shares[i - 1]) / (shares[i] - shares[i - 1]) * (high - low)
    };
    let points = (1..=10_000).map(|i| f64::from(i) / 1e4);
    let squares: f64 = points.map(|p| (at(&a, p) - at(&b, p)).powi(2)).sum();
    (squares / 1e4).sqrt()
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for group in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = first as f64 + (group.len() - 1) as f64 / 2.0;
        group.iter().for_each(|i| ranks[*i] = rank);
        first += group.len();
    }
    ranks
}

/// Spearman's rank correlation, ties sharing their mean rank.
fn spearman(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (ranks(a), ranks(b));
    let mean = (a.len() - 1) as f64 / 2.0;
    let sum = |x: &[f64], y: &[f64]| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum()
    };
    sum(&a, &b) / (sum(&a, &a) * sum(&b, &b)).sqrt()
}

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
        let modelled = replay(&paths, &trace);
        let errors: Vec<f64> = measured.iter().zip(&modelled).map(|(a, b)| (a - b).abs()).collect();
        let (plain, theirs) =
            (demerit(&measured, &modelled), demerit_of_disksim(&measured, &modelled));
        println!(
            "{disk}: demerit {theirs:.3} ms (DiskSim {published:.3}), {plain:.4} over all \
             quantiles; median |error| {:.3} ms, rank correlation {:.3}",
            quantile(&sorted(&errors), 0.5),
            spearman(&measured, &modelled)
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
