//! Random small drives and random work for them, drawn from a seed or from a fuzzer's bytes.
//!
//! The property test `random_drives` and the fuzz target `drives` share this: what one finds can be
//! replayed by the other.

#![allow(dead_code)]

use assay_sim::{
    Accept, Activity, Cause, Checker, Drive, FlashCommand, InitialState, Observed, Observer,
    RandomWrites, Stall, Work, build, can_be_steady,
};
use assay_spec::device::ProgramTime;
use assay_spec::device::*;
use assay_spec::seed::mix;
use assay_spec::units::{Microwatts, Picojoules};
use assay_spec::{Bytes, Completion, Nanos, Op, Rate, Request};

/// Requests of a drive, at most.
pub const REQUESTS: usize = 220;

/// Returns how many of `all` drives a test draws: all if `ASSAY_FULL` is set, as in `.ci/full`,
/// else a quarter.
pub fn share(all: u64) -> u64 {
    if std::env::var_os("ASSAY_FULL").is_some() { all } else { all / 4 }
}

/// Numbers drawn from a seed, or from bytes while there are any.
pub enum Draw<'a> {
    /// As many as are wanted.
    Seed(u64),
    /// Each number takes as many bytes as it needs, so that a fuzzer can change one decision
    /// without moving the others. When they are used up, every number is 0.
    Bytes(&'a [u8]),
}

impl Draw<'_> {
    /// Numbers from `seed`.
    pub fn seeded(seed: u64) -> Draw<'static> {
        Draw::Seed(mix(seed))
    }

    /// Whether nothing is left to draw from.
    fn is_empty(&self) -> bool {
        matches!(self, Draw::Bytes([]))
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        match self {
            Draw::Seed(state) => {
                *state = mix(*state);
                *state % n
            }
            Draw::Bytes(left) => {
                let wanted = (64 - (n - 1).leading_zeros()).div_ceil(8) as usize;
                let (taken, rest) = left.split_at(wanted.min(left.len()));
                *left = rest;
                taken.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)) % n
            }
        }
    }

    /// One of `choices`.
    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

fn nand(d: &mut Draw<'_>) -> NandSpec {
    let program = Nanos(1 + d.below(900_000));
    let pages_per_program = d.of(&[1, 1, 1, 2, 3, 6]);
    let slc = SlcSpec {
        bits: if pages_per_program == 2 { 2 } else { 3 },
        read: Nanos(1 + d.below(60_000)),
        program: Nanos(1 + d.below(900_000)),
    };
    let slc = d.of(&[None, Some(slc)]).filter(|_| pages_per_program > 1);
    let suspend = SuspendSpec {
        suspend: Nanos(d.below(100_000)),
        resume: Nanos(d.below(50_000)),
        max_admissions: 1 + d.below(6) as u32,
    };
    NandSpec {
        channels: d.of(&[1, 2, 3]),
        dies_per_channel: d.of(&[1, 2]),
        planes_per_die: d.of(&[1, 2, 4]),
        plane_mode: d.of(&[PlaneMode::Independent, PlaneMode::MultiPlane, PlaneMode::Serial]),
        blocks_per_plane: 8 + d.below(8) as u32,
        pages_per_block: if pages_per_program > 1 {
            pages_per_program * d.of(&[1, 2, 5])
        } else {
            d.of(&[2, 4, 7, 16])
        },
        page: d.of(&[Bytes(512), Bytes(4096)]),
        read: Nanos(1 + d.below(60_000)),
        program: ProgramTime { fast: program, slow: d.of(&[program, program * 3]) },
        erase: Nanos(1 + d.below(3_000_000)),
        bus: Rate(10_000_000 + d.below(200_000_000)),
        cache_register: d.below(2) == 0,
        pages_per_program,
        slc,
        suspend: d.of(&[None, Some(suspend)]),
    }
}

