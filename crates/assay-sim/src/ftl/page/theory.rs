//! Tests of the steady-state write amplification against published analysis.
//!
//! `spare` is (raw − user) / user, as in the papers; α = raw / user = 1 + spare.

#![allow(clippy::print_stdout)]

use super::*;
use crate::ftl::history::{FtlHarness, RandomWrites};
use assay_spec::device::{
    CollectionSpec, CopyPath, EraseTime, Frontiers, Pace, PlaneMode, ProgramTime, VictimSpec,
    WearSpec,
};
use assay_spec::{Bytes, Nanos, Rate};

/// Returns planes of `blocks` blocks of `pages` pages, on which hardly anything takes time.
pub(super) fn nand(planes: u32, blocks: u32, pages: u32) -> NandSpec {
    NandSpec {
        channels: planes,
        dies_per_channel: 1,
        planes_per_die: 1,
        plane_mode: PlaneMode::Independent,
        blocks_per_plane: blocks,
        pages_per_block: pages,
        page: Bytes(4096),
        read: Nanos(1),
        program: ProgramTime::uniform(Nanos(1)),
        erase: Nanos(1),
        bus: Rate(4_096_000_000_000),
        cache_register: false,
        pages_per_program: 1,
        slc: None,
        suspend: None,
    }
}

/// Returns a spec with one frontier, which collects a block at a time.
pub(super) fn spec(victim: VictimSpec) -> PageMapSpec {
    PageMapSpec {
        allocation: Allocation::Dynamic,
        collection: CollectionSpec {
            victim,
            reserve_blocks: 2,
            pace: Pace::WholeBlock,
            frontiers: Frontiers::One,
            copy: CopyPath::CopyBack,
            over_drive: false,
            erase: EraseTime::AtOnce,
            background: None,
        },
        wear: WearSpec::None,
        save_map_every: None,
        map_cache: None,
        power_fail_safe: false,
        slc: None,
    }
}

/// Returns the write amplification of one plane over one pass of the user capacity, after `passes`.
fn measure(
    victim: VictimSpec,
    (blocks, pages): (u32, u32),
    spare: f64,
    passes: u64,
    writes: RandomWrites,
) -> f64 {
    let nand = nand(1, blocks, pages);
    let user = (f64::from(blocks * pages) / (1.0 + spare)) as u32;
    let map = PageMap::new(&nand, spec(victim), user, 1, true);
    let mut harness = FtlHarness::new(map, &nand, user, writes);
    harness.write(passes * u64::from(user));
    harness.write(u64::from(user))
}

/// Returns the deviation of `measured` relative to `theory`.
fn deviation(measured: f64, theory: f64) -> f64 {
    measured / theory - 1.0
}

/// Solves f(x) = 0 for a decreasing f on (low, high).
fn solve(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if f(middle) > 0.0 { low = middle } else { high = middle }
    }
    low
}

/// Returns the write amplification of greedy collection with large blocks (Xiang and Kurkoski, ITA
/// 2012): A = 1/(1 − u) with u = e^{−α(1 − u)}, that is α / (α + W(−α e^{−α})). First in, first out
/// has the same with blocks of any size (Desnoyers, SYSTOR 2012).
fn large_blocks(spare: f64) -> f64 {
    let alpha = 1.0 + spare;
    1.0 / (1.0 - solve(0.0, 1.0 - 1e-9, |u| (-alpha * (1.0 - u)).exp() - u))
}

/// Returns the write amplification of first in, first out with a share `heat` of the writes on a
/// share `hot` of the pages. Each class k is appended a_k = r_k H / (1 − e_k) times a cycle, and
/// the cycle is as long as the log (Menon, VLDB 1995; Desnoyers, SYSTOR 2012).
fn fifo_hot_cold(spare: f64, hot: f64, heat: f64) -> f64 {
    let alpha = 1.0 + spare;
    let classes = [(hot, heat), (1.0 - hot, 1.0 - heat)];
    let log = |u: f64| -> f64 {
        let share =
            |(f, r): &(f64, f64)| r * (1.0 - u) / (1.0 - (-r * alpha * (1.0 - u) / f).exp());
        classes.iter().map(share).sum()
    };
    1.0 / (1.0 - solve(0.0, 1.0 - 1e-9, |u| log(u) - 1.0))
}

