//! The power fails at random points of random work on random drives that are to survive it. A new
//! controller, which knows nothing but what is in the cells, must find every page as it was left
//! by the last write or trim that a flush has been answered for, or write that was to survive by
//! itself (force unit access), or by a later one; and must be able to go on. With a buffer that
//! survives power cuts, or none that answers early, what has been answered is enough. A drive that
//! took no writes any more takes none afterwards.
//!
//! *Left out.* Writes that meet parts of the same page on their way; and pages of a pair, of which
//! a torn one would take the other with it.

#![allow(clippy::print_stdout)]

mod random;

use assay_sim::{
    Accept, Activity, Checker, Drive, Flash, FlashCommand, Observed, Observer, Step, Work, build,
};
use assay_spec::device::{BufferSpec, DeviceKind, DeviceSpec, FlushSpec, FtlSpec, SsdSpec};
use assay_spec::{Bytes, Completion, Nanos, Op, Request};
use random::{Draw, device, share};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

const DRIVES: u64 = 30_000;
const CUTS: u64 = 3;

/// What the flash is told, and what the host's pages in it are.
struct Watch {
    checker: Checker,
    /// Writes of any page, which is how the checker numbers versions.
    writes: u64,
    is_lazy: bool,
    /// By logical page: writes of it that have come, and that have been programmed.
    come: Vec<u64>,
    programmed: Vec<u64>,
    /// By version: the logical page, and which of its writes it is.
    versions: HashMap<u64, (u32, u64)>,
    /// What a read gets.
    read: HashMap<u32, u64>,
    /// Erases before, and since.
    erases: u64,
}

/// A watch that can be asked while the drive has it.
struct Shared(Arc<Mutex<Watch>>);

impl Shared {
    fn watch(&self) -> MutexGuard<'_, Watch> {
        self.0.lock().expect("nobody panics with it")
    }
}

impl Observer for Shared {
    fn observe(&mut self, observed: Observed) {
        let mut watch = self.watch();
        match &observed {
            Observed::Command(_, command) => watch.command(command),
            Observed::Operation(operation) => {
                watch.erases += u64::from(operation.step == Step::Erase);
            }
            Observed::Work(Work { activity: Activity::FromHost, first: Some(page), .. }) => {
                watch.come[*page as usize] += 1;
            }
            _ => {}
        }
        watch.checker.observe(observed);
    }
}

impl Watch {
    fn command(&mut self, command: &FlashCommand) {
        match *command {
            FlashCommand::Program { subject: Some(page), .. } => {
                self.writes += 1;
                if (page as usize) < self.come.len() {
                    let come = self.come[page as usize];
                    self.programmed[page as usize] += 1;
                    let programmed = self.programmed[page as usize];
                    // A buffer that keeps pages gives the newest of them.
                    let write = if self.is_lazy { come } else { programmed };
                    let version = self.writes;
                    self.versions.insert(version, (page, write));
                }
            }
            // What is moved first may wait for others, and is read from the controller.
            FlashCommand::Copy { from, .. } => {
                let (logical, version) = self.checker.holds(from).expect("it is programmed");
                self.read.insert(logical, version);
            }
            FlashCommand::Read { subject: Some(logical), .. } => {
                // It may be the old copy of a page that is being moved.
                let version = self.checker.newest(logical);
                self.read.insert(logical, version);
            }
            _ => {}
        }
    }
}

/// What the host has done to a page.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    /// Nothing is there: never written, or trimmed.
    Nothing,
    /// The so many-th write of this controller's time.
    Write(u64),
    /// What an earlier controller left.
    Found(u64),
}

/// A page as the host knows it.
#[derive(Clone, Debug)]
struct Page {
    changes: Vec<Change>,
    writes: u64,
    /// The last change that has been answered, and that must be there.
    answered: usize,
    certain: usize,
    /// And the last that must be in the cells: a buffer that survives forgets what is trimmed.
    in_cells: usize,
    /// A change is under way.
    is_busy: bool,
    /// The last change is of a part of it. Nothing changes it before that is in the cells: it is
    /// not known what of two writes that meet on their way there is one of.
    is_part: bool,
}

impl Page {
    fn with(change: Change) -> Page {
        Page {
            changes: vec![change],
            writes: 0,
            answered: 0,
            certain: 0,
            in_cells: 0,
            is_busy: false,
            is_part: false,
        }
    }