fn page_map(d: &mut Draw<'_>, nand: &NandSpec) -> PageMapSpec {
    let victims = [
        VictimSpec::Greedy,
        VictimSpec::Fifo,
        VictimSpec::CostBenefit,
        VictimSpec::RandomGreedy { choices: 3 },
    ];
    let every = Bytes(4096 * (1 + d.below(30)));
    let save_map_every = d.of(&[None, None, Some(every)]);
    // Entries of everything, or of a part.
    let cache = Bytes(8 << d.below(10));
    let map_cache = d.of(&[None, Some(cache)]).filter(|_| save_map_every.is_none());
    let background = BackgroundSpec { after: Nanos(d.below(2_000_000)), blocks: 5 };
    let allocation = d.of(&[Allocation::Dynamic, Allocation::Static]);
    let copy = d.of(&[CopyPath::CopyBack, CopyPath::Controller]);
    let copy = if nand.pages_per_program > 1 { CopyPath::Controller } else { copy };
    let slc = nand.slc.filter(|_| d.below(4) > 0).map(|slc| {
        // Whole blocks, of every plane.
        let block = nand.page * u64::from(nand.pages_per_block / slc.bits * nand.planes());
        let most = 1 + d.below(4);
        let fold_after = Nanos(d.below(2_000_000));
        SlcCacheSpec { size: block * most, fixed: block * d.below(most.min(3)), fold_after }
    });
    let controller = copy == CopyPath::Controller && slc.is_none();
    let may_leave = allocation == Allocation::Dynamic && controller;
    PageMapSpec {
        allocation,
        collection: CollectionSpec {
            victim: d.of(&victims),
            reserve_blocks: 2 + d.below(3) as u32,
            pace: d.of(&[Pace::Spread, Pace::WholeBlock]),
            frontiers: match nand.pages_per_program {
                1 => d.of(&[Frontiers::One, Frontiers::Two]),
                _ => Frontiers::Two,
            },
            copy,
            over_drive: may_leave && d.below(4) > 0,
            erase: d.of(&[EraseTime::AtOnce, EraseTime::WhenIdle]),
            background: d.of(&[None, Some(background)]),
        },
        wear: d.of(&[WearSpec::None, WearSpec::Dynamic, WearSpec::Static { spread: 3 }]),
        save_map_every,
        map_cache,
        power_fail_safe: d.below(2) == 0,
        slc,
    }
}

fn dram(d: &mut Draw<'_>, nand: &NandSpec) -> BufferSpec {
    let page = nand.page;
    // Programs of several pages want room for all of them but one, of every plane.
    let least = if nand.pages_per_program > 1 { nand.pages_per_program * nand.planes() } else { 1 };
    let slots = u64::from(least) + d.below(40);
    let high = 1 + d.below(slots);
    let idle = Nanos(d.below(3_000_000));
    let lazy =
        LazySpec { high: page * high, low: page * d.below(high), idle: d.of(&[None, Some(idle)]) };
    let flush = d.of(&[FlushSpec::AtOnce, FlushSpec::Lazy(lazy)]);
    let reads = d.of(&[ReadBuffered::FromBuffer, ReadBuffered::AfterWriteBack]);
    BufferSpec::Dram {
        size: page * slots,
        write_back: d.below(4) > 0,
        // A buffer that keeps pages serves reads.
        reads: match flush {
            FlushSpec::AtOnce if nand.pages_per_program == 1 => reads,
            _ => ReadBuffered::FromBuffer,
        },
        flush,
        protected: d.below(4) == 0,
    }
}

/// Blocks that soon go bad, as long as there are `most` left of a plane.
fn endurance(d: &mut Draw<'_>, most: u32) -> Option<EnduranceSpec> {
    let spec = EnduranceSpec {
        cycles: 1 + d.below(6) as u32,
        spread: d.below(16) as u32,
        spare_blocks: d.below(3) as u32,
        used: 0,
    };
    let used = if spec.spread < 8 { d.of(&[0, 0, 50]) } else { 0 };
    let spec = EnduranceSpec { used, ..spec };
    d.of(&[None, None, Some(spec)]).filter(|spec| spec.spare_blocks <= most)
}

