//! Drives written until they take no more, under the checker: what they say to the host, how evenly
//! their blocks are worn by then, and whether they took as much as their endurance makes them.

use assay_sim::{Accept, Checker, Drive, build};
use assay_spec::catalog::{DEVICES, find};
use assay_spec::decode::Source;
use assay_spec::device::{BackgroundSpec, DeviceKind, DeviceSpec, FtlSpec};
use assay_spec::device::{HybridSpec, LogOpens, Logs, UnitReads};
use assay_spec::seed::mix;
use assay_spec::{Bytes, Completion, Nanos, Op, Request};

const PAGE: u64 = 4096;
/// Four planes of 64 blocks of 32 pages, of which the host sees three quarters.
const FLASH: u64 = 4 * 64 * 32;
const PAGES: u64 = FLASH * 3 / 4;
const CYCLES: u32 = 60;
const EROFS: i32 = 30;

const WEAR_STATIC: &str = "\n[wear]\nlevelling = { value = \"static\", assumed = \"a test\" }\n\
                           spread = { value = 8, assumed = \"a test\" }\n";
const WEAR_NONE: &str = "\n[wear]\nlevelling = { value = \"none\", assumed = \"a test\" }\n";
const OVER_DRIVE: &str = "target = { value = \"drive\", assumed = \"a test\" }\n\
                          copy = { value = \"controller\", assumed = \"a test\" }\n";

/// A small drive with blocks that take `CYCLES` erases, within `spread` per cent, four spare in
/// each plane.
fn spec(spread: u32, collection: &str, wear: &str) -> DeviceSpec {
    let text = find(DEVICES, "reference-7").expect("in the catalogue").text;
    let text = text
        .replace("64223809536B", &format!("{}B", PAGES * PAGE))
        .replace("channels = { value = 8", "channels = { value = 2")
        .replace("dies_per_channel = { value = 4", "dies_per_channel = { value = 2")
        .replace("blocks_per_plane = { value = 2048", "blocks_per_plane = { value = 64")
        .replace("pages_per_block = { value = 256", "pages_per_block = { value = 32")
        .replace("[collection]\n", &format!("[collection]\n{collection}"));
    parse(&(text + wear), spread)
}

/// A small drive of superblocks with such logs.
fn hybrid(spread: u32, logs: Logs) -> DeviceSpec {
    let whole = spec(spread, "", "");
    let DeviceKind::Ssd(mut ssd) = whole.kind else { panic!("a flash drive") };
    ssd.ftl = FtlSpec::Hybrid(HybridSpec {
        width: None,
        log_superblocks: 3,
        logs,
        unit: Bytes(PAGE),
        unit_reads: UnitReads::Together,
        blocks_per_log: 1,
        log_opens: LogOpens::Empty,
        merge_together: 1,
        stream_after: 0,
    });
    DeviceSpec { kind: DeviceKind::Ssd(ssd), ..whole }
}

fn parse(text: &str, spread: u32) -> DeviceSpec {
    let text = format!(
        "{text}\n[endurance]\ncycles = {{ value = {CYCLES}, assumed = \"a test\" }}\n\
         spread = {{ value = {spread}, assumed = \"a test\" }}\n\
         spare_blocks = {{ value = 4, assumed = \"a test\" }}\n"
    );
    DeviceSpec::parse(Source { file: "small.toml", text: &text }).unwrap_or_else(|e| panic!("{e}"))
}

/// A drive, the time, and what it has answered.
struct Bed {
    drive: Box<dyn Drive + Send>,
    now: Nanos,
}

impl Bed {
    fn new(spec: &DeviceSpec) -> Bed {
        let DeviceKind::Ssd(ssd) = &spec.kind else { panic!("a flash drive") };
        let mut drive = build(spec, assay_sim::InitialState::New);
        drive.observe(Box::new(Checker::new(&ssd.nand, PAGES as u32)));
        Bed { drive, now: Nanos::ZERO }
    }

    /// The error of one request, 0 if there is none.
    fn ask(&mut self, op: Op, page: u64, pages: u64) -> i32 {
        let request = Request {
            tag: 0,
            op,
            offset: Bytes(page * PAGE),
            length: Bytes(pages * PAGE),
            fua: false,
        };
        assert_eq!(self.drive.submit(self.now, request), Accept::Accepted);
        let mut done: Vec<Completion> = Vec::new();
        self.now = self.drive.run(Nanos::NEVER, &mut done);
        done[0].error
    }

    fn told(&self, name: &str) -> f64 {
        let all = self.drive.counters();
        all.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("{name}: {all:?}")).1
    }

    /// Writes pages as `draw` says until the drive takes no more; returns how many it took.
    fn wear_out(&mut self, draw: impl Fn(u64) -> u64) -> u64 {
        assert_eq!(self.told("available_spare"), 100.0);
        for i in 0.. {
            match self.ask(Op::Write, draw(i), 1) {
                0 => assert!(i < u64::from(CYCLES) * FLASH, "it takes more than all its blocks do"),
                error => {
                    assert_eq!(error, EROFS);
                    return i;
                }
            }
        }
        unreachable!("a range without end")
    }
}

fn uniform(i: u64) -> u64 {
    mix(i) % PAGES
}

