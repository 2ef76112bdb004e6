//! A repeat of a cell: all its phases on a target.

use crate::clock::BusyTime;
use crate::error::{Error, Result};
use crate::generate::Generator;
use crate::linux::image::Images;
use crate::load_loop::{End, Forget, run_phase};
use crate::measure::log::LogWriter;
use crate::measure::series::write_series;
use crate::measure::{Recorded, Recorder};
use crate::run::directory::RunDirectory;
use crate::stop::interrupted;
use crate::target::Target;
use crate::target::sim::SimTarget;
use assay_sim::{Counters, Drive, Host, InitialState, RandomWrites};
use assay_spec::experiment::{
    Amount, Arrival, ErrorLimit, HostSpec, Scale, StartState, StreamSpec, WorkloadSpec,
};
use assay_spec::record::RepeatRecord;
use assay_spec::{Bytes, Nanos, seed};
use std::path::Path;

/// What a run gives its cells.
#[derive(Clone, Copy)]
pub struct CellContext<'r> {
    /// The run's seed.
    pub seed: u64,
    /// The images that the run has made.
    pub images: &'r Images,
    /// The directory for logs and series.
    pub directory: &'r RunDirectory,
}

/// A repeat of a cell.
pub(crate) struct Repeat<'a> {
    pub(crate) workload: &'a WorkloadSpec,
    pub(crate) seed: u64,
    pub(crate) log: bool,
    pub(crate) limit: Option<Nanos>,
    pub(crate) directory: Option<&'a RunDirectory>,
    /// The name of its files without the ending.
    pub(crate) stem: String,
    pub(crate) scale: Scale,
    pub(crate) errors: ErrorLimit,
}

impl Repeat<'_> {
    /// Returns the rule for the end of a phase of this amount.
    pub(crate) fn end(&self, amount: Amount) -> End {
        End { amount, limit: self.limit, errors: self.errors }
    }

    /// Returns the state in which a modelled drive begins.
    pub(crate) fn past(&self) -> InitialState {
        match self.workload.phases.start {
            StartState::Fresh => InitialState::New,
            StartState::Filled => InitialState::Filled,
            StartState::Steady => InitialState::Steady(RandomWrites::UNIFORM.seeded(self.seed)),
        }
    }

    /// Runs the repeat on a modelled drive behind its host. `build` returns `None` if the user has
    /// interrupted it.
    pub(crate) fn run_model<D: Drive>(
        &self,
        host: HostSpec,
        is_disk: bool,
        build: impl FnOnce(InitialState) -> Option<D>,
    ) -> Result<RepeatRecord> {
        let drive = build(self.past()).ok_or_else(interrupted)?;
        let elevator = if is_disk { host.elevator.hdd } else { host.elevator.ssd };
        let mut sim = SimTarget::new(Host::new(drive, host, elevator));
        let watched = self.directory.is_some();
        let mut record = self.run(&mut sim, &|| Ok(()), |sim| sim.begin_measure(watched))?;
        record.device = sim.drive().counters();
        if let Some((directory, drive_series)) = self.directory.zip(sim.end_measure()) {
            let name = format!("{}.drive.parquet", self.stem);
            drive_series.write(directory.series()?, &name)?;
        }
        Ok(record)
    }

    /// Runs all phases on `target`. Calls `before_writes` before the first phase that writes, and
    /// `before_measure` when the measured phase begins.
    pub(crate) fn run<T: Target>(
        &self,
        target: &mut T,
        before_writes: &dyn Fn() -> Result<()>,
        before_measure: impl FnOnce(&mut T),
    ) -> Result<RepeatRecord> {
        let WorkloadSpec { phases, arrival, streams, first, .. } = self.workload;
        self.check_ranges(target.capacity())?;
        let mut warnings = self.range_warnings(target.capacity());
        let wrote = self.prepare(target, before_writes, &mut warnings)?;
        if !wrote && streams.iter().any(StreamSpec::writes) {
            before_writes()?;
        }
        let mut generator = Generator::new(streams, target.capacity(), self.seed);
        let gap_seed = seed::derive(self.seed, &["arrivals"]);
        target.set_processes(tags_per_process(*arrival));
        let mut steady = None;
        if let Some(amount) = phases.settle {
            let mut forget = Forget::default();
            let end = self.end(amount);
            let end = run_phase(target, &mut generator, *arrival, end, gap_seed, &mut forget)?;
            steady = end.steady;
        }
        before_measure(target);
        let mut recorder = Recorder::new(self.log_writer()?).keeping(*first);
        let end = self.end(phases.measure);
        let busy = BusyTime::start();
        let end = run_phase(target, &mut generator, *arrival, end, gap_seed, &mut recorder)?;
        let busy = busy.end();
        let Recorded { ops, seconds, fine, first } = recorder.finish()?;
        if let Some(directory) = self.directory {
            write_series(directory.series()?, &format!("{}.parquet", self.stem), &fine)?;
        }
        self.judge(&ops, &end, &mut warnings);
        let steady = end.steady.or(steady);
        if steady.as_ref().is_some_and(|s| !s.reached) {
            warnings.push("steady state was not reached within the limit of rounds".into());
        }
        Ok(RepeatRecord {
            seed: self.seed,
            elapsed: end.elapsed,
            ops,
            series: seconds,
            first,
            steady,
            device: busy.into_iter().collect(),
            program: Vec::new(),
            warnings,
        })
    }

    pub(crate) fn log_writer(&self) -> Result<Option<LogWriter>> {
        let Some(directory) = self.directory.filter(|_| self.log) else { return Ok(None) };
        LogWriter::create(directory.log()?, &format!("{}.parquet", self.stem)).map(Some)
    }

    /// Refuses a range that begins beyond the end of the target: no request would lie in it.
    fn check_ranges(&self, capacity: Bytes) -> Result<()> {
        let outside = |s: &&StreamSpec| s.span.start >= capacity;
        let Some(stream) = self.workload.all_streams().find(outside) else { return Ok(()) };
        Err(Error::usage(
            "range-outside",
            format!(
                "the range of `{}` begins at {}, but the target ends at {capacity}",
                self.workload.name, stream.span.start
            ),
            "lower `range`, or measure a larger target",
        ))
    }

    fn range_warnings(&self, capacity: Bytes) -> Vec<String> {
        let beyond = |s: &&StreamSpec| s.span.end.is_some_and(|end| end > capacity);
        let cut = self.workload.all_streams().find(beyond);
        let text = |_| format!("the range was cut to the target's {capacity}");
        cut.map(text).into_iter().collect()
    }
}

/// Returns the number of requests that a job may have in flight. An open loop is one job.
pub(super) fn tags_per_process(arrival: Arrival) -> u32 {
    match arrival {
        Arrival::Closed { queue_depth, .. } => queue_depth,
        Arrival::Open { max_in_flight, .. } => max_in_flight,
    }
}

/// Returns the error for writes to `path` that had been accepted and then failed.
pub(super) fn writes_lost(path: &Path, cause: std::io::Error) -> Error {
    let message = format!("not all writes reached {}", path.display());
    let hint = "check the disk (`dmesg`) and the free space below it; what was measured in this \
                cell counts for nothing";
    Error::environment("writes-lost", message, hint).caused_by(cause)
}