/// Cells with so many wrong bits that some reads are tried again, and some given up.
fn ecc(d: &mut Draw<'_>, nand: &NandSpec, wears: bool) -> Option<EccSpec> {
    let bits = nand.page.0 as f64 * 8.0;
    let fresh = d.below(8) as f64 / bits;
    let spec = EccSpec {
        codeword: nand.page,
        corrects: 1 + d.below(6) as u32,
        fresh,
        worn: if wears { fresh + d.below(20) as f64 / bits } else { fresh },
        growth: d.of(&[0.5, 1.0, 2.0]),
        retry: Nanos(d.below(200_000)),
        gain: d.of(&[1.0, 1.5, 3.0]),
        retries: d.below(5) as u32,
    };
    d.of(&[None, None, Some(spec)])
}

/// A drive that is soon warm, and soon cool again.
fn heat(d: &mut Draw<'_>) -> (Option<PowerSpec>, Option<ThermalSpec>) {
    let power = PowerSpec {
        idle: Microwatts(d.below(1_000_000)),
        read: Picojoules(d.below(1 << 26)),
        program: Picojoules(d.below(1 << 28)),
        erase: Picojoules(d.below(1 << 30)),
    };
    let idle = 25.0 + 10.0 * power.idle.as_f64();
    let thermal = ThermalSpec {
        ambient: 25.0,
        resistance: 10.0,
        capacity: 1e-3 * (1 + d.below(100)) as f64,
        limit: idle + 0.5 + d.below(40) as f64 / 10.0,
        resume: idle + 0.3,
        power: Microwatts(power.idle.0 + 1_000 + d.below(2_000_000)),
    };
    d.of(&[(None, None), (None, None), (Some(power), None), (Some(power), Some(thermal))])
}

/// Pages that the layer works with beside the host's, at most.
fn reserved(nand: &NandSpec, ftl: &FtlSpec) -> u32 {
    let stripe = nand.planes() * nand.pages_per_block;
    match *ftl {
        FtlSpec::Page(map) => {
            let saved = map.map_pages(nand.page, nand.pages()) as u32;
            let record = match map.power_fail_safe {
                true => nand.pages() as u32 / 4096 + 2,
                false => 0,
            };
            let fixed = map.slc.map_or(0, |slc| SlcCacheSpec::blocks(slc.fixed, nand));
            stripe * (map.collection.reserve_blocks.max(3) + map.safety_blocks(nand) + fixed)
                + nand.planes()
                + saved
                + record
        }
        FtlSpec::Hybrid(hybrid) => stripe * (hybrid.log_superblocks * hybrid.blocks_per_log + 3),
        FtlSpec::InPlace => 0,
    }
}

/// Superblocks, with logs of some kind or, as in block mapping, without any.
fn hybrid(d: &mut Draw<'_>, nand: &NandSpec, is_block: bool) -> HybridSpec {
    let log_superblocks = if is_block { 0 } else { 1 + d.below(3) as u32 };
    // What the logs take must leave room for data.
    let two = nand.blocks_per_plane > 2 * log_superblocks + 4;
    let hybrid = HybridSpec {
        width: d.of(&[None, Some(1)]),
        unit_reads: d.of(&[UnitReads::Together, UnitReads::OneByOne]),
        blocks_per_log: if two { d.of(&[1, 2]) } else { 1 },
        log_opens: d.of(&[LogOpens::Empty, LogOpens::InPlace]),
        merge_together: d.of(&[1, 2]),
        stream_after: d.of(&[0, 1, 5]),
        log_superblocks,
        logs: d.of(&[Logs::Own, Logs::Own, Logs::Switched, Logs::Shared]),
        unit: nand.page * if nand.pages_per_block.is_multiple_of(2) { d.of(&[1, 2]) } else { 1 },
    };
    match hybrid.logs {
        _ if log_superblocks == 0 => HybridSpec { logs: Logs::Own, ..hybrid },
        Logs::Own => hybrid,
        _ => HybridSpec {
            blocks_per_log: 1,
            log_opens: LogOpens::Empty,
            merge_together: 1,
            stream_after: 0,
            unit: nand.page,
            ..hybrid
        },
    }
}

