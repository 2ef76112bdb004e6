//! Records what the parts of a modelled drive do for some requests, for the picture of a timeline.
//!
//! The requests are a closed loop on the drive itself, without a host, so that the timeline shows
//! only the drive.

use crate::available::available_memory;
use crate::error::{Error, Result};
use crate::generate::{Ask, Generator};
use assay_sim::{Accept, Drive, build};
use assay_spec::device::DeviceSpec;
use assay_spec::experiment::StreamSpec;
use assay_spec::units::human_size;
use assay_spec::{Bytes, Completion, Nanos, Op, Request, seed};

pub use assay_sim::Cause;
pub use assay_sim::timeline::{Bar, Kind, Recorder, Resource, parts, resources};

/// The requests of a timeline.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The streams that generate the requests.
    pub streams: Vec<StreamSpec>,
    /// The number of requests in flight; the drive's queue depth limits it.
    pub depth: u32,
    /// The number of requests before the picture.
    pub skip: u32,
    /// The number of requests in the picture.
    pub requests: u32,
    /// The seed for everything random.
    pub seed: u64,
}

/// A request with its times since the beginning of the picture.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// The kind of request.
    pub op: Op,
    /// The address of its first byte.
    pub offset: Bytes,
    /// Its length.
    pub length: Bytes,
    /// The time when the drive got it.
    pub arrival: Nanos,
    /// The time when the drive answered it.
    pub end: Nanos,
}

/// The work of a drive's parts for some requests.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// The resources with their names and groups.
    pub resources: Vec<(Resource, String, u32)>,
    /// The work of the resources, in order of its beginning, until the drive became idle.
    pub bars: Vec<Bar>,
    /// The requests in the order of arrival; bars contain their indices.
    pub requests: Vec<Served>,
    /// The number of requests in flight.
    pub depth: u32,
    /// The drive's counters for this time: (name, value).
    pub counters: Vec<(String, f64)>,
}

/// Serves the requests of `plan` on a filled drive and records what the drive does for them.
///
/// # Errors
/// If the drive needs more memory than there is, or requests do not fit into it.
pub fn record(spec: &DeviceSpec, plan: &Plan) -> Result<Timeline> {
    let (memory, available) = (assay_sim::memory(spec), available_memory());
    if memory > available {
        let message = format!(
            "the drive needs {} of memory, but only {} are available",
            human_size(memory),
            human_size(available)
        );
        return Err(Error::environment("too-much-memory", message, "use a smaller drive"));
    }
    let mut drive = build(spec, assay_sim::InitialState::Filled);
    let outside = |s: &&StreamSpec| s.span.start >= spec.capacity || s.max_size() > spec.capacity;
    if let Some(stream) = plan.streams.iter().find(outside) {
        let start = stream.span.on(spec.capacity).start;
        let message =
            format!("requests that begin at {start} do not fit into a drive of {}", spec.capacity);
        return Err(Error::usage("range-outside", message, "lower `range`, or use a larger drive"));
    }
    let seed = seed::derive(plan.seed, &["timeline"]);
    let depth = plan.depth.min(spec.link.queue_depth);
    let mut stream =
        ClosedLoop { generator: Generator::new(&plan.streams, spec.capacity, seed), depth };
    let recorder = Recorder::new(spec);
    drive.observe(Box::new(recorder.clone()));
    let (start, _) = stream.serve(&mut *drive, Nanos::ZERO, plan.skip);
    drive.mark();
    drive.time_waits();
    recorder.begin();
    let (_, mut requests) = stream.serve(&mut *drive, start, plan.requests);
    // After the answers, data in buffers is still on its way to the flash or the platter.
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

/// A closed loop of requests.
struct ClosedLoop {
    generator: Generator,
    depth: u32,
}

impl ClosedLoop {
    /// Serves `count` requests from `now` on. Returns the end of the last one, and all of them.
    fn serve(&mut self, drive: &mut dyn Drive, now: Nanos, count: u32) -> (Nanos, Vec<Served>) {
        let mut served: Vec<Served> = Vec::with_capacity(count as usize);
        let (mut now, mut in_flight) = (now, 0);
        let mut done: Vec<Completion> = Vec::new();
        loop {
            while in_flight < self.depth && served.len() < count as usize {
                let Ask { op, offset, length, fua } = self.generator.ask();
                // Each request has a tag of its own, so that every bar knows its request.
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