/// Returns the write amplification of the mean field of d choices (Van Houdt, SIGMETRICS 2013).
/// With x_i the share of blocks that have i of b pages valid, and one victim per b − m host writes
/// (m its mean valid pages): (b − m) / (ρ b) · ((i + 1) x_{i+1} − i x_i) = P(victim has i), ρ =
/// user / raw. If all d drawn blocks are wholly valid, the paper empties one for nothing; ours
/// takes any other block.
fn d_choices(spare: f64, b: u32, d: f64) -> f64 {
    let rho = 1.0 / (1.0 + spare);
    // For a trial m, follows the balance from x_b down; returns the mean of the victims minus m.
    let excess = |m: f64| {
        let rate = (f64::from(b) - m) / (rho * f64::from(b));
        // A block enters with b valid pages once a cycle: b · x_b is the flow into b − 1.
        let mut flow = 1.0 / rate;
        let full = flow / f64::from(b);
        let (mut sum, mut mean) = (full, 0.0_f64);
        for i in (0..b).rev() {
            let share = |x: f64| {
                let drawn = (sum + x).min(1.0).powf(d) - sum.powf(d);
                drawn + full.powf(d) * x / (1.0 - full)
            };
            let x = match i {
                0 => 1.0 - sum,
                _ => solve(0.0, (flow / f64::from(i)).min(1.0 - sum), |x| {
                    (flow - f64::from(i) * x) * rate - share(x)
                }),
            };
            mean += share(x) * f64::from(i);
            sum += x;
            flow = f64::from(i) * x;
            if sum >= 1.0 {
                break;
            }
        }
        mean - m
    };
    let m = solve(0.0, f64::from(b) - 1e-6, excess);
    f64::from(b) / (f64::from(b) - m)
}

#[test]
#[ignore = "takes a minute"]
fn greedy_with_large_blocks_is_within_two_percent_of_xiang_and_kurkoski() {
    for spare in [0.07, 0.12, 0.25, 0.28, 0.5] {
        let measured = measure(VictimSpec::Greedy, (4096, 1024), spare, 3, RandomWrites::UNIFORM);
        let theory = large_blocks(spare);
        println!("spare {spare}: {measured:.3}, theory {theory:.3}");
        assert!(deviation(measured, theory).abs() < 0.02, "{spare}: {measured} and {theory}");
    }
}

#[test]
fn first_in_first_out_is_what_its_closed_form_says() {
    for spare in [0.12, 0.28, 0.5] {
        let measured = measure(VictimSpec::Fifo, (2048, 64), spare, 6, RandomWrites::UNIFORM);
        let theory = large_blocks(spare);
        println!("spare {spare}: {measured:.3}, theory {theory:.3}");
        assert!(deviation(measured, theory).abs() < 0.02, "{spare}: {measured} and {theory}");
    }
}

#[test]
fn first_in_first_out_with_hot_and_cold_pages_too() {
    for (spare, hot, heat) in [(0.28, 0.2, 0.8), (0.28, 0.1, 0.9), (0.5, 0.2, 0.8)] {
        let measured =
            measure(VictimSpec::Fifo, (2048, 64), spare, 12, RandomWrites { hot, heat, seed: 0 });
        let theory = fifo_hot_cold(spare, hot, heat);
        println!("spare {spare}, {heat} on {hot}: {measured:.3}, theory {theory:.3}");
        assert!(deviation(measured, theory).abs() < 0.02, "{spare}: {measured} and {theory}");
    }
}

#[test]
fn d_choices_and_greedy_with_small_blocks_are_their_mean_fields() {
    let random = |choices| VictimSpec::RandomGreedy { choices };
    let cases = [
        (random(2), 2.0),
        (random(10), 10.0),
        // Greedy is the limit of many choices.
        (VictimSpec::Greedy, 20_000.0),
    ];
    for (victim, d) in cases {
        for (spare, pages) in [(0.12, 32), (0.28, 32), (0.28, 128)] {
            let measured = measure(victim, (8192, pages), spare, 6, RandomWrites::UNIFORM);
            let theory = d_choices(spare, pages, d);
            println!("{victim:?}, {pages} pages, {spare}: {measured:.3}, theory {theory:.3}");
            let off = deviation(measured, theory).abs();
            assert!(off < 0.02, "{victim:?} {spare}: {measured} and {theory}");
        }
    }
}
