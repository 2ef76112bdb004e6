//! What the parts of a modelled drive do for its first requests: the run behind a timeline.
//!
//! A closed loop straight on the drive, without a host: what is seen is the drive's own doing.

use crate::error::{Error, Result};
use crate::generate::{Ask, Generator};
use crate::run::available_memory;
use assay_sim::{Accept, Drive, build};
use assay_spec::device::DeviceSpec;
use assay_spec::experiment::StreamSpec;
use assay_spec::units::human_size;
use assay_spec::{Bytes, Completion, Nanos, Op, Request, seed};

pub use assay_sim::Cause;
pub use assay_sim::timeline::{Bar, Kind, Recorder, Resource, parts, resources};

/// What to ask of the drive.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The requests.
    pub streams: Vec<StreamSpec>,
    /// How many are in flight; not more than the drive takes.
    pub depth: u32,
    /// How many go before the picture.
    pub skip: u32,
    /// How many are in it.
    pub requests: u32,
    /// Seed of everything random.
    pub seed: u64,
}

/// A request and its times, from the beginning of the picture.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// Which way.
    pub op: Op,
    /// First byte.
    pub offset: Bytes,
    /// How many bytes.
    pub length: Bytes,
    /// When the drive got it.
    pub arrival: Nanos,
    /// When it had been answered.
    pub end: Nanos,
}

/// A stretch of a drive's life.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// The resources with their names and groups.
    pub resources: Vec<(Resource, String, u32)>,
    /// What they did, in the order of beginning, until the drive had nothing more to do.
    pub bars: Vec<Bar>,
    /// The requests in the order of arrival; bars name them by their place here.
    pub requests: Vec<Served>,
    /// Requests in flight.
    pub depth: u32,
    /// What the drive counted meanwhile.
    pub counters: Vec<(String, f64)>,
}

/// Serves the requests and records what the drive does for them.
pub fn record(spec: &DeviceSpec, plan: &Plan) -> Result<Timeline> {
    let (memory, available) = (assay_sim::memory(spec), available_memory());
    if memory > available {
        let message = format!(
            "the drive needs {} of memory, and there are {}",
            human_size(memory),
            human_size(available)
        );
        return Err(Error::environment("too-much-memory", message, "take a smaller drive"));
    }
    let mut drive = build(spec, assay_sim::Past::Filled);
    let outside = |s: &&StreamSpec| s.span.start >= spec.capacity || s.max_size() > spec.capacity;
    if let Some(stream) = plan.streams.iter().find(outside) {
        let start = stream.span.on(spec.capacity).start;
        let message = format!("requests from {start} on do not fit into {}", spec.capacity);
        return Err(Error::usage(
            "range-outside",
            message,
            "lower `range`, or take a larger drive",
        ));
    }
    let seed = seed::derive(plan.seed, &["timeline"]);
    let depth = plan.depth.min(spec.link.queue_depth);
    let mut stream =
        Stream { generator: Generator::new(&plan.streams, spec.capacity, seed), depth };
    let recorder = Recorder::new(spec);
    drive.observe(Box::new(recorder.clone()));
    let (start, _) = stream.serve(&mut *drive, Nanos::ZERO, plan.skip);
    drive.mark();
    drive.time_waits();
    recorder.begin();
    let (_, mut requests) = stream.serve(&mut *drive, start, plan.requests);
    // Answered is not done: what waits in buffers is on its way to the flash or the platter.
    let mut late = Vec::new();
    while let Some(at) = drive.next_event() {
        drive.advance(at, &mut late);
    }
    let mut bars = recorder.bars();
    for bar in &mut bars {
        (bar.start, bar.end) = (bar.start.saturating_sub(start), bar.end.saturating_sub(start));
    }
    for request in &mut requests {
        (request.arrival, request.end) = (request.arrival - start, request.end - start);
    }
    let counters = drive.counters();
    Ok(Timeline { resources: resources(spec), bars, requests, depth, counters })
}

/// A closed loop.
struct Stream {
    generator: Generator,
    depth: u32,
}

impl Stream {
    /// Serves `count` requests from `now` on; returns when the last had ended, and all of them.
    fn serve(&mut self, drive: &mut dyn Drive, now: Nanos, count: u32) -> (Nanos, Vec<Served>) {
        let mut served: Vec<Served> = Vec::with_capacity(count as usize);
        let (mut now, mut in_flight) = (now, 0);
        let mut done: Vec<Completion> = Vec::new();
        loop {
            while in_flight < self.depth && served.len() < count as usize {
                let Ask { op, offset, length, fua } = self.generator.ask();
                // Tags differ, so that every bar knows its request.
                let request = Request { tag: served.len() as u32, op, offset, length, fua };
                assert_eq!(drive.submit(now, request), Accept::Accepted, "within the queue depth");
                served.push(Served { op, offset, length, arrival: now, end: now });
                in_flight += 1;
            }
            if in_flight == 0 {
                return (now, served);
            }
            now = drive.run(Nanos::NEVER, &mut done);
            for completion in done.drain(..) {
                served[completion.tag as usize].end = completion.at;
                in_flight -= 1;
            }
        }
    }
}
