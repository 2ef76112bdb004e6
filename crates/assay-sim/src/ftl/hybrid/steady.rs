//! The steady state of superblock mapping after random writes, without writing a drive.
//!
//! All that was written before the oldest log was opened has been merged and lies in order, as on a
//! filled drive. So only the last part of a long history is left, and the map goes through that
//! alone, with merges that copy nothing. A *turn* ends when none of the logs is left that existed
//! when it began. After some turns nothing shows that the drive had been filled. Each history then
//! ends at a random moment of the next turn, because shared logs are emptied together.
//!
//! One thing takes far longer than turns. Where pages keep their plane and logs are shared, a plane
//! that by chance gets more writes runs ahead of the others, as far as there are logs: the next log
//! is opened for it, and the oldest is emptied though others have not filled it. That does not
//! depend on which superblocks are written, so it is simulated before, for planes alone
//! (`spread_planes`).
//!
//! It leaves out one thing: no block has been erased.

use super::Hybrid;
use super::shared::{Shared, SharedLog};
use crate::ftl::Census;
use crate::ftl::history::{FtlHarness, RandomWrites, below};
use assay_spec::device::{HybridSpec, NandSpec};
use assay_spec::seed::mix;

/// The number of turns. If there are no logs yet, the first ends at once.
const TURNS: u32 = 5;
/// The most pages written in a turn, in pages of the drive: then it ends, whatever the logs.
const MAX_PASSES: u64 = 8;
/// The most writes that are simulated for planes to run ahead of each other.
const STEPS: u64 = 1 << 27;

/// Returns the map of `logical` pages as random writes leave it.
pub(crate) fn build_steady(
    nand: &NandSpec,
    spec: HybridSpec,
    logical: u32,
    writes: RandomWrites,
) -> Hybrid {
    let mut map = Hybrid::new(nand, spec, logical, true);
    map.copies = false;
    spread_planes(&mut map, writes.seed);
    let mut harness = FtlHarness::new(map, nand, logical, writes);
    for _ in 1..TURNS {
        turn(&mut harness, logical);
    }
    let last = turn(&mut harness, logical);
    harness.write(below(mix(!writes.seed), last));
    let mut map = harness.done();
    map.erases.fill(0);
    map.sequence.forget_last();
    map.copies = true;
    map.mark();
    map
}

/// Opens shared logs, filled as planes fill them that have run ahead of each other. No page in
/// them is valid.
fn spread_planes(map: &mut Hybrid, seed: u64) {
    let Some(mut shared) = map.shared.take() else { return };
    let (rows, width) = (map.shape.pages_per_block, map.shape.width);
    let all = u64::from(rows) * map.policy.log_limit as u64;
    // Enough for the differences between planes, a random walk, to pass through all logs some
    // times.
    let steps = (all * all * u64::from(width) / 2).min(STEPS / u64::from(map.shape.groups));
    // Only groups with superblocks. A single plane cannot run ahead.
    let groups = map.shape.groups.min(map.data.len() as u32);
    for group in 0..if width == 1 { 0 } else { groups } {
        // The rows that each plane has filled; and the logs, numbered by all ever opened.
        let mut filled = vec![0_u64; width as usize];
        let (mut oldest, mut opened) = (0, 0);
        let own = mix(seed ^ !u64::from(group));
        for step in 0..steps {
            let offset = below(mix(own ^ step), u64::from(map.shape.pages())) as u32;
            // The first page of a superblock begins a stream instead.
            if offset == 0 {
                continue;
            }
            let plane = &mut filled[(offset % width) as usize];
            *plane = (*plane).max(oldest * u64::from(rows));
            if *plane == opened * u64::from(rows) {
                opened += 1;
                oldest = opened.saturating_sub(map.policy.log_limit as u64);
            }
            *plane += 1;
        }
        for log in oldest..opened {
            let first = log * u64::from(rows);
            let next = filled.iter().map(|n| n.saturating_sub(first).min(u64::from(rows)));
            let next = next.map(|n| n as u32).collect();
            map.opened += 1;
            let number = map.superblocks.take(group);
            shared.open(SharedLog { group, opened: map.opened, number, next, wrote: Vec::new() });
        }
    }
    map.shared = Some(shared);
}

/// Returns the number of logs that had been opened when the oldest was, including itself.
fn oldest_log(map: &Hybrid) -> Option<u64> {
    let shared = map.shared.as_ref().and_then(Shared::oldest);
    map.logs.iter().map(|log| log.opened).chain(shared).min()
}

/// Writes until none of the present logs is left. Returns the number of pages written.
fn turn(harness: &mut FtlHarness<Hybrid>, logical: u32) -> u64 {
    let (opened, begin) = (harness.map.opened, harness.step);
    let most = MAX_PASSES * u64::from(logical);
    while harness.step == begin
        || (harness.step - begin < most
            && oldest_log(&harness.map).is_some_and(|oldest| oldest <= opened))
    {
        harness.write(64);
    }
    harness.step - begin
}
