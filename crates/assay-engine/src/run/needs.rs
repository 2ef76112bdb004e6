//! The needs of a run, estimated before it begins: memory, time and writes on real targets.
//!
//! *Invariant.* A run that would need more memory than the machine has is refused; otherwise the
//! system would kill it halfway and without a word.

use super::planned::Run;
use crate::available::{available_memory, limit};
use crate::error::{Error, Result};
use crate::linux::setup::LinuxSetup;
use crate::plan::{PlannedTarget, TargetKind};
use crate::read::CELLS_MAX;
use assay_spec::experiment::{Amount, Step, WorkloadSpec};
use assay_spec::record::CellPlan;
use assay_spec::units::human_size;
use assay_spec::{Bytes, Nanos};

/// The memory of a cell beside its target: its series, at most twice while they are written, and
/// rows of its log not yet written.
const CELL: Bytes = Bytes(96 << 20);

/// The memory of a latency that a workload keeps (`first`): as a number, and as text when the
/// cells are written.
const KEPT: u64 = 24;
/// The most bytes of such a latency as text.
const KEPT_TEXT: u64 = 17;

/// The memory of a guest's processes on this machine beside the guest's own: the kernel's text,
/// page tables.
const GUEST: Bytes = Bytes(16 << 20);

/// The open files of a run, and of each of its targets, with room to spare.
const FILES: u64 = 48;
const FILES_OF_TARGET: u64 = 12;

/// The longest name of a file in bytes (`NAME_MAX` of Linux), and the longest ending of the names
/// of a cell's files, which begin with the name of the cell.
const NAME_MAX: usize = 255;
const ENDING: &str = "1000.drive.parquet";

/// The needs of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The number of cells that are measured.
    pub cells: usize,
    /// The most memory in use at a time.
    pub memory: Bytes,
    /// The memory that is available.
    pub available: Bytes,
    /// The time of phases on real targets that end by time; how long the others last is not known.
    pub wall: Nanos,
    /// The bytes written to each real target by phases that say how many, and by making it.
    pub writes: Vec<(String, Bytes)>,
    /// Whether time or writes are not known in advance: a phase on a real target does not end by
    /// time, or writes until its time is over.
    pub is_open_ended: bool,
}

impl Run {
    /// Estimates the needs of the run.
    pub fn needs(&self) -> Needs {
        let mut needs = Needs {
            cells: self.record.plan.len(),
            memory: Bytes::ZERO,
            available: available_memory(),
            wall: Nanos::ZERO,
            writes: self.targets.iter().filter_map(first_write).collect(),
            is_open_ended: false,
        };
        let mut takes: Vec<u64> = Vec::new();
        for index in 0..self.record.plan.len() {
            let (experiment, workload) = self.workload_of(index);
            let (target, _) = self.place_of(index);
            takes.push(target.memory(workload).0.saturating_add(CELL.0));
            if !target.record.virtual_time && target.record.kind != "null" {
                needs.add_real(target, workload, experiment.repeats.count);
            }
        }
        // Modelled targets are measured side by side, so the largest count together.
        takes.sort_unstable_by(|a, b| b.cmp(a));
        let together = takes.iter().take(self.threads);
        let kept = self.kept().saturating_mul(KEPT);
        needs.memory = Bytes(together.fold(kept, |sum: u64, bytes| sum.saturating_add(*bytes)));
        needs
    }

    /// Returns the number of latencies that the workloads of all cells keep (`first`).
    fn kept(&self) -> u64 {
        let of = |index| {
            let (experiment, workload) = self.workload_of(index);
            u64::from(workload.first) * u64::from(experiment.repeats.count)
        };
        (0..self.record.plan.len()).map(of).fold(0, u64::saturating_add)
    }

    /// Checks that there is memory and a thread for the run, that it may open enough files, that
    /// the names of its files are short enough, and that its results can be read again.
    ///
    /// # Errors
    /// If one of them is missing, a name is too long, or too many latencies are kept.
    pub fn check_needs(&self) -> Result<()> {
        self.check_kept()?;
        self.check_memory()?;
        self.check_files()?;
        self.check_names()?;
        check_thread()
    }

    /// Checks that `cells.json` can hold the latencies that are kept.
    fn check_kept(&self) -> Result<()> {
        let (kept, most) = (self.kept(), CELLS_MAX / KEPT_TEXT);
        if kept <= most {
            return Ok(());
        }
        let message = format!("the cells would keep {kept} latencies, but a run can keep {most}");
        let hint = "make `first` or the number of repeats smaller, or make several runs";
        Err(Error::usage("too-large-record", message, hint))
    }

    /// Checks that the names of cells are short enough for the names of their files.
    fn check_names(&self) -> Result<()> {
        let longest = |plan: &CellPlan| {
            let parts = [&plan.experiment, &plan.workload, &plan.target];
            parts.iter().map(|part| part.len() + 1).sum::<usize>() + ENDING.len()
        };
        let Some(plan) = self.record.plan.iter().find(|plan| longest(plan) > NAME_MAX) else {
            return Ok(());
        };
        let message = format!("the name of the cell {} is too long for a file", plan.id);
        let hint = "give the target a shorter name, e.g. by a symlink: the names of experiment, \
                    workload and target may have 230 bytes together";
        Err(Error::usage("name-too-long", message, hint))
    }

