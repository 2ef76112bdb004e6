//! Tests of a shingled disk: what Aghayev and Desnoyers found, and that no written data is lost.

use super::super::tests::{CACHED, DEPTH_8, MS, US, count, drive, op, request, serve};
use super::*;
use crate::drive::{Accept, Drive};
use crate::hdd::Hdd;
use assay_spec::Op;
use proptest::prelude::*;

/// A change that makes the small disk shingled: bands of 64 sectors, a log of 3000 sectors.
const SHINGLED: (&str, &str) = (
    "[cache]",
    r#"[shingled]
band = { value = "32KiB", assumed = "t" }
cache = { value = "1500KiB", assumed = "t" }
entry_overhead = { value = "1KiB", assumed = "t" }
map_entries = { value = 200, assumed = "t" }
streams = { value = 2, assumed = "t" }
stream_wait = { value = "100ms", assumed = "t" }
clean_after = { value = "200ms", assumed = "t" }
[cache]
write_extents = { value = 16, assumed = "t" }"#,
);
/// Changes to the smallest log and map that are allowed, so that they are always full.
const TIGHT: [(&str, &str); 2] = [("1500KiB", "66KiB"), ("200, assumed", "32, assumed")];
const BAND: u64 = 64;

fn shingled() -> Hdd {
    drive(&[CACHED, DEPTH_8, SHINGLED])
}

/// Returns a sector in the `n`th of different bands that are far apart.
fn bands(n: u64) -> u64 {
    (n * 149 % 397) * BAND + 20
}

/// Writes one sector into each of some bands far apart, one at a time; returns when the last ends.
fn scatter(disk: &mut Hdd, from: u64, bands_of: std::ops::Range<u64>) -> u64 {
    bands_of.fold(from, |at, n| serve(disk, at, Op::Write, bands(n), 1))
}

fn wait(disk: &mut Hdd, until: u64) -> u64 {
    disk.advance(Nanos(until), &mut Vec::new());
    until
}

#[test]
fn random_writes_are_fast_until_the_map_is_full_and_then_collapse() {
    let mut disk = shingled();
    let burst = scatter(&mut disk, 0, 0..150);
    assert_eq!((count(&disk, "bands_cleaned"), burst < 500 * MS), (0.0, true), "{burst}");
    let full = scatter(&mut disk, burst, 150..250);
    let later = scatter(&mut disk, full, 250..350);
    // Each new extent costs a cleaned band: two turns at least, one to read and one to write.
    assert!(later - full > 100 * 20 * MS, "{} ms for 100 writes", (later - full) / MS);
    assert!(later - full > 10 * (burst * 100 / 150), "no collapse");
    let extents = count(&disk, "persistent_extents");
    assert!((180.0..=200.0).contains(&extents), "{extents} of 200");
    let plain = scatter(&mut drive(&[CACHED, DEPTH_8]), 0, 250..350);
    assert!(later - full > 2 * plain, "worse than where tracks do not overlap");
}

#[test]
fn a_disk_left_alone_recovers() {
    let mut disk = shingled();
    let full = scatter(&mut disk, 0, 0..250);
    let slow = scatter(&mut disk, full, 250..270) - full;
    let rested = wait(&mut disk, full + slow + 60_000 * MS);
    assert_eq!(count(&disk, "persistent_bytes"), 0.0, "everything is at home");
    assert_eq!(count(&disk, "bands_cleaned"), 270.0, "once each");
    let fast = scatter(&mut disk, rested, 270..290) - rested;
    assert!(fast * 10 < slow, "{fast} against {slow}");
}

#[test]
fn cleaning_begins_when_the_disk_has_been_left_alone_for_so_long() {
    let mut disk = shingled();
    let end = serve(&mut disk, 0, Op::Write, 20, 4);
    wait(&mut disk, end + 200 * MS - 1);
    assert_eq!((count(&disk, "persistent_bytes"), count(&disk, "bands_cleaned")), (2048.0, 0.0));
    wait(&mut disk, end + 200 * MS);
    assert_eq!((count(&disk, "persistent_bytes"), count(&disk, "bands_cleaned")), (0.0, 1.0));
    // The drive writes four sectors to the log, and later the whole band.
    assert_eq!(count(&disk, "wa"), (4.0 + 64.0) / 4.0);
}

#[test]
fn a_stream_from_the_start_of_a_band_does_not_go_through_the_log() {
    let write = |disk: &mut Hdd| {
        let mut at = 0;
        for first in (0..40 * BAND).step_by(16) {
            at = serve(disk, at, Op::Write, 10 * BAND + first, 16);
        }
        serve(disk, at, Op::Flush, 0, 0)
    };
    let mut disk = shingled();
    let end = write(&mut disk);
    let told = ["bands_streamed", "bands_cleaned", "persistent_bytes", "wa"];
    assert_eq!(told.map(|name| count(&disk, name)), [40.0, 0.0, 0.0, 1.0]);
    let plain = write(&mut drive(&[CACHED, DEPTH_8]));
    assert!(end < plain * 11 / 10, "{end} against {plain}");
}

