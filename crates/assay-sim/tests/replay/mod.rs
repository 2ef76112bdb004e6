//! Traces of real disks, replayed on the modelled ones, and what their comparison says in numbers:
//! for the test `disk_replay` and for the example `replay`, which draws it.

#![allow(dead_code)]

use crate::disk_data::{Paths, device};
use assay_sim::{Drive, build};
use assay_spec::{Bytes, Nanos, Op, Request};

/// Disk and DiskSim's own demerit in microseconds.
pub const DISKS: [(&str, u32); 4] =
    [("atlas_III", 378), ("barracuda", 349), ("cheetah4LP", 318), ("atlas10k", 268)];

/// A request of a trace, the time it took, and the gap after it.
pub struct Line {
    pub request: Request,
    pub measured_ms: f64,
    gap: Nanos,
}

/// The lines of a trace.
pub fn parse(text: &str) -> Vec<Line> {
    let line = |text: &str| {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let number = |i: usize| fields[i].parse::<f64>().expect("a number");
        let op = if fields[0] == "R" { Op::Read } else { Op::Write };
        let (offset, length) = (Bytes(number(2) as u64 * 512), Bytes(number(3) as u64 * 512));
        Line {
            request: Request { tag: 0, op, offset, length, fua: false },
            measured_ms: number(4) / 1e3,
            gap: Nanos((number(5) * 1e3).round() as u64),
        }
    };
    text.lines().map(line).collect()
}

/// What a comparison says in numbers, in milliseconds.
pub struct Score {
    /// Over all quantiles, and as DiskSim takes it.
    pub plain: f64,
    pub theirs: f64,
    pub median_error: f64,
    pub rank_correlation: f64,
}

impl Score {
    pub fn of(measured: &[f64], modelled: &[f64]) -> Score {
        let errors = measured.iter().zip(modelled).map(|(a, b)| (a - b).abs());
        Score {
            plain: demerit(measured, modelled),
            theirs: demerit_of_disksim(measured, modelled),
            median_error: quantile(&sorted(&errors.collect::<Vec<f64>>()), 0.5),
            rank_correlation: spearman(measured, modelled),
        }
    }
}

/// Service times of the modelled disk, in milliseconds.
pub fn replay(paths: &Paths, trace: &[Line]) -> Vec<f64> {
    let mut drive = build(&device(paths), assay_sim::InitialState::Filled);
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

/// The values in ascending order.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// The value below which `share` of the others lie.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

/// Root mean square distance of the quantiles, one a request.
pub fn demerit(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (sorted(a), sorted(b));
    let squares: f64 = a.iter().zip(&b).map(|(x, y)| (x - y).powi(2)).sum();
    (squares / a.len() as f64).sqrt()
}

/// The same as DiskSim takes it: bounds of 1750 buckets in microseconds, each 1 % and 1 us above
/// the one before; a value counts at the upper bound of its bucket, and quantiles are read off
/// every 0.01 %, linear between the bounds.
pub fn demerit_of_disksim(a: &[f64], b: &[f64]) -> f64 {
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
pub fn spearman(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (ranks(a), ranks(b));
    let mean = (a.len() - 1) as f64 / 2.0;
    let sum = |x: &[f64], y: &[f64]| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum()
    };
    sum(&a, &b) / (sum(&a, &a) * sum(&b, &b)).sqrt()
}