/// Nine writes of ten go to a tenth of the pages; the first of all go everywhere.
fn hot_and_cold(i: u64) -> u64 {
    match i {
        i if i < PAGES => i,
        i if mix(i).is_multiple_of(10) => mix(!i) % PAGES,
        i => mix(!i) % (PAGES / 10),
    }
}

/// Share of what the blocks take together that the drive was written, collection included.
fn used(bed: &Bed, host: u64) -> f64 {
    host as f64 * bed.told("wa") / (f64::from(CYCLES) * FLASH as f64)
}

#[test]
fn a_worn_drive_refuses_writes_and_keeps_what_it_has() {
    let drives = [
        ("page map", spec(5, "", "")),
        ("without levelling", spec(5, "", WEAR_NONE)),
        ("static levelling", spec(5, "", WEAR_STATIC)),
        ("over the drive", spec(5, OVER_DRIVE, "")),
        ("superblocks", hybrid(5, Logs::Own)),
        ("superblocks and logs that are switched", hybrid(5, Logs::Switched)),
        ("superblocks and logs that all share", hybrid(5, Logs::Shared)),
    ];
    for (what, spec) in drives {
        let mut bed = Bed::new(&spec);
        let taken = bed.wear_out(hot_and_cold);
        assert!(taken > PAGES, "{what}");
        bed.drive.check();
        assert_eq!([bed.told("read_only"), bed.told("available_spare")], [1.0, 0.0], "{what}");
        // Four in one plane at least.
        let bad = bed.told("bad_blocks");
        assert!((4.0..=16.0).contains(&bad), "{what}: {bad} bad blocks");
        // The checker sees that each read gets what was written last.
        (0..PAGES).for_each(|page| assert_eq!(bed.ask(Op::Read, page, 1), 0, "{what}"));
        assert_eq!(bed.ask(Op::Flush, 0, 0), 0, "{what}");
        assert_eq!(bed.ask(Op::Write, 7, 64), EROFS, "{what}");
        assert_eq!(bed.ask(Op::Trim, 7, 1), 0, "{what}");
        assert_eq!(bed.ask(Op::Write, 7, 1), EROFS, "{what}: for good");
    }
}

#[test]
fn a_worn_drive_that_is_left_alone_does_not_wear_on() {
    for collection in ["", OVER_DRIVE] {
        let mut spec = spec(5, collection, "");
        let DeviceKind::Ssd(ssd) = &mut spec.kind else { panic!("a flash drive") };
        let FtlSpec::Page(map) = &mut ssd.ftl else { panic!("it maps pages") };
        // More than there can be: it never has enough.
        map.collection.background =
            Some(BackgroundSpec { after: Nanos::from_millis(1), blocks: 60 });
        let mut bed = Bed::new(&spec);
        bed.wear_out(uniform);
        // What it had begun ends.
        bed.drive.advance(bed.now + Nanos::from_secs(1), &mut Vec::new());
        let before = [bed.told("erases"), bed.told("pages_programmed")];
        bed.drive.advance(bed.now + Nanos::from_secs(60), &mut Vec::new());
        assert_eq!([bed.told("erases"), bed.told("pages_programmed")], before);
    }
}

#[test]
fn even_work_uses_up_what_the_blocks_take() {
    // When five of 64 blocks of a plane have had it, which is 1.4 deviations below the mean, the
    // drive has; static levelling leaves blocks 8 of 60 erases behind.
    for spread in [0, 5, 10] {
        let least = 1.0 - 1.7 * f64::from(spread) / 100.0 - 8.0 / f64::from(CYCLES);
        for (what, draw) in [("in order", (|i| i % PAGES) as fn(u64) -> u64), ("random", uniform)] {
            let mut bed = Bed::new(&spec(spread, "", WEAR_STATIC));
            let taken = bed.wear_out(draw);
            let used = used(&bed, taken);
            assert!((least..=1.0).contains(&used), "{what}, {spread} %: {used:.3} of {least:.3}");
        }
    }
}

#[test]
fn levelling_keeps_its_promise_and_pays() {
    let apart = |bed: &Bed| bed.told("erases_max") - bed.told("erases_min");
    // Planes promise it each for itself: here there is one.
    let mut one_plane = spec(0, "", WEAR_STATIC);
    let DeviceKind::Ssd(ssd) = &mut one_plane.kind else { panic!("a flash drive") };
    (ssd.nand.channels, ssd.nand.dies_per_channel, ssd.nand.blocks_per_plane) = (1, 1, 256);
    let mut bed = Bed::new(&one_plane);
    for i in 0.. {
        assert_eq!(bed.ask(Op::Write, hot_and_cold(i), 1), 0);
        if i.is_multiple_of(500) {
            // Beside the block that is about to be emptied, one is open and one free.
            assert!(apart(&bed) <= 8.0 + 2.0, "{} after {i} pages", apart(&bed));
        }
        if bed.told("bad_blocks") > 0.0 {
            break;
        }
    }
    let worn_by = |wear| {
        let mut bed = Bed::new(&spec(0, "", wear));
        let taken = bed.wear_out(hot_and_cold);
        (taken, apart(&bed), bed.told("percentage_used"))
    };
    let ((with, near, used), (without, far, _)) = (worn_by(WEAR_STATIC), worn_by(WEAR_NONE));
    assert!(near < far && without < with, "{without} pages at {far}, {with} at {near}");
    assert!(used > 85.0, "{used} %");
}