/// A drive as full as its declaration may make it, or emptier.
pub fn device(d: &mut Draw<'_>) -> DeviceSpec {
    let nand = nand(d);
    device_of(d, nand)
}

/// One whose planes do one thing at a time, and wait for nothing else; and what its times, and
/// those of its requests, are multiples of. With a coarse one much happens at the same time, and
/// some at once.
fn plain_device(d: &mut Draw<'_>) -> (DeviceSpec, u64) {
    let drawn = nand(d);
    let grain = d.of(&[1, 1, 1000, 5000, 20_000]);
    let nand = NandSpec {
        planes_per_die: 1,
        dies_per_channel: drawn.planes() / drawn.channels,
        pages_per_block: d.of(&[2, 4, 7, 16]),
        cache_register: false,
        pages_per_program: 1,
        slc: None,
        suspend: None,
        read: coarse(drawn.read, grain),
        program: ProgramTime {
            fast: coarse(drawn.program.fast, grain),
            slow: coarse(drawn.program.slow, grain),
        },
        erase: coarse(drawn.erase, grain),
        bus: coarse_rate(drawn.bus, drawn.page, grain),
        ..drawn
    };
    let mut spec = device_of(d, nand);
    spec.link.command = coarse(spec.link.command, grain);
    spec.link.setup = coarse(spec.link.setup, grain);
    spec.link.activate = coarse(spec.link.activate, grain);
    spec.link.rate = coarse_rate(spec.link.rate, drawn.page, grain);
    let DeviceKind::Ssd(ssd) = &mut spec.kind else { return (spec, grain) };
    if let FtlSpec::Page(map) = &mut ssd.ftl {
        map.collection.copy = CopyPath::CopyBack;
        map.collection.over_drive = false;
        map.collection.erase = EraseTime::AtOnce;
        map.power_fail_safe = false;
        map.map_cache = None;
    }
    if matches!(ssd.buffer, BufferSpec::Registers) {
        ssd.buffer = dram(d, &ssd.nand);
    }
    if let BufferSpec::Dram { write_back, .. } = &mut ssd.buffer {
        *write_back = true;
    }
    ssd.ecc = None;
    (spec, grain)
}

/// The multiple of `grain` that is not after `time`.
fn coarse(time: Nanos, grain: u64) -> Nanos {
    Nanos(time.0 - time.0 % grain)
}

/// A rate at which a page takes a multiple of `grain`.
fn coarse_rate(rate: Rate, page: Bytes, grain: u64) -> Rate {
    let time = page.time_at(rate).0.div_ceil(grain) * grain;
    Rate(page.0 * 1_000_000_000 / time)
}

fn device_of(d: &mut Draw<'_>, mut nand: NandSpec) -> DeviceSpec {
    let stripe = nand.planes() * nand.pages_per_block;
    let ftl = match d.below(5) {
        mapping if mapping < 3 || nand.pages_per_program > 1 => FtlSpec::Page(page_map(d, &nand)),
        mapping => FtlSpec::Hybrid(hybrid(d, &nand, mapping == 3)),
    };
    if let FtlSpec::Page(map) = &ftl {
        nand.blocks_per_plane += map.safety_blocks(&nand);
    }
    let reserved = reserved(&nand, &ftl);
    let endurance = endurance(d, nand.blocks_per_plane.saturating_sub(reserved / stripe + 3));
    let spare = stripe * endurance.map_or(0, |e| e.spare_blocks);
    // A drive has at least a page for its host.
    while nand.pages() as u32 <= self::reserved(&nand, &ftl) + spare {
        nand.blocks_per_plane += 1;
    }
    let most = nand.pages() as u32 - self::reserved(&nand, &ftl) - spare;
    let pages = (most - d.of(&[0, 1, most / 9, most / 3])).max(1);
    let dram = dram(d, &nand);
    let has_map_cache = matches!(ftl, FtlSpec::Page(map) if map.map_cache.is_some());
    let ecc = ecc(d, &nand, endurance.is_some());
    let (power, thermal) = heat(d);
    let ahead = ReadAheadSpec {
        trigger: 2,
        window: nand.page * (1 + d.below(20)),
        reach: d.of(&[Reach::Logical, Reach::Contiguous]),
        streams: d.of(&[1, 1, 2, 3]),
        direction: d.of(&[Direction::Forward, Direction::Both]),
    };
    DeviceSpec {
        name: "random".into(),
        aliases: Vec::new(),
        title: String::new(),
        capacity: nand.page * u64::from(pages),
        link: LinkSpec {
            rate: Rate(50_000_000 + d.below(1_000_000_000)),
            queue_depth: d.of(&[1, 4, 32]),
            command: Nanos(d.below(50_000)),
            setup: d.of(&[Nanos::ZERO, Nanos(3000)]),
            activate: d.of(&[Nanos::ZERO, Nanos::ZERO, Nanos(800)]),
        },
        kind: DeviceKind::Ssd(Box::new(SsdSpec {
            nand,
            ftl,
            buffer: if nand.pages_per_program > 1 || has_map_cache {
                dram
            } else {
                d.of(&[BufferSpec::Registers, dram])
            },
            readahead: d.of(&[None, Some(ahead)]),
            endurance,
            power,
            thermal,
            ecc,
        })),
        facts: Vec::new(),
    }
}

