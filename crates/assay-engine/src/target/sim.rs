//! A modelled drive as a target: its clock is virtual and jumps from event to event.

use super::{ModelHints, Submit, Target};
use crate::measure::drive_series::DriveSeries;
use assay_sim::{Accept, Counters, Drive, Host, Inspect, Prefetch};
use assay_spec::{Bytes, Completion, Nanos, Request};

/// A modelled drive behind its host, in virtual time.
pub struct SimTarget<D> {
    drive: Host<D>,
    now: Nanos,
    /// The series of snapshots of its flash drives, and the time of the next one: `Nanos::NEVER` if
    /// none are taken.
    drive_series: Option<DriveSeries>,
    next_snapshot: Nanos,
}

impl<D: Drive> SimTarget<D> {
    /// Creates a target for `drive`, with a clock that shows zero.
    pub fn new(drive: Host<D>) -> Self {
        SimTarget { drive, now: Nanos::ZERO, drive_series: None, next_snapshot: Nanos::NEVER }
    }

    /// Returns the drive, for its counters.
    pub fn drive(&mut self) -> &mut Host<D> {
        &mut self.drive
    }

    /// Begins the measured phase: resets the counters, and takes regular snapshots of the flash
    /// drives if `watched`.
    pub fn begin_measure(&mut self, watched: bool) {
        self.drive.mark();
        self.drive.time_waits();
        let drives = if watched { self.drive.snapshots(self.now).len() } else { 0 };
        self.drive_series = DriveSeries::begin(self.now, drives);
        self.next_snapshot = self.drive_series.as_ref().map_or(Nanos::NEVER, DriveSeries::end);
    }

    /// Ends the measured phase. Returns the snapshots, if any were taken.
    pub fn end_measure(&mut self) -> Option<DriveSeries> {
        let mut drive_series = self.drive_series.take()?;
        self.next_snapshot = Nanos::NEVER;
        if drive_series.is_begun(self.now) {
            drive_series.take(&self.drive.snapshots(self.now));
        }
        Some(drive_series)
    }

    /// Takes the snapshot that is due.
    #[cold]
    fn ask(&mut self) {
        let Some(drive_series) = &mut self.drive_series else { return };
        drive_series.take(&self.drive.snapshots(self.next_snapshot));
        self.next_snapshot = drive_series.end();
    }
}

impl<D: Drive> Target for SimTarget<D> {
    fn capacity(&self) -> Bytes {
        self.drive.capacity()
    }

    fn granularity(&self) -> Bytes {
        Bytes(512)
    }

    fn now(&mut self) -> Nanos {
        self.now
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Submit {
        match self.drive.submit(now, request) {
            Accept::Accepted => Submit::Accepted,
            Accept::QueueFull => Submit::Full,
        }
    }

    fn poll(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        let before = completions.len();
        let mut reached = self.drive.run(until.min(self.next_snapshot), completions);
        while completions.len() == before && reached >= self.next_snapshot && reached < until {
            self.ask();
            if until == Nanos::NEVER && self.drive.next_event().is_none() {
                break;
            }
            reached = self.drive.run(until.min(self.next_snapshot), completions);
        }
        let goes_on = completions.len() > before || until < Nanos::NEVER;
        assert!(goes_on, "waiting for ever with nothing in flight");
        self.now = self.now.max(reached);
        self.now
    }
}

impl<D: Drive> ModelHints for SimTarget<D> {
    fn set_processes(&mut self, tags_per_process: u32) {
        self.drive.set_processes(tags_per_process);
    }

    fn expect(&mut self, offset: Bytes) {
        self.drive.prefetch_hint(offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::catalog::{DEVICES, find};
    use assay_spec::decode::Source;
    use assay_spec::device::DeviceSpec;
    use assay_spec::experiment::{ElevatorKind, HostSpec};
    use assay_spec::{Op, seed::mix};

    /// Serves random writes, one after the other, with pauses. Returns their ends, the counters and
    /// the snapshots.
    fn run(watched: bool) -> (Vec<Nanos>, Vec<(String, f64)>, Option<DriveSeries>) {
        let bundled = find(DEVICES, "ssd-m").unwrap();
        let spec = DeviceSpec::parse(Source { file: bundled.file, text: bundled.text }).unwrap();
        let drive = assay_sim::build(&spec, assay_sim::InitialState::New);
        let mut sim =
            SimTarget::new(Host::new(drive, HostSpec::default(), ElevatorKind::default()));
        sim.begin_measure(watched);
        let (mut ends, mut done) = (Vec::new(), Vec::new());
        for index in 0..3000 {
            let now = sim.now();
            let pause = Nanos(mix(index) % 400_000);
            sim.poll(now + pause, &mut done);
            let (offset, length) = (Bytes(4096 * (mix(!index) % 1000)), Bytes(4096 * 9));
            let now = sim.now();
            sim.submit(now, Request { tag: 0, op: Op::Write, offset, length, fua: false });
            while done.is_empty() {
                sim.poll(Nanos::NEVER, &mut done);
            }
            ends.extend(done.drain(..).map(|completion| completion.at));
        }
        let drive_series = sim.end_measure();
        (ends, sim.drive().counters(), drive_series)
    }

    #[test]
    fn asking_changes_nothing_and_what_is_told_adds_up() {
        let (plain, watched) = (run(false), run(true));
        assert_eq!((&plain.0, &plain.1), (&watched.0, &watched.1));
        assert!(plain.2.is_none());
        let drive_series = watched.2.expect("a flash drive");
        let end = watched.0.last().expect("requests").0;
        assert_eq!(
            drive_series.rows() as u64,
            end.div_ceil(100_000_000),
            "every tenth of a second"
        );
        for (name, total) in drive_series.totals() {
            let told = watched.1.iter().find(|(n, _)| *n == name).expect("it is told").1;
            assert_eq!(total as f64, told, "{name}");
        }
        assert!(drive_series.totals().any(|(name, total)| name == "stall_link_ns" && total > 0));
    }
}