    /// Nothing of it is on its way, or may be.
    fn is_settled(&self) -> bool {
        !self.is_busy && self.in_cells == self.changes.len() - 1
    }

    fn may_change(&self) -> bool {
        !self.is_busy && (!self.is_part || self.is_settled())
    }

    /// A change must be there, or a later one.
    fn is_certain(&mut self, change: usize, host: (bool, bool)) {
        let (is_protected, forgets_trims) = host;
        // If trims may come to nothing, what they drop from the buffer is nowhere.
        if forgets_trims && self.changes[change..].contains(&Change::Nothing) {
            return;
        }
        self.certain = self.certain.max(change);
        if !is_protected {
            self.in_cells = self.certain;
        }
    }
}

/// Whether a change survives once it is answered.
#[derive(Clone, Copy, Debug)]
enum Safe {
    /// As the drive keeps writes, or trims.
    AsWrite,
    AsTrim,
    /// It was asked to.
    Forced,
}

/// What is done when a request is answered.
enum Pending {
    Change(std::ops::Range<usize>, Safe),
    /// By page: what had been answered when the flush was asked for.
    Flush(Vec<usize>),
    Read,
}

struct Host {
    page: Bytes,
    pages: Vec<Page>,
    pending: HashMap<u32, Pending>,
    /// Answered is safe: writes, and trims.
    keeps_writes: bool,
    keeps_trims: bool,
    is_protected: bool,
    /// Nothing is written down of a trim: what was there may be there again.
    forgets_trims: bool,
    next_tag: u32,
}

impl Host {
    fn new(ssd: &SsdSpec, pages: Vec<Page>) -> Host {
        let (keeps_writes, keeps_trims) = match ssd.buffer {
            BufferSpec::Registers => (false, false),
            BufferSpec::Dram { protected: true, .. } => (true, true),
            BufferSpec::Dram { write_back, .. } => (!write_back, false),
        };
        Host {
            page: ssd.nand.page,
            pages,
            pending: HashMap::new(),
            keeps_writes,
            keeps_trims,
            is_protected: matches!(ssd.buffer, BufferSpec::Dram { protected: true, .. }),
            forgets_trims: matches!(ssd.ftl, FtlSpec::Hybrid(_)),
            next_tag: 0,
        }
    }

    /// Something to ask for, if no page of it is being changed.
    fn draw(&mut self, d: &mut Draw<'_>, hot: u64) -> Option<Request> {
        let count = self.pages.len() as u64;
        let first = if d.below(2) == 0 { d.below(hot) } else { d.below(count) };
        let most = 1 + d.below(16);
        let length = (1 + d.below(most)).min(count - first);
        let op = d.of(&[Op::Write, Op::Write, Op::Write, Op::Write, Op::Trim, Op::Flush, Op::Read]);
        let fua = op == Op::Write && d.below(4) == 0;
        // What is left out at its ends.
        let mut ends = [Bytes::ZERO; 2];
        let range = first as usize..(first + length) as usize;
        let pending = match op {
            Op::Write | Op::Trim => {
                if !self.pages[range.clone()].iter().all(Page::may_change) {
                    return None;
                }
                let outer = [range.start, range.end - 1];
                if op == Op::Write && outer.iter().all(|page| self.pages[*page].is_settled()) {
                    let sectors = self.page.0 / 512;
                    let most = if length == 1 { sectors.div_ceil(2) } else { sectors };
                    ends = [0, 1].map(|_| Bytes(512 * d.below(most)));
                }
                self.change(range.clone(), op);
                for (page, end) in outer.into_iter().zip(ends) {
                    self.pages[page].is_part |= end > Bytes::ZERO;
                }
                let safe = match op {
                    Op::Write if fua => Safe::Forced,
                    Op::Write => Safe::AsWrite,
                    _ => Safe::AsTrim,
                };
                Pending::Change(range, safe)
            }
            Op::Flush => Pending::Flush(self.pages.iter().map(|page| page.answered).collect()),
            Op::Read => Pending::Read,
        };
        self.next_tag += 1;
        self.pending.insert(self.next_tag, pending);
        let (offset, length) = match op {
            Op::Flush => (Bytes::ZERO, Bytes::ZERO),
            _ => (self.page * first + ends[0], self.page * length - ends[0] - ends[1]),
        };
        Some(Request { tag: self.next_tag, op, offset, length, fua })
    }