/// (gap after the last submission, request) for each.
fn requests(d: &mut Draw<'_>, spec: &DeviceSpec) -> Vec<(Nanos, Request)> {
    let sectors = spec.capacity.0 / 512;
    let hot = d.below(sectors) + 1;
    let mut next = 0;
    let most = d.of(&[1, 8, 64]);
    let gaps = d.of(&[0, 100_000, 20_000_000]);
    let back = d.below(3) == 0;
    let draw = |index| {
        if index > 0 && d.is_empty() {
            return None;
        }
        let op = d.of(&[Op::Read, Op::Read, Op::Write, Op::Write, Op::Write, Op::Trim, Op::Flush]);
        let op = if d.below(4) > 0 && matches!(op, Op::Trim | Op::Flush) { Op::Write } else { op };
        let choice = d.below(4);
        let start = match choice {
            0 => next,
            1 => d.below(hot),
            _ => d.below(sectors),
        };
        let length = (1 + d.below(most)).min(sectors - start);
        // Some go down: each ends where the one before it begins.
        let start = if back && choice == 0 { start - start.min(length) } else { start };
        next = if back { start } else { (start + length) % sectors };
        let (offset, length) = match op {
            Op::Flush => (Bytes::ZERO, Bytes::ZERO),
            _ => (Bytes(start * 512), Bytes(length * 512)),
        };
        let fua = op == Op::Write && d.below(6) == 0;
        Some((Nanos(d.below(gaps + 1)), Request { tag: 0, op, offset, length, fua }))
    };
    (0..REQUESTS).map_while(draw).collect()
}

/// Submits each request at its time, or when the queue has room; `stride` is how far the drive is
/// advanced at a time, zero for from event to event.
fn run(
    drive: &mut dyn Drive,
    requests: &[(Nanos, Request)],
    stride: Nanos,
    check_every: usize,
) -> Vec<Completion> {
    let mut done: Vec<Completion> = Vec::new();
    let mut now = Nanos::ZERO;
    let advance = |drive: &mut dyn Drive, to: Nanos, done: &mut Vec<Completion>| {
        let mut at = drive.next_event();
        while let Some(next) = at.filter(|at| *at <= to) {
            drive.advance(if stride == Nanos::ZERO { next } else { to.min(next + stride) }, done);
            at = drive.next_event();
        }
        drive.advance(to, done);
    };
    for (index, (gap, request)) in requests.iter().enumerate() {
        now += *gap;
        advance(drive, now, &mut done);
        let request = Request { tag: index as u32, ..*request };
        while drive.submit(now, request) == Accept::QueueFull {
            let before = done.len();
            while done.len() == before {
                let next = drive.next_event();
                now = next.unwrap_or_else(|| panic!("{request:?} finds a full queue for ever"));
                drive.advance(now, &mut done);
            }
        }
        if index % check_every == 0 {
            drive.check();
        }
    }
    while done.len() < requests.len() {
        let at = drive.next_event().expect("everything ends");
        drive.advance(at, &mut done);
    }
    while let Some(at) = drive.next_event() {
        drive.advance(at, &mut done);
        now = at;
    }
    drive.check();
    check_told(drive, now);
    let in_order = done.windows(2).all(|pair| pair[0].at <= pair[1].at);
    assert!(in_order, "completions come in the order of time");
    let mut tags: Vec<u32> = done.iter().map(|c| c.tag).collect();
    tags.sort_unstable();
    assert!(tags.iter().copied().eq(0..requests.len() as u32), "every request ends once");
    done
}

