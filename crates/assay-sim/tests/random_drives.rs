//! Random work on random small drives under the checker: every mapping that erases, policy, buffer
//! and kind of die. Reads get what was written last, pages are programmed in order, maps and counts
//! agree, resources do one thing at a time, time never runs back, and nothing depends on how a
//! drive is advanced.

#![allow(clippy::print_stdout)]

mod random;

use random::{Draw, REQUESTS, random_drive, random_plain_drive};

const DRIVES: u64 = 40_000;
/// Of one kind: where each plane may be taken for a server, three in ten of them are.
const PLAIN: u64 = 40_000;

#[test]
fn random_work_on_random_drives_breaks_no_rule() {
    for_each_seed(DRIVES, random_drive);
}

/// An observed drive goes step by step, one that is not from end to end of what its planes do: the
/// same completions and counters, to the nanosecond.
#[test]
fn a_plane_that_does_one_thing_at_a_time_is_a_server() {
    for_each_seed(PLAIN, random_plain_drive);
}

fn for_each_seed(count: u64, run: fn(Draw<'_>)) {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for seed in (thread..count).step_by(threads as usize) {
                    let outcome = std::panic::catch_unwind(|| run(Draw::seeded(seed)));
                    assert!(outcome.is_ok(), "seed {seed}");
                }
            });
        }
    });
    println!("{count} drives, {REQUESTS} requests each");
}

#[test]
fn a_drive_can_be_drawn_from_any_bytes() {
    for length in 0..400 {
        let bytes: Vec<u8> = (0..length).map(|i: u32| (i * i + length) as u8).collect();
        random_drive(Draw::Bytes(&bytes));
    }
}