    /// Pages are being written or trimmed.
    fn change(&mut self, range: std::ops::Range<usize>, op: Op) {
        for page in &mut self.pages[range] {
            (page.is_busy, page.is_part) = (true, false);
            page.writes += u64::from(op == Op::Write);
            let write = Change::Write(page.writes);
            page.changes.push(if op == Op::Write { write } else { Change::Nothing });
            if op == Op::Trim && self.forgets_trims {
                page.certain = page.in_cells;
            }
        }
    }

    fn answered(&mut self, completions: &[Completion]) {
        let kind = (self.is_protected, self.forgets_trims);
        for completion in completions {
            // A drive that is worn out says so; what it refused may be there or not.
            let is_refused = completion.error != 0;
            match self.pending.remove(&completion.tag).expect("it was command for") {
                Pending::Change(range, safe) => {
                    for page in &mut self.pages[range] {
                        page.is_busy = false;
                        if is_refused {
                            continue;
                        }
                        page.answered = page.changes.len() - 1;
                        let keeps = match safe {
                            Safe::AsWrite => self.keeps_writes,
                            Safe::AsTrim => self.keeps_trims,
                            Safe::Forced => true,
                        };
                        if keeps {
                            page.is_certain(page.answered, kind);
                        }
                    }
                }
                Pending::Flush(answered) => {
                    for (page, answered) in self.pages.iter_mut().zip(answered) {
                        page.is_certain(answered, kind);
                    }
                }
                Pending::Read => {}
            }
        }
    }
}

fn erases_of(flash: &Flash) -> u64 {
    flash.blocks.iter().map(|block| u64::from(block.erases)).sum()
}

/// Erases that each block has behind it.
fn used(ssd: &SsdSpec) -> u32 {
    ssd.endurance.map_or(0, |endurance| endurance.erased())
}

/// A drive with its host and its watch.
struct Rig {
    drive: Box<dyn Drive + Send>,
    watch: Arc<Mutex<Watch>>,
    host: Host,
    now: Nanos,
}

impl Rig {
    fn new(spec: &DeviceSpec, ssd: &SsdSpec, pages: Vec<Page>, flash: Option<&Flash>) -> Rig {
        let count = pages.len();
        let checker = match flash {
            Some(flash) => Checker::found(&ssd.nand, count as u32, flash),
            None => Checker::new(&ssd.nand, count as u32).used(used(ssd)),
        };
        let checker = checker.power_fail_safe(true);
        let blocks = u64::from(ssd.nand.planes() * ssd.nand.blocks_per_plane);
        let lazy = matches!(
            ssd.buffer,
            BufferSpec::Dram { write_back: true, flush: FlushSpec::Lazy(_), .. }
        );
        let watch = Arc::new(Mutex::new(Watch {
            writes: checker.writes(),
            checker,
            is_lazy: lazy,
            come: vec![0; count],
            programmed: vec![0; count],
            versions: HashMap::new(),
            read: HashMap::new(),
            erases: flash.map_or_else(|| u64::from(used(ssd)) * blocks, erases_of),
        }));
        let mut drive = build(spec, assay_sim::InitialState::New);
        drive.observe(Box::new(Shared(watch.clone())));
        if let Some(flash) = flash {
            assert!(drive.recover(flash), "it can");
            drive.check();
        }
        Rig { drive, watch, host: Host::new(ssd, pages), now: Nanos::ZERO }
    }

    fn advance(&mut self, to: Nanos) {
        let mut done = Vec::new();
        while let Some(at) = self.drive.next_event().filter(|at| *at <= to) {
            self.drive.advance(at, &mut done);
        }
        self.drive.advance(to, &mut done);
        self.host.answered(&done);
        self.now = to;
    }

    /// Random work until the power fails.
    fn work(&mut self, d: &mut Draw<'_>) -> Flash {
        let hot = 1 + d.below(self.host.pages.len() as u64);
        let gaps = d.of(&[1, 1_000, 200_000, 5_000_000]);
        for _ in 0..d.below(300) {
            let Some(request) = self.host.draw(d, hot) else {
                self.advance(self.now + Nanos(1 + d.below(100_000)));
                continue;
            };
            while self.drive.submit(self.now, request) == Accept::QueueFull {
                let next = self.drive.next_event().expect("a full queue empties");
                self.advance(next);
            }
            self.advance(self.now + Nanos(d.below(gaps)));
        }
        self.advance(self.now + Nanos(d.below(8_000_000)));
        self.cut()
    }