/// A drive that has nothing more to do: nobody waits any longer, and the bins hold all blocks.
fn check_told(drive: &dyn Drive, now: Nanos) {
    let later = now + Nanos::from_secs(3);
    assert_eq!(drive.snapshots(now), drive.snapshots(later), "a wait has not ended");
    let snapshots = drive.snapshots(now);
    let [Some(snapshot)] = snapshots[..] else { panic!("one drive: {snapshots:?}") };
    let counters = drive.counters();
    let told = |name: &str| counters.iter().find(|(n, _)| n == name).expect("it is told").1;
    assert_eq!(told("free_blocks"), snapshot.free_blocks as f64);
    for ((_, word), time) in Stall::ALL.iter().zip(snapshot.stalled) {
        assert_eq!(told(&format!("stall_{word}_ns")), time.0 as f64);
        assert!(time < later * 10_000, "{word} has waited {time}");
    }
    let bins = counters.iter().filter(|(name, _)| name.starts_with("erases_bin_"));
    let bins = bins.filter(|(name, _)| !name.ends_with("width")).map(|(_, blocks)| *blocks);
    assert!(bins.sum::<f64>() >= snapshot.free_blocks as f64);
}

/// A checker that knows, too, what the drive has of each page that its flash has not: a host that
/// asks for it afterwards does not get it from the flash.
struct Witness {
    checker: Checker,
    page: Bytes,
    requests: Vec<Request>,
    /// By page: how often it has come as a whole, and how often it had when it was last programmed.
    come: Vec<u64>,
    programmed: Vec<u64>,
    /// Request and page of reads under way, and how often the page had come before.
    reads: Vec<(u32, u64, u64)>,
}

impl Witness {
    fn new(checker: Checker, spec: &DeviceSpec, page: Bytes, requests: Vec<Request>) -> Witness {
        let none = vec![0; (spec.capacity.0 / page.0) as usize];
        let (come, programmed, reads) = (none.clone(), none, Vec::new());
        Witness { checker, page, requests, come, programmed, reads }
    }
}

impl Observer for Witness {
    fn observe(&mut self, observed: Observed) {
        match &observed {
            Observed::Command(cause, command) => self.command(*cause, command),
            Observed::Work(work) => self.work(work),
            _ => {}
        }
        self.checker.observe(observed);
    }
}

impl Witness {
    fn command(&mut self, cause: Cause, command: &FlashCommand) {
        match *command {
            FlashCommand::Read { subject: Some(page), .. } if cause == Cause::Host => {
                let readers = self.reads.iter().filter(|(_, of, _)| *of == u64::from(page));
                let wanted = readers.map(|(.., before)| *before).min().unwrap_or(0);
                let there = self.programmed[page as usize];
                assert!(there >= wanted, "an old page {page} is read for the host");
            }
            FlashCommand::Program { subject: Some(page), .. } => {
                if let Some(programmed) = self.programmed.get_mut(page as usize) {
                    *programmed = self.come[page as usize];
                }
            }
            _ => {}
        }
    }