#[test]
fn a_stream_may_begin_anywhere_and_ends_when_it_is_not_continued() {
    let mut disk = shingled();
    let mut at = 0;
    // The writes go from the middle of band 3, across borders, to the middle of band 6.
    for n in 0..30 {
        at = serve(&mut disk, at, Op::Write, 3 * BAND + 37 + n * 7, 7);
    }
    let (first, last) = (BAND - 37, 37 + 210 - 3 * BAND);
    let arrived = disk.link.transfer(Nanos::ZERO, 0).1.0;
    wait(&mut disk, arrived + 100 * MS - 1);
    assert_eq!(count(&disk, "bands_streamed"), 2.0);
    assert_eq!(count(&disk, "persistent_bytes"), (first * 512) as f64, "the rest is expected");
    wait(&mut disk, arrived + 100 * MS);
    assert_eq!(count(&disk, "persistent_bytes"), ((first + last) * 512) as f64);
    assert!(at < arrived + 100 * MS);
}

#[test]
fn a_flush_does_not_wait_for_the_rest_of_a_band() {
    let mut disk = shingled();
    let mut at = 0;
    for first in (0..4 * BAND).step_by(16) {
        at = serve(&mut disk, at, Op::Write, first, 16);
        at = serve(&mut disk, at, Op::Flush, 0, 0);
    }
    assert_eq!((count(&disk, "bands_streamed"), count(&disk, "persistent_extents")), (0.0, 16.0));
}

#[test]
fn streams_are_told_from_each_other() {
    let mut disk = shingled();
    let mut at = 0;
    for first in (0..2 * BAND).step_by(16) {
        for stream in [0, 100 * BAND] {
            at = serve(&mut disk, at, Op::Write, stream + first, 16);
        }
    }
    serve(&mut disk, at, Op::Flush, 0, 0);
    assert_eq!((count(&disk, "bands_streamed"), count(&disk, "persistent_bytes")), (4.0, 0.0));
}

#[test]
fn what_was_overwritten_at_random_is_slow_to_read_until_it_is_cleaned() {
    let read = |disk: &mut Hdd, from: u64| {
        let firsts = (0..16 * BAND).step_by(32);
        firsts.fold(from, |at, first| serve(disk, at, Op::Read, first, 32)) - from
    };
    let mut disk = shingled();
    let whole = read(&mut disk, 0);
    let mut at = 1000 * MS;
    for n in 0..16 {
        at = serve(&mut disk, at, Op::Write, (n * 7 % 16) * BAND + 30, 1);
    }
    at = serve(&mut disk, at, Op::Flush, 0, 0);
    let fragmented = read(&mut disk, at);
    assert!(fragmented > 2 * whole, "{fragmented} against {whole}");
    let cleaned = wait(&mut disk, at + 20_000 * MS);
    assert_eq!(count(&disk, "persistent_bytes"), 0.0);
    let again = read(&mut disk, cleaned);
    assert!(again < whole + 20 * MS, "{again} against {whole}");
}

#[test]
fn with_the_write_cache_off_a_write_ends_in_the_log() {
    let mut disk = drive(&[SHINGLED]);
    let log = disk.media.arm.geometry.place(disk.media.goal(20_000));
    let end = serve(&mut disk, 0, Op::Write, 20_000, 4);
    assert_eq!(count(&disk, "persistent_bytes"), 2048.0);
    // A track of the inner zone has 50 sectors: four of them take 800 us.
    assert_eq!(end % (10 * MS), (u64::from(log.angle) + 800 * US) % (10 * MS));
    assert!(log.cylinder > disk.media.arm.geometry.place(20_000).cylinder, "further in");
    // The next entry begins two sectors (400 us) later. The first sector comes over the link in 10
    // us, after 100 us for the command: it must be there when the head is, or it costs a turn.
    for (late, turns) in [(0, 0), (1, 1)] {
        let mut disk = drive(&[SHINGLED]);
        let end = serve(&mut disk, 0, Op::Write, 20_000, 4);
        let at = end + 400 * US - 110 * US + late;
        assert_eq!(serve(&mut disk, at, Op::Write, 0, 8), end + turns * 10 * MS + 2000 * US);
    }
}