    /// Checks that the process may open enough files: a run that finds out later leaves what it has
    /// no descriptor to remove with.
    fn check_files(&self) -> Result<()> {
        let needed = FILES + FILES_OF_TARGET * self.targets.len() as u64;
        let Some(limit) = limit("Max open files").filter(|limit| *limit < needed) else {
            return Ok(());
        };
        let message = format!("the run needs {needed} open files, but may have only {limit}");
        let hint = format!("raise the limit: `ulimit -n {}`", needed.max(1024));
        Err(Error::environment("too-few-files", message, hint))
    }

    /// Checks that there is enough memory.
    fn check_memory(&self) -> Result<()> {
        let Needs { memory, available, .. } = self.needs();
        if memory <= available {
            return Ok(());
        }
        let message = format!(
            "the run needs {} of memory, but only {} are available",
            human_size(memory),
            human_size(available)
        );
        let hint = match self.threads {
            1 => "use smaller drives, fewer requests in flight, or fewer latencies (`first`)",
            _ => {
                "measure fewer drives at a time (`--threads 1`), or use smaller drives, fewer \
                 requests in flight, or fewer latencies (`first`)"
            }
        };
        Err(Error::environment("too-much-memory", message, hint))
    }
}

/// Checks that a thread can be started, because the log of each cell needs one.
fn check_thread() -> Result<()> {
    match std::thread::Builder::new().spawn(|| {}) {
        Ok(thread) => {
            // The thread does nothing that panics.
            let _ = thread.join();
            Ok(())
        }
        Err(cause) => {
            let message = "the system does not let assay start a thread, which a run needs";
            let hint = "allow this user more processes (`ulimit -u`), or free memory";
            Err(Error::environment("no-thread", message, hint).caused_by(cause))
        }
    }
}

impl Needs {
    /// Adds the time and writes of a cell on a real target.
    fn add_real(&mut self, target: &PlannedTarget, workload: &WorkloadSpec, repeats: u32) {
        let phases = &workload.phases;
        let mut written = 0_u64;
        let mut amounts = vec![(phases.measure, workload.writes())];
        amounts.extend(phases.settle.map(|amount| (amount, workload.writes())));
        for step in &phases.precondition {
            match step {
                Step::Requests { amount, stream, .. } => {
                    amounts.push((*amount, stream.writes()));
                }
                Step::Idle(time) => self.wall += *time * u64::from(repeats),
            }
        }
        for (amount, writes) in amounts {
            let bytes = match amount {
                Amount::Time(time) => {
                    self.wall += time * u64::from(repeats);
                    self.is_open_ended |= writes;
                    continue;
                }
                Amount::Requests(n) => n.saturating_mul(workload.max_size().0),
                Amount::Bytes(bytes) => bytes.0,
                Amount::Steady(_) => 0,
            };
            self.is_open_ended = true;
            written = written.saturating_add(if writes { bytes } else { 0 });
        }
        let written = written.saturating_mul(u64::from(repeats));
        let name = &target.record.written;
        if let Some((_, sum)) = self.writes.iter_mut().find(|(n, _)| n == name) {
            *sum = Bytes(sum.0.saturating_add(written));
        }
    }
}

/// Returns the name of a real target that is written to, and the bytes written before its cells.
fn first_write(target: &PlannedTarget) -> Option<(String, Bytes)> {
    let is_real = matches!(target.kind, TargetKind::Real(_)) && target.may_write;
    let made = target.record.created.then_some(target.record.capacity);
    let writes = is_real || made.is_some();
    writes.then(|| (target.record.written.clone(), made.unwrap_or(Bytes::ZERO)))
}

impl PlannedTarget {
    /// Returns the memory that a cell of `workload` on this target takes.
    fn memory(&self, workload: &WorkloadSpec) -> Bytes {
        match &self.kind {
            TargetKind::Null | TargetKind::Directory(_) => Bytes::ZERO,
            TargetKind::Model(spec) => assay_sim::memory(spec),
            TargetKind::Array(setup) => setup.memory(),
            TargetKind::Linux(setup) => guest_memory(setup),
            TargetKind::Real(_) => {
                let buffers = u64::from(workload.deepest()).saturating_mul(2);
                Bytes(buffers.saturating_mul(workload.max_size().0))
            }
        }
    }
}

/// Checks that there is memory for a guest on modelled drives.
///
/// # Errors
/// If there is too little.
pub fn check_guest_memory(setup: &LinuxSetup) -> Result<()> {
    let (memory, available) = (guest_memory(setup), available_memory());
    if memory <= available {
        return Ok(());
    }
    let message = format!(
        "the guest needs {} of memory, but only {} are available",
        human_size(memory),
        human_size(available)
    );
    let hint = "give the guest less with `--memory`, or use smaller drives";
    Err(Error::environment("too-much-memory", message, hint))
}

/// Returns the memory of a guest and of its drives.
pub fn guest_memory(setup: &LinuxSetup) -> Bytes {
    let own = setup.spec.settings.memory.0.saturating_add(GUEST.0);
    Bytes(setup.drives.memory().0.saturating_add(own))
}