    fn work(&mut self, work: &Work) {
        let (Some(tag), Some(first)) = (work.tag, work.first) else { return };
        let request = self.requests[tag as usize];
        match work.activity {
            Activity::Command if request.op == Op::Read => {
                let pages = first..request.end().0.div_ceil(self.page.0);
                let come = |page: u64| (tag, page, self.come[page as usize]);
                self.reads.extend(pages.map(come));
            }
            Activity::ToHost => self.reads.retain(|(t, page, _)| (*t, *page) != (tag, first)),
            Activity::FromHost => {
                let start = self.page * first;
                let is_whole = request.offset <= start && start + self.page <= request.end();
                self.come[first as usize] += u64::from(is_whole);
            }
            _ => {}
        }
    }
}

/// Whether what was flushed is on the flash at any time. Logs are merged in an order that sees to
/// it.
pub fn is_safe(ssd: &SsdSpec) -> bool {
    match ssd.ftl {
        FtlSpec::Page(map) => map.power_fail_safe,
        FtlSpec::Hybrid(_) | FtlSpec::InPlace => true,
    }
}

/// Draws a drive and its work, and runs it under the checker, and again unobserved in other steps:
/// both must give the same completions.
pub fn random_drive(mut d: Draw<'_>) {
    let spec = device(&mut d);
    run_both(d, &spec, 1);
}

/// The same of a drive of which each plane is a server as long as nobody looks; whether it is.
pub fn random_plain_drive(mut d: Draw<'_>) -> bool {
    let (spec, grain) = plain_device(&mut d);
    run_both(d, &spec, grain);
    let mut observed = build(&spec, InitialState::New);
    observed.observe(Box::new(Blind));
    steps(&mut *observed) > steps(&mut *build(&spec, InitialState::New))
}

/// Sees nothing.
struct Blind;

impl Observer for Blind {
    fn observe(&mut self, _observed: Observed) {}
}

/// How many events it takes to bring a page to the cells: one less of a plane that is a server.
fn steps(drive: &mut dyn Drive) -> usize {
    let request = |op, length| Request { tag: 0, op, offset: Bytes(0), length, fua: false };
    let next = |drive: &mut dyn Drive| {
        let at = drive.next_event()?;
        drive.advance(at, &mut Vec::new());
        Some(())
    };
    let length = drive.capacity().min(Bytes(4096));
    drive.submit(Nanos::ZERO, request(Op::Write, length));
    let write = std::iter::from_fn(|| next(drive)).count();
    drive.submit(Nanos::from_secs(60), request(Op::Flush, Bytes(0)));
    write + std::iter::from_fn(|| next(drive)).count()
}

/// `grain`: what the times of the requests are multiples of.
fn run_both(mut d: Draw<'_>, spec: &DeviceSpec, grain: u64) {
    let DeviceKind::Ssd(ssd) = &spec.kind else { return };
    if std::env::var("SEED").is_ok() {
        println!("{spec:#?}");
    }
    let mut requests = requests(&mut d, spec);
    requests.iter_mut().for_each(|(gap, _)| *gap = coarse(*gap, grain));
    let mut drive = build(spec, InitialState::New);
    drive.time_waits();
    let pages = (spec.capacity.0 / ssd.nand.page.0) as u32;
    let checker = Checker::new(&ssd.nand, pages).power_fail_safe(is_safe(ssd));
    let tags = requests.iter().map(|(_, request)| *request).collect();
    drive.observe(Box::new(Witness::new(checker, spec, ssd.nand.page, tags)));
    let checked = run(&mut *drive, &requests, Nanos::ZERO, 40);
    let mut other = build(spec, InitialState::New);
    other.time_waits();
    let strided = run(&mut *other, &requests, Nanos(d.below(300_000)), 1000);
    let differs = checked.iter().zip(&strided).find(|(a, b)| a != b);
    assert_eq!(differs, None, "unobserved, and advanced otherwise");
    assert_eq!(drive.counters(), other.counters(), "and told");
    if can_be_steady(spec).is_ok() {
        let past = InitialState::Steady(RandomWrites { hot: 0.1, heat: 0.7, seed: d.below(1000) });
        let mut steady = build(spec, past);
        steady.time_waits();
        steady.check();
        run(&mut *steady, &requests, Nanos::ZERO, 40);
    }
}