    fn cut(&mut self) -> Flash {
        let dark = self.drive.lose_power(self.now);
        let watch = self.watch.lock().expect("nobody panics with it");
        let flash = watch.checker.cut(dark);
        assert_eq!(erases_of(&flash), watch.erases, "what is kept of each block");
        flash
    }

    /// Every page that a new controller finds, one by one.
    fn read_all(&mut self) -> HashMap<u32, u64> {
        for page in 0..self.host.pages.len() as u64 {
            let (offset, length) = (self.host.page * page, self.host.page);
            let request = Request { tag: 0, op: Op::Read, offset, length, fua: false };
            self.host.pending.insert(0, Pending::Read);
            assert_eq!(self.drive.submit(self.now, request), Accept::Accepted);
            while !self.host.pending.is_empty() {
                let next = self.drive.next_event().expect("a read ends");
                self.advance(next);
            }
        }
        std::mem::take(&mut self.watch.lock().expect("nobody panics with it").read)
    }
}

/// What each page is found to be; panics if it may not be.
fn found(before: &Rig, read: &HashMap<u32, u64>) -> Vec<Page> {
    let watch = before.watch.lock().expect("nobody panics with it");
    let of = |(index, page): (usize, &Page)| {
        let version = read.get(&(index as u32));
        let is_it = |change: &Change| match (change, version) {
            (Change::Nothing, None) => true,
            (Change::Found(found), Some(version)) => found == version,
            (Change::Write(write), Some(version)) => {
                watch.versions.get(version) == Some(&(index as u32, *write))
            }
            _ => false,
        };
        let may_be = &page.changes[page.certain..];
        assert!(may_be.iter().any(is_it), "page {index}: {version:?} is none of {may_be:?}");
        Page::with(version.map_or(Change::Nothing, |version| Change::Found(*version)))
    };
    before.host.pages.iter().enumerate().map(of).collect()
}

/// Cuts the power of a drive again and again; false if it is not one that is to survive that.
fn cut_power(mut d: Draw<'_>) -> bool {
    let spec = device(&mut d);
    let DeviceKind::Ssd(ssd) = &spec.kind else { return false };
    if !random::is_safe(ssd) {
        return false;
    }
    let count = (spec.capacity.0 / ssd.nand.page.0) as usize;
    let mut rig = Rig::new(&spec, ssd, vec![Page::with(Change::Nothing); count], None);
    let told = |rig: &Rig, name: &str| {
        rig.drive.counters().iter().find(|(n, _)| n == name).map_or(0.0, |(_, value)| *value)
    };
    for _ in 0..CUTS {
        let flash = rig.work(&mut d);
        let nothing = || vec![Page::with(Change::Nothing); count];
        let mut next = Rig::new(&spec, ssd, nothing(), Some(&flash));
        // It may fail again while the drive puts things in order.
        for _ in 0..d.below(3) {
            next.advance(Nanos(d.below(4_000_000)));
            let again = next.cut();
            next = Rig::new(&spec, ssd, nothing(), Some(&again));
        }
        let read = next.read_all();
        next.host.pages = found(&rig, &read);
        next.drive.check();
        // What it had asked for may not have been done.
        if erases_of(&flash) as f64 == told(&rig, "erases") && told(&rig, "read_only") == 1.0 {
            assert_eq!(told(&next, "read_only"), 1.0, "it takes writes again");
        }
        rig = next;
    }
    true
}

#[test]
fn what_was_flushed_survives_power_cuts() {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let next = std::sync::atomic::AtomicU64::new(0);
    let drives = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while drives.load(std::sync::atomic::Ordering::Relaxed) < share(DRIVES) {
                    let seed = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let outcome = std::panic::catch_unwind(|| cut_power(Draw::seeded(seed)));
                    let survived = outcome.unwrap_or_else(|_| panic!("seed {seed}"));
                    drives.fetch_add(u64::from(survived), std::sync::atomic::Ordering::Relaxed);
                }
            });
        }
    });
    println!("{} power cuts", drives.into_inner() * CUTS);
}
