//! Random work on random small drives under the checker: every mapping that erases, policy, buffer
//! and kind of die. Reads get what was written last, pages are programmed in order, maps and counts
//! agree, resources do one thing at a time, time never runs back, and nothing depends on how a
//! drive is advanced.

#![allow(clippy::print_stdout)]

mod random;

use random::{Draw, REQUESTS, random_drive, random_plain_drive, share};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const DRIVES: u64 = 40_000;
/// Of one kind, where each plane may be taken for a server.
const PLAIN: u64 = 40_000;

#[test]
fn random_work_on_random_drives_breaks_no_rule() {
    for_each_seed(share(DRIVES), random_drive);
}

/// An observed drive goes step by step, one that is not from end to end of what its planes do: the
/// same completions and counters, to the nanosecond.
#[test]
fn a_plane_that_does_one_thing_at_a_time_is_a_server() {
    let served = AtomicU64::new(0);
    for_each_seed(share(PLAIN), |d| {
        _ = served.fetch_add(u64::from(random_plain_drive(d)), Relaxed)
    });
    let served = served.into_inner();
    println!("planes of {served} were fast_path");
    assert!(served > share(PLAIN) / 4, "{served} of {}", share(PLAIN));
}

fn for_each_seed(count: u64, run: impl Fn(Draw<'_>) + Sync) {
    let run = &run;
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for seed in (thread..count).step_by(threads as usize) {
                    let work = AssertUnwindSafe(|| run(Draw::seeded(seed)));
                    let outcome = std::panic::catch_unwind(work);
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

/// What a fuzzer found: of the smallest of drives, all pages were those that the layer works with.
#[test]
fn a_drive_has_a_page_for_its_host() {
    let bytes = b"\x9dhccc\xff\xff\xff}m\xffan\xed\xed\xed\xedn\0\0\x003\0\0\0\0\0\0\0\0\0\0\
        _busy_ns\x9e\x9e\0\x9e\x9e\x9e\
        \xbe\xde\xfc\x9e\x9e\x9e\x9e\x9e\x9e\x9e\x9e\0\0\0\0l+\xffuw\x7f_";
    random_drive(Draw::Bytes(bytes));
}