/// A log entry is not written before the last rewrite of its data has come over the link.
#[test]
fn what_is_written_again_while_it_waits_has_come_when_it_is_written() {
    let mut disk = drive(&[CACHED, DEPTH_8, SHINGLED]);
    let submit = |disk: &mut Hdd, at: u64, first, sectors, tag| {
        disk.advance(Nanos(at), &mut Vec::new());
        assert_eq!(
            disk.submit(Nanos(at), request(Op::Write, first, sectors, tag)),
            Accept::Accepted
        );
    };
    submit(&mut disk, 0, 20_000, 4, 0);
    disk.advance(Nanos(MS), &mut Vec::new());
    let free = disk.media.arm.free.0;
    // The link is busy when the sectors are written again; the next entry begins 400 us after the
    // end of the one before.
    submit(&mut disk, free - 1150 * US, 20, 40, 1);
    submit(&mut disk, free - 150 * US, 10_100, 60, 2);
    submit(&mut disk, free - 149 * US, 20, 4, 3);
    assert!(disk.link.transfer(Nanos::ZERO, 0).1.0 > free + 400 * US);
    disk.advance(Nanos(free + MS), &mut Vec::new());
    assert_eq!(disk.media.arm.free.0, free + 400 * US + 10 * MS + 8 * MS, "a turn later");
}

/// The place of a sector's newest data: the cache, the log, or its band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    Waits,
    Logged,
    Home,
}

/// A check that sectors leave the cache only for the log or when a band is written, and the log
/// only when a band is written.
struct Audit {
    lies: Vec<Where>,
    bands: (f64, f64),
}

impl Audit {
    fn look(disk: &Hdd) -> Audit {
        let waits = |s| disk.media.cache.dirty_in(s, s + 1).is_some();
        let lies = |s| match (waits(s), disk.media.locate(s) != s) {
            (true, _) => Where::Waits,
            (false, true) => Where::Logged,
            (false, false) => Where::Home,
        };
        let bands = (count(disk, "bands_streamed"), count(disk, "bands_cleaned"));
        Audit { lies: (0..UNIVERSE).map(lies).collect(), bands }
    }

    fn check(&mut self, disk: &Hdd) {
        let now = Audit::look(disk);
        for (sector, (was, is)) in self.lies.iter().zip(&now.lies).enumerate() {
            let lost = *was != Where::Home && *is == Where::Home && self.bands == now.bands;
            assert!(!lost, "sector {sector} was {was:?} and is {is:?}");
        }
        *self = now;
        let shingled = disk.media.shingled.as_ref().unwrap();
        shingled.log.check();
        disk.media.cache.check();
        for stream in &shingled.streams {
            let waits = |s| disk.media.cache.dirty_in(s, s + 1).is_some();
            assert!(stream.first.is_multiple_of(BAND) && stream.first <= stream.next);
            assert!((stream.first..stream.next).all(waits), "{stream:?} has lost something");
        }
    }
}

const UNIVERSE: u64 = 10 * BAND;

type Arrival = (u64, u8, u64, u64);

/// Generates random and sequential writes, some across borders, with reads and flushes between.
fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let at_random = (0..6 * MS, 0..8_u8, 0..UNIVERSE, 1..70_u64).prop_map(|one| vec![one]);
    let stream = (0..300 * US, 0..UNIVERSE, 4..40_u64, 2..20_u64)
        .prop_map(|(gap, from, n, size)| (0..n).map(|i| (gap, 4, from + i * size, size)).collect());
    let some = prop_oneof![6 => at_random, 1 => stream];
    proptest::collection::vec(some, 1..40).prop_map(|all: Vec<Vec<Arrival>>| all.concat())
}

proptest! {
    /// At every step, the newest data of every sector is in the cache, in the log or in its band;
    /// in the end, it is in its band.
    #[test]
    fn what_is_written_is_never_lost(arrivals in arrivals(), tight: bool, depth_8: bool) {
        let mut changes = vec![CACHED, SHINGLED];
        changes.extend(tight.then_some(TIGHT).into_iter().flatten());
        changes.extend(depth_8.then_some(DEPTH_8));
        let mut disk = drive(&changes);
        let (mut now, mut audit) = (Nanos::ZERO, Audit::look(&disk));
        for (gap, kind, first, sectors) in arrivals {
            now += Nanos(gap);
            let op = op(kind.saturating_sub(2));
            let first = first.min(UNIVERSE - 1);
            let asked = request(op, first, sectors.min(UNIVERSE - first), 0);
            loop {
                while let Some(at) = disk.next_inside().filter(|at| *at <= now) {
                    disk.act(at);
                    audit.check(&disk);
                }
                disk.advance(now, &mut Vec::new());
                match disk.submit(now, asked) {
                    Accept::Accepted => break,
                    Accept::QueueFull => now = disk.next_event().expect("one is in flight"),
                }
            }
            if disk.controller.depth > 1 {
                audit.check(&disk);
            }
            audit = Audit::look(&disk);
        }
        while let Some(at) = disk.next_inside() {
            disk.act(at);
            audit.check(&disk);
        }
        prop_assert!(disk.media.cache.dirty.is_empty());
        prop_assert_eq!(count(&disk, "persistent_bytes"), 0.0);
    }
}
